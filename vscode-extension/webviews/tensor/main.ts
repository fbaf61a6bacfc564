/** Entry point of the Tensor panel's page. */
import "@vscode/codicons/dist/codicon.css";
import type { ToHost } from "../../src/pure/panelMessages";
import { send } from "../../src/pure/panelMessages";
import { TensorApp } from "./app";
import type { Saved } from "./viewState";

const vscode = acquireVsCodeApi<Saved>();

const app = document.querySelector("zt-tensor");
if (app instanceof TensorApp) {
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
