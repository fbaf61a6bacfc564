/** Where Python interpreters are, on each system. Paths are made for the given system, not ours. */
import { posix, win32 } from "node:path";

/** What is known of the machine that runs the extension host. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Folders of virtual environments that are taken without asking, in this order. */
const ENVIRONMENTS = [".venv", "venv"];

/** Interpreters that a workspace folder's own virtual environments would have. */
export function environmentPythons(folder: string, machine: Machine): string[] {
  return ENVIRONMENTS.map((name) => pythonIn(pathsOf(machine).join(folder, name), machine));
}

/** The interpreter of a virtual environment. */
export function pythonIn(environment: string, machine: Machine): string {
  return isWindows(machine)
    ? win32.join(environment, "Scripts", "python.exe")
    : posix.join(environment, "bin", "python");
}

/** Interpreters that the PATH may lead to, best first. */
export function pathPythons(machine: Machine): string[] {
  const names = isWindows(machine) ? ["python.exe"] : ["python3", "python"];
  return searchPath(machine).flatMap((folder) =>
    names.map((name) => pathsOf(machine).join(folder, name)),
  );
}

/** Files that a command such as `python3` may be; the path itself if it is one. */
export function filesOf(command: string, machine: Machine): string[] {
  if (/[\\/]/.test(command)) return withSuffix(command, machine);
  return searchPath(machine).flatMap((folder) =>
    withSuffix(pathsOf(machine).join(folder, command), machine),
  );
}

/** Windows' launcher for Python; it knows interpreters that are not on the PATH. */
export function launcher(machine: Machine): string | undefined {
  const root = variable(machine, "SystemRoot");
  return isWindows(machine) && root ? win32.join(root, "py.exe") : undefined;
}

/** Interpreters in the answer to `py -0p`: ` -V:3.12 *        C:\Python312\python.exe`. */
export function launcherPythons(answer: string): string[] {
  const found = answer.split(/\r?\n/).map((line) => /([A-Za-z]:\\.*\.exe)\s*$/.exec(line)?.[1]);
  return found.filter((path) => path !== undefined);
}

/** An absolute path that starts at the home or the workspace folder, as settings may have it. */
export function expanded(path: string, folder: string | undefined, home: string): string {
  return path
    .trim()
    .replace(/^~(?=$|[\\/])/, () => home)
    .replace(/\$\{workspaceFolder\}/g, (whole) => folder ?? whole)
    .replace(/\$\{userHome\}/g, () => home);
}

function searchPath(machine: Machine): string[] {
  const folders = (variable(machine, "PATH") ?? "").split(isWindows(machine) ? ";" : ":");
  const absolute = folders
    .map((folder) => folder.replace(/^"(.*)"$/, "$1"))
    .filter((folder) => pathsOf(machine).isAbsolute(folder));
  // Windows keeps stand-ins there that open its store where Python is not installed.
  const isStore = (folder: string) => /\\WindowsApps\\?$/i.test(folder);
  return [...absolute.filter((f) => !isStore(f)), ...absolute.filter(isStore)];
}

function withSuffix(path: string, machine: Machine): string[] {
  return isWindows(machine) && !/\.(exe|bat|cmd)$/i.test(path) ? [`${path}.exe`] : [path];
}

/** Names of environment variables have no case on Windows. */
function variable(machine: Machine, name: string): string | undefined {
  if (!isWindows(machine)) return machine.env[name];
  const key = Object.keys(machine.env).find((k) => k.toUpperCase() === name.toUpperCase());
  return key === undefined ? undefined : machine.env[key];
}

function pathsOf(machine: Machine): typeof posix {
  return isWindows(machine) ? win32 : posix;
}

function isWindows(machine: Machine): boolean {
  return machine.platform === "win32";
}
