"""What a model read reaches every graph that holds those words, whoever looks; and leaves nothing behind when they go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.background.worker import bring_up_to_date
from backscroll.engine.knowledge.model_turns import read_pending
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.vocab.assertion import TurnState
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.only_provider import configure_only_provider
from tests.properties.living import graph_dump
from tests.properties.memory import Clock, opened

SAID = "Ellie lives in Greenvale."


def statement(quote: str = SAID, message: int = 1) -> dict[str, object]:
    """What the model says of every turn."""
    told = {
        "kind": "attribute",
        "subject": "Ellie",
        "type": "person",
        "predicate": "mood",
        "value": "modelled",
    }
    return {**told, "object": "", "object_type": "", "quote": quote, "message": message}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A model that finds the same in every turn, as the only provider."""
    line = Line(text=json.dumps({"assertions": [statement()]}))
    with ScriptedServer(Scenario(lines=(line,))) as running:
        configure_only_provider(running.url, tmp_path, monkeypatch)
        yield running


@pytest.fixture
def two(tmp_path: Path, server: ScriptedServer) -> Iterator[tuple[backscroll.Engine, backscroll.Engine]]:
    """Two engines on one file, as two processes have them."""
    del server
    clock, place = Clock(), tmp_path / "store.db"
    with opened(place, clock, 1) as one, opened(place, clock, 2) as other:
        yield one, other


def talk(engine: backscroll.Engine) -> backscroll.Thread:
    thread = engine.create("a tale")
    thread.append("user", SAID)
    thread.append("assistant", "I see that she does.")
    thread.graph.flush()
    return thread


def moods(thread: backscroll.Thread) -> list[str]:
    return [f.value for f in thread.graph.node("Ellie").attributes if f.predicate == "mood"]


def test_cached_graph_of_a_fork_sees_a_new_reading(
    two: tuple[backscroll.Engine, backscroll.Engine],
) -> None:
    """A fork shares turns: a reading of the other thread appears in its graph in another process."""
    one, other = two
    thread = talk(one)
    fork = other.thread(thread.fork().id)
    assert "modelled" not in moods(fork)
    assert read_pending(one, thread.id) == 1
    assert moods(fork) == ["modelled"]
    assert moods(other.thread(thread.id)) == ["modelled"]


def test_identical_turn_in_another_thread_reuses_the_reading(
    two: tuple[backscroll.Engine, backscroll.Engine], server: ScriptedServer
) -> None:
    """It costs nothing, and cached graphs of that thread are updated."""
    one, other = two
    first, second = talk(one), talk(one)
    far = other.thread(second.id)
    assert "modelled" not in moods(far)
    read_pending(one, first.id)
    read_pending(one, second.id)
    assert len(server.asked) == 1
    assert moods(far) == ["modelled"]
    first.forget(next(iter(first)).id)  # the artefact goes, wherever else the words stand
    read_pending(one, second.id)
    bring_up_to_date(other, second.id)
    assert graph_dump(far) == graph_dump(one.thread(second.id))


def test_forgetting_a_tool_message_erases_it_from_readings(
    two: tuple[backscroll.Engine, backscroll.Engine], tmp_path: Path
) -> None:
    """Rule-based facts from tools are stored with the reading and erased with the message."""
    one, _ = two
    thread = one.create("code")
    thread.append("user", SAID)
    thread.append(
        "assistant", [ToolCall("c1", "Edit", {"file_path": "src/secretplace.py", "new_string": "x"})]
    )
    thread.append("tool", [ToolResult("c1", (Text("updated src/secretplace.py"),), name="Edit")])
    thread.append("assistant", "Done with what Ellie wanted.")
    thread.graph.flush()
    assert read_pending(one, thread.id) == 1
    assert "secretplace" in repr(graph_dump(thread))
    thread.forget(*[m.id for m in thread][1:3])
    assert "secretplace" not in repr(graph_dump(thread))
    assert not [p for p in tmp_path.iterdir() if b"secretplace" in p.read_bytes()]


def test_turn_without_content_counts_as_processed(
    two: tuple[backscroll.Engine, backscroll.Engine], server: ScriptedServer
) -> None:
    """No model is asked about "ok"; the rules' result is final."""
    one, _ = two
    thread = one.create("short")
    thread.append("user", "ok")
    thread.append("assistant", "Yes.")
    thread.graph.flush()
    assert read_pending(one, thread.id) == 0
    assert not server.asked
    assert [s.state for s in thread.window.states()] == [TurnState.PROCESSED]
