/** Entry point of the Tensor panel's page. */
import "@vscode/codicons/dist/codicon.css";
import "./page.css";
import type { ToHost } from "../../src/pure/panelMessages";
import { send } from "../../src/pure/panelMessages";
import { TensorApp } from "./app";
import type { Saved } from "./viewState";

const vscode = acquireVsCodeApi<Saved>();

const app = document.querySelector("zt-tensor");
if (app instanceof TensorApp) {
  window.addEventListener("error", (event) => {
    // Of a resize during a resize, which the next frame settles.
    if (!event.message.startsWith("ResizeObserver")) app.fail(event.error ?? event.message);
  });
  window.addEventListener("unhandledrejection", (event) => {
    app.fail(event.reason);
  });
  app.start({
    post(message: ToHost) {
      vscode.postMessage(send(message));
    },
    save(state: Saved) {
      vscode.setState(state);
    },
    saved: () => vscode.getState(),
  });
}
