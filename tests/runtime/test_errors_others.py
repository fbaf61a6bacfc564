"""What is explained, what is left alone, and that nothing of the user's runs."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from failing import fail
from watching import watching

from zentracer.frameworks.pytorch.errors import explain

WORDS = "mat1 and mat2 shapes cannot be multiplied (8x1152 and 512x10)"


@pytest.mark.parametrize(
    "source",
    [
        f"raise RuntimeError({WORDS!r})",
        "raise IndexError('index out of range in self')",
        "raise ValueError('Expected more than 1 value per channel when training, got [1, 3]')",
        "class Mine(RuntimeError):\n    pass\nraise Mine('Target 3 is out of bounds.')",
        "assert False, 'modified by an inplace operation'",
        "[][0]",
        "{}['index out of range in self']",
        "int('x')",
        "import numpy as np\nnp.ones((2, 3)) @ np.ones((2, 3))",
        "torch.linalg.inv(torch.zeros(2, 2))",
        "torch.load('/nonexistent')",
        "try:\n    torch.ones(2) @ torch.ones(3)\nexcept RuntimeError:\n    raise KeyError('mat1')",
        "raise SystemExit(3)",
    ],
)
def test_what_is_not_explained(tmp_path: Path, source: str) -> None:
    assert fail(tmp_path, source + "\n").hit is None


@pytest.mark.parametrize("armed", [False, True])
def test_a_cause_is_explained(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        class TrainingFailed(Exception):
            pass

        def step(a, b):
            return a @ b  # @blame

        try:
            step(torch.ones(2, 3), torch.ones(4, 5))
        except RuntimeError as error:
            raise TrainingFailed("step 3") from error
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("TrainingFailed was raised from it", "a [2, 3]", "b [4, 5]")


def test_raised_again_it_is_still_the_frameworks(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        """
        try:
            torch.ones(2, 3) @ torch.ones(4, 5)  # @blame
        except RuntimeError:
            raise
        """,
    )
    failed.blames()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with Python 3.11")
def test_a_member_of_a_group_is_explained(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        """
        found = []
        for make in (lambda: int("x"), lambda: torch.ones(2, 3) @ torch.ones(4, 5)):  # @blame
            try:
                make()
            except Exception as error:
                found.append(error)
        raise ExceptionGroup("both", found)
        """,
    )
    failed.blames()
    failed.says("one of the 2 in ExceptionGroup")


def test_an_exception_of_a_loaders_worker(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        """
        from torch.utils.data import DataLoader, Dataset

        class Samples(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                return torch.ones(2, 3) @ torch.ones(4, 5)  # @blame

        for batch in DataLoader(Samples(), num_workers=1):  # @raises
            pass
        """,
    )
    failed.blames()
    failed.says("DataLoader worker process 0", "2x3", "4x5")
    assert failed.said.details.source.line == failed.line("raises")
    assert failed.said.details.inputs == ()


def test_what_a_worker_raises_of_its_own_is_left_alone(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        f"""
        from torch.utils.data import DataLoader, Dataset

        class Samples(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                raise RuntimeError({WORDS!r})

        for batch in DataLoader(Samples(), num_workers=1):
            pass
        """,
    )
    assert failed.hit is None


@pytest.mark.parametrize("armed", [False, True])
def test_an_exception_in_a_thread(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        import threading
        caught = []

        def work():
            try:
                rows = torch.ones(2, 3)
                rows @ torch.ones(4, 5)  # @blame
            except RuntimeError as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise caught[0]
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("rows [2, 3]")


HOSTILE = """
class Hostile:
    def __getattribute__(self, name):
        ran.append(name)
        raise ZeroDivisionError
    def __repr__(self):
        ran.append("repr")
        raise ZeroDivisionError
    def __eq__(self, other):
        ran.append("eq")
        raise ZeroDivisionError
    def __iter__(self):
        ran.append("iter")
        raise ZeroDivisionError
    def __bool__(self):
        ran.append("bool")
        raise ZeroDivisionError
    def __len__(self):
        ran.append("len")
        raise ZeroDivisionError
    __hash__ = None

class Lazy(nn.Module):
    @property
    def weight(self):
        ran.append("weight")
        raise ZeroDivisionError
    def named_modules(self, *args, **kwargs):
        ran.append("named_modules")
        raise ZeroDivisionError
    def __getattr__(self, name):
        ran.append(name)
        return super().__getattr__(name)
"""


@pytest.mark.parametrize("armed", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        "x @ torch.ones(4, 5)",
        "x @ torch.ones(3, 2).double()",
        "nn.Embedding(3, 2)(torch.tensor([5]))",
        "nn.BatchNorm1d(3)(torch.ones(1, 3))",
        "y = torch.sigmoid(p)\n    y += 1\n    y.sum().backward()",
        "y = p.exp().sum()\n    y.backward()\n    y.backward()",
        "x.sum().backward()",
        "nn.Linear(2, 2).load_state_dict({'a': x})",
        "x.view(7)",
    ],
)
def test_hostile_objects_in_the_frames_are_left_alone(
    tmp_path: Path, armed: bool, body: str
) -> None:
    ran: list[str] = []
    source = f"""
{HOSTILE}
def main(first):
    second, many, module = Hostile(), [Hostile(), {{"a": Hostile()}}], Lazy()
    module.__dict__["held"] = Hostile()
    x, p = torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)
    del ran[:]
    {body}

main(Hostile())
"""
    failed = fail(tmp_path, source, armed=armed, ran=ran)
    assert failed.said.details.suggestions
    assert ran == []


@pytest.mark.parametrize("armed", [False, True])
def test_a_subclass_of_tensor_is_not_asked(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        asked = []

        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                asked.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs)

        x = torch.ones(2, 3).as_subclass(Mine)
        del asked[:]
        x @ torch.ones(4, 5)  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    tb: Any = failed.error.__traceback__
    assert tb.tb_frame.f_globals["asked"] == ["matmul"]


def test_nothing_is_changed_by_explaining(tmp_path: Path) -> None:
    state = torch.get_rng_state()
    failed = fail(
        tmp_path,
        """
        w = torch.ones(2, 3, requires_grad=True)
        h = torch.sigmoid(w)
        h += 1
        h.sum().backward()
        """,
    )
    tb: Any = failed.error.__traceback__
    names = tb.tb_frame.f_globals
    assert names["w"].grad is None
    assert names["h"]._version == 1
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()


def test_the_exception_of_a_running_frame(tmp_path: Path) -> None:
    """As debugpy has it for ``raised``: the callers still run, the traceback is not complete."""
    told: list[Any] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if event == "exception" and not told:
            _, error, traceback = arg
            sys.settrace(None)
            told.append(explain(error, traceback))
        return trace

    path = tmp_path / "running.py"
    path.write_text(
        "import torch\ndef inner(a):\n    return a @ a\n\ndef outer():\n"
        "    rows = torch.ones(2, 3)\n    return inner(rows)\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(RuntimeError):
            scope["outer"]()
    finally:
        sys.settrace(before)
    (hit,) = told
    assert [frame.function for frame in hit.details.stack][:2] == ["inner", "outer"]
    assert "rows was made here" in hit.description or "a [2, 3]" in hit.description


def test_the_watch_forgets_the_oldest_writes() -> None:
    with watching() as host:
        x = torch.zeros(2)
        for _ in range(5000):
            x.add_(1)
    assert not host.notices
    assert threading.current_thread() is threading.main_thread()
