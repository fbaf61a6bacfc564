/** Findings as problems, and their suggestions as quick fixes and as a command. */
import * as vscode from "vscode";
import type { Sessions } from "../debug/sessions";
import { editsOf, fixOf, readSuggestionId } from "../pure/findingsFixes";
import type { Item } from "../pure/findingsLog";
import { placeOf } from "../pure/findingsPlaces";
import type { TextEdit } from "../wire/generated";
import { Diagnostics, SOURCE, linesOfFindings } from "./diagnostics";
import type { FindingLines } from "./findingLines";
import { type FindingsStore, findingsOf } from "./findingsStore";
import { documentAt, linesOf, openPlace } from "./places";

const APPLIED = "zentracer.suggestionApplied";
const RESTART = "workbench.action.debug.restart";

export function register(context: vscode.ExtensionContext, sessions: Sessions): void {
  const store = findingsOf(context, sessions);
  const lines = linesOfFindings(context, store);
  const kinds = { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] };
  context.subscriptions.push(
    new Diagnostics(store, lines),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new QuickFixes(store, lines), kinds),
    vscode.commands.registerCommand("zentracer.applySuggestion", (id: unknown) =>
      applySuggestion(store, lines, typeof id === "string" ? id : undefined),
    ),
    vscode.commands.registerCommand(APPLIED, (sessionId: unknown) =>
      typeof sessionId === "string" ? offerRestart(sessions, sessionId) : undefined,
    ),
  );
}

class QuickFixes implements vscode.CodeActionProvider {
  constructor(
    private readonly store: FindingsStore,
    private readonly lines: FindingLines,
  ) {}

  provideCodeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    asked: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    const ours = asked.diagnostics.filter((diagnostic) => diagnostic.source === SOURCE);
    return this.store.items().flatMap((item) => {
      const line = this.lines.lineOf(item.key);
      if (line === undefined || line < range.start.line || line > range.end.line) return [];
      if (vscode.Uri.file(item.finding.source.path).toString() !== document.uri.toString()) return [];
      const about = ours.filter((diagnostic) => diagnostic.range.start.line === line);
      return choicesOf([item]).map((choice) => actionOf(choice, document, about, this.lines));
    });
  }
}

interface Choice {
  readonly item: Item;
  readonly index: number;
  readonly title: string;
  readonly why: string;
  readonly edit: TextEdit;
}

function choicesOf(items: readonly Item[]): readonly Choice[] {
  return items.flatMap((item) =>
    editsOf(item.finding.details?.suggestions ?? []).map((edit) => ({ item, ...edit })),
  );
}

function actionOf(
  choice: Choice,
  origin: vscode.TextDocument,
  about: vscode.Diagnostic[],
  lines: FindingLines,
): vscode.CodeAction {
  const action = new vscode.CodeAction(choice.title, vscode.CodeActionKind.QuickFix);
  action.diagnostics = about;
  const uri = vscode.Uri.file(choice.edit.path);
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  const fix = fixOf(choice.edit, document && linesOf(document), followed(choice, lines));
  if (fix.kind === "refused") {
    action.disabled = { reason: fix.reason };
    return action;
  }
  action.edit = replacing(document ?? origin, fix.line, fix.newText);
  action.isPreferred = choice.index === 0;
  action.command = { command: APPLIED, title: "Offer to restart", arguments: [choice.item.sessionId] };
  return action;
}

/** The finding's own line is followed through edits; an edit elsewhere is found by its text. */
function followed({ item, edit }: Choice, lines: FindingLines): number | undefined {
  const { source } = item.finding;
  return edit.path === source.path && edit.line === source.line ? lines.lineOf(item.key) : undefined;
}

function replacing(document: vscode.TextDocument, line: number, text: string): vscode.WorkspaceEdit {
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, document.lineAt(line).range, text);
  return edit;
}

async function applySuggestion(
  store: FindingsStore,
  lines: FindingLines,
  id: string | undefined,
): Promise<void> {
  const choice = await choose(store, id);
  if (!choice) return;
  const document = await documentAt(choice.edit.path);
  const fix = fixOf(choice.edit, document && linesOf(document), followed(choice, lines));
  if (fix.kind === "refused" || !document) {
    const reason = fix.kind === "refused" ? fix.reason : "the file is gone.";
    void vscode.window.showWarningMessage(`Not applied: ${reason}`);
    return;
  }
  if (!(await vscode.workspace.applyEdit(replacing(document, fix.line, fix.newText)))) {
    void vscode.window.showWarningMessage(`Not applied: the editor cannot change ${placeOf(choice.edit)}.`);
    return;
  }
  await openPlace({ path: choice.edit.path, line: fix.line + 1, text: null, column: null, end_column: null });
  await vscode.commands.executeCommand(APPLIED, choice.item.sessionId);
}

async function choose(store: FindingsStore, id: string | undefined): Promise<Choice | undefined> {
  const wanted = id === undefined ? undefined : readSuggestionId(id);
  const items = store.items().filter((item) => wanted === undefined || item.key === wanted.key);
  const choices = choicesOf(items).filter(
    (choice) => wanted?.index === undefined || choice.index === wanted.index,
  );
  if (choices.length === 0) {
    void vscode.window.showInformationMessage("No finding has an edit to apply.");
  }
  if (choices.length <= 1) return choices[0];
  const rows = choices.map((choice) => ({
    label: choice.title,
    description: placeOf(choice.edit),
    detail: choice.why,
    choice,
  }));
  const title = "Apply suggestion";
  return (await vscode.window.showQuickPick(rows, { title, placeHolder: "Which one?" }))?.choice;
}

/** The running program has the old line in memory; others that run have nothing to do with it. */
async function offerRestart(sessions: Sessions, sessionId: string): Promise<void> {
  const isLive = (): boolean => sessions.all().some((session) => session.debug.id === sessionId);
  if (!isLive()) return;
  const restart = "Save and Restart";
  const said = "The line is changed. The running program still has the old one.";
  if ((await vscode.window.showInformationMessage(said, restart)) !== restart) return;
  await vscode.workspace.saveAll(false);
  // For a session that has ended the command would start whatever is selected.
  if (isLive()) await vscode.commands.executeCommand(RESTART, undefined, { sessionId });
}
