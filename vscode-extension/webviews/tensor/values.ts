/** The elements themselves, a page at a time, with the indices they have in the tensor. */
import { html, LitElement, nothing, type TemplateResult } from "lit";
import type { Range } from "../../src/pure/tensorSlice";
import type { Page } from "../../src/wire/generated";
import { iconButton } from "../shared/controls";
import { valuesStyles } from "./valuesStyles";
import { kindOf, type Selection, tableText } from "./valuesText";

const ROW_HEIGHT = 23;
const HEAD_HEIGHT = 24;
const ROW_HEAD_WIDTH = 64;

export class Values extends LitElement {
  static override properties = {
    page: { attribute: false },
    rows: { attribute: false },
    columns: { attribute: false },
    selection: { state: true },
  };
  static override styles = valuesStyles;

  declare page: Page | undefined;
  /** What the slice takes of the two dimensions: a row's own index is `start` + its number. */
  declare rows: Range | undefined;
  declare columns: Range | undefined;
  declare private selection: Selection | undefined;
  private dragging = false;
  private readonly observer = new ResizeObserver(() => {
    this.measure();
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this.observer.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.observer.disconnect();
  }

  override render(): TemplateResult {
    return html`<div class="row">
        ${this.page ? this.pagers(this.page) : nothing}
        <span class="grow"></span>
        ${iconButton("copy", "Copy the selection, or the page, as a table", () => {
          this.copy();
        })}
      </div>
      <div
        class="scroll"
        @pointerup=${() => {
          this.dragging = false;
        }}
        @wheel=${this.onWheel}
      >
        ${this.page ? this.table(this.page) : nothing}
      </div>`;
  }

  private table(page: Page): TemplateResult {
    const rowStart = this.rows?.start ?? 0;
    const columnStart = this.columns?.start ?? 0;
    const columns = page.cells[0]?.map((_, i) => columnStart + page.column + i) ?? [];
    return html`<table role="grid" aria-label="Values" @keydown=${this.onKey}>
      <thead>
        <tr>
          <th scope="col"><span class="sr">index</span></th>
          ${columns.map((index) => html`<th scope="col">${index}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${page.cells.map(
          (cells, row) =>
            html`<tr>
              <th scope="row">${rowStart + page.row + row}</th>
              ${cells.map((text, column) => this.cell(text, row, column))}
            </tr>`,
        )}
      </tbody>
    </table>`;
  }

  private cell(text: string, row: number, column: number): TemplateResult {
    const isCursor = row === (this.selection?.to.row ?? 0) && column === (this.selection?.to.column ?? 0);
    return html`<td
      class=${`${kindOf(text)}${this.isSelected(row, column) ? " selected" : ""}`}
      tabindex=${isCursor ? 0 : -1}
      aria-selected=${this.isSelected(row, column)}
      data-row=${row}
      data-column=${column}
      @pointerdown=${(event: PointerEvent) => {
        this.dragging = true;
        this.select(row, column, event.shiftKey);
      }}
      @pointerenter=${(event: PointerEvent) => {
        this.dragging &&= event.buttons !== 0; // it may have been let go outside
        if (this.dragging) this.select(row, column, true);
      }}
    >
      ${text}
    </td>`;
  }

  private pagers(page: Page): TemplateResult {
    const height = page.cells.length;
    const width = page.cells[0]?.length ?? 0;
    return html`${this.pager("Row", page.row, height, this.rows, (row) => {
      this.go(row, page.column);
    })}
    ${this.pager("Column", page.column, width, this.columns, (column) => {
      this.go(page.row, column);
    })}`;
  }

  private pager(
    name: string,
    first: number,
    length: number,
    range: Range | undefined,
    go: (to: number) => void,
  ): TemplateResult | typeof nothing {
    const start = range?.start ?? 0;
    const all = (range?.stop ?? 0) - start;
    if (all <= length) return nothing;
    const last = Math.max(0, all - length);
    const word = name.toLowerCase();
    const button = (icon: string, label: string, to: number): TemplateResult =>
      iconButton(icon, label, () => {
        go(Math.max(0, Math.min(to, last)));
      });
    return html`<span class="pager" role="group" aria-label="${name}s">
      ${button("debug-reverse-continue", `First ${word}s`, 0)}
      ${button("chevron-left", `Previous ${word}s`, first - length)}
      <span class="faint">${name}</span>
      <input
        type="number"
        min=${start}
        max=${start + all - 1}
        .value=${String(start + first)}
        aria-label="Go to ${word}"
        @change=${(event: Event) => {
          const wanted = Math.trunc(Number((event.target as HTMLInputElement).value));
          if (Number.isFinite(wanted)) go(Math.max(0, Math.min(wanted - start, last)));
        }}
      />
      <span class="faint">– ${start + first + length - 1} of ${start + all}</span>
      ${button("chevron-right", `Next ${word}s`, first + length)}
      ${button("debug-continue", `Last ${word}s`, last)}
    </span>`;
  }

  private onWheel(event: WheelEvent): void {
    const { page, rows } = this;
    if (!page || event.shiftKey || event.deltaY === 0) return;
    const all = (rows?.stop ?? 0) - (rows?.start ?? 0);
    const last = Math.max(0, all - page.cells.length);
    const to = Math.max(0, Math.min(last, page.row + 3 * Math.sign(event.deltaY)));
    if (to === page.row) return;
    event.preventDefault();
    this.go(to, page.column);
  }

  private onKey(event: KeyboardEvent): void {
    if ((event.ctrlKey || event.metaKey) && event.key === "c") {
      event.preventDefault();
      this.copy();
      return;
    }
    const step = STEPS[event.key];
    const { page } = this;
    if (!step || !page) return;
    event.preventDefault();
    const at = this.selection?.to ?? { row: 0, column: 0 };
    const row = at.row + step[0] * (event.key.startsWith("Page") ? page.cells.length : 1);
    this.moveTo(page, row, at.column + step[1], event.shiftKey);
  }

  /** Beyond the edge is the next page. */
  private moveTo(page: Page, row: number, column: number, extend: boolean): void {
    const height = page.cells.length;
    const width = page.cells[0]?.length ?? 0;
    const inPage = {
      row: Math.max(0, Math.min(row, height - 1)),
      column: Math.max(0, Math.min(column, width - 1)),
    };
    this.select(inPage.row, inPage.column, extend);
    const down = row - inPage.row;
    const across = column - inPage.column;
    if (down || across) this.goBy(page, down, across);
    void this.updateComplete.then(() => {
      const found = `td[data-row="${inPage.row}"][data-column="${inPage.column}"]`;
      this.renderRoot.querySelector<HTMLElement>(found)?.focus();
    });
  }

  private goBy(page: Page, down: number, across: number): void {
    const rows = (this.rows?.stop ?? 0) - (this.rows?.start ?? 0);
    const columns = (this.columns?.stop ?? 0) - (this.columns?.start ?? 0);
    const row = clamp(page.row + down, rows - page.cells.length);
    const column = clamp(page.column + across, columns - (page.cells[0]?.length ?? 0));
    if (row !== page.row || column !== page.column) this.go(row, column);
  }

  private select(row: number, column: number, extend: boolean): void {
    const to = { row, column };
    const from = extend ? this.selection?.from : undefined;
    this.selection = { from: from ?? to, to };
  }

  private isSelected(row: number, column: number): boolean {
    if (!this.selection) return false;
    const { from, to } = this.selection;
    return (
      row >= Math.min(from.row, to.row) &&
      row <= Math.max(from.row, to.row) &&
      column >= Math.min(from.column, to.column) &&
      column <= Math.max(from.column, to.column)
    );
  }

  private copy(): void {
    if (!this.page) return;
    this.tell("zt-copy", tableText(this.page, this.selection));
  }

  private go(row: number, column: number): void {
    this.tell("zt-page", { row, column });
  }

  private measure(): void {
    const box = this.renderRoot.querySelector(".scroll");
    if (!box?.clientWidth) return;
    const wide = Math.max(84, this.page ? 22 + 7.3 * longest(this.page) : 84);
    this.tell("zt-page-size", {
      width: Math.max(1, Math.floor((box.clientWidth - ROW_HEAD_WIDTH) / wide)),
      height: Math.max(1, Math.floor((box.clientHeight - HEAD_HEIGHT - 2) / ROW_HEIGHT)),
    });
  }

  private tell(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-1, 0],
  PageDown: [1, 0],
};

function longest(page: Page): number {
  return Math.max(...page.cells.flatMap((row) => row.map((text) => text.length)));
}

function clamp(value: number, high: number): number {
  return Math.max(0, Math.min(value, Math.max(0, high)));
}

customElements.define("zt-values", Values);
