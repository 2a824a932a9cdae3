"""The index of what was read, in real compactions: it outlives the window, and not the messages that it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.assemble.compaction import Mention
from backscroll.engine.compaction_body import frozen_of
from backscroll.engine.thread import Thread
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text, ToolCall, ToolResult

BUDGET = 3_000
WORD = "ledger_rounding_mode"


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "store.db", background=False, recall=False) as engine:
        yield engine.create("reads")


def read(thread: Thread, n: int, extra: str = "") -> Ref:
    """A file is read; gives the message with its text."""
    thread.append("assistant", [Text(f"File {n}."), ToolCall(f"c{n}", "read", {"path": f"src/file_{n}.txt"})])
    body = "\n".join(f"in file {n}, line {i} is about plain things of no use" for i in range(40))
    return thread.append("tool", ToolResult(f"c{n}", (Text(f"{extra}\n{body}"),))).id


def go_on(thread: Thread, first: int, many: int) -> None:
    """More files are read, each with a prompt before the next."""
    for n in range(first, first + many):
        read(thread, n)
        thread.prompt(BUDGET, reserve=0)


def compactions(thread: Thread) -> list[Event]:
    return [e for e in thread.events() if e.kind is Kind.COMPACTED and e.body is not None]


def index(thread: Thread) -> dict[str, Mention]:
    return {m.text: m for m in frozen_of(compactions(thread)[-1]).compaction.mentions}


def begun(thread: Thread) -> Ref:
    """A thread in which something was read long ago, behind the window by now."""
    thread.append("user", "Read all the files.")
    source = read(thread, 0, f"the value of {WORD} is half-even-7731")
    go_on(thread, 1, 40)
    return source


def test_what_was_read_is_known_long_after_it_left_the_window(thread: Thread) -> None:
    """A name that stood in one result, forty results ago: the index has it with its source and its age."""
    source = begun(thread)
    frozen = frozen_of(compactions(thread)[-1])
    assert frozen.after is not None
    mention = index(thread)[WORD]
    assert thread.message(mention.source).id == source
    assert (mention.words, mention.arguments, mention.told) == (0, 0, 1)
    assert str(source) in compactions(thread)[-1].head["sources"]
    age = mention.age
    go_on(thread, 41, 20)
    assert index(thread)[WORD].age > age


def test_a_deleted_message_leaves_the_index(thread: Thread) -> None:
    """The next compaction carries nothing of it on, and prompts do not show it; an undo brings back what is not gone."""
    source = begun(thread)
    assert WORD in index(thread)
    thread.delete(source)
    go_on(thread, 41, 20)
    assert WORD not in index(thread)
    assert WORD not in str(thread.prompt(BUDGET, reserve=0).messages)


def test_forgotten_words_are_erased_from_the_index(thread: Thread) -> None:
    """Forgetting the message erases every compaction that has a word of it in its index."""
    source = begun(thread)
    assert any(WORD in str(frozen_of(e).to_json()) for e in compactions(thread))
    thread.forget(source)
    assert not any(WORD in str(frozen_of(e).to_json()) for e in compactions(thread))
    go_on(thread, 41, 10)
    assert WORD not in str(thread.prompt(BUDGET, reserve=0).messages)


def test_a_prompt_reads_nothing_for_the_index(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources of the index are looked at when the past is condensed, not before every prompt."""
    from backscroll.engine import composing

    begun(thread)
    looked: list[int] = []
    was = composing.Composer.mentions
    monkeypatch.setattr(composing.Composer, "mentions", lambda self: looked.append(1) or was(self))
    thread.append("user", "Well?")
    assert not thread.prompt(BUDGET, reserve=0).receipt.compaction
    assert looked == []
    assert index(thread)
