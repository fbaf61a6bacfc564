// What both generators ask of the schema.

/** Name of the definition a node refers to. */
export function reference(node) {
  return node.$ref?.split("/").pop();
}

/** Names of all definitions that a node leads to, itself included; sorted. */
export function reachable(schema, start) {
  const found = new Set();
  const visit = (node) => {
    if (Array.isArray(node)) node.forEach(visit);
    else if (node && typeof node === "object") {
      const name = reference(node);
      if (name && !found.has(name)) {
        found.add(name);
        visit(schema.$defs[name]);
      }
      Object.values(node).forEach(visit);
    }
  };
  visit(start);
  return [...found].sort();
}
