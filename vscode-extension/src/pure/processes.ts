/** Lists of processes, as each system prints them. */

export interface RunningProcess {
  readonly pid: number;
  readonly command: string;
}

/** Command that lists processes on a system; Linux has a folder for it instead. */
export function listCommand(platform: NodeJS.Platform): readonly string[] {
  const query =
    "Get-CimInstance Win32_Process | ForEach-Object { '{0} {1}' -f $_.ProcessId, $_.CommandLine }";
  return platform === "win32"
    ? ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", query]
    : ["ps", "-axww", "-o", "pid=,command="];
}

/** Reads lines `4711 python train.py`. */
export function parseProcesses(output: string): RunningProcess[] {
  const lines = output.split(/\r?\n/).map((line) => /^\s*(\d+)\s+(\S.*?)\s*$/.exec(line));
  return lines.flatMap((found) =>
    found ? [{ pid: Number(found[1]), command: found[2] ?? "" }] : [],
  );
}

/** Reads Linux' `/proc/PID/cmdline`: arguments, each ended by a null character. */
export function commandOf(cmdline: string): string {
  return cmdline.split("\0").join(" ").trim();
}

/** Those that run Python, the latest first; debuggers are left out, they debug something else. */
export function pythonProcesses(all: readonly RunningProcess[], own: number): RunningProcess[] {
  return all
    .filter(({ pid, command }) => pid !== own && isPython(command) && !isDebugger(command))
    .sort((a, b) => b.pid - a.pid);
}

function isPython(command: string): boolean {
  return /(^|[\\/"])python[\d.]*(\.exe)?("|\s|$)/i.test(command);
}

function isDebugger(command: string): boolean {
  return /\bdebugpy[\\/](adapter|launcher)\b|\bzentracer_dap\b/.test(command);
}
