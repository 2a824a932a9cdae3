"""Asking for a verdict at a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

import backscroll
from backscroll.surfaces.cli.runner import run
from backscroll.surfaces.screen.screen import Screen


@pytest.mark.parametrize(("yes", "state"), [(True, "completed"), (False, "incomplete")])
def test_answer_is_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], yes: bool, state: str
) -> None:
    """The result is shown; yes completes the task, no asks for the reason and sends it back."""
    store = str(tmp_path / "store.db")
    with backscroll.open(store, background=False) as engine:
        thread = engine.create("harbour")
        thread.tasks.start("paint")
        thread.append("user", "paint it")
    monkeypatch.setattr(Screen, "can_ask", property(lambda _screen: True))
    monkeypatch.setattr(Screen, "asks", lambda _screen, _question: yes)
    monkeypatch.setattr("click.prompt", lambda *_words, **_more: "still green")
    assert run(["task", "attempt", "last", "It is red now.", "--ask", "--store", store]) == 0
    assert "It is red now." in capsys.readouterr().out
    with backscroll.open(store, background=False) as engine:
        task = engine.thread(thread.id).tasks.list()[0]
        assert task.state.value == state
        assert task.feedback == (() if yes else ("still green",))
