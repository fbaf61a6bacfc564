/** The elements themselves, a page at a time, with the indices they have in the tensor. */
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Range } from "../../src/pure/tensorSlice";
import type { Page } from "../../src/wire/generated";
import { iconButton } from "../shared/controls";
import { valuesStyles } from "./valuesStyles";
import { pager } from "./pager";
import { kindOf, type Part, partOf, type Selection, sizeOf, tableText } from "./valuesText";
import "./cellInput";
import "./notice";

const ROW_HEIGHT = 23;
const HEAD_HEIGHT = 24;
const ROW_HEAD_WIDTH = 64;

export class Values extends LitElement {
  static override properties = {
    page: { attribute: false },
    rows: { attribute: false },
    columns: { attribute: false },
    of: {},
    refusal: {},
    change: { attribute: false },
    editing: { state: true },
    problem: { state: true },
    selection: { state: true },
  };
  static override styles = valuesStyles;

  declare page: Page | undefined;
  /** What the slice takes of the two dimensions: a row's own index is `start` + its number. */
  declare rows: Range | undefined;
  declare columns: Range | undefined;
  /** The slice that the page is of. */
  declare of: string;
  /** Why nothing can be changed; empty if it can. */
  declare refusal: string;
  /** Changes a part; gives the reason if that was not done. */
  declare change: ((part: Part, typed: string) => Promise<string | null>) | undefined;
  declare private editing: Editing | undefined;
  /** Why the last change was not made. */
  declare private problem: string;
  declare private selection: Selection | undefined;
  private dragging = false;
  private readonly observer = new ResizeObserver(() => {
    this.measure();
  });

  constructor() {
    super();
    this.of = this.refusal = this.problem = "";
  }

  /** Of another slice it would be another element. */
  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("of")) return;
    this.editing = undefined;
    this.problem = "";
  }

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
        ${this.refusal ? nothing : html`<span class="faint">Enter or double-click changes a value.</span>`}
        ${iconButton("copy", "Copy the selection, or the page, as a table", () => {
          this.copy();
        })}
      </div>
      ${this.problem
        ? html`<zt-notice
            tone="error"
            .text=${this.problem}
            button="Dismiss"
            @zt-button=${this.dismiss}
          ></zt-notice>`
        : nothing}
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
    if (this.page && this.editing && isAt(this.editing, this.page, row, column)) {
      return this.input(this.editing, text);
    }
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
      @dblclick=${() => {
        this.edit(row, column);
      }}
      @pointerenter=${(event: PointerEvent) => {
        this.dragging &&= event.buttons !== 0; // it may have been let go outside
        if (this.dragging) this.select(row, column, true);
      }}
    >
      ${text}
    </td>`;
  }

  private input({ part, isBusy }: Editing, text: string): TemplateResult {
    const size = sizeOf(part);
    return html`<td class="editing">
      <zt-cell-input
        .value=${text}
        .busy=${isBusy}
        label=${size === 1 ? "New value" : `New value of ${size} elements`}
        @zt-enter=${(event: CustomEvent<string>) => void this.apply(event.detail)}
        @zt-escape=${this.dismiss}
      ></zt-cell-input>
    </td>`;
  }

  /** Of several selected cells all get the value. */
  private edit(row: number, column: number): void {
    const { page } = this;
    if (!page || this.editing?.isBusy) return;
    this.problem = this.refusal;
    if (this.refusal) return;
    const to = { row, column };
    this.selection = this.isSelected(row, column) && this.selection ? { ...this.selection, to } : { from: to, to };
    const part = partOf(page, this.selection);
    this.editing = { part, row: page.row + row, column: page.column + column, isBusy: false };
  }

  private async apply(typed: string): Promise<void> {
    const { editing, change } = this;
    if (!editing || !change || editing.isBusy) return;
    if (typed.trim() === "") {
      this.dismiss();
      return;
    }
    this.editing = { ...editing, isBusy: true };
    const problem = await change(editing.part, typed);
    if (problem === null) {
      this.dismiss();
      return;
    }
    this.problem = problem;
    this.editing = { ...editing };
  }

  private dismiss(): void {
    const wasEditing = this.editing !== undefined;
    this.editing = undefined;
    this.problem = "";
    if (wasEditing) this.focusCursor();
  }

  private focusCursor(): void {
    void this.updateComplete.then(() => {
      this.renderRoot.querySelector<HTMLElement>('td[tabindex="0"]')?.focus();
    });
  }

  private pagers(page: Page): TemplateResult {
    const height = page.cells.length;
    const width = page.cells[0]?.length ?? 0;
    return html`${pager("Row", page.row, height, this.rows, (row) => {
      this.go(row, page.column);
    })}
    ${pager("Column", page.column, width, this.columns, (column) => {
      this.go(page.row, column);
    })}`;
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
    const at = this.selection?.to ?? { row: 0, column: 0 };
    if (event.key === "Enter" || event.key === "F2") {
      event.preventDefault();
      this.edit(at.row, at.column);
      return;
    }
    const step = STEPS[event.key];
    const { page } = this;
    if (!step || !page) return;
    event.preventDefault();
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
    this.focusCursor();
  }

  private goBy(page: Page, down: number, across: number): void {
    const rows = (this.rows?.stop ?? 0) - (this.rows?.start ?? 0);
    const columns = (this.columns?.stop ?? 0) - (this.columns?.start ?? 0);
    const row = clamp(page.row + down, rows - page.cells.length);
    const column = clamp(page.column + across, columns - (page.cells[0]?.length ?? 0));
    if (row !== page.row || column !== page.column) this.go(row, column);
  }

  private select(row: number, column: number, extend: boolean): void {
    if (this.editing && !this.editing.isBusy) this.editing = undefined;
    const to = { row, column };
    const first = this.selection?.from ?? { row: 0, column: 0 }; // where the cursor is at first
    this.selection = { from: extend ? first : to, to };
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

/** A part that gets a new value; the cell where that is typed counts in what is sliced. */
interface Editing {
  readonly part: Part;
  readonly row: number;
  readonly column: number;
  readonly isBusy: boolean;
}

function isAt(editing: Editing, page: Page, row: number, column: number): boolean {
  return editing.row === page.row + row && editing.column === page.column + column;
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
