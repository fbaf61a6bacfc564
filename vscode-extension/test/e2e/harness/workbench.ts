/** What a user does with the window as such: open files, run commands, read messages. */
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { until } from "./waiting.ts";

export class Workbench {
  readonly page: Page;
  readonly folder: string;

  constructor(page: Page, folder: string) {
    this.page = page;
    this.folder = folder;
  }

  /** Waits until what the extension contributes is there: before that, F5 belongs to the browser. */
  async ready(): Promise<void> {
    await this.activity("ZenTracer").waitFor();
  }

  /** An icon at the side of the window, which shows a container of views. */
  activity(title: string): Locator {
    return this.page.locator(`.activitybar .action-item:has(a[aria-label^="${title}"])`);
  }

  /** Shows the views of ZenTracer. */
  async showZenTracer(): Promise<void> {
    if (await this.view("Tensor Breakpoints").isVisible()) return;
    // Not in the middle, where a badge may lie.
    await this.activity("ZenTracer").click({ position: { x: 8, y: 8 } });
    await this.view("Tensor Breakpoints").waitFor();
  }

  /** Opens a file of the workspace, with the cursor on a line. */
  async openFile(name: string, line = 1): Promise<void> {
    await this.quickInput("Control+P", `${join(this.folder, name)}:${String(line)}`, name);
    await this.tab(name).waitFor();
    await this.cursorAt(line).waitFor();
  }

  /** Runs a command of the palette by its whole title, e.g. `ZenTracer: Inspect Tensor`. */
  async command(title: string): Promise<void> {
    await this.quickInput("F1", `>${title}`, title);
  }

  /** Opens a quick input by its key, types, and takes the row whose label is `label`. */
  async quickInput(key: string, text: string, label: string): Promise<void> {
    await this.page.keyboard.press(key);
    await this.input.waitFor();
    // What is listed may be read only now, and is not looked at again before something is typed.
    await until(`“${label}” in the list`, async () => {
      await this.input.fill("");
      await this.input.fill(text);
      return this.row(label).waitFor({ timeout: 2000 }).then(
        () => true,
        () => false,
      );
    });
    await this.row(label).click();
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  get input(): Locator {
    return this.page.locator(".quick-input-widget input.input");
  }

  /** A row of the quick input that is open. */
  row(label: string): Locator {
    return this.page
      .locator(".quick-input-list .monaco-list-row")
      .filter({ has: this.page.locator(".label-name", { hasText: exactly(label) }) })
      .first();
  }

  tab(name: string | RegExp): Locator {
    return this.page.locator(".tab", { hasText: name });
  }

  async closeTab(name: string): Promise<void> {
    const tab = this.tab(exactly(name));
    await tab.locator(".tab-actions .action-label").click();
    await tab.waitFor({ state: "detached" });
  }

  cursorAt(line: number): Locator {
    return this.page.locator(".statusbar-item", { hasText: new RegExp(`^Ln ${String(line)},`) });
  }

  /** A line of the editor that has the focus, by the text in it. */
  line(text: string): Locator {
    // The editor shows spaces as no-break spaces.
    const pattern = text.split(" ").map(escaped).join("\\s");
    return this.page.locator(".editor-instance .view-line", { hasText: new RegExp(pattern) }).first();
  }

  async save(): Promise<void> {
    await this.page.keyboard.press("Control+S");
    await this.page.locator(".tab.active.dirty").waitFor({ state: "detached" });
  }

  /** A message in the corner of the window. */
  notification(text: string | RegExp): Locator {
    return this.page.locator(".notification-toast", { hasText: text });
  }

  /** A message in the middle of the window, which has to be answered. */
  dialog(text: string | RegExp): Locator {
    return this.page.locator(".monaco-dialog-box", { hasText: text });
  }

  statusBar(text: string | RegExp): Locator {
    return this.page.locator(".statusbar-item", { hasText: text });
  }

  /** Takes an entry of the context menu of what is shown there. */
  async contextMenu(on: Locator, entry: string): Promise<void> {
    await on.click({ button: "right" });
    const item = this.page.locator(".monaco-menu .action-item", { hasText: exactly(entry) });
    await item.waitFor();
    // The menu is deaf to the mouse in its first tenth of a second.
    await until(`the menu to take “${entry}”`, async () => {
      await item.click({ timeout: 1000 }).catch(() => undefined);
      return !(await item.isVisible());
    });
  }

  /** The rows of a view, by the view's title. */
  view(title: string): Locator {
    return this.page.locator(".pane", {
      has: this.page.locator(`.pane-header[aria-label^="${title}"]`),
    });
  }

  /** Folds a view, which gives its place to the others, or unfolds it. */
  async fold(title: string, isFolded = true): Promise<void> {
    const header = this.page.locator(`.pane-header[aria-label^="${title}"]`);
    const isOpen = (await header.getAttribute("aria-expanded")) === "true";
    if (isOpen === isFolded) await header.locator(".title").click();
  }

  /** A row of a view, by what its label says. */
  viewRow(title: string, label: string | RegExp): Locator {
    return this.view(title).locator(".monaco-list-row", { hasText: label }).first();
  }

  /** Scrolls a view down to a row: those out of sight are not there. */
  async reach(title: string, label: string | RegExp): Promise<Locator> {
    const row = this.viewRow(title, label);
    return until(`the row ${String(label)} of ${title}`, async () => {
      if (await row.isVisible()) return row;
      await this.view(title).locator(".monaco-list").hover();
      await this.page.mouse.wheel(0, 44);
      return false;
    });
  }

  /** Takes an entry of the light bulb's menu on the line where the cursor is. */
  async quickFix(title: string): Promise<void> {
    const row = this.page.locator(".action-widget .monaco-list-row", { hasText: exactly(title) });
    // The menu shows what was known when it opened, and does not learn of a fix that comes later.
    await until(`the quick fix “${title}”`, async () => {
      await this.page.keyboard.press("Escape");
      await this.page.keyboard.press("Control+.");
      return row.click({ timeout: 2000 }).then(
        () => true,
        () => false,
      );
    });
  }

  async reload(): Promise<void> {
    const loaded = this.page.waitForEvent("load");
    await this.command("Developer: Reload Window");
    await loaded;
    await this.ready();
  }
}

export function exactly(text: string): RegExp {
  return new RegExp(`^\\s*${escaped(text)}\\s*$`);
}

export function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
