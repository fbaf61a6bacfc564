/** Changes of a list without duplicates, whose items can be switched off. */

export interface Changes<T> {
  /** Puts one at the end, or in the place of the one that is there already. */
  readonly withAdded: (list: readonly T[], item: T) => readonly T[];
  /** Puts `item` in the place of the one with `key`; a second one of the same kind goes. */
  readonly withReplaced: (list: readonly T[], key: string, item: T) => readonly T[];
  readonly withoutKey: (list: readonly T[], key: string) => readonly T[];
  readonly withEnabled: (list: readonly T[], key: string, enabled: boolean) => readonly T[];
}

/** @param keyOf tells what makes an item the same one; whether it is enabled must not. */
export function changesOf<T extends object>(keyOf: (item: T) => string): Changes<T> {
  return {
    withAdded: (list, item) =>
      list.some((other) => keyOf(other) === keyOf(item))
        ? list.map((other) => (keyOf(other) === keyOf(item) ? item : other))
        : [...list, item],
    withReplaced: (list, key, item) =>
      list
        .filter((other) => keyOf(other) === key || keyOf(other) !== keyOf(item))
        .map((other) => (keyOf(other) === key ? item : other)),
    withoutKey: (list, key) => list.filter((other) => keyOf(other) !== key),
    withEnabled: (list, key, enabled) =>
      list.map((other) => (keyOf(other) === key ? { ...other, enabled } : other)),
  };
}
