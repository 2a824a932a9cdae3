"""What a compaction took over from the summary of a crop stays while that summary stands, and goes when what was cropped is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import backscroll
from backscroll import Text, ToolCall, ToolResult
from backscroll.assemble.validity.binding import Sent, check_growth
from backscroll.engine.prompts.builder import Prompt

NAME = "src/tide_tables.py"


def ask(thread: backscroll.Thread) -> Prompt:
    return thread.prompt(2600, wire="openai-chat", reserve=0, recall=False)


def sent(made: Prompt) -> Sent:
    return Sent(made.messages, "openai-chat", system=made.system)


def noted(made: Prompt) -> bool:
    """True where the name is among the notes of a compaction: the stand-in of the crop itself is not shown any more."""
    notes = [
        line for b in made.blocks for line in b.text.split("\n") if line.startswith("Notes from earlier")
    ]
    return any(NAME in line for line in notes)


def step(thread: backscroll.Thread, n: int) -> None:
    call = ToolCall(f"c{n}", "Read", {"path": f"src/part_{n}.py"})
    thread.append("assistant", [Text(f"Part {n}."), call])
    lines = "\n".join("the harbour is quiet today and the water is low" for _ in range(40))
    thread.append("tool", ToolResult(call.id, (Text(lines),), name="Read"))


def condensed(folder: Path) -> tuple[Any, backscroll.Thread, Prompt]:
    """A thread with old crops, of which the first is not pinned any more, and condensed with the rest."""
    store = backscroll.open(folder / "store.db", background=False)
    thread = store.create("crops")
    thread.append("system", "Be brief.")
    for n in range(5):
        thread.append("user", f"Look at topic {n}." + (f" It is about {NAME}." if n == 0 else ""))
        thread.append("assistant", f"Topic {n} is done.")
        thread.append("user", "Thanks.")
        first, last = [m.id for m in thread][-3], [m.id for m in thread][-2]
        thread.crop(
            first=first, last=last, summary=f"Topic {n}: settled." + (f" See {NAME}." if n == 0 else "")
        )
    thread.append("user", "Now read all parts.")
    made = ask(thread)
    for n in range(200):
        step(thread, n)
        made = ask(thread)
        if noted(made):
            return store, thread, made
    raise AssertionError("no compaction took the name over")


def test_next_prompt_keeps_a_note_from_a_crop(tmp_path: Path) -> None:
    store, thread, first = condensed(tmp_path)
    with store:
        thread.append("assistant", "Go on?")
        thread.append("user", "Yes.")
        second = ask(thread)
        assert second.receipt.compaction == {}
        assert check_growth(sent(first), sent(second)) == []
        assert noted(second)


def test_note_from_a_crop_is_removed_with_its_source(tmp_path: Path) -> None:
    """The note is withheld together with the summary once a cropped message changes."""
    store, thread, _ = condensed(tmp_path)
    with store:
        about = next(m.id for m in thread if NAME in m.text)
        thread.delete(about)
        assert NAME not in str(ask(thread).messages)
