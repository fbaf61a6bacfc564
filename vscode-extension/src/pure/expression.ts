// Which expression of a Python line is meant by a place in it.

/**
 * The dotted and indexed expression around an offset, e.g. `self.layers[0].weight` anywhere in it.
 * It ends with the name or index the offset is in, as a hover does: on `layers`, `self.layers`.
 * Calls are left out, since evaluating one may change the program.
 */
export function expressionAt(text: string, offset: number): string | undefined {
  const code = maskStrings(text);
  const end = endOf(code, offset);
  if (end === undefined) return undefined;
  const start = startOf(code, end);
  if (start === undefined) return undefined;
  const found = text.slice(start, end).trim();
  return isExpression(found) ? found : undefined;
}

/** Python's keywords that no expression starts with or consists of. */
const KEYWORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except " +
    "finally for from global if import in is lambda nonlocal not or pass raise return try while " +
    "with yield").split(" "),
);

const NAME = /[\p{L}\p{N}_]/u;

function endOf(code: string, offset: number): number | undefined {
  if (!inCode(code, offset)) return undefined;
  const bracket = enclosingSubscript(code, offset);
  let end = offset;
  while (end < code.length && isName(code[end])) end++;
  if (end > 0 && isName(code[end - 1])) {
    const inside = bracket !== undefined && /^\d+$/.test(wordBefore(code, end));
    return inside ? bracket + 1 : end;
  }
  if (code[end - 1] === "]") return end;
  return bracket === undefined ? undefined : bracket + 1;
}

/** The closing bracket of the subscript that the offset is in or before. */
function enclosingSubscript(code: string, offset: number): number | undefined {
  let depth = 0;
  for (let i = offset - 1; i >= 0; i--) {
    if (code[i] === "]" || code[i] === ")") depth++;
    if (code[i] === "[" || code[i] === "(") {
      if (depth === 0) return code[i] === "[" && isAfterValue(code, i) ? closing(code, i) : undefined;
      depth--;
    }
  }
  return code[offset] === "[" && isAfterValue(code, offset) ? closing(code, offset) : undefined;
}

function closing(code: string, open: number): number | undefined {
  let depth = 0;
  for (let i = open; i < code.length; i++) {
    if (code[i] === "[" || code[i] === "(") depth++;
    if ((code[i] === "]" || code[i] === ")") && --depth === 0) return i;
  }
  return undefined;
}

function startOf(code: string, end: number): number | undefined {
  let at = end;
  for (;;) {
    while (at > 0 && code[at - 1] === "]") {
      const open = opening(code, at - 1);
      if (open === undefined || !isAfterValue(code, open)) return undefined;
      at = open;
    }
    if (code[at - 1] === ")") return undefined; // what follows a call needs the call
    const nameEnd = at;
    while (at > 0 && isName(code[at - 1])) at--;
    if (at === nameEnd) return undefined;
    if (code[at - 1] !== ".") return at;
    at--;
  }
}

function opening(code: string, close: number): number | undefined {
  let depth = 0;
  for (let i = close; i >= 0; i--) {
    if (code[i] === "]" || code[i] === ")") depth++;
    if ((code[i] === "[" || code[i] === "(") && --depth === 0) {
      return code.slice(i, close).includes("(") ? undefined : i;
    }
  }
  return undefined;
}

function isExpression(text: string): boolean {
  const first = /^[\p{L}_][\p{L}\p{N}_]*/u.exec(text)?.[0];
  return first !== undefined && !KEYWORDS.has(text.trim()) && !KEYWORDS.has(first);
}

function isAfterValue(code: string, index: number): boolean {
  const before = code[index - 1];
  return before !== undefined && (isName(before) || before === "]" || before === ")");
}

function wordBefore(code: string, end: number): string {
  let start = end;
  while (start > 0 && isName(code[start - 1])) start--;
  return code.slice(start, end);
}

function isName(character: string | undefined): boolean {
  return character !== undefined && NAME.test(character);
}

function inCode(code: string, offset: number): boolean {
  return code[offset] !== MASK && code[offset - 1] !== MASK && code[offset] !== COMMENT;
}

const MASK = "\u0000";
const COMMENT = "\u0001";

/** Strings and comments made unreadable, each character kept in its place. */
function maskStrings(text: string): string {
  return text.replace(
    /("""|''')[\s\S]*?(\1|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|#[^\n]*/g,
    (found) => (found.startsWith("#") ? COMMENT : MASK).repeat(found.length),
  );
}
