/** A real VS Code in a real browser, with the built extension and a workspace of its own. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Browser, chromium as chromiumDriver, type Page } from "playwright-core";
import { Debugging } from "./debugging.ts";
import { Panel } from "./panel.ts";
import { chromium, output, python } from "./places.ts";
import { CodeServer } from "./server.ts";
import { HANG_GUARD } from "./waiting.ts";
import { Workbench } from "./workbench.ts";

export interface EditorOptions {
  /** Names the log and the screenshots. */
  name: string;
  /** Files and folders that are copied into the workspace. */
  files: string[];
  settings?: Record<string, unknown>;
  /** Of launch.json; without it there is none. */
  configurations?: Record<string, unknown>[];
  env?: Record<string, string>;
  /** Pixels of a screenshot for each of the screen. */
  scale?: number;
}

const BROWSER_ARGUMENTS = [
  ..."--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync".split(" "),
  ..."--disable-background-networking --disable-component-update".split(" "),
];

export class Editor {
  readonly page: Page;
  readonly folder: string;
  readonly address: string;
  readonly workbench: Workbench;
  readonly debug: Debugging;
  readonly panel: Panel;
  private readonly name: string;
  private readonly end: () => Promise<void>;

  private constructor(page: Page, folder: string, address: string, name: string, end: () => Promise<void>) {
    this.page = page;
    this.folder = folder;
    this.address = address;
    this.name = name;
    this.end = end;
    this.workbench = new Workbench(page, folder);
    this.debug = new Debugging(this.workbench);
    this.panel = new Panel(this.workbench);
  }

  static async start(options: EditorOptions): Promise<Editor> {
    const { name, files, settings = {}, configurations, env, scale = 1 } = options;
    mkdirSync(output, { recursive: true });
    const state = mkdtempSync(join(tmpdir(), "zentracer-e2e-"));
    const folder = join(state, "work");
    for (const file of files) cpSync(file, join(folder, basename(file)), { recursive: true });
    if (configurations) {
      mkdirSync(join(folder, ".vscode"));
      const launch = JSON.stringify({ version: "0.2.0", configurations });
      writeFileSync(join(folder, ".vscode/launch.json"), launch);
    }
    const server = await CodeServer.start({
      state,
      log: join(output, `${name}.log`),
      settings: { "zentracer.python": python, ...settings },
      ...(env ? { env } : {}),
    });
    let browser: Browser | undefined;
    const end = async (): Promise<void> => {
      await browser?.close();
      await server.stop();
      rmSync(state, { recursive: true, force: true });
    };
    try {
      browser = await chromiumDriver.launch({ executablePath: chromium(), args: BROWSER_ARGUMENTS });
      const page = await browser.newPage({
        viewport: { width: 1280, height: 800 },
        deviceScaleFactor: scale,
      });
      page.setDefaultTimeout(HANG_GUARD);
      const editor = new Editor(page, folder, server.address, name, end);
      await page.goto(`${server.address}/?folder=${encodeURIComponent(folder)}`);
      await editor.workbench.ready();
      return editor;
    } catch (error) {
      await end();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.end();
  }

  /** A picture for whoever looks into a failure: build/e2e/NAME-WHAT.png. */
  async screenshot(what: string): Promise<void> {
    const file = `${this.name}-${what}`.replace(/[^\w-]+/g, "-").slice(0, 120);
    await this.page.screenshot({ path: join(output, `${file}.png`) });
  }
}
