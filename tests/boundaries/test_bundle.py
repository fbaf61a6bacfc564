"""What the VS Code extension brings along: all of ours that is needed, nothing besides."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

REPOSITORY = Path(__file__).parent.parent.parent

_SPEC = importlib.util.spec_from_file_location(
    "bundle", REPOSITORY / "vscode-extension" / "tools" / "bundle.py"
)
assert _SPEC is not None and _SPEC.loader is not None
bundle = importlib.util.module_from_spec(_SPEC)
sys.modules["bundle"] = bundle  # dataclasses look their module up
_SPEC.loader.exec_module(bundle)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("zentracer/runtime.py", True),
        ("headless/report.css", True),
        ("pydevd_attach_to_process/attach_linux_amd64.so", True),
        ("pydevd_attach_to_process/attach_amd64.pdb", False),
        ("_pydevd_bundle/pydevd_cython.c", False),
        ("_pydevd_bundle/pydevd_cython.cp39-win_amd64.pyd", False),
        ("msgpack/_cmsgpack.cpython-311-x86_64-linux-gnu.so", False),
        ("bytecode/tests/test_code.py", False),
        ("__pycache__/runtime.cpython-311.pyc", False),
    ],
)
def test_files_of_a_package_are_kept_if_they_run(path: str, kept: bool) -> None:
    assert bundle.is_kept(PurePosixPath(path)) is kept


@pytest.mark.parametrize("package", bundle.OURS)
def test_all_of_ours_is_copied(package: str, tmp_path: Path) -> None:
    bundle.copy_package(REPOSITORY / package, tmp_path)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", package],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    ours = {str(Path(name).relative_to(package)) for name in listed if (REPOSITORY / name).exists()}
    copied = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    assert copied == ours


def test_a_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    wheel = bundle.WHEELS[0]
    folder = tmp_path / f"{wheel.name}-{wheel.version}"
    folder.mkdir()
    (folder / "other.whl").write_bytes(b"something else")
    with pytest.raises(SystemExit, match="not the file that is pinned"):
        bundle.download(wheel, tmp_path)
    assert not (folder / "other.whl").exists()
