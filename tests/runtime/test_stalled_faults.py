"""Parameters that do not learn: the line to blame is found."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import torch

from tests.programs.stalled import cut, small, unowned
from tests.programs.stalled.parts import Program
from tests.runtime.watching import watching_for

_MARK = re.compile(r"# <- culprit(?: of (\w+))?$")

# What the sentence must contain besides the line.
SAID = {
    unowned.weights_without_the_norms: "1.weight does not learn",
    unowned.second_network_forgotten: "head.weight and head.bias do not learn",
    unowned.optimizer_of_an_old_model: "put in place after SGD was built",
    unowned.adapters_added_late: "body.low.weight",
    unowned.module_added_late: "out.weight and",
    unowned.parameter_made_anew_by_a_cast: "head.weight does not learn",
    unowned.replaced_in_a_function: "SGD still owns 2 parameters that are no longer in the model",
    unowned.heads_in_a_list: "InList.heads is a plain list",
    unowned.layers_appended: "Appended.layers is a plain list",
    unowned.blocks_in_a_dict: "blocks['a'][0].weight",
    unowned.parameters_in_a_list: "scales[0] does not learn",
    unowned.plain_tensor_forgotten: "b does not learn",
    unowned.two_optimizers_and_a_gap: "4.weight and 4.bias",
    cut.detached_in_forward: "detach of h cuts it off the loss",
    cut.data_in_forward: "data",
    cut.decorated_with_no_grad: "no_grad",
    cut.block_of_no_grad: "no_grad cuts it off the loss (as h)",
    cut.through_numpy: "detach of h",
    cut.list_of_numbers: "item",
    cut.hard_routing: "although router was called: argmax",
    cut.term_from_a_helper: "argmax of scores",
    cut.cast_to_integers: "int64",
    cut.gate_by_comparison: "> of self.gate",
    cut.quantised_without_straight_through: "gradients of zero",
    cut.reset_before_the_step: "their gradients are gone when Adam steps",
    cut.never_called: "Unused.two is never called",
    small.frozen_again_in_phase_two: "body.weight and body.bias do not learn",
    small.frozen_again_by_a_function: "frozen 2 times",
    small.bfloat16_weights: "below the resolution of bfloat16 (eps 0.00781)",
    small.hopeless_rate: "at lr 1e-12 are below the resolution of float32",
    small.schedule_that_ended: "the learning rate of SGD has been 0 for 20 steps",
}


def marked(program: Program) -> list[int]:
    """Return the lines that are to blame: in the program, or in its file with its name."""
    source, first = inspect.getsourcelines(program)
    path = Path(inspect.getsourcefile(program) or "")
    inside = range(first, first + len(source))
    return [
        number
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := _MARK.search(line))
        and (match[1] == program.__name__ or (match[1] is None and number in inside))
    ]


@pytest.mark.parametrize("program", SAID, ids=lambda program: program.__name__)
def test_the_line_to_blame_is_found(program: Program) -> None:
    torch.manual_seed(0)
    with watching_for("stalled") as host:
        program()

    assert not host.notices
    assert len(host.hits) == 1
    hit = host.hits[0]
    assert SAID[program] in hit.text
    assert hit.label == "Parameter not learning"
    assert hit.details.origin.line in marked(program)
    assert Path(hit.details.origin.path).name == Path(inspect.getsourcefile(program) or "").name
    assert hit.details.suggestions
    assert hit.details.evidence
