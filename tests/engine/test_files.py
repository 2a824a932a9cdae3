"""Files that a user names: pipes and devices are refused at once, and a line that is too long is left out and named."""

from __future__ import annotations

import json
import os
import socket
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import backscroll
from backscroll import config
from backscroll.agent.loop.instructions import template
from backscroll.engine.exchange.exports import write_file
from backscroll.engine.exchange.imports import read_messages
from backscroll.engine.folder.files import FileSource
from backscroll.formats.shape import OverlongLine
from backscroll.regular_files import open_regular, read_bytes, read_text
from backscroll.testing.scenario import load_scenario


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe under the name of a file; nobody writes into it, so that opening it would block."""
    path = tmp_path / "chat.jsonl"
    os.mkfifo(path)
    return path


DOORS: dict[str, Callable[[Path], object]] = {
    "a source": FileSource,
    "messages": lambda path: read_messages(str(path)),
    "an export": lambda path: write_file(path, ["words"]),
    "bytes": read_bytes,
    "text": read_text,
    "a system prompt": lambda path: template(str(path), "en"),
    "a scenario": load_scenario,
    "opening": open_regular,
}


@pytest.mark.parametrize("door", DOORS)
def test_pipe_is_refused_without_blocking(pipe: Path, door: str) -> None:
    """Every function that opens a user's path names the problem and leaves the pipe in place."""
    with pytest.raises((backscroll.BackscrollError, OSError), match="regular file"):
        DOORS[door](pipe)
    assert pipe.is_fifo()


def test_importing_a_pipe_or_socket_is_refused(pipe: Path, tmp_path: Path) -> None:
    """By itself it is an error; inside a folder it is passed over."""
    with closing(backscroll.open(tmp_path / "a.db", background=False)) as engine:
        with pytest.raises(backscroll.FormatError, match="not a regular file"):
            engine.import_path(pipe)
        with socket.socket(socket.AF_UNIX) as held:
            held.bind(str(tmp_path / "s"))
            with pytest.raises(backscroll.FormatError, match="not a regular file"):
                engine.import_path(tmp_path / "s")
        with pytest.raises(backscroll.FormatError, match="not a regular file"):
            engine.import_path("/dev/null")
        assert FileSource(tmp_path).child("chat.jsonl") is None


def test_settings_file_that_is_a_pipe_is_refused(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program does not hang before it begins."""
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(pipe))
    with pytest.raises(backscroll.InvalidInput, match="regular file"):
        config.load()


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize("size", [9, 10, 11, 70_000])
def test_lines_up_to_the_length_limit_are_read(tmp_path: Path, size: int, end: str) -> None:
    """A longer line is reported with its length and is not JSON."""
    path = tmp_path / "a"
    path.write_bytes(f"one\n\n{'x' * size}\n{'é' * 3}{end}".encode())
    lines = list(FileSource(path, longest=10).lines())
    assert lines[:2] == [(1, "one"), (2, "")]
    assert lines[3] == (4, "éé" + "é")
    assert lines[2][0] == 3
    assert (lines[2][1] == "x" * size) is (size <= 10)
    assert isinstance(lines[2][1], OverlongLine) is (size > 10)


def test_overlong_line_is_skipped_and_the_rest_imported(tmp_path: Path) -> None:
    """The report names the line, its length and the limit; the setting moves it."""
    rows = [{"role": "user", "content": text} for text in ("one", "x" * 5000, "three")]
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with closing(backscroll.open(tmp_path / "a.db", background=False, longest_line=1000)) as engine:
        (report,) = engine.import_path(path, format="openai")
        assert [m.text for m in engine.thread(report.thread or "")] == ["one", "three"]
        (problem,) = report.problems
        assert problem.line == 2
        assert "1,000" in problem.what
    with closing(backscroll.open(tmp_path / "b.db", background=False)) as engine:
        (report,) = engine.import_path(path, format="openai")
        assert len(engine.thread(report.thread or "")) == 3


def test_overlong_line_is_not_held_in_memory(tmp_path: Path) -> None:
    """However long it is, no more of it is in memory than a piece and the limit."""
    path = tmp_path / "chat.jsonl"
    with path.open("w") as file:
        for _ in range(128):
            file.write("x" * (1 << 16))
    tracemalloc.start()
    try:
        lines = list(FileSource(path, longest=1000).lines())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [(number, type(line)) for number, line in lines] == [(1, OverlongLine)]
    assert most < path.stat().st_size / 8


def test_lines_with_blobs_may_be_longer(tmp_path: Path) -> None:
    """Exports of pictures that fitted before come in as they did."""
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"blob":"' + "x" * 50 + '"}\n{"event":"' + "x" * 50 + '"}\n', encoding="utf-8"
    )  # cut after 4 bytes
    lines = [line for _, line in FileSource(path, longest=40).lines(ample='{"blob":')]
    assert [isinstance(line, OverlongLine) for line in lines] == [False, True]
