// Builds the extension host's bundle and one bundle a webview into dist/.
import { build, context } from "esbuild";

const shared = {
  bundle: true,
  sourcemap: true,
  minify: true,
  logLevel: "warning",
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
    platform: "browser",
    format: "esm",
    tsconfig: "webviews/tsconfig.json",
    loader: { ".ttf": "file" },
  },
];

if (process.argv.includes("--watch")) {
  for (const options of bundles) await (await context(options)).watch();
} else {
  await Promise.all(bundles.map((options) => build(options)));
}
