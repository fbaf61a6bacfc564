"""Put the pure-Python parts that the extension brings along into one folder.

``python bundle.py FOLDER WHEELS``: FOLDER is made anew, WHEELS keeps what was downloaded. The same
sources give the same bytes, on every machine.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

REPOSITORY = Path(__file__).resolve().parent.parent.parent

OURS = ("zentracer", "zentracer_dap")

KEPT = {".py", ".css", ".typed", ".txt", ".dll", ".exe", ".so", ".dylib"}
"""Sources and, of debugpy, the libraries that attach to a running process; no sources of C, no
symbols, nothing that is compiled for one version of Python."""


@dataclass(frozen=True)
class Wheel:
    """A pinned wheel, and what its name needs said to be found on any machine."""

    name: str
    version: str
    sha256: str
    platform: tuple[str, ...]

    @property
    def requirement(self) -> str:
        """As pip writes it."""
        return f"{self.name}=={self.version}"


WHEELS = (
    Wheel(
        "debugpy",
        "1.8.22",
        "a9e9d3550e15ca479c59333e90845029190531f0cacfedab3b815a57bd913947",
        ("--platform", "any", "--implementation", "py", "--abi", "none"),
    ),
    # The last version for Python 3.9. There is no universal wheel, but each one has the pure
    # modules; the compiled one is left out.
    Wheel(
        "msgpack",
        "1.1.2",
        "454e29e186285d2ebe65be34629fa0e8605202c60fbc7c4c650ccd41870896ef",
        (
            *("--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_28_x86_64"),
            *("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"),
        ),
    ),
)


def main(folder: Path, wheels: Path) -> None:
    """Make the folder."""
    sys.path.insert(0, str(REPOSITORY))
    from zentracer.wire import VERSION

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package in OURS:
        copy_package(REPOSITORY / package, folder / package)
    for wheel in WHEELS:
        unpack(download(wheel, wheels), wheel, folder)
    marker = {"zentracer": VERSION, **{wheel.name: wheel.version for wheel in WHEELS}}
    (folder / "BUNDLE").write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")


def copy_package(source: Path, target: Path) -> None:
    """Copy a package of ours without what Python leaves behind."""
    for file in sorted(source.rglob("*")):
        if file.is_file() and is_kept(PurePosixPath(file.relative_to(source).as_posix())):
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def is_kept(path: PurePosixPath) -> bool:
    """Whether a file of a package is needed to run it."""
    is_test = "tests" in path.parts or path.name.startswith("test_")
    return path.suffix in KEPT and not is_test and "cpython-" not in path.name


def download(wheel: Wheel, wheels: Path) -> Path:
    """Return the wheel's file, downloaded once, and only if it is the one that is pinned."""
    folder = wheels / f"{wheel.name}-{wheel.version}"
    found = next(folder.glob("*.whl"), None)
    if found is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--only-binary=:all:", "--dest", str(folder)]
        subprocess.run([*command, *wheel.platform, wheel.requirement], check=True)
        found = next(folder.glob("*.whl"))
    digest = hashlib.sha256(found.read_bytes()).hexdigest()
    if digest != wheel.sha256:
        found.unlink()
        raise SystemExit(f"{found.name} is not the file that is pinned: sha256 is {digest}")
    return found


def unpack(file: Path, wheel: Wheel, folder: Path) -> None:
    """Unpack the package, and its licences into a folder of their own."""
    licences = folder / "licenses" / wheel.name
    with zipfile.ZipFile(file) as archive:
        for name in sorted(archive.namelist()):
            path = PurePosixPath(name)
            if path.parts[0] == wheel.name and is_kept(path):
                write(folder / path, archive.read(name))
            elif "licenses" in path.parts and not name.endswith("/"):
                write(licences / path.name, archive.read(name))


def write(file: Path, content: bytes) -> None:
    """Write a file and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
