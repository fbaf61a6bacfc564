/** The Tensor panel: a webview, so a frame in a frame. */
import type { FrameLocator, Locator } from "playwright-core";
import { exactly, type Workbench } from "./workbench.ts";

export class Panel {
  private readonly workbench: Workbench;

  constructor(workbench: Workbench) {
    this.workbench = workbench;
  }

  /** What is inside the panel that is shown. */
  get content(): FrameLocator {
    return this.workbench.page
      .locator("iframe.webview.ready:visible")
      .contentFrame()
      .locator("iframe#active-frame")
      .contentFrame();
  }

  get expression(): Locator {
    return this.content.locator("zt-header h1");
  }

  /** Where the picture was taken. */
  get caption(): Locator {
    return this.content.locator("zt-header .caption");
  }

  /** The line of what was seen so far. */
  get history(): Locator {
    return this.content.locator("zt-history-plot canvas");
  }

  /** A sentence in place of a picture, or beside it. */
  notice(text: string | RegExp): Locator {
    return this.content.locator("zt-notice", { hasText: text });
  }

  /** A figure with all its digits, by its name, e.g. `mean`. */
  async figure(name: string): Promise<number> {
    const cell = this.content.locator(`zt-stats [data-name="${name}"]`);
    const title = await cell.getAttribute("title");
    return Number(title?.slice(name.length).split("–")[0]);
  }

  async showTab(name: string): Promise<void> {
    const tab = this.content.locator("[role=tab]", { hasText: exactly(name) });
    await tab.click();
    await this.content.locator("[role=tab][aria-selected=true]", { hasText: exactly(name) }).waitFor();
  }

  /** The page of values that is shown, row by row. */
  async values(): Promise<string[][]> {
    const rows = this.content.locator("zt-values tbody tr");
    await rows.first().waitFor();
    const texts = [];
    for (const row of await rows.all()) texts.push(await row.locator("td").allInnerTexts());
    return texts.map((row) => row.map((text) => text.trim()));
  }
}
