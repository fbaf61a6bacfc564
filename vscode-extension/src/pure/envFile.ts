/** Files of environment variables, as launch.json's `envFile` names them. */

export type Environment = Record<string, string | null>;

const LINE = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/;

/**
 * Reads the lines `NAME=value`.
 *
 * `${NAME}` stands for a variable from above or from the process, except in single quotes. Other
 * lines are left out.
 */
export function parseEnvFile(
  text: string,
  outside: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const [, name, raw] = LINE.exec(line) ?? [];
    if (name === undefined || raw === undefined) continue;
    found[name] = valueOf(raw, (inner) => found[inner] ?? outside[inner] ?? "");
  }
  return found;
}

function valueOf(raw: string, lookUp: (name: string) => string): string {
  const single = /^'([^']*)'/.exec(raw);
  if (single) return single[1] ?? "";
  const double = /^"((?:[^"\\]|\\.)*)"/.exec(raw);
  if (double) return filled(unescaped(double[1] ?? ""), lookUp);
  return filled(raw.replace(/(^|\s+)#.*$/, ""), lookUp);
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

function filled(text: string, lookUp: (name: string) => string): string {
  return text.replace(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => lookUp(name));
}
