/** PyTorch's operations, to choose one to stop at. */
import byNamespace from "./operations.json";

export interface Operation {
  /** As it is called for short, e.g. `softmax`. */
  readonly label: string;
  /** As it follows `op:`, e.g. `torch.softmax`, which stands for every spelling of it. */
  readonly name: string;
  /** `torch.softmax · F.softmax · x.softmax() · aten.softmax` */
  readonly spellings: string;
}

type Namespace = keyof typeof byNamespace;

function namesOf(namespace: Namespace): ReadonlySet<string> {
  return new Set(byNamespace[namespace].split(" "));
}

const NAMES: Readonly<Record<Namespace, ReadonlySet<string>>> = {
  torch: namesOf("torch"),
  F: namesOf("F"),
  linalg: namesOf("linalg"),
  fft: namesOf("fft"),
  Tensor: namesOf("Tensor"),
  aten: namesOf("aten"),
};

/** What is looked through for `name` in the order in which a name is chosen for it. */
const OWN: readonly Namespace[] = ["torch", "F"];

/** All that are offered, by name. */
export function operations(): readonly Operation[] {
  const plain = new Set(OWN.flatMap((namespace) => [...NAMES[namespace]]));
  return [
    ...[...plain].sort().map(operationOf),
    ...qualified("linalg"),
    ...qualified("fft"),
  ];
}

function operationOf(name: string): Operation {
  const chosen = OWN.find((namespace) => NAMES[namespace].has(name)) ?? "torch";
  const spellings = [
    `${chosen}.${name}`,
    chosen !== "F" && NAMES.F.has(name) ? `F.${name}` : "",
    NAMES.Tensor.has(name) ? `x.${name}()` : "",
    NAMES.aten.has(name) ? `aten.${name}` : "",
  ];
  return {
    label: name,
    name: `${chosen}.${name}`,
    spellings: spellings.filter(Boolean).join(" · "),
  };
}

/** Their names mean something else without the namespace. */
function qualified(namespace: "linalg" | "fft"): Operation[] {
  return [...NAMES[namespace]].map((name) => ({
    label: `${namespace}.${name}`,
    name: `${namespace}.${name}`,
    spellings: `torch.${namespace}.${name}`,
  }));
}

/** What was typed, as an operation; undefined where a row has it already, or nothing was typed. */
export function typedOperation(typed: string): string | undefined {
  const name = typed.trim().replace(/^op:\s*/, "");
  if (name === "" || /\s/.test(name)) return undefined;
  return operations().some((one) => one.name === name || one.label === name) ? undefined : name;
}
