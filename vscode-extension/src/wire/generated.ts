// Generated from zentracer/wire by `make generate`; do not edit.

/** Names are without the prefix `zentracer/` that they have on the wire. */

export interface Messages {
  events: {
    breakpoints: TensorBreakpoints;
    data_breakpoints: DataBreakpoints;
    eager_offer: EagerOffer;
    findings: Findings;
    notice: Notice;
    patches: Patches;
    processes: Processes;
    step: StepSeen;
  };
  requests: {
    apply_patch: {
      arguments: ApplyPatch;
      body: PatchState;
    };
    modules: {
      arguments: ModulesQuery;
      body: Modules;
    };
    patches: {
      arguments: Empty;
      body: Patches;
    };
    redo_patch: {
      arguments: PatchNumber;
      body: PatchState;
    };
    run_eagerly: {
      arguments: RunEagerly;
      body: Eager;
    };
    set_data_breakpoints: {
      arguments: SetViewDataBreakpoints;
      body: DataBreakpoints;
    };
    set_tensor_breakpoints: {
      arguments: SetTensorBreakpoints;
      body: TensorBreakpoints;
    };
    tensor: {
      arguments: TensorQuery;
      body: TensorView;
    };
    undo_patch: {
      arguments: PatchNumber;
      body: PatchState;
    };
  };
}
/**
 * All tensor breakpoints of a session, sent whole whenever one changes.
 */
export interface TensorBreakpoints {
  breakpoints: TensorBreakpointState[];
}
/**
 * A tensor breakpoint as it stands.
 */
export interface TensorBreakpointState {
  condition: string | null;
  enabled: boolean;
  filter: string;
  hits: number;
  id: number;
  label: string;
  last: LastHit | null;
  /**
   * Why it is not verified, or a warning.
   */
  message: string | null;
  module: string | null;
  /**
   * Who set it: editor (its list of exceptions), view (``set_tensor_breakpoints``) or launch.
   */
  source: string;
  verified: boolean;
}
/**
 * What a tensor breakpoint found last.
 */
export interface LastHit {
  origin: Location;
  rank: number | null;
  step: number | null;
  tensor: Stats;
  text: string;
}
/**
 * A place in a source file; ``line`` counts from 1, columns from 1 (end exclusive).
 */
export interface Location {
  column: number | null;
  end_column: number | null;
  end_line: number | null;
  function: string | null;
  line: number;
  path: string;
  /**
   * The source line, stripped of its end.
   */
  text: string | null;
}
/**
 * Statistics of one tensor over its finite elements; floats are None when not known.
 */
export interface Stats {
  absmax: number | null;
  bytes: number;
  device: string;
  dtype: string;
  inf: number | null;
  max: number | null;
  mean: number | null;
  min: number | null;
  /**
   * How the user's source calls the tensor, when known.
   */
  name: string | null;
  nan: number | null;
  /**
   * Euclidean norm.
   */
  norm: number | null;
  /**
   * True when the statistics come from a sample of the elements.
   */
  sampled: boolean;
  shape: number[];
  /**
   * Number of elements.
   */
  size: number;
  std: number | null;
  zeros: number | null;
}
/**
 * The data breakpoints of all processes, sent whole whenever one changes.
 */
export interface DataBreakpoints {
  breakpoints: DataBreakpointState[];
}
/**
 * A data breakpoint as it stands.
 */
export interface DataBreakpointState {
  condition: string | null;
  data_id: string;
  enabled: boolean;
  hit_condition: string | null;
  hits: number;
  id: number;
  last: LastHit | null;
  /**
   * Why it is not verified, e.g. that its tensor is gone, or a warning.
   */
  message: string | null;
  name: string;
  /**
   * The process that its tensor lives in.
   */
  pid: number;
  /**
   * Who set it: editor (its list of data breakpoints) or view (``set_data_breakpoints``).
   */
  source: string;
  verified: boolean;
}
/**
 * A breakpoint lies in code of torch.compile; ``run_eagerly`` would let it be hit.
 */
