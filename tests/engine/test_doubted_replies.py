"""Replies that come late: what was said meanwhile was not before the model, so their thinking is not sent back behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Content, Reasoning, Text
from backscroll.testing import Line, Scenario
from backscroll.testing.decision import ScriptedService
from backscroll.testing.request import read_request

MODEL = "claude-fable-5-2"


class Talk:
    """A thread and a service that binds thinking."""

    def __init__(self, folder: Path) -> None:
        self.store = backscroll.open(folder / "store.db", background=False)
        self.thread = self.store.create("late")
        self.thread.append("user", "Where is the harbour?")
        self.service = ScriptedService(Scenario())
        self.service.answering = lambda _: Line(text="There.", reasoning="I think about it.")

    def ask(self) -> tuple[Any, str]:
        """The reply that the service gives, not kept yet, and what was sent."""
        made = self.thread.prompt(20_000, model=MODEL, wire="anthropic", reserve=0, recall=False)
        body = json.dumps({"model": MODEL, "max_tokens": 500, **made.request})
        decided = self.service.decide(read_request("anthropic", json.loads(body)), {})
        assert decided.said is not None, decided.fault
        return decided.said, body

    def keep(self, said: Any) -> None:
        """The reply becomes part of the thread."""
        parts = (Reasoning(said.reasoning, signature=said.seal), Text(said.text))
        self.thread.append("assistant", Content(parts, metadata={"model": MODEL}))

    def turn(self) -> str:
        """The user speaks, the model answers; what was sent."""
        self.thread.append("user", "And then?")
        said, body = self.ask()
        self.keep(said)
        return body


@pytest.fixture
def talk(tmp_path: Path) -> Any:
    made = Talk(tmp_path)
    with made.store:
        made.turn()
        assert "signature" in made.turn()
        yield made


def test_user_message_during_a_request_drops_its_thinking(talk: Talk) -> None:
    talk.thread.append("user", "Show me.")
    said, _ = talk.ask()
    talk.thread.append("user", "Quickly!")
    talk.keep(said)
    assert said.seal not in talk.turn()
    assert "signature" in talk.turn()


def test_message_inserted_before_a_reply_drops_its_thinking(talk: Talk) -> None:
    talk.thread.append("user", "Show me.")
    asked = [m.id for m in talk.thread][-1]
    said, _ = talk.ask()
    talk.keep(said)
    talk.thread.insert("user", "On the map.", after=asked)
    assert said.seal not in talk.turn()
    assert "signature" in talk.turn()


@pytest.mark.parametrize("first", [0, 1])
def test_thinking_of_overlapping_requests_is_dropped(talk: Talk, first: int) -> None:
    """Whichever reply comes first, neither of them is known to be the one to the last request."""
    replies: list[Any] = []
    for words in ("Show me.", "Quickly!"):
        talk.thread.append("user", words)
        replies.append(talk.ask()[0])
    talk.keep(replies[first])
    talk.keep(replies[1 - first])
    body = talk.turn()
    assert not any(said.seal in body for said in replies)
    assert "signature" in talk.turn()


def test_thinking_after_a_retried_request_is_kept(talk: Talk) -> None:
    """The same request twice: its reply is known."""
    talk.thread.append("user", "Show me.")
    talk.ask()
    said, _ = talk.ask()
    talk.keep(said)
    assert said.seal in talk.turn()


def test_prompt_without_a_model_does_not_hide_a_change(talk: Talk) -> None:
    """A prompt built between a change and the next request does not count as a request."""
    first = next(m.id for m in talk.thread)
    talk.thread.insert("user", "Mind the map.", after=first)
    talk.thread.prompt(20_000, wire="anthropic", reserve=0, recall=False)
    assert "signature" not in talk.turn()
    assert "signature" in talk.turn()
