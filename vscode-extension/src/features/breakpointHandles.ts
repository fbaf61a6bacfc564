/** What can be done with a breakpoint of the Tensor Breakpoints view, of whichever kind it is. */
import * as vscode from "vscode";
import { labelOf } from "../pure/breakpointsFilters";
import {
  type Added,
  keyOf,
  withAdded,
  withEnabled,
  withReplaced,
  withoutKey,
} from "../pure/breakpointsList";
import { keyOfRow, titleOf } from "../pure/breakpointsTree";
import { type DataItem, dataChanges, dataKeyOf, nameOf } from "../pure/dataBreakpoints";
import { dataRowOf, limitsOf } from "../pure/dataTree";
import type { AddedBreakpoints } from "./addedBreakpoints";
import { askCondition, askLimits } from "./conditionInput";
import type { DataBreakpoints } from "./dataBreakpoints";
import type { Filters } from "./filters";

export interface Handle {
  readonly title: string;
  /** Its conditions, for a list to pick from. */
  readonly details: string;
  readonly isEnabled: boolean;
  edit(): Promise<void>;
  remove(): Promise<void>;
  enable(isOn: boolean): Promise<void>;
}

export class Handles {
  constructor(
    private readonly added: AddedBreakpoints,
    private readonly data: DataBreakpoints,
    private readonly filters: Filters,
  ) {}

  /** All that were set through ZenTracer, as the view shows them. */
  all(): readonly Handle[] {
    return [
      ...this.added.list().map((item) => this.ofAdded(item)),
      ...this.data.mine().map(({ pid, item }) => this.ofData(pid, item)),
    ];
  }

  /** The breakpoint of a row; undefined if it cannot be changed here, or went meanwhile. */
  of(row: string): Handle | undefined {
    const key = keyOfRow(row);
    const added = this.added.list().find((item) => keyOf(item) === key);
    if (added) return this.ofAdded(added);
    const wanted = dataRowOf(row);
    if (!wanted) return undefined;
    const data = this.data
      .mine()
      .find(({ pid, item }) => pid === wanted.pid && dataKeyOf(item) === wanted.key);
    return data && this.ofData(data.pid, data.item);
  }

  /** Puts a new tensor exception into the list, with the condition that the user gives it. */
  async add(item: Added): Promise<void> {
    await this.settle(item, this.added.list(), (list, next) => withAdded(list, next));
  }

  private ofAdded(item: Added): Handle {
    const { added } = this;
    const key = keyOf(item);
    return {
      title: titleOf({ ...item, label: labelOf(this.filters.all(), item.filter) }),
      details: item.condition ?? "",
      isEnabled: item.enabled,
      edit: () => this.settle(item, added.list(), (list, next) => withReplaced(list, key, next)),
      remove: () => added.set(withoutKey(added.list(), key)),
      enable: (isOn) => added.set(withEnabled(added.list(), key, isOn)),
    };
  }

  private ofData(pid: number, item: DataItem): Handle {
    const { data } = this;
    const key = dataKeyOf(item);
    return {
      title: nameOf(item.name),
      details: limitsOf(item),
      isEnabled: item.enabled,
      edit: () => this.settleData(pid, item),
      remove: () => data.change(pid, (list) => dataChanges.withoutKey(list, key)),
      enable: (isOn) => data.change(pid, (list) => dataChanges.withEnabled(list, key, isOn)),
    };
  }

  /** Asks for the condition, tries it in the running program, and goes back if the user does. */
  private async settle(
    item: Added,
    before: readonly Added[],
    place: (list: readonly Added[], next: Added) => readonly Added[],
  ): Promise<void> {
    const check = async (condition: string | null): Promise<string | undefined> => {
      const next = { ...item, condition };
      await this.added.set(place(before, next));
      return this.added.refusal(next);
    };
    const title = `Condition of “${titleOf({ ...item, label: labelOf(this.filters.all(), item.filter) })}”`;
    const condition = await askCondition(title, item.condition, check);
    if (condition === undefined && this.added.list() !== before) await this.added.set(before);
    if (condition !== undefined) await vscode.commands.executeCommand("zentracer.breakpoints.focus");
  }

  private async settleData(pid: number, item: DataItem): Promise<void> {
    const { data } = this;
    let current = item;
    const put = async (next: DataItem): Promise<void> => {
      const key = dataKeyOf(current);
      await data.change(pid, (list) => dataChanges.withReplaced(list, key, next));
      current = next;
    };
    const initial = { condition: item.condition, hitCondition: item.hit_condition };
    const limits = await askLimits(`Break when ${nameOf(item.name)} changes`, initial, async (wanted) => {
      await put({ ...item, condition: wanted.condition, hit_condition: wanted.hitCondition });
      return data.refusal(pid, current);
    });
    if (limits === undefined && current !== item) await put(item);
  }
}
