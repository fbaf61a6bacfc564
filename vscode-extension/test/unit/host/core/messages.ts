/** The examples that the Python tests read too. They satisfy our types, or this does not compile. */
import applyPatch from "../../../../../tests/wire/fixtures/editor/apply_patch.arguments.json";
import applyPatchBody from "../../../../../tests/wire/fixtures/editor/apply_patch.body.json";
import breakpoints from "../../../../../tests/wire/fixtures/editor/breakpoints.json";
import dataBreakpoints from "../../../../../tests/wire/fixtures/editor/data_breakpoints.json";
import eagerOffer from "../../../../../tests/wire/fixtures/editor/eager_offer.json";
import findings from "../../../../../tests/wire/fixtures/editor/findings.json";
import modules from "../../../../../tests/wire/fixtures/editor/modules.body.json";
import modulesQuery from "../../../../../tests/wire/fixtures/editor/modules.arguments.json";
import notice from "../../../../../tests/wire/fixtures/editor/notice.json";
import patchList from "../../../../../tests/wire/fixtures/editor/patches.body.json";
import patches from "../../../../../tests/wire/fixtures/editor/patches.json";
import patchesQuery from "../../../../../tests/wire/fixtures/editor/patches.arguments.json";
import processes from "../../../../../tests/wire/fixtures/editor/processes.json";
import redoPatch from "../../../../../tests/wire/fixtures/editor/redo_patch.arguments.json";
import redoPatchBody from "../../../../../tests/wire/fixtures/editor/redo_patch.body.json";
import runEagerly from "../../../../../tests/wire/fixtures/editor/run_eagerly.arguments.json";
import runEagerlyBody from "../../../../../tests/wire/fixtures/editor/run_eagerly.body.json";
import setBreakpoints from "../../../../../tests/wire/fixtures/editor/set_tensor_breakpoints.arguments.json";
import setBreakpointsBody from "../../../../../tests/wire/fixtures/editor/set_tensor_breakpoints.body.json";
import setData from "../../../../../tests/wire/fixtures/editor/set_data_breakpoints.arguments.json";
import setDataBody from "../../../../../tests/wire/fixtures/editor/set_data_breakpoints.body.json";
import step from "../../../../../tests/wire/fixtures/editor/step.json";
import tensor from "../../../../../tests/wire/fixtures/editor/tensor.body.json";
import tensorQuery from "../../../../../tests/wire/fixtures/editor/tensor.arguments.json";
import undoPatch from "../../../../../tests/wire/fixtures/editor/undo_patch.arguments.json";
import undoPatchBody from "../../../../../tests/wire/fixtures/editor/undo_patch.body.json";
import type { Messages } from "../../../../src/wire/generated";

export const EVENTS: Messages["events"] = {
  breakpoints,
  data_breakpoints: dataBreakpoints,
  eager_offer: eagerOffer,
  findings,
  notice,
  patches,
  processes,
  step,
};

export const REQUESTS: Messages["requests"] = {
  apply_patch: { arguments: applyPatch, body: applyPatchBody },
  modules: { arguments: modulesQuery, body: modules },
  patches: { arguments: patchesQuery, body: patchList },
  redo_patch: { arguments: redoPatch, body: redoPatchBody },
  run_eagerly: { arguments: runEagerly, body: runEagerlyBody },
  set_data_breakpoints: { arguments: setData, body: setDataBody },
  set_tensor_breakpoints: { arguments: setBreakpoints, body: setBreakpointsBody },
  tensor: { arguments: tensorQuery, body: tensor },
  undo_patch: { arguments: undoPatch, body: undoPatchBody },
};
