"""What is kept between prompts: it saves reading, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.lineage import View
from backscroll.engine.engine import Engine
from backscroll.stores.sqlite.store import SqliteStore

NOW = "2026-03-02T09:00:00+00:00"
BUDGET = 3000


def opened(place: Path) -> Engine:
    """An engine that shares nothing with others on the same file."""
    return Engine(SqliteStore(place), Settings(background=False), ClockAndIds(lambda: NOW))


def talked(engine: Engine, turns: int = 30) -> backscroll.Thread:
    """A thread of which most is condensed, with notes that quote it."""
    thread = engine.create("Harbour", kind="agent")
    thread.append("system", "You keep the harbour's books.")
    for n in range(turns):
        thread.append(
            "user", f"Please book berth {n} for the vessel Zebra{n:02}x; never before 0{n % 10}:15."
        )
        thread.append("assistant", backscroll.ToolCall(f"c{n}", "book", {"berth": n}))
        report = "\n".join(f"berth {n}, day {d}: paid, receipt R{n}-{d}" for d in range(12))
        thread.append("tool", backscroll.ToolResult(f"c{n}", (backscroll.Text(report),), name="book"))
        thread.append(
            "assistant", f"Berth {n} is booked. TODO: send the bill Q{n:02}77x to the harbour master."
        )
    thread.append("user", "What did we agree on for berth 7?")
    return thread


def told(engine: Engine, name: str) -> Any:
    """A rehearsed prompt, and what its receipt says of the history."""
    made = engine.thread(name).prompt(BUDGET, reserve=0, dry_run=True)
    receipt = made.receipt
    return made.messages, receipt.tokens, receipt.items, receipt.left_out, receipt.summarised, receipt.broken


def test_changes_to_condensed_messages_are_seen_at_once(tmp_path: Path) -> None:
    """By a warm engine and by a fresh one."""
    with opened(tmp_path / "a.db") as engine:
        thread = talked(engine)
        thread.prompt(BUDGET, reserve=0)
        thread.append("assistant", "That vessel, for 12 days.")
        thread.append("user", "And the bills?")
        assert thread.prompt(BUDGET, reserve=0).receipt.broken == {}

        def same() -> None:
            with opened(tmp_path / "a.db") as fresh:
                assert told(engine, thread.id) == told(fresh, thread.id)

        quoted = str(told(engine, thread.id)[0])
        named = {
            w: m for m in thread for w in m.text.replace(";", " ").split() if w in quoted and w[0] in "ZQ"
        }
        assert {word[0] for word in named} == {"Z", "Q"}
        for word, message in [*named.items()][::3]:
            thread.delete(message.id)
            assert word not in str(told(engine, thread.id)[0])
            same()
            thread.restore(message.id)
            assert word in str(told(engine, thread.id)[0])
            same()


@pytest.mark.parametrize("place", [-3, 5], ids=["new", "condensed"])
@pytest.mark.parametrize(
    "change",
    [
        lambda t, m: t.edit(m, "Please book berth 900."),
        lambda t, m: t.pin(m),
        lambda t, m: t.hide(m),
        lambda t, m: t.delete(m),
        lambda t, m: t.crop("top", 8, "The first berths."),
        lambda t, m: t.undo_compaction(),
        lambda t, m: t.memory.add("Bills above berth 40 are monthly."),
        lambda t, m: t.append("system", "Speak Dutch."),
    ],
    ids=["edit", "pin", "hide", "delete", "crop", "undo", "memory", "system"],
)
def test_changes_of_another_process_are_seen(
    tmp_path: Path, change: Callable[[backscroll.Thread, Any], Any], place: int
) -> None:
    """The engine learns of them only from the log."""
    with opened(tmp_path / "a.db") as engine, opened(tmp_path / "a.db") as other:
        thread = talked(engine)
        thread.prompt(BUDGET, reserve=0)
        told(engine, thread.id)
        change(other.thread(thread.id), list(thread)[place].id)
        with opened(tmp_path / "a.db") as fresh:
            assert told(engine, thread.id) == told(fresh, thread.id)


def test_warm_prompt_reads_only_new_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the window is: the rows of earlier prompts are kept, and survive a compaction."""
    pages: list[int] = []
    page = View.page

    def counted(self: View, limit: int, **where: Any) -> list[Any]:
        found = page(self, limit, **where)
        pages.append(len(found))
        return found

    with opened(tmp_path / "a.db") as engine:
        thread = talked(engine)
        thread.prompt(60_000, reserve=0, recall=False)
        monkeypatch.setattr(View, "page", counted)
        for n in range(3):
            thread.append("user", f"Go on with {n}.")
            pages.clear()
            thread.prompt(60_000, reserve=0, recall=False)
            assert sum(pages) <= 4, pages
            thread.append("assistant", "Done.")
        thread.compact(60_000)
        pages.clear()
        thread.prompt(60_000, reserve=0, recall=False)
        assert sum(pages[1:]) <= 4, pages  # the first look says whether the compaction still holds
