/** A canvas that fits its place, follows the theme, and says so when it cannot draw. */
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { onThemeChange, readTheme, type Theme } from "./theme";
import { base } from "./styles";

export interface Size {
  readonly width: number;
  readonly height: number;
}

const LOST = "The graphics were reset by the system; the picture comes back by itself.";
const NO_CANVAS = "This editor cannot draw pictures here. The values are in the tab “Values”.";

export abstract class CanvasPlot extends LitElement {
  static override properties = { problem: { state: true } };
  static override styles = [
    base,
    css`
      :host {
        display: block;
        position: relative;
      }
      canvas {
        display: block;
        width: 100%;
        height: 100%;
        touch-action: none;
      }
      canvas:focus-visible {
        outline: 1px solid var(--vscode-focusBorder);
        outline-offset: 2px;
      }
      .problem {
        position: absolute;
        inset: 0;
        display: grid;
        place-content: center;
        text-align: center;
        color: var(--vscode-descriptionForeground);
      }
    `,
  ];

  declare protected problem: string | undefined;
  protected size: Size = { width: 0, height: 0 };
  private frame = 0;
  private stopTheme: (() => void) | undefined;
  private readonly observer = new ResizeObserver(() => {
    this.resize();
  });

  /** What a screen reader says of the picture. */
  protected abstract describe(): string;
  protected abstract draw(context: CanvasRenderingContext2D, size: Size, theme: Theme): void;
  protected resized(_size: Size): void {
    // For those who need to ask for other data.
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.observer.observe(this);
    this.stopTheme = onThemeChange(() => {
      this.redraw();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.observer.disconnect();
    this.stopTheme?.();
    cancelAnimationFrame(this.frame);
  }

  override render(): TemplateResult {
    return html`<canvas
        role="img"
        tabindex="0"
        aria-label=${this.describe()}
        @contextlost=${this.onLost}
        @contextrestored=${this.onRestored}
        @pointerdown=${this.onPointerDown}
        @pointermove=${this.onPointerMove}
        @pointerup=${this.onPointerUp}
        @pointerleave=${this.onPointerLeave}
        @dblclick=${this.onDoubleClick}
        @keydown=${this.onKey}
      ></canvas>
      ${this.problem ? html`<div class="problem" role="alert">${this.problem}</div>` : nothing}`;
  }

  protected override updated(_changed: PropertyValues): void {
    this.redraw();
  }

  protected get canvas(): HTMLCanvasElement | null {
    return this.renderRoot.querySelector("canvas");
  }

  protected redraw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.paint();
    });
  }

  protected onPointerDown?(event: PointerEvent): void;
  protected onPointerMove?(event: PointerEvent): void;
  protected onPointerUp?(event: PointerEvent): void;
  protected onPointerLeave?(): void;
  protected onDoubleClick?(event: MouseEvent): void;
  protected onKey?(event: KeyboardEvent): void;

  private paint(): void {
    const { canvas } = this;
    const { width, height } = this.size;
    if (!canvas || !width || !height || this.problem === LOST) return;
    const context = canvas.getContext("2d");
    if (!context) {
      this.problem = NO_CANVAS;
      return;
    }
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    try {
      this.draw(context, this.size, readTheme(this));
      this.problem = undefined;
    } catch (error) {
      context.clearRect(0, 0, width, height);
      this.problem = `The picture cannot be drawn: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this;
    if (!width || (width === this.size.width && height === this.size.height)) return;
    this.size = { width, height };
    this.resized(this.size);
    this.redraw();
  }

  private onLost(event: Event): void {
    event.preventDefault(); // asks for the context back
    this.problem = LOST;
  }

  private onRestored(): void {
    this.problem = undefined;
    this.redraw();
  }
}
