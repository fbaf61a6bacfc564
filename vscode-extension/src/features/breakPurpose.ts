/** Asks what to stop for: a module, its gradients, or a tensor exception. */
import * as vscode from "vscode";
import type { Filter } from "../pure/breakpointsFilters";
import { functionName } from "../pure/functionBreakpoints";
import { LIMITING, pickLimited } from "./limitedPick";

/** `isLimited`: the user wants to give conditions. */
export type Purpose =
  | { readonly kind: "function"; readonly name: string; readonly isLimited: boolean }
  | { readonly kind: "exception"; readonly filter: string; readonly isLimited: boolean };

interface Row extends vscode.QuickPickItem {
  readonly purpose?: Purpose;
}

/** @param module whose calls and gradients are offered, too; undefined for tensor exceptions only. */
export async function pickPurpose(
  title: string,
  filters: readonly Filter[],
  module: string | undefined,
): Promise<Purpose | undefined> {
  const exceptions = filters.map((filter): Row => ({
    label: module === undefined ? filter.label : `$(debug-breakpoint) ${filter.label}`,
    detail: filter.description,
    purpose: { kind: "exception", filter: filter.id, isLimited: false },
    ...(module !== undefined && { buttons: [LIMITING] }),
  }));
  const [only] = exceptions;
  if (module === undefined && exceptions.length === 1) return only?.purpose;
  const rows = module === undefined ? exceptions : [...ofModule(module), ...exceptions];
  const picked = await pickLimited(title, "What to stop for", rows);
  return picked?.row.purpose && { ...picked.row.purpose, isLimited: picked.isLimited };
}

function ofModule(module: string): Row[] {
  const row = (label: string, kind: "module" | "backward", detail: string): Row => ({
    label,
    detail,
    description: functionName(kind, module),
    purpose: { kind: "function", name: functionName(kind, module), isLimited: false },
    buttons: [LIMITING],
  });
  return [
    row(
      "$(debug-breakpoint-function) Before it runs",
      "module",
      "Stops at the line that calls it, with its inputs in the scope “Tensors”.",
    ),
    row(
      "$(debug-breakpoint-function) When its gradients arrive",
      "backward",
      "Stops at backward(), with the gradients of its outputs and parameters in the scope “Tensors”.",
    ),
    { label: "A tensor exception in it", kind: vscode.QuickPickItemKind.Separator },
  ];
}
