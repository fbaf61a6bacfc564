/** Picks a module of the live model; the program filters, so that any number of modules will do. */
import * as vscode from "vscode";
import type { Sessions, ZenSession } from "../debug/sessions";
import { LIMIT, Latest, type Listing, type Row, byHand, isGlob, listing } from "../pure/pickerModel";

const DEBOUNCE_MS = 120;

/** What was picked: a glob of module names, or any module at all. */
export interface Picked {
  readonly module: string | null;
}

interface PickItem extends vscode.QuickPickItem {
  readonly choice?: Picked;
  readonly below?: string | undefined;
}

const BELOW: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("list-tree"),
  tooltip: "Everything below this module",
};

const ANY: PickItem = {
  label: "$(globe) Any module",
  description: "wherever it happens",
  alwaysShow: true,
  choice: { module: null },
};

/** Asks for a module; undefined if the user went away. */
export async function pickModule(sessions: Sessions, offer: "any" | "one"): Promise<Picked | undefined> {
  const picker = new ModulePicker(sessions.active(), sessions, offer === "any" ? [ANY] : []);
  try {
    return await picker.ask();
  } finally {
    picker.dispose();
  }
}

class ModulePicker implements vscode.Disposable {
  private readonly input = vscode.window.createQuickPick<PickItem>();
  private readonly latest = new Latest();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly session: ZenSession | undefined,
    private readonly sessions: Sessions,
    private readonly first: readonly PickItem[],
  ) {}

  ask(): Promise<Picked | undefined> {
    const { input } = this;
    this.show(byHand("", "Asking the program…"));
    void this.fetch();
    return new Promise((resolve) => {
      input.onDidChangeValue(() => {
        this.fetchSoon();
      });
      input.onDidAccept(() => {
        const picked = this.accepted();
        if (picked) resolve(picked);
      });
      input.onDidTriggerItemButton(({ item }) => {
        if (item.below !== undefined) resolve({ module: item.below });
      });
      input.onDidHide(() => {
        resolve(undefined);
      });
      input.show();
    });
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.latest.next();
    this.input.dispose();
  }

  /** Rows are those of an earlier text while the program is asked; a glob needs no row. */
  private accepted(): Picked | undefined {
    if (!this.input.busy) return this.input.selectedItems[0]?.choice;
    const typed = this.input.value.trim();
    return isGlob(typed) ? { module: typed } : undefined;
  }

  private fetchSoon(): void {
    clearTimeout(this.timer);
    this.latest.next();
    this.input.busy = true;
    this.timer = setTimeout(() => void this.fetch(), DEBOUNCE_MS);
  }

  private async fetch(): Promise<void> {
    const isNewest = this.latest.next();
    const query = this.input.value;
    this.input.busy = true;
    const found = await this.answer(query);
    if (!isNewest()) return;
    this.input.busy = false;
    this.show(found);
  }

  private async answer(query: string): Promise<Listing> {
    if (!this.session) return byHand(query, "No program is being debugged, so no modules can be listed.");
    try {
      const asked = { query: query.trim(), limit: LIMIT };
      return listing(query, await this.sessions.request(this.session, "modules", asked));
    } catch (error) {
      return byHand(query, error instanceof Error ? error.message : String(error));
    }
  }

  private show(found: Listing): void {
    this.input.title = found.title;
    this.input.placeholder = found.placeholder;
    const more = found.more === undefined ? [] : [noteOf(found.more)];
    this.input.items = [...(this.input.value === "" ? this.first : []), ...found.rows.map(itemOf), ...more];
  }
}

/** A row that cannot be picked: a separator would not be seen at the end. */
function noteOf(text: string): PickItem {
  return { label: "$(info)", description: text, alwaysShow: true };
}

function itemOf(row: Row): PickItem {
  return {
    label: `$(${row.icon}) ${row.label}`,
    description: row.description,
    alwaysShow: true,
    choice: { module: row.value },
    below: row.below,
    ...(row.below !== undefined && { buttons: [BELOW] }),
  };
}
