/** The Tensor panel in a DOM, with a host that answers from what the runtime was recorded to say. */
import { send, type ToHost, type ToPanel } from "../../../src/pure/panelMessages";
import type { ViewQuery } from "../../../src/pure/tensorQueries";
import type { Situation } from "../../../src/pure/tensorSituation";
import type { TensorView } from "../../../src/wire/generated";
import { TensorApp } from "../../../webviews/tensor/app";
import type { Saved } from "../../../webviews/tensor/viewState";

// The DOM of the tests has no form-associated elements; what they report to a form is not tested.
HTMLElement.prototype.attachInternals = () =>
  ({ setFormValue: () => undefined, setValidity: () => undefined }) as unknown as ElementInternals;

export const STOPPED: Situation = {
  state: "stopped",
  generation: 1,
  expression: "logits",
  where: "step at train.py:41, step 41, stop 3",
  pinned: false,
  readable: true,
  type: "zentracer",
};

export type Answer = (query: ViewQuery) => TensorView | string | undefined;

export class Panel {
  readonly sent: ToHost[] = [];
  readonly app = new TensorApp();
  saved: Saved | undefined;

  constructor(
    private readonly answer: Answer,
    expression = "logits",
    saved?: unknown,
  ) {
    this.app.dataset["expression"] = expression;
    document.head.innerHTML = '<link id="vscode-codicon-stylesheet">'; // as in the page
    document.body.replaceChildren(this.app);
    this.app.start({
      post: (message) => {
        this.sent.push(message);
        if (message.type === "query") this.onQuery(message);
      },
      save: (state) => {
        this.saved = state;
      },
      saved: () => this.saved ?? saved,
    });
  }

  get queries(): ViewQuery[] {
    return this.sent.flatMap((message) => (message.type === "query" ? [message.query] : []));
  }

  async situate(part: Partial<Situation> = {}): Promise<void> {
    this.receive({ type: "situation", situation: { ...STOPPED, ...part } });
    await this.settle();
  }

  receive(message: ToPanel): void {
    this.raw(send(message));
  }

  raw(data: unknown): void {
    window.dispatchEvent(new MessageEvent("message", { data }));
  }

  /** All text that a person sees, shadow roots included. */
  get text(): string {
    return visibleText(this.app);
  }

  find(selector: string): HTMLElement {
    const found = this.all(selector)[0];
    if (!found) throw new Error(`no ${selector} in the panel`);
    return found;
  }

  all(selector: string): HTMLElement[] {
    return deep(this.app).flatMap((root) => [...root.querySelectorAll<HTMLElement>(selector)]);
  }

  /** Waits until every component has drawn what is known. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 8; turn++) {
      const drawn = [this.app, ...this.all("*")].map((one) =>
        Promise.resolve((one as Partial<TensorApp>).updateComplete),
      );
      await Promise.all(drawn);
    }
  }

  private onQuery({ id, query }: Extract<ToHost, { type: "query" }>): void {
    const answer = this.answer(query);
    if (answer === undefined) return;
    queueMicrotask(() => {
      if (typeof answer === "string") this.receive({ type: "failure", id, message: answer });
      else this.receive({ type: "answer", id, body: answer });
    });
  }
}

function deep(root: Element): (Element | ShadowRoot)[] {
  const inside = root.shadowRoot;
  const children = [...root.children, ...(inside ? [...inside.children] : [])];
  return [...(inside ? [inside] : []), ...children.flatMap(deep)];
}

function visibleText(node: Node): string {
  if (node.nodeType === 3) return node.textContent ?? "";
  if (!(node instanceof Element) && node.nodeType !== 11) return "";
  if (node instanceof Element && ["STYLE", "LINK"].includes(node.tagName)) return "";
  const shadow = node instanceof Element ? node.shadowRoot : null;
  const nodes = [...(shadow?.childNodes ?? []), ...node.childNodes];
  return nodes.map(visibleText).join(" ").replace(/\s+/g, " ");
}
