/** Which frameworks a program cannot do without, told cheaply from its text. */
import { FRAMEWORKS } from "./probe";

const IMPORT = /^import[ \t]+(.+)$/gm;
const FROM = /^from[ \t]+([\w.]+)[ \t]+import\b/gm;

/** Imports that are indented are left out: a `try` or a function may do without them. */
export function importedFrameworks(source: string): string[] {
  const names = new Set<string>();
  for (const [, list = ""] of source.matchAll(IMPORT)) {
    for (const part of list.split("#", 1)[0]?.split(",") ?? []) names.add(top(part));
  }
  for (const [, module = ""] of source.matchAll(FROM)) names.add(top(module));
  return FRAMEWORKS.filter((name) => names.has(name));
}

/** The framework that a module belongs to, as `torch.distributed.run` does. */
export function frameworkOf(module: string): string | undefined {
  return FRAMEWORKS.find((name) => name === top(module));
}

/** Command that installs a framework for an interpreter. */
export function installCommand(python: string, framework: string): string {
  const quoted = /^[\w@%+=:,./\\-]+$/.test(python) ? python : `"${python}"`;
  return `${quoted} -m pip install ${framework}`;
}

function top(module: string): string {
  return /^\s*(\w+)/.exec(module)?.[1] ?? "";
}