export interface EagerOffer {
  /**
   * Why it is not hit; sentences.
   */
  message: string;
}
/**
 * Everything found in a session so far, sent whole whenever it changes.
 */
export interface Findings {
  findings: Finding[];
}
/**
 * One thing that was found, however often.
 */
export interface Finding {
  count: number;
  /**
   * The latest hit, without its stack, which is ``stack``.
   */
  details: HitDetails | null;
  label: string;
  message: string;
  pid: number;
  rank: number | null;
  /**
   * The filter's id.
   */
  rule: string;
  /**
   * error, warning or info
   */
  severity: string;
  source: Location;
  stack: Location[];
}
/**
 * ``exceptionInfo.details.zentracer`` and, with ``text``, one line of ``--json``.
 */
export interface HitDetails {
  /**
   * At a data breakpoint: what was there before ``tensor``.
   */
  before: Stats | null;
  /**
   * At a data breakpoint: norm of the difference over the norm of what was there.
   */
  changed: number | null;
  /**
   * Where it goes, as of the last step if this one has not come so far.
   */
  downstream: Neighbour[];
  /**
   * Passes over the training data begun, counted from 0; None where that is not known.
   */
  epoch: number | null;
  /**
   * Lines of a small table with the numbers behind the finding, e.g. one a layer.
   */
  evidence: string[];
  /**
   * What else is known: the lines that made the operands, shapes on the way …
   */
  facts: Fact[];
  filter: string;
  /**
   * One sentence: what was still finite when the value was made.
   */
  finite_before: string | null;
  inputs: Stats[];
  /**
   * Qualified name of the module, as in ``named_modules``; None outside any module.
   */
  module: string | null;
  /**
   * A limit of this finding the user should know (compiled region, found one step late …).
   */
  note: string | null;
  op: string;
  origin: Location;
  /**
   * forward, loss, backward or update
   */
  phase: string;
  rank: number | null;
  source: Location;
  /**
   * The user's frames, innermost first.
   */
  stack: Location[];
  step: number | null;
  suggestions: Suggestion[];
  tensor: Stats;
  /**
   * What is found, where ``details.message`` is the exception's own: for a framework's error.
   */
  text: string | null;
  /**
   * Where the value came from, nearest first.
   */
  upstream: Neighbour[];
  /**
   * At a data breakpoint: what wrote, e.g. ``SGD.step`` or ``add_ through a view``.
   */
  writer: string | null;
}
/**
 * A module or operation before or after the value that was found.
 */
export interface Neighbour {
  /**
   * 1 for the nearest; lists are in the order of a tree's lines.
   */
  depth: number;
  /**
   * Qualified name of the module, else the operation.
   */
  name: string;
  op: string;
  /**
   * The line that called it, where known.
   */
  source: Location | null;
  /**
   * What it gave (upstream) or made of the value (downstream).
   */
  tensor: Stats | null;
}
/**
 * One thing that is known about a finding, and the line it is about.
 */
export interface Fact {
  location: Location | null;
  /**
   * A sentence, or its beginning where the line completes it.
   */
  text: string;
}
/**
 * Something the user can do about a finding.
 */
export interface Suggestion {
  edit: TextEdit | null;
  title: string;
  why: string;
}
/**
 * Replace one whole line by ``new_text``.
 */
export interface TextEdit {
  line: number;
  new_text: string;
  old_text: string;
  path: string;
}
/**
 * Something of ours stepped aside; shown once in the debug console.
 */
export interface Notice {
  /**
   * The breakpoint that is concerned; it becomes unverified with the message.
   */
  breakpoint_id: number | null;
  message: string;
}
/**
 * All changes of one process, oldest first.
 */
export interface Patches {
  patches: PatchState[];
  pid: number | null;
}
/**
 * One change in the list.
 */
