"""A state dict that does not fit the model.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, Optional

from zentracer.control import edits
from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.lookup import is_module
from zentracer.frameworks.pytorch.errors.operands import expressions
from zentracer.frameworks.pytorch.live import held_by

LABEL = "State dict does not fit"
_MESSAGE = re.compile(r"Error\(s\) in loading state_dict for (?P<model>\w+)")
_KEYS = re.compile(r'"([^"]+)"')
_SIZE = re.compile(
    r"size mismatch for (?P<key>\S+): copying a param with shape (?P<theirs>.*?) from checkpoint, "
    r"the shape in current model is (?P<ours>.*?)\.(?:\n|$)"
)
_GROUPS = re.compile(
    r"loaded state dict (has a different number of parameter groups|contains a para)"
)
_SHOWN = 4
_OTHERS = frozenset(
    {"state_dict", "model_state_dict", "model", "epoch", "optimizer", "optimizer_state_dict"}
)
"""What a checkpoint holds besides the weights."""


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain missing, unexpected and misshapen keys."""
    if _GROUPS.search(failure.message):
        return _groups(failure)
    match = _MESSAGE.search(failure.message)
    if match is None:
        return None
    missing = _listed(failure.message, "Missing key")
    unexpected = _listed(failure.message, "Unexpected key")
    sizes = [found.groupdict() for found in _SIZE.finditer(failure.message)]
    said = Explanation(LABEL, "", op="load_state_dict", phase="load", operands=())
    said.text = _sentence(failure, match["model"], missing, unexpected, sizes)
    for title, keys in (("missing", missing), ("unexpected", unexpected)):
        if keys:
            said.fact(f"{title}: {_some(keys)}")
    for size in sizes[:_SHOWN]:
        said.fact(
            f"{size['key']} is {_shape(size['theirs'])} in the checkpoint and "
            f"{_shape(size['ours'])} in the model"
        )
    _suggest(failure, said, missing, unexpected, sizes)
    return said


def _sentence(
    failure: Failure, model: str, missing: list[str], unexpected: list[str], sizes: list[Any]
) -> str:
    parts: list[str] = []
    total = _number_of_keys(failure)
    of = f" of {total}" if total else ""
    if missing:
        parts.append(f"{len(missing)}{of} keys of {model} are missing")
    if unexpected:
        prefix = (_difference(missing, unexpected) or ("", ""))[0] or common_prefix(unexpected)
        starts = f', all with the prefix "{prefix}"' if prefix and len(unexpected) > 1 else ""
        parts.append(f"{len(unexpected)} unexpected{starts}")
    if sizes:
        parts.append(f"{len(sizes)} of another shape")
    return f"The state dict does not fit {model}: {', '.join(parts) or 'see its message'}."


def _number_of_keys(failure: Failure) -> int:
    for spot in failure.inner:
        module = spot.frame.f_locals.get("self")
        if spot.code.co_name == "load_state_dict" and is_module(module):
            waiting, count = [module], 0
            for one in waiting:  # grows meanwhile
                count += len(held_by(one, "_parameters")) + len(held_by(one, "_buffers"))
                waiting += [child for _, child in held_by(one, "_modules") if child is not None]
                if len(waiting) > 10_000:
                    return 0
            return count
    return 0


def _suggest(
    failure: Failure,
    said: Explanation,
    missing: list[str],
    unexpected: list[str],
    sizes: list[Any],
) -> None:
    prefix = _difference(missing, unexpected)
    if prefix is not None and prefix[0]:
        _strip(failure, said, prefix[0])
    elif prefix is not None:
        said.suggest(
            f'Put "{prefix[1]}" in front of the keys',
            f"The model is wrapped: load into its {prefix[1].rstrip('.')}, or into the model "
            "before it is wrapped.",
        )
    elif _is_wrapped(unexpected):
        said.suggest(
            "Load the state dict inside the checkpoint",
            f"The file holds more than the model: its keys are {_some(unexpected)}. Pass the entry "
            'that has the weights, e.g. checkpoint["model_state_dict"].',
        )
    if sizes:
        said.suggest(
            "Build the model with the sizes of the checkpoint",
            f"{sizes[0]['key']} differs: another number of classes, tokens or channels. Make the "
            "model with the same arguments, or drop these keys and load with strict=False to "
            "train them anew.",
        )
    if not said.suggestions:
        said.suggest(
            "Make the model that was saved",
            "The names come from the attributes of the modules: compare them. strict=False loads "
            "what fits and answers what did not; look at that answer.",
        )


def _strip(failure: Failure, said: Explanation, prefix: str) -> None:
    maker = {"module.": "DataParallel or DistributedDataParallel", "_orig_mod.": "torch.compile"}
    from_where = f" {maker[prefix]} put it there." if prefix in maker else ""
    said.suggest(
        f'Take "{prefix}" off the keys',
        f'All keys begin with "{prefix}", which the model does not have.{from_where} Without it '
        "they fit.",
        _strip_edit(failure, prefix),
    )


def _strip_edit(failure: Failure, prefix: str) -> Any:
    place = failure.source
    nodes = [node for node in expressions(place.node)[1:] if place.module is not None]
    if not nodes or place.module is None:
        return None
    held = edits.bracketed(place.module, nodes[0])
    new = f'{{k.replace("{prefix}", "", 1): v for k, v in {held}.items()}}'
    return edits.replace(place, nodes[0], new)


def _difference(missing: list[str], unexpected: list[str]) -> Optional[tuple[str, str]]:
    """Return the prefix that the file's keys have and the model's lack, or the other way round."""
    if not missing or not unexpected:
        return None
    for prefix in _beginnings(common_prefix(unexpected)):
        if {key[len(prefix) :] for key in unexpected} & set(missing):
            return prefix, ""
    for prefix in _beginnings(common_prefix(missing)):
        if {key[len(prefix) :] for key in missing} & set(unexpected):
            return "", prefix
    return None


def _beginnings(prefix: str) -> list[str]:
    """Return ``module.`` and ``module.0.`` for ``module.0.``."""
    return [prefix[: index + 1] for index, letter in enumerate(prefix) if letter == "."]


def common_prefix(keys: list[str]) -> str:
    """Return ``module.`` for ``module.a`` and ``module.b``: whole parts only."""
    if not keys:
        return ""
    parts = [key.split(".")[:-1] for key in keys]
    same = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*parts))
    return "".join(f"{column[0]}." for column in same)


def _is_wrapped(unexpected: list[str]) -> bool:
    return bool(_OTHERS & set(unexpected))


def _listed(message: str, title: str) -> list[str]:
    found = re.search(rf"{title}\(s\) in state_dict: (.*?)\. ?(?:\n|$)", message, re.S)
    return _KEYS.findall(found[1]) if found else []


def _some(keys: list[str]) -> str:
    more = len(keys) - _SHOWN
    return ", ".join(keys[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _shape(text: str) -> str:
    return text.replace("torch.Size(", "").replace(")", "")


def _groups(failure: Failure) -> Explanation:
    said = Explanation(LABEL, "", op="load_state_dict", phase="load", operands=())
    said.text = f"The optimizer's state does not fit: {' '.join(failure.message.split())}."
    said.suggest(
        "Make the optimizer with the same parameters in the same groups",
        "Its state goes by position. Freeze, add and group parameters before it is made, as in the "
        "run that saved it.",
    )
    return said
