"""The index of what was read, in real compactions: it outlives the window, and not the messages that it rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.assemble.view.compaction import IndexedString
from backscroll.engine.core.lineage import View
from backscroll.engine.crops import dead_sources
from backscroll.engine.inputs.inputs import PromptInputs
from backscroll.engine.prompts.composition.stored_compaction import frozen_of
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
    names = [f"symbol_{n}_{letter}" for letter in "abcdefgh"]
    body = "\n".join(f"in file {n}, line {i} is about plain things of no use" for i in range(40))
    body = "\n".join([*names, body])
    return thread.append("tool", ToolResult(f"c{n}", (Text(f"{extra}\n{body}"),))).id


def go_on(thread: Thread, first: int, many: int) -> None:
    """More files are read, each with a prompt before the next."""
    for n in range(first, first + many):
        read(thread, n)
        thread.prompt(BUDGET, reserve=0)


def compactions(thread: Thread) -> list[Event]:
    """Those that chose anew what to show; others only go on with one of them."""
    found = [e for e in thread.events() if e.kind is Kind.COMPACTED and e.body is not None]
    return [e for e in found if frozen_of(e).under is None]


def index(thread: Thread) -> dict[str, IndexedString]:
    return {m.text: m for m in frozen_of(compactions(thread)[-1]).compaction.indexed}


def begun(thread: Thread) -> Ref:
    """A thread in which something was read long ago, behind the window by now."""
    thread.append("user", "Read all the files.")
    source = read(thread, 0, f"the value of {WORD} is half-even-7731")
    go_on(thread, 1, 40)
    return source


def test_index_keeps_strings_that_left_the_window(thread: Thread) -> None:
    """A name from one result, forty results ago, is indexed with its source and age."""
    source = begun(thread)
    frozen = frozen_of(compactions(thread)[-1])
    assert frozen.after is not None
    entry = index(thread)[WORD]
    assert thread.message(entry.source).id == source
    assert (entry.words, entry.arguments, entry.told) == (0, 0, 1)
    assert str(source) in compactions(thread)[-1].head["sources"]
    passed_over = frozen.after
    n = 41
    while (after := frozen_of(compactions(thread)[-1]).after) == passed_over:
        go_on(thread, n, 1)
        n += 1
    assert after is not None
    assert after > passed_over
    assert index(thread)[WORD].age > entry.age


def only_indexed(thread: Thread) -> IndexedString:
    """Something that stands in the index, while prompts show nothing of the message that it was read in."""
    frozen = frozen_of(compactions(thread)[-1])
    shown = set(frozen.shown_sources())
    found = [m for m in frozen.compaction.indexed if m.source not in shown and m.text.startswith("symbol_")]
    assert found
    return found[-1]


def test_deleted_message_leaves_the_index(thread: Thread) -> None:
    """The next compaction carries nothing of it on, and prompts do not show it."""
    begun(thread)
    entry = only_indexed(thread)
    thread.delete(thread.message(entry.source).id)
    seen = len(compactions(thread))
    n = 41
    while len(compactions(thread)) == seen:
        go_on(thread, n, 1)
        n += 1
    assert entry.text not in index(thread)
    assert entry.text not in str(thread.prompt(BUDGET, reserve=0).messages)


def test_forgotten_words_are_erased_from_the_index(thread: Thread) -> None:
    """Forgetting the message erases every compaction that has a word of it in its index."""
    begun(thread)
    entry = only_indexed(thread)
    assert any(entry.text in str(frozen_of(e).to_json()) for e in compactions(thread))
    thread.forget(thread.message(entry.source).id)
    assert not any(entry.text in str(frozen_of(e).to_json()) for e in compactions(thread))
    go_on(thread, 41, 10)
    assert entry.text not in str(thread.prompt(BUDGET, reserve=0).messages)


def test_index_sources_are_checked_only_after_changes(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before every prompt."""
    begun(thread)
    entry = only_indexed(thread)
    looked: list[Ref] = []
    was = dead_sources.look_at_sources

    def looks(
        thread: Thread, sheet: PromptInputs, sources: Collection[Ref], view: View
    ) -> tuple[frozenset[Ref], bool]:
        looked.extend(sources)
        return was(thread, sheet, sources, view)

    monkeypatch.setattr(dead_sources, "look_at_sources", looks)
    for word in ("Well?", "And now?"):
        thread.append("user", word)
        thread.prompt(BUDGET, reserve=0)
    looked.clear()
    thread.append("user", "Still there?")
    thread.prompt(BUDGET, reserve=0)
    assert looked == []
    thread.hide(thread.message(entry.source).id)
    thread.prompt(BUDGET, reserve=0)
    assert entry.source in looked
