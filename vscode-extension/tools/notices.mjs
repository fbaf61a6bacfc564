// The licences of what esbuild has put into our bundles.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Returns the text of ThirdPartyNotices.txt for the metafiles of all bundles. */
export function noticesOf(root, metafiles) {
  const inputs = metafiles.flatMap((metafile) => Object.keys(metafile.inputs));
  const packages = new Set(inputs.map(packageOf).filter((name) => name !== undefined));
  const head =
    "The extension contains parts of these packages. Licences of the Python packages are in " +
    "bundled/licenses, and in bundled/debugpy/ThirdPartyNotices.txt.";
  return [head, ...[...packages].sort().map((name) => notice(root, name))].join("\n\n");
}

function packageOf(input) {
  return /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];
}

function notice(root, name) {
  const folder = join(root, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = existsSync(folder) ? readdirSync(folder).filter((f) => /^licen[cs]e/i.test(f)) : [];
  if (files.length === 0) throw new Error(`${name} has no file with its licence`);
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  return [`${"=".repeat(80)}\n${name} ${version} (${license})`, ...texts].join("\n\n") + "\n";
}
