/** Installs the built extension once for all tests, as a user would install it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { checkInstalled, codeServer, editorNode, extensions, output, vsix } from "./places.ts";

export default function install(): void {
  checkInstalled();
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  installExtension(vsix);
}

export function installExtension(file: string): void {
  const folders = ["--user-data-dir", join(output, "installing"), "--extensions-dir", extensions];
  execFileSync(editorNode, [codeServer, ...folders, "--install-extension", file], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}
