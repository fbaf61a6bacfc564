// Configurations that launch.json's completion offers.

export function snippets(schema) {
  const [filter] = schema.filters;
  return [
    snippet("Python file", "Debug the file in the editor.", "launch", {
      program: variable("file"),
      console: "integratedTerminal",
    }),
    snippet("Python module", "Debug a module, as in python -m.", "launch", {
      module: "${1:package.train}",
      args: [],
      console: "integratedTerminal",
    }),
    snippet("torchrun", "Debug all ranks of a distributed run on this machine.", "launch", {
      module: "torch.distributed.run",
      args: ["--standalone", "--nproc-per-node", "${1:2}", variable("file")],
      console: "integratedTerminal",
    }),
    snippet("Python file, with a condition", `Stop on “${filter.label}” where a condition holds.`, "launch", {
      program: variable("file"),
      console: "integratedTerminal",
      zentracer: {
        breakOn: [{ filter: filter.id, condition: "${1:match('encoder.*') and step > 10}" }],
      },
    }),
    snippet("Attach to a port", "Attach to a program that called debugpy.listen(5678).", "attach", {
      connect: { host: "${1:127.0.0.1}", port: "^${2:5678}" },
    }),
    snippet("Attach to a process", "Attach to a Python process of this machine.", "attach", {
      processId: variable("command:pickProcess"),
    }),
  ];
}

/** In snippets `$` starts a placeholder, so launch.json's own variables are escaped. */
function variable(name) {
  return `^"\\\${${name}}"`;
}

function snippet(name, description, request, rest) {
  return {
    label: `ZenTracer: ${name}`,
    description,
    body: { name: `ZenTracer: ${name}`, type: "zentracer", request, ...rest },
  };
}