export interface PatchState {
  /**
   * Statistics of what was changed; None for what is no tensor.
   */
  after: Stats | null;
  before: Stats | null;
  /**
   * Statements that do the same at start-up.
   */
  code: string;
  label: string | null;
  /**
   * Why the last undo or redo did nothing; a sentence.
   */
  message: string | null;
  /**
   * What was there before and after, in a few characters.
   */
  new: string;
  /**
   * What the user should know: memory that is shared, a shape that was broadcast …
   */
  notes: string[];
  old: string;
  patch_id: number;
  /**
   * applied, undone, out_of_sync (the value has moved on since), or gone (freed)
   */
  status: string;
  step: number | null;
  /**
   * What was changed, as the user calls it, with the part: ``fc.weight[0, 3]``.
   */
  target: string;
  /**
   * What was done: ``set to 0.5``.
   */
  text: string;
  /**
   * When it was done, in seconds since 1970.
   */
  time: number;
  /**
   * ``train.py:12``, where the program stood.
   */
  where: string;
}
/**
 * All debugged processes, sent whole whenever one comes or goes.
 */
export interface Processes {
  processes: Process[];
}
/**
 * A debugged process with a runtime.
 */
export interface Process {
  /**
   * What is loaded in it, e.g. ``torch 2.13.0``.
   */
  frameworks: string[];
  /**
   * How the user would call it: the script, ``rank 1``, ``child 4711``.
   */
  name: string;
  parent_pid: number | null;
  pid: number;
  python: string;
  rank: number | null;
  /**
   * Version of ZenTracer's runtime in it.
   */
  version: string;
}
/**
 * A step boundary of one process; at most ten a second.
 */
export interface StepSeen {
  loss: number | null;
  /**
   * Share of the step's time that ZenTracer took; None until measured.
   */
  overhead: number | null;
  pid: number;
  rank: number | null;
  step: number;
}
/**
 * Arguments of ``zentracer/apply_patch``: a ``Patch``, and where it is written.
 */
export interface ApplyPatch {
  /**
   * Where expressions are evaluated; without it, where the program stands.
   */
  frame_id?: number | null;
  label?: string | null;
  op?: string;
  /**
   * Whether an optimiser forgets its moments of what is changed.
   */
  reset_state?: boolean;
  /**
   * Part of the target, as between brackets: ``0, 3:5``.
   */
  slice?: string | null;
  /**
   * An expression of the frame, or a qualified name such as ``encoder.fc.weight``.
   */
  target: string;
  /**
   * A literal, an expression of the frame, a scheme for ``reinit``, a file for ``load``; a number or a list is taken as well.
   */
  value?: string | null;
}
/**
 * Which modules of the live models to name.
 */
export interface ModulesQuery {
  limit?: number;
  /**
   * Glob if it has ``*``, ``?`` or ``[``, else part of the name or of the class; in any case.
   */
  query?: string;
}
/**
 * Modules of the live models, in the order of ``named_modules``.
 */
export interface Modules {
  /**
   * How many match the query.
   */
  matching: number;
  modules: ModuleInfo[];
  /**
   * Why there are none; a sentence.
   */
  note: string | null;
  total: number;
}
/**
 * One module of a live model.
 */
export interface ModuleInfo {
  /**
   * Number of modules directly below.
   */
  children: number;
  class_name: string;
  /**
   * Qualified name, as in conditions; the class name for a model itself.
   */
  name: string;
  /**
   * Number of parameter elements in it and below.
   */
  parameters: number;
}
/**
 * A body without fields.
 */
export interface Empty {}
/**
 * Arguments of ``zentracer/undo_patch`` and ``zentracer/redo_patch``.
 */
export interface PatchNumber {
  patch_id: number;
}
/**
 * Run the code of torch.compile eagerly from its next call on, or compiled again.
 */
export interface RunEagerly {
  eager?: boolean;
}
/**
 * How compiled code runs now.
 */
