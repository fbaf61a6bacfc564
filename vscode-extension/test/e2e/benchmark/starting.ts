/** From F5 to the first stop, with our adapter and with debugpy's own, in turns. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Editor } from "../harness/editor.ts";
import { installExtension } from "../harness/install.ts";
import { examples, extensionFolder, output, python, repository } from "../harness/places.ts";

const IMPORTS_TORCH = join(repository, "benchmarks/programs/imports_torch.py");
const NAN = "nan_contrastive.py";

export interface Starts {
  /** Milliseconds, one a round. */
  ours: number[];
  stock: number[];
  toNan: number[];
}

export async function measureStarts(rounds: number): Promise<Starts> {
  installExtension(packedStock());
  const launch = { request: "launch", program: "${workspaceFolder}/imports_torch.py", python };
  const console = "integratedTerminal";
  const editor = await Editor.start({
    name: "starting",
    files: [IMPORTS_TORCH, join(examples, NAN)],
    configurations: [
      { ...launch, console, type: "zentracer", name: "ours" },
      { ...launch, console, type: "stock", name: "stock" },
      { ...launch, console, type: "zentracer", name: "toNan", program: "${workspaceFolder}/" + NAN },
    ],
  });
  const starts: Starts = { ours: [], stock: [], toNan: [] };
  try {
    await editor.debug.toggleBreakpoint("imports_torch.py", lineOfFirst());
    for (let round = 0; round < rounds; round++) {
      for (const kind of ["ours", "stock", "toNan"] as const) {
        starts[kind].push(await timeToStop(editor, kind));
      }
    }
    return starts;
  } finally {
    await editor.stop();
  }
}

/** F5 starts what was started last, so it is started once before it is timed. */
async function timeToStop(editor: Editor, name: keyof Starts): Promise<number> {
  const { page, debug } = editor;
  const stopped = page.locator(".debug-top-stack-frame-line").first();
  await debug.startConfiguration(name);
  await stopped.waitFor();
  await debug.stop();
  const start = performance.now();
  await page.keyboard.press("F5");
  await stopped.waitFor();
  const time = performance.now() - start;
  await debug.stop();
  return time;
}

function packedStock(): string {
  const file = join(output, "stock.vsix");
  const vsce = join(extensionFolder, "node_modules/@vscode/vsce/vsce");
  const options = ["--no-dependencies", "--skip-license", "--allow-missing-repository"];
  execFileSync(process.execPath, [vsce, "package", ...options, "--out", file], {
    cwd: join(import.meta.dirname, "stock"),
    stdio: "ignore",
  });
  return file;
}

function lineOfFirst(): number {
  const lines = readFileSync(IMPORTS_TORCH, "utf8").split("\n");
  return lines.findIndex((line) => line.includes("# @first")) + 1;
}
