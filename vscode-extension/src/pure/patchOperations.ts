/** What can be done to a tensor or a module, and what has to be typed for it. */

export interface PatchOperation {
  readonly op: string;
  readonly label: string;
  /** What it does, in a few words. */
  readonly detail: string;
  /** How the value is asked for; none is needed without. */
  readonly value?: PatchValue;
  /** Whether it can be limited to a part of the target. */
  readonly hasSlice: boolean;
}

export interface PatchValue {
  readonly prompt: string;
  readonly example: string;
  /** Whether it may be left empty. */
  readonly isOptional?: boolean;
  /** Whether it is a file, which can be picked; of these endings, others can be typed. */
  readonly endings?: readonly string[];
}

export const PATCH_OPERATIONS: readonly PatchOperation[] = [
  {
    op: "set",
    label: "Set",
    detail: "put a number, a list or a tensor there",
    value: { prompt: "What to put there: a number, a list, or an expression of the frame.", example: "0.5" },
    hasSlice: true,
  },
  {
    op: "scale",
    label: "Scale",
    detail: "multiply by a number or a tensor",
    value: { prompt: "What to multiply by.", example: "0.1" },
    hasSlice: true,
  },
  {
    op: "add",
    label: "Add",
    detail: "add a number or a tensor",
    value: { prompt: "What to add; negative to subtract.", example: "1e-3" },
    hasSlice: true,
  },
  {
    op: "fill",
    label: "Fill",
    detail: "the same number everywhere",
    value: { prompt: "The number for all elements.", example: "1.0" },
    hasSlice: true,
  },
  { op: "zero", label: "Zero", detail: "all elements 0", hasSlice: true },
  {
    op: "noise",
    label: "Add Noise",
    detail: "normal noise from a generator of its own",
    value: { prompt: "Standard deviation of the noise.", example: "0.01" },
    hasSlice: true,
  },
  {
    op: "clamp",
    label: "Clamp",
    detail: "limit to a range",
    value: { prompt: "Lowest and highest value; None for no limit.", example: "(-1, 1)" },
    hasSlice: true,
  },
  {
    op: "copy",
    label: "Copy",
    detail: "the elements of another tensor",
    value: { prompt: "The tensor to copy from, as the stopped frame calls it.", example: "teacher.fc.weight" },
    hasSlice: true,
  },
  {
    op: "reinit",
    label: "Re-initialise",
    detail: "draw the initial values anew, of a tensor or a module",
    value: {
      prompt: "Scheme: kaiming_uniform, kaiming_normal, xavier_uniform, xavier_normal, orthogonal, truncated_normal, normal, uniform, zeros, ones; empty for the layer's own.",
      example: "kaiming_normal(nonlinearity='relu')",
      isOptional: true,
    },
    hasSlice: false,
  },
  {
    op: "load",
    label: "Load",
    detail: "the values in a checkpoint, for a tensor or a module",
    value: {
      prompt: "File: safetensors, or what torch.save wrote (read with weights_only).",
      example: "runs/best.pt",
      endings: ["safetensors", "pt", "pth", "bin", "ckpt"],
    },
    hasSlice: false,
  },
  { op: "freeze", label: "Freeze", detail: "a parameter, or all of a module: no gradients", hasSlice: false },
  { op: "unfreeze", label: "Unfreeze", detail: "a parameter, or all of a module", hasSlice: false },
  {
    op: "output",
    label: "Output of a Module",
    detail: "skip, cut or scale what a module adds, until undone",
    value: { prompt: "identity, zero, or a number to scale by.", example: "identity" },
    hasSlice: false,
  },
];

/** What is wrong with a value as it was typed, before the program is asked. */
export function valueProblem(operation: PatchOperation, typed: string): string | undefined {
  if (!operation.value) return undefined;
  if (typed.trim() === "" && operation.value.isOptional) return undefined;
  if (typed.trim() === "") return `A value is needed, for example ${operation.value.example}.`;
  return bracketProblem(typed);
}

/** What is wrong with a part as it was typed; an empty one is the whole tensor. */
export function sliceProblem(typed: string): string | undefined {
  return bracketProblem(typed);
}

/** A part as between brackets; brackets that were typed all the same are taken off. */
export function sliceOf(typed: string): string | null {
  const text = typed.trim();
  const bare = text.startsWith("[") && closes(text) ? text.slice(1, -1).trim() : text;
  return bare === "" ? null : bare;
}

/** Whether the first bracket is closed by the last character. */
function closes(text: string): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if ("([{".includes(character)) depth++;
    if (")]}".includes(character)) depth--;
    if (depth === 0) return index === text.length - 1;
  }
  return false;
}

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

function bracketProblem(text: string): string | undefined {
  const open: string[] = [];
  for (const character of text.replace(/"[^"]*"|'[^']*'/g, "")) {
    const closing = CLOSING[character];
    if (closing !== undefined) open.push(closing);
    else if (")]}".includes(character) && open.pop() !== character) {
      return `There is a “${character}” too many.`;
    }
  }
  const missing = open.pop();
  return missing === undefined ? undefined : `A “${missing}” is missing.`;
}
