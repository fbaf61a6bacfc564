"""Initial values drawn anew, values from files, and changes that the program asks for."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import zentracer
from zentracer import patches
from zentracer.patches.change import Refused
from zentracer.wire.patches import Patch, PatchState


class Net(nn.Module):
    """Has tied weights, a norm with statistics, and a padding row."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 6, padding_idx=0)
        self.body = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 6))
        self.head = nn.Linear(6, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.embedding(x)))


@pytest.fixture
def model() -> Net:
    torch.manual_seed(0)
    return Net()


def change(model: Any, target: str, op: str, value: str | None = None, **more: Any) -> PatchState:
    state = torch.get_rng_state()
    patch = Patch(target=target, op=op, value=value, **more)
    made = patches.apply(patch, sys._getframe())
    assert torch.equal(torch.get_rng_state(), state)
    return made


def undo(state: PatchState) -> None:
    assert patches.journal.undo(state.patch_id).status == "undone"


def values(model: nn.Module) -> dict[str, Tensor]:
    return {name: x.clone() for name, x in model.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize(
    ("layer", "value", "std"),
    [
        (nn.Linear(400, 200), "kaiming_normal", math.sqrt(2 / 400)),
        (nn.Linear(400, 200), "kaiming_normal(mode='fan_out', a=1)", math.sqrt(1 / 200)),
        (nn.Linear(400, 200), None, math.sqrt(1 / 3 / 400)),
        (nn.Linear(400, 200), "torch.nn.init.xavier_uniform_", math.sqrt(2 / 600)),
        (nn.Conv2d(64, 64, 3, groups=4), "kaiming_uniform", math.sqrt(2 / (16 * 9))),
        (nn.Conv2d(64, 128, 3, groups=4), "xavier_normal", math.sqrt(2 / ((16 + 32) * 9))),
        (nn.ConvTranspose2d(96, 32, 3), "kaiming_normal", math.sqrt(2 / (96 * 9))),
        (nn.ConvTranspose2d(96, 32, 3, groups=2), "kaiming_normal", math.sqrt(2 / (48 * 9))),
        (nn.Embedding(300, 200), "kaiming_normal", math.sqrt(2 / 200)),
        (nn.Embedding(300, 200), None, 1.0),
        (nn.Linear(300, 200), "truncated_normal(std=0.02)", 0.02),
        (nn.Linear(300, 200), "normal(0, 0.5)", 0.5),
        (nn.Linear(300, 200), "uniform(-0.1, 0.1)", 0.1 / math.sqrt(3)),
        (nn.LSTM(64, 64), None, 1 / math.sqrt(3 * 64)),
    ],
)
def test_numbers_have_the_spread_of_the_scheme(layer: Any, value: str | None, std: float) -> None:
    name = "weight_ih_l0" if isinstance(layer, nn.LSTM) else "weight"
    before = getattr(layer, name).detach().clone()
    state = change(layer, f"model.{name}", "reinit", value)
    now = getattr(layer, name).detach()
    assert not torch.equal(now, before)
    assert now.std().item() == pytest.approx(std, rel=0.05)
    assert abs(now.mean().item()) < 0.05 * std
    names = {"torch": torch, "model": layer}
    exec(state.code, names)
    assert getattr(layer, name).std().item() == pytest.approx(std, rel=0.05)


def test_rows_are_orthogonal() -> None:
    layer = nn.Conv1d(8, 16, 4)
    change(layer, "model.weight", "reinit", "orthogonal(gain=2)")
    flat = layer.weight.detach().flatten(1)
    assert torch.allclose(flat @ flat.T, 4 * torch.eye(16), atol=1e-5)


def test_a_truncated_normal_keeps_its_bounds() -> None:
    layer = nn.Linear(200, 200)
    change(layer, "model.weight", "reinit", "truncated_normal(std=1, a=-0.5, b=0.25)")
    weight = layer.weight
    assert -0.5 <= weight.min() < -0.49 and 0.24 < weight.max() <= 0.25


@pytest.mark.parametrize("layer", [nn.Linear(64, 3), nn.Conv2d(32, 8, 2, groups=2)])
def test_a_bias_has_the_fan_of_its_weight(layer: Any) -> None:
    bound = 1 / math.sqrt(64)
    change(layer, "model.bias", "reinit", "zeros")
    assert not layer.bias.any()
    for value in (None, "kaiming_uniform"):
        change(layer, "model.bias", "reinit", value)
        assert 0 < layer.bias.abs().max() <= bound


def test_layers_begin_as_their_own_code_has_them() -> None:
    attention = nn.MultiheadAttention(8, 2, add_bias_kv=True)
    with torch.no_grad():
        for p in attention.parameters():
            p.fill_(7)
    change(attention, "model", "reinit")
    assert not attention.in_proj_bias.any() and not attention.out_proj.bias.any()
    bound = math.sqrt(6 / (8 + 24))
    assert 0.9 * bound < attention.in_proj_weight.abs().max() <= bound
    assert attention.bias_k.abs().max() < 7


def test_part_of_a_weight() -> None:
    layer = nn.Linear(100, 50)
    before = layer.weight.detach().clone()
    state = change(layer, "model.weight", "reinit", "kaiming_normal", slice="3:5")
    assert torch.equal(layer.weight[5:], before[5:])
    assert layer.weight[3:5].std().item() == pytest.approx(math.sqrt(2 / 100), rel=0.3)
    undo(state)
    change(layer, "model.weight", "reinit", "orthogonal", slice="3:5")
    part = layer.weight[3:5].detach()
    assert torch.allclose(part @ part.T, torch.eye(2), atol=1e-5)


def test_a_module_changes_as_one(model: Net) -> None:
    model.body[1].running_mean.fill_(3)
    before = values(model)
    first = change(model, "model.body[0].bias", "fill", "1")
    state = change(model, "model", "reinit", "kaiming_normal(a=0.1)")
    late = patches.journal.undo(first.patch_id)
    assert late.status == "out_of_sync"
    assert f"undo change {state.patch_id} first" in str(late.message)
    after = values(model)
    assert not any(torch.equal(before[k], after[k]) for k in after if k.endswith("0.weight"))
    assert model.head.weight is model.embedding.weight and not model.embedding.weight[0].any()
    assert model.body[1].running_mean[0] == 3  # it is no parameter
    assert any("one tensor" in note for note in state.notes)
    undo(state)
    undo(first)
    assert same(values(model), before)
    assert patches.journal.redo(first.patch_id).status == "applied"
    assert patches.journal.redo(state.patch_id).status == "applied"
    assert same(values(model), after)
    with torch.no_grad():
        model.body[0].bias[0] += 1
    moved = values(model)
    assert patches.journal.undo(state.patch_id).status == "out_of_sync"
    assert same(values(model), moved)
    state = change(model, "model", "reinit")
    assert model.body[1].running_mean[0] == 0  # reset_parameters does that


def test_what_layers_of_the_users_have_is_left_and_said() -> None:
    model = nn.Sequential(nn.Linear(3, 3))
    model.scale = nn.Parameter(torch.full((3,), 5.0))
    state = change(model, "model", "reinit", "xavier_normal")
    assert model.scale.tolist() == [5.0] * 3
    assert any("left as they were" in note and "scale" in note for note in state.notes)


@pytest.mark.parametrize(
    ("target", "value", "why"),
    [
        ("model.body[0].weight", "kaimin_normal", "Did you mean `kaiming_normal`"),
        ("model.body[0].weight", "normal(sigma=1)", "it takes mean, std"),
        ("model.body[0].weight", "normal(std=-1)", "std is negative"),
        ("model.body[0].weight", "kaiming_normal(nonlinearity='gelo')", "gelo"),
        ("model.body[0].weight", "import os", "no scheme"),
        ("model.body[1].num_batches_tracked", "normal", "whole"),
        ("model.body[2]", None, "no parameters"),
        ("lazy", None, "no shape yet"),
        ("before", None, "is of type dict; `reinit` is for tensors and modules"),
        ("own", "default", "no layer of torch's"),
        ("flat", "orthogonal", "has one dimension, and so no fan"),
    ],
)
def test_schemes_that_do_not_fit_are_refused(
    model: Net, target: str, value: str | None, why: str
) -> None:
    lazy = nn.LazyLinear(3)
    own, flat = nn.Parameter(torch.ones(3, 3)), torch.ones(3)
    before = values(model)
    with pytest.raises(Refused, match=why):
        patches.apply(Patch(target=target, op="reinit", value=value), sys._getframe())
    assert same(values(model), before) and own.sum() == 9 and flat.sum() == 3 and lazy is not None


def scaled(model: nn.Module, factor: float = 2) -> dict[str, Tensor]:
    return {k: v * factor if v.is_floating_point() else v for k, v in model.state_dict().items()}


@pytest.mark.parametrize("wrapped", ["plain", "nested", "ddp", "lightning"])
def test_a_model_is_loaded(model: Net, tmp_path: Path, wrapped: str) -> None:
    saved: Any = scaled(model)
    if wrapped == "nested":
        saved = {"epoch": 3, "state_dict": saved, "optimizer": {"state": {0: {"m": torch.ones(2)}}}}
    elif wrapped == "ddp":
        saved = {"model": {f"module.{k}": v for k, v in saved.items()}}
    elif wrapped == "lightning":
        saved = {"state_dict": {f"net.{k}": v for k, v in saved.items()}}
    file = tmp_path / "model.pt"
    torch.save(saved, file)
    before, wanted = values(model), scaled(model)
    state = change(model, "model", "load", str(file))
    assert same(values(model), wanted)
    undo(state)
    assert same(values(model), before)
    exec(state.code, {"torch": torch, "model": model})
    assert same(values(model), wanted)


def test_one_layer_and_one_tensor_are_loaded(
    model: Net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save({"module." + k: v for k, v in scaled(model).items()}, tmp_path / "model.pt")
    monkeypatch.chdir(tmp_path)
    before = values(model)
    layer = model.body[3]
    for target in ("model.body[3]", "layer"):
        state = patches.apply(Patch(target=target, op="load", value="model.pt"), sys._getframe())
        assert torch.equal(layer.weight, before["body.3.weight"] * 2)
        assert torch.equal(layer.bias, before["body.3.bias"] * 2)
        assert torch.equal(model.body[0].weight, before["body.0.weight"])
        undo(state)
    for part in ("", "[1]", "[1, 2:4]"):
        target = f"model.body[0].weight{part}"
        state = change(model, target, "load", "'model.pt'")
        names = {"weight": model.body[0].weight, "old": before["body.0.weight"]}
        assert eval(f"(weight{part} == old{part} * 2).all()", names)
        undo(state)
    torch.save(torch.full((6, 6), 4.0, dtype=torch.float64), tmp_path / "one.pt")
    state = change(model, "model.body[0].weight", "load", "one.pt")
    assert model.body[0].weight.eq(4).all() and "float64" in state.notes[0]


def test_the_old_format_is_read(model: Net, tmp_path: Path) -> None:
    file = tmp_path / "old.pt"
    torch.save(scaled(model), file, _use_new_zipfile_serialization=False)
    wanted = scaled(model)
    change(model, "model", "load", str(file))
    assert same(values(model), wanted)


def test_safetensors_are_read_where_the_package_is(
    model: Net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes((2).to_bytes(8, "little") + b"{}")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "safetensors.torch", None)
        with pytest.raises(Refused, match="pip install safetensors"):
            change(model, "model", "load", str(file))
    reader = pytest.importorskip("safetensors.torch")
    wanted = scaled(model)
    tensors = {k: v for k, v in wanted.items() if k != "head.weight"}  # tied ones are saved once
    reader.save_file(tensors, file)
    change(model, "model", "load", str(file))
    assert same(values(model), wanted)


class Evil:
    def __reduce__(self) -> Any:
        return Path.write_text, (Path("evil"), "was here")


def test_files_that_do_not_fit_are_refused(
    model: Net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = scaled(model)
    torch.save({k.replace("body.3", "body.4"): v for k, v in good.items()}, "names.pt")
    torch.save({**good, "body.3.bias": torch.ones(7)}, "shape.pt")
    torch.save({**good, "body.3.bias": torch.full((6,), 1e300, dtype=torch.float64)}, "large.pt")
    torch.save({**good, "head.weight": good["head.weight"] + 1}, "tied.pt")
    torch.save({f"{n}.{k}": v for n in "ab" for k, v in good.items()}, "two.pt")
    torch.save({"x": Evil(), **good}, "evil.pt")
    torch.save({"epoch": 3}, "empty.pt")
    Path("broken.pt").write_bytes(b"nothing of use")
    before = values(model)
    for file, why in {
        "names.pt": r"missing body.3.weight \(similar: body.4.weight\).*unexpected body.4.bias",
        "shape.pt": r"body.3.bias is \[7\] in the file and \[6\] here",
        "large.pt": "whose largest value is",
        "tied.pt": "differ in .*one tensor here",
        "two.pt": "Several parts",
        "evil.pt": "could run code",
        "empty.pt": "holds no weights.*epoch",
        "broken.pt": "broken.pt",
        "name.pt": "Similar names: names.pt",
        ".": "is a folder",
    }.items():
        with pytest.raises(Refused, match=why):
            change(model, "model", "load", file)
        assert same(values(model), before), file
    assert not Path("evil").exists()
    with pytest.raises(Refused, match=r"has no key for `body.3.bias`. Similar keys: .*body.4.bias"):
        change(model, "model.body[3].bias", "load", "names.pt")
    with pytest.raises(Refused, match=r"Several keys .* a.body.3.bias, b.body.3.bias"):
        change(model, "model.body[3].bias", "load", "two.pt")


def trained(model: nn.Module, way: str) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.tensor([1, 2, 3, 4]), torch.tensor([2, 3, 4, 5])
    for _ in range(2):
        with torch.autocast("cpu", torch.bfloat16, enabled=way == "amp"):
            out = checkpoint(model, x, use_reentrant=False) if way == "checkpoint" else model(x)
            loss = nn.functional.cross_entropy(out.float(), y)
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimizer.step()


@pytest.mark.parametrize("way", ["plain", "amp", "checkpoint"])
def test_training_goes_on(model: Net, way: str, tmp_path: Path) -> None:
    trained(model, way)
    torch.save(scaled(model), tmp_path / "model.pt")
    for op, value in {"reinit": "xavier_uniform", "load": str(tmp_path / "model.pt")}.items():
        change(model, "model", op, value)
        trained(model, way)


def test_the_program_asks_for_a_change(model: Net, capsys: pytest.CaptureFixture[str]) -> None:
    weight, before = model.body[0].weight, model.body[0].weight.detach().clone()
    assert zentracer.patch(weight, "scale", 2, slice=(0, slice(1, 3)), label="try") is weight
    assert torch.equal(weight[0, 1:3], before[0, 1:3] * 2) and weight[1, 0] == before[1, 0]
    state = patches.journal.states()[-1]
    assert (state.target, state.text) == ("weight[0, 1:3]", "scaled by 2")
    assert state.label == "try" and state.where.startswith("test_patch_ops.py:")
    undo(state)
    assert zentracer.patch("weight", value=before + 1) == "weight"
    assert torch.equal(weight, before + 1)
    zentracer.patch(weight, "zero", slice="0, :2")
    assert not weight[0, :2].any() and weight[0, 2:].any()
    zentracer.patch(model.body[3], "reinit", "zeros")
    assert patches.journal.states()[-1].target == "model.body[3]"
    assert not model.body[3].weight.any()
    zentracer.patch("model.body[3].bias", "fill", 3)
    assert model.body[3].bias.eq(3).all()
    assert capsys.readouterr().err == ""


def test_what_the_program_asks_in_vain_is_said_once(
    model: Net, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        assert zentracer.patch(model, "polish") is model
    said = capsys.readouterr().err
    assert said.count("no change `polish`") == 1 and "test_patch_ops.py" in said
    assert zentracer.patch(None, "set", 1) is None
    zentracer.patch("no such thing (", "set", object())
    zentracer.patch(model.body[0].weight, "set", [1, 2])
    assert capsys.readouterr().err.count("ZenTracer:") == 3


def test_off_is_off() -> None:
    code = "import torch, zentracer; print(zentracer.patch(torch.ones(1), 'scale', 3).item())"
    environment = {"ZENTRACER": "off", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.0" and done.stderr == ""


def test_without_a_framework_nothing_is_changed_or_imported() -> None:
    code = "import sys, zentracer; zentracer.patch([1], 'zero'); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "PyTorch" in done.stderr
