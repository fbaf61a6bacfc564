/** Processes of this machine, by their command line. */
import { readdir, readFile } from "node:fs/promises";

/** The Python processes whose command line names a file or folder. */
export async function processesOf(path: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const command = await commandLine(pid);
      return /python[\d.]*\0/.test(command) && command.includes(path) ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}

async function commandLine(pid: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it has just ended
  }
}
