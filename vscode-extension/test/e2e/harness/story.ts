/** Tests of one file tell a story: each goes on where the one before it ended. */
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { Editor, type EditorOptions } from "./editor.ts";

/**
 * One editor for all tests of a file. After a failure the rest of the story makes no sense and is
 * skipped; the screen is kept as a picture.
 *
 * @param cleanUp runs after each test that passed
 * @returns the editor, once a test runs
 */
export function story(
  options: EditorOptions,
  cleanUp: (editor: Editor) => Promise<void> = () => Promise.resolve(),
): () => Editor {
  let editor: Editor | undefined;
  let hasFailed = false;
  const current = (): Editor => {
    if (!editor) throw new Error("the editor is there while a test runs, not before");
    return editor;
  };
  beforeAll(async () => {
    editor = await Editor.start(options);
  });
  beforeEach((context) => {
    if (hasFailed) context.skip("the story broke off before");
  });
  afterEach(async ({ task }) => {
    if (hasFailed) return;
    hasFailed = task.result?.state === "fail";
    if (hasFailed) await current().screenshot(task.name);
    else await cleanUp(current());
  });
  afterAll(async () => {
    await editor?.stop();
  });
  return current;
}
