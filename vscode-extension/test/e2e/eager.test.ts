/** A breakpoint in compiled code: grey, with an offer that makes it work without a restart. */
import { expect, test } from "vitest";
import { lineOf, program } from "./harness/programs.ts";
import { story } from "./harness/story.ts";

const editor = story({ name: "eager", files: [program("compiled.py")], configurations: [] });
const LINE = lineOf("compiled.py", "inside");

test("the offer comes once, and the breakpoint is hit then", async () => {
  await editor().workbench.openFile("compiled.py");
  await editor().debug.toggleBreakpoint("compiled.py", LINE);
  await editor().workbench.command("ZenTracer: Debug Python File with ZenTracer");
  const offer = editor().workbench.notification("Breakpoint in compiled code");
  await offer.waitFor();
  expect(await offer.textContent()).toContain("last bits");
  await offer.getByRole("button", { name: "Run Eagerly" }).click();
  await editor().workbench.notification("This session runs eagerly").waitFor();
  await editor().debug.stoppedAt("compiled.py", LINE);
  await editor().debug.stop();
});
