/**
 * A hover over a tensor, with a link to the Tensor panel.
 *
 * VS Code's own hover of a debug session takes no actions of extensions; this one comes in its
 * place while Alt is held, as for every language's hovers there.
 */
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import { expressionAt } from "../pure/expression";
import { isRecord } from "../pure/guards";
import { isArraySummary } from "../pure/tensorSummary";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const provider: vscode.HoverProvider = {
    provideHover: (document, position) => hover(sessions, document, position),
  };
  context.subscriptions.push(
    vscode.languages.registerHoverProvider({ language: "python" }, provider),
  );
}

const LINKS = [
  { title: "$(graph) Inspect Tensor", command: "zentracer.inspectTensor" },
  { title: "$(debug-breakpoint-data) Break When Value Changes", command: "zentracer.breakWhenChanged" },
  { title: "Break When NaN", command: "zentracer.breakWhenNan" },
];

async function hover(
  sessions: Sessions,
  document: vscode.TextDocument,
  position: vscode.Position,
): Promise<vscode.Hover | undefined> {
  const item = vscode.debug.activeStackItem;
  const session = sessions.of(item?.session);
  if (!item || !("frameId" in item) || session?.state !== "stopped" || !session.isOurs) return;
  const { text } = document.lineAt(position);
  const expression = expressionAt(text, position.character);
  if (expression === undefined) return;
  const summary = await evaluate(session.debug, expression, item.frameId);
  return summary === undefined ? undefined : new vscode.Hover(card(expression, summary));
}

async function evaluate(
  session: vscode.DebugSession,
  expression: string,
  frameId: number,
): Promise<string | undefined> {
  try {
    const asked = { expression, frameId, context: "hover" };
    const body: unknown = await session.customRequest("evaluate", asked);
    const result = isRecord(body) ? body["result"] : undefined;
    return typeof result === "string" && isArraySummary(result) ? result : undefined;
  } catch {
    return undefined; // not a name of this frame, which is what most words of a file are
  }
}

function card(expression: string, summary: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true);
  text.isTrusted = { enabledCommands: LINKS.map(({ command }) => command) };
  text.appendCodeblock(`${expression}: ${summary}`, "text");
  const argument = encodeURIComponent(JSON.stringify([{ expression }]));
  const links = LINKS.map(({ title, command }) => `[${title}](command:${command}?${argument})`);
  text.appendMarkdown(links.join("&nbsp;&nbsp;&nbsp;"));
  return text;
}
