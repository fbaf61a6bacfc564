"""Whether a breakpoint on an operation can be hit, in a sentence.

RUNS IN the training process, when breakpoints are set.
"""

from __future__ import annotations

import difflib

from zentracer.frameworks.pytorch.breaks.glob import is_glob, matcher
from zentracer.frameworks.pytorch.breaks.op_names import inside, registered_names, visible_names

_TORCHS = ("aten.", "prim.", "prims.")


def what_becomes_of(pattern: str, said: str) -> tuple[bool, str | None]:
    """Return whether a breakpoint is verified, and what is to be said.

    Args:
        pattern: as ``op_names.normalised`` spells it.
        said: as the user wrote it.
    """
    around = () if is_glob(pattern) else inside(pattern)
    if around:
        functions = " and ".join(f"torch.nn.functional.{name}" for name in around)
        return True, f"{said} runs inside {functions}: it stops there."
    if _fits(pattern, visible_names()):
        return True, None
    registered = registered_names()
    if _fits(pattern, _custom(registered)):
        return True, None
    if _fits(pattern, registered):
        return False, (
            f"{said} is run by PyTorch itself, below the functions that Python sees. It stops only "
            "where the program calls it as torch.ops.aten.…; name the function that runs it."
        )
    return False, _unknown(pattern, said, registered)


def _unknown(pattern: str, said: str, registered: frozenset[str]) -> str:
    names = {name for name in visible_names() if not name.startswith("torch.Tensor")}
    near = difflib.get_close_matches(pattern, names | _custom(registered), n=3, cutoff=0.75)
    hint = f" Similar names: {', '.join(near)}." if near else ""
    waits = "the breakpoint becomes active when one is called"
    return f"No operation matches '{said}' yet; {waits}.{hint}"


def _custom(registered: frozenset[str]) -> frozenset[str]:
    """Return the names, with and without namespace, of operations that are not PyTorch's own."""
    own = frozenset(
        name for name in registered if not name.startswith(("aten.", "prim.", "prims."))
    )
    return own | {name.partition(".")[2] for name in own}


def _fits(pattern: str, names: frozenset[str]) -> bool:
    if not is_glob(pattern):
        return pattern in names
    fits = matcher(pattern)
    return any(fits(name) for name in names)
