/** Adds a configuration to launch.json. */
import * as vscode from "vscode";
import { insertionOf } from "../pure/launchJson";
import { type Snippet, snippetsOf } from "../pure/snippets";

/** Asks which, writes it, and opens the file so that the rest can be filled in. */
export async function addConfiguration(context: vscode.ExtensionContext): Promise<void> {
  const folder = await folderToWrite();
  if (!folder) return;
  const items = snippetsOf(context.extension.packageJSON).map((snippet) => ({
    label: snippet.label.replace(/^ZenTracer: /, ""),
    detail: snippet.description,
    snippet,
  }));
  const title = "Add a ZenTracer configuration to launch.json";
  const picked = await vscode.window.showQuickPick(items, { title, matchOnDetail: true });
  if (!picked) return;
  const file = vscode.Uri.joinPath(folder.uri, ".vscode", "launch.json");
  if (!(await insert(file, picked.snippet))) await write(folder, picked.snippet);
  await vscode.window.showTextDocument(file);
}

/** Inserts it as text where there is a file: the editor's settings would drop its comments. */
async function insert(file: vscode.Uri, snippet: Snippet): Promise<boolean> {
  const document = await existing(file);
  const found = document && insertionOf(document.getText(), snippet.body);
  if (!found) return false;
  const edit = new vscode.WorkspaceEdit();
  edit.insert(file, document.positionAt(found.offset), found.text);
  if (!(await vscode.workspace.applyEdit(edit))) return false;
  await document.save();
  return true;
}

async function existing(file: vscode.Uri): Promise<vscode.TextDocument | undefined> {
  try {
    return await vscode.workspace.openTextDocument(file);
  } catch {
    return undefined; // the first configuration of the folder
  }
}

async function write(folder: vscode.WorkspaceFolder, snippet: Snippet): Promise<void> {
  const launch = vscode.workspace.getConfiguration("launch", folder);
  const known = launch.inspect<unknown[]>("configurations")?.workspaceFolderValue ?? [];
  const target = vscode.ConfigurationTarget.WorkspaceFolder;
  await launch.update("configurations", [...known, snippet.body], target);
}

async function folderToWrite(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length > 1) return vscode.window.showWorkspaceFolderPick();
  if (folders.length === 0) {
    void vscode.window.showErrorMessage("Open a folder first: launch.json belongs to a folder.");
  }
  return folders[0];
}
