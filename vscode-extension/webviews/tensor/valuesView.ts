/** The values and the slice they are of. */
import { html, LitElement, type TemplateResult } from "lit";
import type { Place } from "../../src/pure/tensorQueries";
import { extent, partText, sliceText } from "../../src/pure/tensorSlice";
import type { CellPlace } from "./picture";
import type { Store } from "./store";
import { note, picker, sliceOf } from "./viewParts";
import { viewStyles } from "./viewStyles";
import type { Part } from "./valuesText";
import "./values";

export class ValuesView extends LitElement {
  static override properties = { store: { attribute: false }, revision: { attribute: false } };
  static override styles = viewStyles;

  declare store: Store;
  declare revision: number;

  override render(): TemplateResult {
    const { store } = this;
    const shown = store.lanes.values.shown;
    const slice = shown && sliceOf(shown);
    if (shown && !shown.page) return html`${note(store, shown)}`;
    return html`${picker(store.view.slice)} ${note(store, shown)}
      <zt-values
        .page=${shown?.page ?? undefined}
        .rows=${slice && extent(slice, "rows")}
        .columns=${slice && extent(slice, "columns")}
        .of=${slice ? sliceText(slice) : ""}
        .refusal=${store.refusal}
        .change=${(part: Part, typed: string) =>
          slice
            ? store.change(partText(slice, part.rows, part.columns), typed)
            : Promise.resolve(store.refusal)}
        @zt-page=${(event: CustomEvent<CellPlace>) => {
          store.update({ page: event.detail });
        }}
        @zt-page-size=${(event: CustomEvent<Place>) => {
          store.setPageSize(event.detail);
        }}
      ></zt-values>`;
  }
}

customElements.define("zt-values-view", ValuesView);