export interface Eager {
  eager: boolean;
  /**
   * What does not follow, or why nothing changed; sentences.
   */
  note: string | null;
  /**
   * Functions of the user's that torch.compile was asked to compile so far.
   */
  regions: number;
}
/**
 * The full list of such data breakpoints of one process: that of the session it is sent to.
 */
export interface SetViewDataBreakpoints {
  breakpoints: ViewDataBreakpoint[];
}
/**
 * A data breakpoint that the user added outside the editor's own list.
 */
export interface ViewDataBreakpoint {
  condition?: string | null;
  /**
   * From an answer to ``dataBreakpointInfo`` of the same process.
   */
  data_id: string;
  enabled?: boolean;
  hit_condition?: string | null;
  /**
   * How the user calls it.
   */
  name: string;
}
/**
 * The full list of tensor breakpoints that were added outside the editor's own list.
 */
export interface SetTensorBreakpoints {
  breakpoints: TensorBreakpoint[];
}
/**
 * A tensor exception that the user added outside the editor's own list.
 */
export interface TensorBreakpoint {
  condition?: string | null;
  enabled?: boolean;
  filter: string;
  /**
   * Glob of qualified module names, as in ``match("encoder.*")``.
   */
  module?: string | null;
}
/**
 * Arguments of ``zentracer/tensor``: which part of which tensor, reduced to what is shown.
 */
export interface TensorQuery {
  /**
   * Which dimensions run down and across, counted in the tensor's own dimensions; needed only to swap them.
   */
  axes?: number[] | null;
  /**
   * For image: the dimension that holds one (grey), three (RGB) or four (RGBA) channels.
   */
  channels?: number | null;
  /**
   * For page: first column.
   */
  column?: number;
  /**
   * Evaluated in the frame; its value must be a tensor or an array.
   */
  expression?: string | null;
  /**
   * Frame of a stopped thread, as in ``stackTrace``.
   */
  frame_id?: number | null;
  /**
   * For image and page: most rows.
   */
  height?: number | null;
  /**
   * For page: first row.
   */
  row?: number;
  /**
   * Index in Python's syntax without brackets, e.g. ``0, :, 10:20``; missing dimensions are whole. Without it: the last two dimensions at index 0 of the others.
   */
  slice?: string | null;
  /**
   * stats, histogram, image, page or history; with history the expression counts as watched
   */
  view: string;
  /**
   * For image and page: most columns; for histogram: number of bins.
   */
  width?: number | null;
}
/**
 * Answer of ``zentracer/tensor``; only the part that was asked for is there.
 */
export interface TensorView {
  /**
   * Dimensions that run down and across: none for a scalar, one for a vector.
   */
  axes: number[];
  columns: number;
  expression: string;
  histogram: Histogram | null;
  history: History | null;
  image: Image | null;
  /**
   * Why there is nothing to show, or what is special about what is shown; a sentence.
   */
  note: string | null;
  page: Page | null;
  /**
   * Rows of the matrix that the slice selects; 1 for vectors and scalars.
   */
  rows: number;
  /**
   * The index that is shown, one entry a dimension.
   */
  slice: string;
  stats: Stats;
  /**
   * The line that the Variables view shows.
   */
  summary: string;
  type_name: string;
  view: string;
}
/**
 * Counts of finite elements in equal bins between ``low`` and ``high``.
 */
export interface Histogram {
  counts: number[];
  high: number;
  low: number;
  sampled: boolean;
}
/**
 * How a watched expression has changed over stops and steps.
 */
export interface History {
  /**
   * scalar or tensor
   */
  kind: string;
  /**
   * Why there are no points between stops; a sentence.
   */
  note: string | null;
  /**
   * File of the function that the expression was evaluated in.
   */
  path: string;
  /**
   * In the order of time, at most 512; older ones are fewer than there were steps.
   */
  points: HistoryPoint[];
  /**
   * Whether the latest point is made of some of the elements only.
   */
  sampled: boolean;
}
/**
 * A watched value at one moment; numbers are None if not finite.
 */
