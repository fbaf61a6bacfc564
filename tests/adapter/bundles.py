"""Folders like the one that an editor's extension brings along, and environments without help."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def installed(package: str) -> Path:
    """Folder of a package of the environment that runs the tests."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def make_bundle(folder: Path, *, marker: bool = True) -> Path:
    """Make a folder with the adapter and all it needs as pure Python."""
    folder.mkdir()
    for package in ("zentracer", "zentracer_dap"):
        (folder / package).symlink_to(ROOT / package)
    (folder / "debugpy").symlink_to(installed("debugpy"))
    shutil.copytree(
        installed("msgpack"), folder / "msgpack", ignore=lambda _, names: only_python(names)
    )
    if marker:
        (folder / "BUNDLE").touch()
    return folder


def only_python(names: list[str]) -> list[str]:
    """Which of ``names`` are no Python source."""
    return [name for name in names if not name.endswith(".py")]


def make_environment(folder: Path, interpreter: str) -> tuple[str, Path]:
    """Make an environment with nothing installed; returns its Python and its site-packages."""
    subprocess.run([interpreter, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    return str(folder / "bin" / "python"), packages


def poison(packages: Path, *names: str) -> None:
    """Put packages there that must not be imported; of debugpy one that is too old."""
    for name in names:
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text(
            f"raise RuntimeError('the {name} of the environment was imported')\n"
        )
    if "debugpy" in names:
        (packages / "debugpy" / "_version.py").write_text('text = \'{"version": "1.8.0"}\'\n')
