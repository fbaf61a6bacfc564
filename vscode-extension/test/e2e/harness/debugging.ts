/** What a user does while debugging, and what the editor then shows. */
import type { Locator, Page } from "playwright-core";
import { until } from "./waiting.ts";
import { escaped, exactly, type Workbench } from "./workbench.ts";

export class Debugging {
  private readonly page: Page;
  private readonly workbench: Workbench;

  constructor(workbench: Workbench) {
    this.workbench = workbench;
    this.page = workbench.page;
  }

  /** F5 in a file. */
  async start(name: string): Promise<void> {
    await this.workbench.openFile(name);
    await this.page.keyboard.press("F5");
    await this.toolbar.waitFor();
  }

  async continue(): Promise<void> {
    await this.toolbar.locator(".codicon-debug-continue").click();
  }

  async stepOver(): Promise<void> {
    await this.toolbar.locator(".codicon-debug-step-over").click();
  }

  async restart(): Promise<void> {
    await this.toolbar.locator(".codicon-debug-restart").click();
  }

  /** Ends all sessions, one click each. */
  async stop(): Promise<void> {
    await until("the end of all sessions", async () => {
      if (!(await this.toolbar.isVisible())) return true;
      const button = this.toolbar.locator(".codicon-debug-stop, .codicon-debug-disconnect").first();
      await button.click({ timeout: 1000 }).catch(() => undefined);
      return false;
    });
  }

  /** All sessions have ended. */
  async ended(): Promise<void> {
    await this.toolbar.waitFor({ state: "hidden" });
  }

  get toolbar(): Locator {
    return this.page.locator(".debug-toolbar");
  }

  async toggleBreakpoint(name: string, line: number): Promise<void> {
    await this.workbench.openFile(name, line);
    await this.page.keyboard.press("F9");
    await this.page.locator(".codicon-debug-breakpoint").first().waitFor();
  }

  /** Waits until a program stands on a line, whose text is `text` too if that is given. */
  async stoppedAt(name: string, line: number, text?: string): Promise<void> {
    await this.frame(name, line).waitFor();
    await this.page.locator(".debug-top-stack-frame-line").first().waitFor();
    if (text !== undefined) await this.workbench.line(text).waitFor();
  }

  /** What the extension says behind a line, once it does. */
  async behind(line: string): Promise<string> {
    return until(`words behind “${line}”`, async () => {
      const parts = this.workbench.line(line).locator("span");
      const said = await parts.evaluateAll((all) =>
        all.map((one) => getComputedStyle(one, "::after").content).join(""),
      );
      return /"(.+)"/.exec(said)?.[1];
    });
  }

  /** The top row of a stopped thread in the Call Stack. */
  frame(name: string, line: number): Locator {
    const label = new RegExp(`${escaped(name)}\\s*${String(line)}(:|$)`);
    return this.page.locator(".debug-call-stack .stack-frame", { hasText: label }).first();
  }

  /** The row of one of several sessions in the Call Stack; `state` as in “Paused”. */
  session(name: string, state: string): Locator {
    const label = new RegExp(`${escaped(name)}.*${state}`, "is");
    return this.page.locator(".debug-call-stack .monaco-list-row", { hasText: label }).first();
  }

  /** What the exception widget says. */
  async exception(): Promise<string> {
    const widget = this.page.locator(".exception-widget");
    await widget.locator(".description").waitFor();
    return widget.innerText();
  }

  /** Shows the Run and Debug view. */
  async showView(): Promise<void> {
    await this.page.keyboard.press("Control+Shift+D");
    await this.page.locator(".debug-breakpoints").waitFor();
  }

  filter(label: string): Locator {
    return this.page
      .locator(".debug-breakpoints .monaco-list-row")
      .filter({ has: this.page.locator(".name", { hasText: exactly(label) }) });
  }

  /** A breakpoint of the editor's own list that is no exception; it is scrolled into sight. */
  async breakpoint(label: string | RegExp): Promise<Locator> {
    const list = this.page.locator(".debug-breakpoints .monaco-list");
    const row = list.locator(".monaco-list-row", { hasText: label });
    return until(`the breakpoint ${String(label)}`, async () => {
      await list.hover();
      await this.page.mouse.wheel(0, 2000); // they come after the exceptions
      return (await row.count()) > 0 && row;
    });
  }

  /** Ticks an exception breakpoint. */
  async tick(label: string): Promise<void> {
    const row = this.filter(label);
    if ((await row.getAttribute("aria-checked")) !== "true") await row.locator(".monaco-checkbox, input").first().click();
    await until(`the tick at ${label}`, async () => (await row.getAttribute("aria-checked")) === "true");
  }

  /** Writes the condition of an exception breakpoint, as the Breakpoints view lets a user do. */
  async editCondition(label: string, condition: string): Promise<void> {
    await this.workbench.contextMenu(this.filter(label), "Edit Condition...");
    const input = this.page.locator(".debug-breakpoints .inputBoxContainer input");
    await input.fill(condition);
    await input.press("Enter");
    await input.waitFor({ state: "hidden" });
  }

  /** A row of the Variables view; its scope is opened if need be. */
  async variable(name: string): Promise<Locator> {
    const locals = this.page.locator(".debug-variables .monaco-list-row", { hasText: exactly("Locals") });
    await locals.waitFor();
    if ((await locals.getAttribute("aria-expanded")) === "false") await locals.click();
    const row = this.page.locator(`.debug-variables .monaco-list-row[aria-label^="${name}, value "]`);
    await row.first().waitFor();
    return row.first();
  }

  async value(name: string): Promise<string> {
    return (await this.variable(name)).locator(".value").innerText();
  }

  /** Adds an expression to the Watch view. */
  async watch(expression: string): Promise<void> {
    const header = this.page.locator(".pane-header", { hasText: exactly("Watch") });
    await header.hover();
    await header.locator(".codicon-watch-expressions-add").click();
    const input = this.page.locator(".debug-watch .inputBoxContainer input");
    await input.fill(expression);
    await input.press("Enter");
    await this.watched(expression).waitFor();
  }

  /** A row of the Watch view. */
  watched(expression: string): Locator {
    return this.page.locator(`.debug-watch .monaco-list-row[aria-label^="${expression}, "]`);
  }

  /** Opens the Tensor panel for a variable, from the Variables view. */
  async inspect(name: string): Promise<void> {
    await this.workbench.contextMenu(await this.variable(name), "Inspect Tensor");
    await this.workbench.tab(exactly(name)).waitFor();
  }

  /** Starts the configuration of launch.json that has this name. */
  async startConfiguration(name: string): Promise<void> {
    await this.workbench.quickInput("F1", "debug " + name, name);
  }

  /** Rests the mouse on a word of a line, and returns what the hover says. */
  async hover(line: string, word: string): Promise<Locator> {
    const token = this.workbench
      .line(line)
      .locator("span > span", { hasText: new RegExp(`^\\s*${escaped(word)}`) });
    await token.first().hover({ position: { x: 6, y: 8 } });
    const hover = this.page.locator(".debug-hover-widget");
    await hover.waitFor();
    return hover;
  }
}
