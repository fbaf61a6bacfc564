// Builds the extension host's bundle and one bundle a webview into dist/.
// --watch builds again on every change; --production leaves out the source maps.
import { rmSync, writeFileSync } from "node:fs";
import { build, context } from "esbuild";
import { noticesOf } from "./tools/notices.mjs";

const isProduction = process.argv.includes("--production");

const shared = {
  bundle: true,
  sourcemap: !isProduction,
  minify: true,
  logLevel: "warning",
  legalComments: "none", // all licences are in ThirdPartyNotices.txt
  metafile: true,
  target: "es2022",
};

const bundles = [
  {
    ...shared,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    platform: "node",
    format: "cjs",
    external: ["vscode"],
  },
  {
    ...shared,
    entryPoints: { tensor: "webviews/tensor/main.ts" },
    outdir: "dist/webviews",
    assetNames: "[name]",
    platform: "browser",
    format: "esm",
    tsconfig: "webviews/tsconfig.json",
    loader: { ".ttf": "file" },
  },
];

rmSync("dist", { recursive: true, force: true });
if (process.argv.includes("--watch")) {
  for (const options of bundles) await (await context(options)).watch();
} else {
  const results = await Promise.all(bundles.map((options) => build(options)));
  const notices = noticesOf(import.meta.dirname, results.map((result) => result.metafile));
  writeFileSync("dist/ThirdPartyNotices.txt", notices);
}
