"""A world of conversations that are condensed, forked, rewound and changed in every way: what the properties of the past share.

A `World` does operations that are named by a word and two numbers, so that hypothesis can choose and shrink them. It knows which
word belongs to which revision, and what every prompt owes to the history (`owed`), found out from the history alone.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from backscroll import Wire
from backscroll.assemble.validity import check
from backscroll.assemble.view.units import units_of
from backscroll.config import Settings
from backscroll.engine.background.worker import bring_up_to_date
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.crops.crops import crops
from backscroll.engine.engine import Engine
from backscroll.engine.folder.rewind import rewind_words
from backscroll.engine.prompts.builder import Prompt
from backscroll.engine.thread import Thread
from backscroll.errors import BackscrollError, BudgetTooSmall
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.handle import parse_handle
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES, Block

FILLER = (
    "The quick brown fox reads src/module.py and decides to keep it. ",
    "我们决定先把超时调到三十秒，因为网络很慢。",
    "value = [1, 2, 3]  # TODO: name it\n",
)
#: So many times the filler follows the mark of a message.
SIZES = (0, 1, 3, 3, 8, 30)
#: Budgets of prompts that are written down: small enough that a history of some dozens of messages is condensed.
NARROW = (900, 1_500, 2_500)
#: Budgets at which the promises are looked at.
BUDGETS = (700, 2_000, 6_000, 200_000)
OPERATIONS = (
    "say", "talk", "work", "call", "edit", "regenerate", "delete", "delete_end", "restore", "move", "insert", "hide", "unhide",
    "pin", "unpin", "crop", "crop_by_hand", "uncrop", "compact", "prompt", "prompt", "fork", "fork_early", "undo", "redo",
    "rewind", "start", "attempt", "complete", "incomplete", "cancel", "forget", "wait", "expand",
)  # fmt: skip
Act: TypeAlias = tuple[str, int, int]
_MOST = 4  # threads
_ROOMY = 6_000  # a budget that holds any one message
_NAMED = re.compile(r"\[bs:[0-9a-f.:-]+\]")
_TOLD = ("history", "recent", "summaries")
_SPEAKER = re.compile(r" (user|assistant|tool|system):")


class World:
    """A few conversations on one store, with a clock that stands still unless somebody waits."""

    def __init__(self, folder: Path, seed: int = 0, **settings: Any) -> None:
        self.folder, self.settings = folder, Settings(background=False, **settings)
        self.moment = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
        self.rolls = random.Random(seed)
        self.engine = self.opened(folder / "world.db")
        self.words: dict[str, str] = {}  # revision -> its word
        self.count = 0
        self.log: list[str] = []  # what was done, and what was refused
        self.threads = [self.engine.create("the first")]

    def opened(self, place: Path) -> Engine:
        """Another engine on a file, with the same clock."""
        return Engine(SqliteStore(place), self.settings, ClockAndIds(self._now, self.rolls.randbytes))

    def _now(self) -> str:
        return self.moment.isoformat()

    def begin(self, talk: int, acts: Sequence[Act]) -> None:
        """Some dozens of messages that are condensed, and then what is done to them."""
        for act in (("talk", 0, talk), ("prompt", 0, 0), *acts):
            self.do(*act)

    def close(self) -> None:
        self.engine.close()

    # -- what can be done ------------------------------------------------------------------------------------

    def do(self, operation: str, one: int, two: int) -> None:
        """Do one operation in one of the threads; what makes no sense is refused, and that is well."""
        thread = self.threads[one % len(self.threads)]
        self.log.append(f"{operation} {one} {two}")
        self.moment += timedelta(seconds=1)
        try:
            getattr(self, operation)(thread, one // len(self.threads), two)
        except BackscrollError as refused:
            self.log.append(f"  refused: {refused}")

    def mark(self) -> str:
        self.count += 1
        return f"qz{self.count}zq"

    def text(self, size: int, mark: str) -> str:
        return f"{mark} " + FILLER[self.count % len(FILLER)] * SIZES[size % len(SIZES)]

    def told(self, message: Message, mark: str) -> Message:
        self.words[str(message.revision)] = mark
        return message

    def say(self, thread: Thread, one: int, two: int) -> None:
        mark = self.mark()
        role = (
            ("user", "assistant", "user", "system")[two % 4]
            if one % 5 == 0
            else ("user", "assistant")[two % 2]
        )
        self.told(thread.append(role, self.text(one, mark)), mark)

    def talk(self, thread: Thread, one: int, two: int) -> None:
        """Some dozens of messages at once."""
        for n in range(6 + two % 30):
            mark = self.mark()
            self.told(thread.append(("user", "assistant")[n % 2], self.text(one + n, mark)), mark)

    def work(self, thread: Thread, one: int, two: int) -> None:
        """A turn of many steps with tools."""
        for n in range(1 + two % 12):
            self._step(thread, 1 + (one + n) % 2, one + n, answered=9)

    def call(self, thread: Thread, one: int, two: int) -> None:
        """A step whose calls wait for their results, all or some of them."""
        self._step(thread, 1 + one % 2, two, answered=two % 2)

    def _step(self, thread: Thread, calls: int, size: int, answered: int) -> None:
        mark = self.mark()
        asked = [ToolCall(f"c{self.count}_{k}", "Read", {"path": f"src/{k}.py"}) for k in range(calls)]
        self.told(thread.append("assistant", [Text(f"{mark} I look."), *asked]), mark)
        for call in asked[:answered]:
            word = self.mark()
            result = ToolResult(call.id, (Text(self.text(size, word)),), name="Read")
            self.told(thread.append("tool", [result]), word)

    def _one(self, thread: Thread, which: int, *, late: bool = False, deleted: bool = False) -> Message:
        found = list(thread.messages(deleted=deleted))
        if not found:
            raise BackscrollError("nothing there")
        return found[-1 - which % min(len(found), 6)] if late else found[which % len(found)]

    def edit(self, thread: Thread, one: int, two: int) -> None:
        message = self._one(thread, two, late=one % 2 == 0)
        if message.role != "tool":
            mark = self.mark()
            calls = [p for p in message.parts if isinstance(p, ToolCall)]
            self.told(thread.edit(message.id, [Text(self.text(1, mark)), *calls]), mark)

    def regenerate(self, thread: Thread, one: int, two: int) -> None:
        del one
        message = self._one(thread, two, late=True)
        if message.role == "assistant":
            mark = self.mark()
            self.told(thread.regenerate(message.id, self.text(1, mark)), mark)

    def delete(self, thread: Thread, one: int, two: int) -> None:
        thread.delete(self._one(thread, two, late=one % 2 == 0).id)

    def delete_end(self, thread: Thread, one: int, two: int) -> None:
        """The newest messages go, a few or most of them."""
        found = list(thread.messages())
        count = two % 5 if one % 3 == 0 else two % max(1, len(found))
        if count:
            thread.delete(*(m.id for m in found[-count:]))

    def restore(self, thread: Thread, one: int, two: int) -> None:
        gone = [m for m in thread.messages(deleted=True) if m.deleted]
        if gone:
            many = gone if one % 4 == 0 else [gone[two % len(gone)]]
            thread.restore(*(m.id for m in many))

    def move(self, thread: Thread, one: int, two: int) -> None:
        thread.move(self._one(thread, one).id, after=self._one(thread, two).id)

    def insert(self, thread: Thread, one: int, two: int) -> None:
        mark = self.mark()
        role = ("user", "assistant")[one % 2]
        self.told(thread.insert(role, self.text(one, mark), after=self._one(thread, two).id), mark)

    def hide(self, thread: Thread, one: int, two: int) -> None:
        thread.hide(self._one(thread, two, late=one % 2 == 0).id)

    def unhide(self, thread: Thread, one: int, two: int) -> None:
        del one
        if found := [m for m in thread.messages() if m.hidden]:
            thread.unhide(found[two % len(found)].id)

    def pin(self, thread: Thread, one: int, two: int) -> None:
        del one
        if sum(m.pinned for m in thread.messages()) < 3:
            thread.pin(self._one(thread, two).id)

    def unpin(self, thread: Thread, one: int, two: int) -> None:
        del one
        if found := [m for m in thread.messages() if m.pinned]:
            thread.unpin(found[two % len(found)].id)

    def crop(self, thread: Thread, one: int, two: int, summary: str | None = None) -> None:
        direction = ("top", "top", "bottom")[one % 3]
        for more in range(4):  # some amounts would part a call from its result
            try:
                thread.crop(direction, 1 + two % 20 + more, summary)
            except BackscrollError as refused:
                self.log.append(f"  refused: {refused}")
            else:
                return

    def crop_by_hand(self, thread: Thread, one: int, two: int) -> None:
        self.crop(thread, one, two, "as said")

    def uncrop(self, thread: Thread, one: int, two: int) -> None:
        del one
        if found := crops(thread):
            thread.uncrop(found[two % len(found)].handle)

    def compact(self, thread: Thread, one: int, two: int) -> None:
        del one
        thread.compact(NARROW[two % 3])

    def prompt(self, thread: Thread, one: int, two: int) -> None:
        thread.prompt(NARROW[two % 3], wire=WIRES[one % 3], reserve=0)

    def fork(self, thread: Thread, one: int, two: int) -> None:
        at = None if one % 4 == 0 else self._one(thread, two, late=one % 2 == 0).id
        self._keep(thread.fork(at))

    def fork_early(self, thread: Thread, one: int, two: int) -> None:
        del one
        self._keep(thread.fork(self._one(thread, two).id))

    def _keep(self, fork: Thread) -> None:
        self.threads = [*self.threads, fork][-_MOST:]

    def undo(self, thread: Thread, one: int, two: int) -> None:
        del one
        for _ in range(1 + two % 2):
            (thread.as_actor("backscroll") if two % 5 == 0 else thread).undo()

    def redo(self, thread: Thread, one: int, two: int) -> None:
        del one
        (thread.as_actor("backscroll") if two % 5 == 0 else thread).redo()

    def rewind(self, thread: Thread, one: int, two: int) -> None:
        turns = sum(m.role == "user" for m in thread.messages())
        back = 1 + two % 3 if one % 2 else 1 + two % max(1, turns)
        if turns >= back:
            rewind_words(thread, turns - back + 1)

    def start(self, thread: Thread, one: int, two: int) -> None:
        del one, two
        thread.tasks.start("a piece of work")

    def _busy(self, thread: Thread, one: int, two: int) -> None:
        """Half of the time something is worked on first, so that the step makes sense."""
        if one % 2 and thread.tasks.current() is None:
            thread.tasks.start("a piece of work")
            self.talk(thread, one, two % 9)

    def attempt(self, thread: Thread, one: int, two: int) -> None:
        self._busy(thread, one, two)
        thread.tasks.attempt("done, I think")

    def complete(self, thread: Thread, one: int, two: int) -> None:
        self._busy(thread, one, two)
        thread.tasks.complete()

    def incomplete(self, thread: Thread, one: int, two: int) -> None:
        self._busy(thread, one, two)
        thread.tasks.incomplete("once more, please")

    def cancel(self, thread: Thread, one: int, two: int) -> None:
        self._busy(thread, one, two)
        thread.tasks.cancel()

    def forget(self, thread: Thread, one: int, two: int) -> None:
        if one % 3 == 0:
            thread.forget(self._one(thread, two).id)

    def wait(self, thread: Thread, one: int, two: int) -> None:
        del thread, one
        self.moment += timedelta(minutes=two % 30)

    def expand(self, thread: Thread, one: int, two: int) -> None:
        """Something is asked for again, from which the engine learns."""
        del one
        thread.expand(f"[bs:{self._one(thread, two).id.seq}]")

    # -- what must hold --------------------------------------------------------------------------------------

    def prompted(self, thread: Thread, budget: int, wire: Wire) -> Prompt:
        """A rehearsal in a budget, or in the smallest one that is said to do."""
        try:
            return thread.prompt(budget, wire=wire, reserve=0, dry_run=True)
        except BudgetTooSmall as refused:
            return thread.prompt(refused.minimum, wire=wire, reserve=0, dry_run=True)

    def owed(self, thread: Thread, made: Prompt) -> None:
        """What every prompt owes to the history; raises where something is missing."""
        live = list(thread.messages())
        marks = crops(thread)
        visible = [m for m in live if not m.hidden and (m.pinned or not _cropped(m, marks))]
        spoken = spelled(made)
        latest = next((m for m in reversed(visible) if is_spoken_by_user(m)), None)
        must = [m for m in visible if m.role == "system" or m.pinned or m is latest]
        newest = list(units_of(visible))[-1:]
        must += [unit.messages[0] for unit in newest if unit.unanswered]
        missing = [self.words[str(m.revision)] for m in must if self.words[str(m.revision)] not in spoken]
        assert missing == [], f"not in the prompt: {missing}"
        if (
            visible and made.receipt.budget >= _ROOMY
        ):  # what was said last is no past: it is shown, not summed up
            assert visible[-1].id in {block.message for block in made.blocks}, (
                "the newest message is not shown"
            )
        own = {self.words[str(m.revision)] for m in live if not m.hidden}
        ghosts = sorted(w for w in set(self.words.values()) - own if w in spoken)
        assert ghosts == [], f"not in the history, but in the prompt: {ghosts}"
        assert check(made.messages, made.wire, system=made.system) == []
        receipt = made.receipt
        assert receipt.messages == len(live)
        classes = Counter(became_of(m, made, marks, live) for m in live)
        told = (receipt.messages - receipt.left_out, receipt.summarised, receipt.unseen)
        assert told == (classes["shown"], classes["summarised"], classes["unseen"])

    def owed_everywhere(self) -> None:
        """What is owed in every thread, budget and wire."""
        for number, thread in enumerate(self.threads):
            for budget in BUDGETS:
                for wire in WIRES:
                    with self.where(f"thread {number}, budget {budget}, {wire}"):
                        self.owed(thread, self.prompted(thread, budget, wire))

    def copies_agree(self) -> None:
        """The same bytes from a second engine on the store, which remembers nothing yet, and from a native copy of it."""
        target = self.folder / "all.jsonl"
        self.engine.export(None, "native", str(target))
        second, copy = self.opened(self.folder / "world.db"), self.opened(self.folder / "copy.db")
        try:
            problems = [p for report in copy.import_path(target) for p in report.problems]
            assert problems == []
            for engine in (self.engine, copy):
                for thread in self.threads:  # what waits to be analysed is said later
                    bring_up_to_date(engine, thread.id)
            for number, thread in enumerate(self.threads):
                for budget, wire in zip(BUDGETS, (*WIRES, WIRES[0]), strict=True):
                    with self.where(f"thread {number}, budget {budget}, {wire}"):
                        first = self.prompted(thread, budget, wire)
                        for engine in (second, copy):
                            self._same(first, self.prompted(engine.thread(thread.id), budget, wire))
        finally:
            second.close()
            copy.close()

    def _same(self, first: Prompt, other: Prompt) -> None:
        assert spelled(other) == spelled(first)
        for name in ("compaction", "messages", "left_out", "summarised", "tokens"):
            assert getattr(other.receipt, name) == getattr(first.receipt, name), name

    @contextmanager
    def where(self, what: str) -> Iterator[None]:
        """A failure says what was done before it, so that it can be done again."""
        try:
            yield
        except AssertionError as error:
            raise AssertionError("\n".join([*self.log, f"then, {what}: {error}"])) from error


def spelled(made: Prompt) -> str:
    """All that is sent."""
    return json.dumps([made.messages, made.system], ensure_ascii=False)


def _cropped(message: Message, marks: list[Any]) -> bool:
    return any(mark.holds(message.id) for mark in marks)


def became_of(message: Message, made: Prompt, marks: list[Any], live: list[Message]) -> str:
    """What became of a live message, as a reader of the blocks finds out: by handles, not by what the engine counted."""
    if any(block.message == message.id for block in made.blocks):
        return "shown"
    if message.hidden:
        return "unseen"
    crop = next((mark for mark in marks if mark.holds(message.id)), None)
    if crop is not None:
        named = any(block.message == crop.event for block in made.blocks)
        line = f"[bs:{crop.event.seq}] user:"
        return "summarised" if named or line in _condensed(made, "history", "recent") else "unseen"
    place = {m.id.seq: n for n, m in enumerate(live)}
    here = place[message.id.seq]
    told = [b for b in made.blocks if b.message is None and b.section.value in _TOLD]
    named = (stretch for block in told for stretch in _named(block, place))
    return "summarised" if any(place[a] <= here <= place[b] for a, b in named) else "unseen"


def _named(block: Block, place: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """The stretches that a condensed text speaks for: each begins a line with its handle, and has words."""
    for line in (line for part in block.parts if isinstance(part, Text) for line in part.text.split("\n")):
        found = _NAMED.match(line)
        words = "" if found is None else line[found.end() :]
        if found is None or (block.section.value != "summaries" and not _SPEAKER.match(words)):
            continue
        handle = parse_handle(found[0])
        if handle.first in place and handle.last in place and (words.strip() or block.reason == "cut"):
            yield handle.first, handle.last


def _condensed(made: Prompt, *sections: str) -> str:
    blocks = (b for b in made.blocks if b.message is None and b.section.value in sections)
    return "\n".join(p.text for b in blocks for p in b.parts if isinstance(p, Text))
