/** The tensor exceptions that the adapters in use offer. */
import * as vscode from "vscode";
import { FIRST_FILTERS, type Filter, offeredFilters } from "../pure/breakpointsFilters";

export class Filters implements vscode.Disposable {
  private known = FIRST_FILTERS;
  private readonly tracking = vscode.debug.registerDebugAdapterTrackerFactory("*", {
    createDebugAdapterTracker: () => ({
      onDidSendMessage: (message: unknown) => {
        this.known = offeredFilters(message) ?? this.known;
      },
    }),
  });

  all(): readonly Filter[] {
    return this.known;
  }

  dispose(): void {
    this.tracking.dispose();
  }
}
