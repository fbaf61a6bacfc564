/** “Inspect Tensor”: from Variables, Watch, the editor and the palette to the Tensor panel. */
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import { expressionAt } from "../pure/expression";
import { inspected } from "../pure/inspectArgument";
import { SHOW_TENSOR } from "./tensorPanel";

const LAST = "zentracer.lastExpression";

export function register(context: vscode.ExtensionContext, _sessions: Sessions): void {
  const inspect = async (argument: unknown): Promise<void> => {
    const expression = await expressionFor(argument, context.workspaceState.get<string>(LAST) ?? "");
    if (expression === undefined) return;
    await context.workspaceState.update(LAST, expression);
    await vscode.commands.executeCommand(SHOW_TENSOR, expression);
  };
  context.subscriptions.push(vscode.commands.registerCommand("zentracer.inspectTensor", inspect));
}

async function expressionFor(argument: unknown, last: string): Promise<string | undefined> {
  const found = inspected(argument);
  switch (found.from) {
    case "expression":
      return found.expression;
    case "editor":
      return expressionInEditor() ?? (await ask(last));
    case "nameless":
      return await ask(found.name);
    case "palette":
      return await ask(expressionInEditor() ?? last);
  }
}

/** The selection; without one the name under the cursor, which calls nothing. */
export function expressionInEditor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== "python") return undefined;
  const { document, selection } = editor;
  const selected = document.getText(selection).trim();
  if (selected) return selected.replace(/\s*\n\s*/g, " ");
  const { text } = document.lineAt(selection.active.line);
  return expressionAt(text, selection.active.character);
}

async function ask(value: string): Promise<string | undefined> {
  const typed = await vscode.window.showInputBox({
    title: "Inspect Tensor",
    prompt: "An expression of the stopped frame. It is evaluated at every stop.",
    placeHolder: "self.layers[0].weight",
    value,
  });
  const expression = typed?.trim();
  return expression === "" ? undefined : expression;
}
