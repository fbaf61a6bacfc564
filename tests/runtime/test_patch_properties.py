"""What holds for any sequence of changes and of what takes them back."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn

from zentracer import patches
from zentracer.frameworks.pytorch.patches.place import Place
from zentracer.patches.change import Refused
from zentracer.wire.patches import Patch, PatchState

SLICES = (None, "0", "1, 2", ":, 1:3", "1:, ::2", "[0, 2]", "..., -1", "x > 0")
OPERATIONS = (
    ("set", "0.5"),
    ("scale", "-2"),
    ("add", "0.1"),
    ("fill", "3"),
    ("zero", None),
    ("noise", "0.1"),
    ("clamp", "(-1, 1)"),
)


def apply(target: str, op: str = "set", value: str | None = None, **more: Any) -> PatchState:
    return patches.apply(Patch(target=target, op=op, value=value, **more), sys._getframe(1))


def bits(x: Any) -> bytes:
    return x.detach().contiguous().view(torch.uint8).numpy().tobytes()


def tensors() -> tuple[Any, Any, Any, Any]:
    """A weight that two modules have, and two views of it that overlap."""
    x = nn.Parameter(torch.randn(3, 4))
    return x, nn.ParameterList([x])[0], x.detach()[:2], x.detach().t()


@pytest.mark.parametrize("seed", range(12))
def test_any_sequence_can_be_taken_back(seed: int) -> None:
    chance = random.Random(seed)
    x, tied, view, turned = tensors()
    names = ("x", "tied", "view", "turned")
    original = bits(x)
    done: list[int] = []
    undone: list[int] = []
    for _ in range(40):
        what = chance.random()
        if what < 0.5 or not done:
            op, value = chance.choice(OPERATIONS)
            try:
                state = apply(chance.choice(names), op, value, slice=chance.choice(SLICES))
            except Refused as refused:
                assert str(refused).endswith(".")
                continue
            done.append(state.patch_id)
            continue
        there = bits(x)
        if what < 0.8 or not undone:
            number = chance.choice(done)
            state = patches.journal.undo(number)
            expected, source, goal = "undone", done, undone
        else:
            number = chance.choice(undone)
            state = patches.journal.redo(number)
            expected, source, goal = "applied", undone, done
        if state.status == expected:
            source.remove(number)
            goal.append(number)
        else:
            assert state.status == "out_of_sync" and state.message
            assert bits(x) == there
    while done:  # whatever the order, one of those that are left can be taken back
        left = [n for n in reversed(done) if patches.journal.undo(n).status != "undone"]
        if len(left) == len(done):
            break  # redone under another: each says so, and none is half undone
        done = left[::-1]
    assert done or bits(x) == original
    assert tied is x and view.data_ptr() == turned.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("seed", range(8))
def test_undone_in_reverse_the_original_bytes_are_there(seed: int) -> None:
    chance = random.Random(seed)
    x, tied, view, turned = tensors()
    original = bits(x)
    done: list[int] = []
    for _ in range(30):
        op, value = chance.choice(OPERATIONS)
        try:
            state = apply(
                chance.choice(("x", "tied", "view", "turned")),
                op,
                value,
                slice=chance.choice(SLICES),
            )
        except Refused:
            continue
        done.append(state.patch_id)
    left = bits(x)
    assert all(patches.journal.undo(n).status == "undone" for n in reversed(done))
    assert bits(x) == original
    assert all(patches.journal.redo(n).status == "applied" for n in done)
    assert bits(x) == left and tied is x and len(view) < len(turned)


def test_versions_tell_autograd() -> None:
    x = torch.zeros(4)
    view = x[1:]
    versions = [x._version]
    state = apply("view", "fill", "1", slice="0")
    versions.append(x._version)
    patches.journal.undo(state.patch_id)
    versions.append(x._version)
    assert versions == sorted(set(versions)) and view._version == x._version


def test_nothing_is_kept_alive() -> None:
    x = torch.zeros(1000)
    value = torch.ones(1000)
    state = apply("x", "copy", "value")
    kept = weakref.ref(x), weakref.ref(value)
    del x, value
    gc.collect()
    assert [ref() for ref in kept] == [None, None]
    assert patches.journal.undo(state.patch_id).status == "gone"


def test_many_changes_are_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(sys.modules["zentracer.patches.journal"], "MOST", 50)
    x = torch.zeros(8, 8)
    count = len(patches.journal.states())
    first = apply("x", "add", "1", slice="0, 0")
    for _ in range(count + 99):
        apply("x", "add", "1", slice="0, 0")
    states = patches.journal.states(3)
    assert [state.patch_id - first.patch_id for state in states] == [
        count + n for n in (97, 98, 99)
    ]
    assert len(patches.journal.states()) <= max(count, 50)
    assert x[0, 0] == count + 100


@pytest.mark.parametrize(
    ("x", "value", "why"),
    [
        (torch.zeros(3, dtype=torch.uint8), "256", "holds 0 to 255"),
        (torch.zeros(3, dtype=torch.uint8), "-1", "holds 0 to 255"),
        (torch.zeros(3, dtype=torch.int64), "2 ** 63", "."),
        (torch.zeros(3, dtype=torch.int32), "0.5", "whole numbers"),
        (torch.zeros(3, dtype=torch.int32), "float('nan')", "whole numbers"),
        (torch.zeros(3, dtype=torch.bool), "2", "True and False"),
        (torch.zeros(3, dtype=torch.float16), "70000.0", "largest value is 65504"),
        (torch.zeros(3, dtype=torch.bfloat16), "1e39", "largest value"),
        (torch.zeros(3), "1e39", "largest value"),
        (torch.zeros(3), "1j", "complex"),
        (torch.zeros(3), "'a'", "no number"),
        (torch.zeros(3), "None", "no number"),
        (torch.zeros(3), "torch.zeros(2)", "does not broadcast"),
        (torch.zeros(1).expand(3), "1", "expanded"),
        (torch.eye(3).to_sparse(), "1", "cannot be changed"),
        (torch.eye(3).to_sparse_csr(), "1", "cannot be changed"),
        (torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "1", "cannot be changed"),
        (torch.empty(3, device="meta"), "1", "cannot be changed"),
        (torch.zeros(0, 3), "1", "no elements"),
    ],
)
def test_what_a_type_cannot_hold_is_refused(x: Any, value: str, why: str) -> None:
    version = x._version
    count = len(patches.journal.states())
    with pytest.raises(Refused, match=why):
        apply("x", "set", value)
    assert x._version == version and len(patches.journal.states()) == count


@pytest.mark.parametrize(
    ("op", "value", "dtype", "there"),
    [
        ("scale", "3", torch.uint8, 100),
        ("add", "100", torch.int8, 100),
        ("scale", "1.5", torch.int32, 1),
        ("fill", "1e6", torch.float16, 1),
    ],
)
def test_overflow_is_refused(op: str, value: str, dtype: Any, there: int) -> None:
    x = torch.full((3,), there, dtype=dtype)
    with pytest.raises(Refused, match=r"holds|largest"):
        apply("x", op, value)
    assert x.tolist() == [there] * 3


@pytest.mark.parametrize(
    "x",
    [
        torch.tensor(2.0),
        torch.ones(3, 4).t(),
        torch.ones(4, 6)[::2, 1::2],
        torch.ones(3, dtype=torch.float16),
        torch.ones(3, dtype=torch.bfloat16),
        torch.ones(3, dtype=torch.complex64),
        torch.ones(3, dtype=torch.int64),
        torch.ones(3, dtype=torch.bool),
    ],
    ids=lambda x: f"{x.dtype}{list(x.shape)}",
)
def test_every_form_is_changed_and_back(x: Any) -> None:
    original = x.clone()
    state = apply("x", "set", "0")
    assert not x.count_nonzero()
    assert patches.journal.undo(state.patch_id).status == "undone"
    assert torch.equal(x, original)


def test_large_whole_numbers_are_exact() -> None:
    x = torch.tensor([2**60])
    apply("x", "add", "1")
    assert x.item() == 2**60 + 1
    with pytest.raises(Refused, match="beyond it"):
        apply("x", "scale", "16")
    assert x.item() == 2**60 + 1


def test_inference_tensors() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    state = apply("x", "fill", "2")
    assert x.tolist() == [2.0] * 3 and x.is_inference()
    patches.journal.undo(state.patch_id)
    assert x.tolist() == [1.0] * 3


def test_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    x = numpy.ones((3, 4))
    view = x[1:, ::2]
    state = apply("view", "set", "5", slice="0")
    assert x[1].tolist() == [5.0, 1.0, 5.0, 1.0]
    patches.journal.undo(state.patch_id)
    assert (x == 1).all() and (view == 1).all()
    x.flags.writeable = False
    with pytest.raises(Refused, match="read-only"):
        apply("x", "set", "5")


@pytest.mark.parametrize("index", ["mask", "[0, 2]", "torch.tensor([2, 0]), 1", "x > 5"])
def test_picked_elements(index: str) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    mask = x % 2 == 0
    original, chosen = x.clone(), eval(f"x[{index}]", {"torch": torch}, {"x": x, "mask": mask})
    state = apply("x", "scale", "10", slice=index)
    changed = (x != original).sum()
    assert changed == (chosen != 0).sum()
    patches.journal.undo(state.patch_id)
    assert torch.equal(x, original)


def test_nan_is_allowed_and_said() -> None:
    x = torch.tensor([float("nan"), 1.0, 2.0])
    original = bits(x)
    state = apply("x", "set", "float('nan')", slice="1")
    assert any("NaN" in note for note in state.notes)
    assert patches.journal.undo(state.patch_id).status == "undone"
    assert bits(x) == original


def test_a_write_that_fails_half_way_leaves_the_old_value(monkeypatch: Any) -> None:
    x = torch.arange(6.0)
    write = Place.write
    state = apply("x", "fill", "9")
    failures = iter([True, False, True, False])

    def half(place: Place, new: Any) -> None:
        if next(failures):
            place.view()[:3].copy_(new[:3])
            raise RuntimeError("device lost")
        write(place, new)

    monkeypatch.setattr(Place, "write", half)
    with pytest.raises(Refused, match="device lost"):
        apply("x", "zero")
    assert x.tolist() == [9.0] * 6
    with pytest.raises(Refused, match="device lost"):
        patches.journal.undo(state.patch_id)
    assert x.tolist() == [9.0] * 6
    monkeypatch.undo()
    assert patches.journal.undo(state.patch_id).status == "undone"
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_one_rank_says_that_it_is_one() -> None:
    dist = torch.distributed
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    x = torch.zeros(3)
    assert not any("rank" in note for note in apply("x", "fill", "1").notes)
    dist.init_process_group("fake", store=fake.FakeStore(), rank=1, world_size=2)
    try:
        assert any("rank 1 of 2" in note for note in apply("x", "fill", "2").notes)
    finally:
        dist.destroy_process_group()
    assert x.tolist() == [2.0] * 3
