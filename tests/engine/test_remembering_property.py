"""The promise as a property: whatever is done to a history, memories equal those that a store makes which derives everything anew."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import backscroll
from backscroll.engine.work.memory import acts as remembering_acts
from backscroll.engine.work.memory import memories as remembering
from backscroll.engine.work.tasks import Tasks
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.tasks.lifecycle.steps import current_of
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.task import Memory

WORDS = (
    "Always use pnpm.",
    "From now on use npm.",
    "以后都用中文回答。",
    "The export fails with an error.",
    "It works now: the export to Excel is complete.",
    "We decided to use SQLite because it is one file.",
    "No, that's wrong: the total must include tax.",
    "Go on.",
)
REPLIES = ("The problem is that the file was locked.", "Done.", "I've fixed export.py because it broke.")


class Remembering(RuleBasedStateMachine):
    """A thread with tasks, edited at will, and what is remembered of it."""

    @initialize()
    def begin(self) -> None:
        """An empty store."""
        self.folder = tempfile.TemporaryDirectory()
        self.engine = backscroll.open(
            str(Path(self.folder.name) / "store.db"), background=False, encoder="none"
        )
        self.thread = self.engine.create("t", project="p")
        self.tasks = Tasks(self.thread)
        self.calls = 0
        self.gone: dict[str, str] = {}

    def teardown(self) -> None:
        """Nothing is left behind."""
        if hasattr(self, "engine"):
            self.engine.close()
            self.folder.cleanup()

    # -- what people do --------------------------------------------------------------------------------------

    @rule(text=st.sampled_from(WORDS))
    def user_says(self, text: str) -> None:
        """The user says something."""
        self.thread.append("user", text)

    @rule(text=st.sampled_from(REPLIES))
    def assistant_says(self, text: str) -> None:
        """The assistant says something."""
        self.thread.append("assistant", text)

    @rule(bad=st.booleans())
    def tool_runs(self, bad: bool) -> None:
        """A tool is called and answers."""
        self.calls += 1
        name = f"c{self.calls}"
        self.thread.append("assistant", [ToolCall(name, "Bash", {"command": "pytest tests"})])
        result = "E KeyError\n1 failed" if bad else "3 passed"
        self.thread.append("tool", ToolResult(name, (Text(result),), is_error=bad, name="Bash"))

    @rule(place=st.integers(0, 50), text=st.sampled_from(WORDS))
    def edit(self, place: int, text: str) -> None:
        """A message gets other words."""
        messages = [m for m in self.thread if m.role == "user"]
        if messages:
            self.thread.edit(messages[place % len(messages)].id, text)

    @rule(place=st.integers(0, 50))
    def delete(self, place: int) -> None:
        """A message goes."""
        messages = list(self.thread)
        if messages:
            self.thread.delete(messages[place % len(messages)].id)

    @rule()
    def undo(self) -> None:
        """The last stroke is taken back."""
        try:
            self.thread.undo()
        except (NotFound, Conflict):
            return

    @rule()
    def redo(self) -> None:
        """… and done again."""
        try:
            self.thread.redo()
        except (NotFound, Conflict):
            return

    @rule(title=st.sampled_from(["Export", "Totals", ""]))
    def start(self, title: str) -> None:
        """A task begins."""
        try:
            self.tasks.start(title, again=True)
        except Conflict:
            return

    @rule(how=st.sampled_from(["complete", "incomplete", "cancel", "attempt"]))
    def step(self, how: str) -> None:
        """A task is attempted, ends, or is sent back."""
        if current_of(self.tasks.list()) is None:
            return
        steps: dict[str, Any] = {
            "complete": self.tasks.complete,
            "incomplete": lambda: self.tasks.incomplete("The footer is missing. Also add tests."),
            "cancel": lambda: self.tasks.cancel("no longer wanted"),
            "attempt": lambda: self.tasks.attempt("The export works"),
        }
        try:
            steps[how]()
        except (Conflict, InvalidInput):
            return

    @rule(place=st.integers(0, 50), act=st.sampled_from(["pin", "hide", "edit", "back"]))
    def touch(self, place: int, act: str) -> None:
        """Somebody does something to a memory."""
        found = remembering.memories(self.thread)
        if not found:
            return
        name = found[place % len(found)].id
        if act == "pin":
            remembering_acts.pin(self.thread, name)
        elif act == "hide":
            remembering_acts.hide(self.thread, name)
        elif act == "edit":
            remembering_acts.edit(self.thread, name, "In my own words")
        else:
            try:
                remembering_acts.bring_back(self.thread, name)
            except NotFound:
                return

    # -- what must hold --------------------------------------------------------------------------------------

    @invariant()
    def equals_a_rebuild(self) -> None:
        """A fresh look, without anything kept in memory and with every artefact made anew, says the same."""
        if not hasattr(self, "engine"):
            return
        held = _plain(remembering.memories(self.thread))
        self.engine.memo.clear()
        revisions = [m.revision for m in self.thread.messages(deleted=True)]
        self.engine.store.write(lambda tx: tx.unmake(revisions, [self.thread.id]))
        assert _plain(remembering.memories(self.thread)) == held

    @invariant()
    def rests_on_what_is_live(self) -> None:
        """Nothing is told that rests on a message which is no longer so."""
        if not hasattr(self, "engine"):
            return
        live = {m.revision for m in self.thread}
        spoken = {r.id for m in self.thread.messages(deleted=True) for r in self.thread.revisions(m.id)}
        for memory in remembering.memories(self.thread):
            if memory.text:
                assert not (set(memory.sources) & spoken) - live, memory

    @invariant()
    def ids_are_told_apart(self) -> None:
        """No two memories share an id."""
        if hasattr(self, "engine"):
            found = [m.id for m in remembering.memories(self.thread)]
            assert len(found) == len(set(found))


def _plain(found: list[Memory]) -> list[Memory]:
    # What a memory weighs depends on the moment at which one looks.
    return sorted((replace(m, weight=1.0) for m in found), key=lambda m: m.id)


TestRemembering = Remembering.TestCase
TestRemembering.settings = settings(
    max_examples=12,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
