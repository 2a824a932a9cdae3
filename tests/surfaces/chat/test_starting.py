"""Which thread a chat begins with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.chat import startup
from backscroll.surfaces.chat.screen import picker


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    with backscroll.open(sqlite_url, background=False) as opened:
        yield opened


def test_new_thread_records_its_folder_and_an_empty_one_is_reused(engine: Engine, tmp_path: Path) -> None:
    first = startup.thread_for(engine, tmp_path)
    assert first is not None
    assert first.info.metadata["workspace"] == str(tmp_path)
    assert first.info.kind == "agent"
    again = startup.thread_for(engine, tmp_path)
    assert again is not None
    assert again.id == first.id
    first.append("user", "hello")
    other = startup.thread_for(engine, tmp_path, new=True)
    assert other is not None
    assert other.id != first.id


def test_continue_takes_the_newest_thread_of_this_folder(engine: Engine, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    mine = startup.new_thread(engine, here)
    mine.append("user", "in here")
    startup.new_thread(engine, there).append("user", "over there")
    found = startup.thread_for(engine, here, last=True)
    assert found is not None
    assert found.id == mine.id
    with pytest.raises(NotFound, match="no conversation"):
        startup.thread_for(engine, tmp_path / "nowhere", last=True)


def test_only_one_way_to_choose_a_thread(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        startup.thread_for(engine, tmp_path, last=True, new=True)


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        startup.folder(str(tmp_path / "no"))
    assert startup.folder(str(tmp_path)) == tmp_path.resolve()


def test_title_is_one_short_line() -> None:
    assert startup.title_from("  first\nline \x1b[2J of " + "x" * 200).startswith("first line ␛[2J of x")
    assert len(startup.title_from("x" * 200)) == 60


def test_picker_offers_threads_of_this_folder_first(engine: Engine, tmp_path: Path) -> None:
    """Empty ones not at all; a preview shows the last messages."""
    mine = startup.new_thread(engine, tmp_path, "Mine")
    mine.append("user", "what is it?")
    mine.append("assistant", "it is \x1b[2J this")
    other = engine.create("Other")
    other.append("user", "elsewhere")
    engine.create("Empty")
    infos = picker.list_threads(engine, tmp_path)
    assert [info.title for info in infos] == ["Mine", "Other"]
    assert [info.title for info in picker.list_threads(engine)] == ["Other", "Mine"]
    assert picker.label(infos[0]).startswith("Mine · 2 messages · ")
    preview = picker.preview_of(engine, infos[0])
    assert "what is it?" in preview
    assert "\x1b" not in preview


def test_chat_of_a_user_continues_in_no_other_users_thread(engine: Engine, tmp_path: Path) -> None:
    other = engine.create("bo's", user="bo")
    with pytest.raises(NotFound, match="does not belong to user ann"):
        startup.thread_for(engine, tmp_path, name=other.id, user="ann")
    found = startup.thread_for(engine, tmp_path, name=other.id, user="bo")
    assert found is not None
    assert found.id == other.id
