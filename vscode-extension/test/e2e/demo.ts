// The second half of `make demo` where nobody watches: the example in the real editor, up to its
// first stop, and a picture of it: node demo.ts PICTURE
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Editor } from "./harness/editor.ts";
import install from "./harness/install.ts";
import { examples } from "./harness/places.ts";

const PROGRAM = "nan_contrastive.py";

const [picture = "demo.png"] = process.argv.slice(2);
const lines = readFileSync(join(examples, PROGRAM), "utf8").split("\n");
const line = lines.findIndex((text) => text.includes("loss.backward()")) + 1;

install();
const editor = await Editor.start({ name: "demo", files: [join(examples, PROGRAM)] });
try {
  await editor.debug.start(PROGRAM);
  await editor.debug.showView();
  await editor.debug.stoppedAt(PROGRAM, line, "loss.backward()");
  const said = await editor.debug.exception();
  await editor.page.screenshot({ path: picture });
  const head = said.replaceAll("\u00a0", " ").split("\n").slice(0, 3).join("\n");
  process.stdout.write(`${head}\n`);
} finally {
  await editor.stop();
}
