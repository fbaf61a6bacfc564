/** Entry point of the extension host. Nothing here waits, or looks at a file. */
import { started } from "./started";
import type * as vscode from "vscode";
import { Log } from "./debug/log";
import * as notices from "./debug/notices";
import * as debugging from "./debug/register";
import { Sessions } from "./debug/sessions";
import * as breakpointsView from "./features/breakpointsView";
import * as changeTensor from "./features/changeTensor";
import * as eagerOffer from "./features/eagerOffer";
import * as findingsView from "./features/findingsView";
import * as inspectTensor from "./features/inspectTensor";
import * as patchesView from "./features/patchesView";
import * as quickFix from "./features/quickFix";
import * as sessionsView from "./features/sessionsView";
import * as statusBar from "./features/statusBar";
import * as stopLine from "./features/stopLine";
import * as tensorHover from "./features/tensorHover";
import * as tensorPanel from "./features/tensorPanel";
import * as walkthrough from "./features/walkthrough";

const FEATURES = [
  sessionsView,
  breakpointsView,
  findingsView,
  patchesView,
  statusBar,
  stopLine,
  quickFix,
  eagerOffer,
  walkthrough,
  tensorHover,
  tensorPanel,
  inspectTensor,
  changeTensor,
];

const loaded = performance.now() - started;

export function activate(context: vscode.ExtensionContext): void {
  const begun = performance.now();
  const log = new Log(context.logUri);
  const sessions = new Sessions(log.channel);
  context.subscriptions.push(log, sessions);
  debugging.register(context, log);
  notices.register(context, sessions, log);
  for (const feature of FEATURES) feature.register(context, sessions);
  const activated = performance.now() - begun;
  log.channel.info(`loaded in ${ms(loaded)}, activated in ${ms(activated)}`);
}

function ms(time: number): string {
  return `${time.toFixed(1)} ms`;
}
