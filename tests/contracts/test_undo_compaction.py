"""Taking a compaction back: whoever made it, with what went on with it, and without touching anything else."""

from __future__ import annotations

import json

import pytest

from backscroll import Thread
from backscroll.errors import NotFound
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text, ToolCall, ToolResult

#: A long thread does not fit into the one, and fits into the other.
BUDGET, AMPLE = 9000, 16_000
#: Of a result that only the original shows.
ORIGINAL = "def helper_0_5(): return 5\\ndef helper_0_6(): return 6"


def said(thread: Thread, budget: int) -> str:
    made = thread.prompt(budget, reserve=0, recall=False, dry_run=True)
    assert made.receipt.total <= budget
    return json.dumps(made.request, ensure_ascii=False)


def first(thread: Thread) -> Ref:
    return next(m.id for m in thread.messages() if m.role == "user")


@pytest.mark.parametrize("by_hand", [False, True])
def test_undo_compaction_reverts_any_actors_compaction(long: Thread, by_hand: bool) -> None:
    """Redo applies the compaction again."""
    whole = said(long, AMPLE)
    if by_hand:
        long.as_actor("user:bea").compact(BUDGET)
    else:
        long.prompt(BUDGET, reserve=0, recall=False)
    short = said(long, AMPLE)
    assert ORIGINAL in whole
    assert ORIGINAL not in short
    event = long.undo_compaction()
    assert (event.kind, event.actor) == (Kind.UNDONE, long.actor)
    assert said(long, AMPLE) == whole
    long.redo()
    assert said(long, AMPLE) == short
    long.undo_compaction()
    assert said(long, AMPLE) == whole


def test_prompt_compacts_again_after_undo_compaction(long: Thread) -> None:
    """The next prompt in the same budget fits, with its own compaction."""
    long.prompt(BUDGET, reserve=0, recall=False)
    long.undo_compaction()
    made = long.prompt(BUDGET, reserve=0, recall=False)
    assert made.receipt.total <= BUDGET
    assert sum(e.kind is Kind.COMPACTED for e in long.events()) == 2
    assert said(long, BUDGET) == json.dumps(made.request, ensure_ascii=False)


def test_undo_compaction_without_a_compaction_is_an_error(long: Thread) -> None:
    """Before the first compaction and after the last was undone; nothing is written."""
    for _ in range(2):
        head = long.head
        with pytest.raises(NotFound) as refused:
            long.undo_compaction()
        assert "compaction" in str(refused.value)
        assert refused.value.hint
        assert long.head == head
        if any(e.kind is Kind.COMPACTED for e in long.events()):
            break
        long.prompt(BUDGET, reserve=0, recall=False)
        long.undo_compaction()


def test_undo_compaction_restores_the_previous_compaction(long: Thread) -> None:
    """Compactions are undone one at a time, newest first."""
    whole = said(long, AMPLE)
    long.compact(12_000)
    before = said(long, AMPLE)
    long.compact(BUDGET)
    assert said(long, AMPLE) != before
    long.undo_compaction()
    assert said(long, AMPLE) == before
    long.undo_compaction()
    assert said(long, AMPLE) == whole
    with pytest.raises(NotFound):
        long.undo_compaction()


def test_undo_after_undo_compaction_reverts_the_last_operation(long: Thread) -> None:
    """The compaction does not count as an operation of the user."""
    message = first(long)
    long.pin(message)
    long.edit(message, "Please mend nothing.")
    long.as_actor("backscroll").compact(BUDGET)
    long.undo_compaction()
    assert long.message(message).text == "Please mend nothing."
    long.undo()
    assert long.message(message).text.startswith("Please look at src/module0.py")
    assert long.message(message).pinned
    long.undo()
    assert not long.message(message).pinned
    with pytest.raises(NotFound):
        long.undo()
    for _ in range(3):
        long.redo()
    assert long.message(message).text == "Please mend nothing."
    assert ORIGINAL not in said(long, AMPLE)


def test_compaction_undone_by_another_actor_cannot_be_undone_again(long: Thread) -> None:
    """Its own actor has nothing left to undo."""
    engine = long.as_actor("backscroll")
    engine.compact(BUDGET)
    long.undo_compaction()
    with pytest.raises(NotFound):
        engine.undo()
    long.redo()
    assert engine.undo().kind is Kind.UNDONE
    assert ORIGINAL in said(long, AMPLE)


@pytest.mark.parametrize("how", ["undo", "undo_compaction"])
def test_undo_compaction_also_reverts_later_trims(long: Thread, how: str) -> None:
    """A fresh result that was cut later is written down as a compaction too: it does not keep the one before in force."""
    long.compact(BUDGET)
    long.append("user", "Now read the large one.")
    calls = [ToolCall(f"big{k}", "Read", {"path": f"large{k}.txt"}) for k in range(4)]
    long.append("assistant", calls)
    lines = "\n".join(f"entry {i}: value_{i * 7}" for i in range(500))
    for call in calls:
        long.append("tool", [ToolResult(call.id, (Text(f"{call.id}\n{lines}"),), name="Read")])
    made = long.prompt(BUDGET, reserve=0, recall=False)
    assert made.receipt.total <= BUDGET
    assert made.receipt.compaction.get("trimmed")
    assert ORIGINAL not in said(long, 90_000)
    {"undo": long.undo, "undo_compaction": long.undo_compaction}[how]()
    assert ORIGINAL in said(long, 90_000)
    long.redo()
    assert ORIGINAL not in said(long, 90_000)


def test_undo_compaction_in_a_fork_leaves_the_parent(long: Thread) -> None:
    """In the fork alone; the parent stays as it is."""
    long.compact(BUDGET)
    fork = long.fork()
    short = said(long, AMPLE)
    assert said(fork, AMPLE) == short
    fork.undo_compaction()
    assert ORIGINAL in said(fork, AMPLE)
    assert said(long, AMPLE) == short
