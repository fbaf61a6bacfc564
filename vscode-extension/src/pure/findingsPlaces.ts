/** How places in files are named. */
import type { Location } from "../wire/generated";

/** `file.py:64` */
export function placeOf(location: Pick<Location, "path" | "line">): string {
  return `${fileOf(location.path)}:${String(location.line)}`;
}

/** The last part of a path of either kind. */
export function fileOf(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path;
}
