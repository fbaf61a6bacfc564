/** The Tensor panel: a webview, so a frame in a frame. */
import type { FrameLocator } from "playwright-core";
import type { Workbench } from "./workbench.ts";

export class Panel {
  private readonly workbench: Workbench;

  constructor(workbench: Workbench) {
    this.workbench = workbench;
  }

  /** What is inside the panel that is shown. */
  get content(): FrameLocator {
    return this.workbench.page
      .frameLocator("iframe.webview.ready")
      .frameLocator("iframe#active-frame");
  }
}