export interface HistoryPoint {
  /**
   * NaN and infinite elements.
   */
  bad: number;
  high: number | null;
  /**
   * Where the frame stood; None between two stops.
   */
  line: number | null;
  low: number | null;
  norm: number | null;
  std: number | null;
  /**
   * Training steps completed; None when steps were not seen.
   */
  step: number | null;
  /**
   * Number of the stop in its process; None at a step between two stops.
   */
  stop: number | null;
  /**
   * Seconds since 1970.
   */
  time: number;
  /**
   * The number itself, or the mean of the finite elements.
   */
  value: number | null;
}
/**
 * A matrix reduced to at most the size that was asked for.
 *
 * Element (r, c) stands for the block of rows ``r * row_step`` and columns ``c * column_step``.
 */
export interface Image {
  channels: number;
  column_step: number;
  /**
   * Base64 of float32[height, width, channels]: mean over the finite elements of each block.
   */
  data: string;
  height: number;
  /**
   * Only for one row: base64 of float32[width], largest finite element of each block.
   */
  highs: string | null;
  /**
   * Only for one row: base64 of float32[width], smallest finite element of each block.
   */
  lows: string | null;
  /**
   * Base64 of uint8[height, width]; bits: 1 has a NaN, 2 has +Inf, 4 has -Inf, 8 all zero.
   */
  marks: string;
  row_step: number;
  /**
   * True when only some elements of each block were looked at.
   */
  sampled: boolean;
  width: number;
}
/**
 * Elements as text, exact.
 */
export interface Page {
  cells: string[][];
  column: number;
  row: number;
}

export const PROTOCOL_VERSION = 1;

/** A kind of tensor exception, offered in the Breakpoints view. */
export interface TensorException {
  readonly id: string;
  readonly label: string;
  /** Whether it is on in a session whose user never chose. */
  readonly default: boolean;
  readonly description: string;
}

export const FILTERS: readonly TensorException[] = [
  {
    "default": true,
    "description": "Stops on the operation that makes the first NaN or Inf from finite inputs: forward, loss, backward or parameter update.",
    "id": "zentracer.nonfinite",
    "label": "NaN or Inf"
  },
  {
    "default": false,
    "description": "Stops when the norm of a gradient is over its threshold or jumps against its own history, or when updates are larger than the weights. Own threshold: norm > 100",
    "id": "zentracer.exploding",
    "label": "Exploding gradient"
  },
  {
    "default": false,
    "description": "Stops when the gradients of early layers are a tiny share of the last layer's. Own threshold: norm < 1e-6",
    "id": "zentracer.vanishing",
    "label": "Vanishing gradient"
  },
  {
    "default": false,
    "description": "Stops when units of an activation give zero for every sample of several steps. Own threshold: zeros > 0.9 * size",
    "id": "zentracer.dead",
    "label": "Dead units"
  },
  {
    "default": false,
    "description": "Stops when the outputs of a sigmoid, tanh or softmax are pinned to their limits. Own threshold: absmax > 0.999",
    "id": "zentracer.saturated",
    "label": "Saturated activation"
  },
  {
    "default": false,
    "description": "Stops when a trainable parameter gets no gradient or updates too small to matter, or is missing from the optimiser. Own threshold: ratio < 1e-7",
    "id": "zentracer.stalled",
    "label": "Parameter not learning"
  },
  {
    "default": false,
    "description": "Stops when the loss leaves the range of its own last steps. Own threshold: x > 10",
    "id": "zentracer.loss_spike",
    "label": "Loss spike"
  },
  {
    "default": false,
    "description": "Stops where two operands broadcast so that a loss or a residual gets more elements than either has, and where a shape changes between steps.",
    "id": "zentracer.shape",
    "label": "Silent broadcast"
  },
  {
    "default": false,
    "description": "Stops when float16 or bfloat16 values reach the limit of their type, or underflow to zero in bulk. Own threshold: absmax > 30000",
    "id": "zentracer.precision",
    "label": "Low-precision overflow"
  }
];
