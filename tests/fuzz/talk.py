"""Conversations in one store that are used and abused at random, beside a plain model of what they must hold.

The model is a list of lines for each thread and knows nothing of logs, positions or views. Where it cannot know (undo, redo,
rewind, a task that speaks by itself) it takes over what the store lists. Everything is done with the public interface; clock
and ids are fixed, so that a seed gives the same run again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import backscroll
from backscroll import Content, Media, Reasoning, Role, Text, ToolCall, ToolResult
from backscroll.engine.core.clock import ClockAndIds
from backscroll.errors import BackscrollError, StoreError
from tests.fuzz.words import BLANK, Words

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
TOOLS = ("Read", "Bash", "Grep", "write_file", "浏览器")
AUTHOR = "Ada-Lovelace_1843"
SIGNED, BROKEN = tuple("bcdf"), tuple("bcd")  # letters with which a word begins, or ends
_TOLD = 60  # operations that a reproduction lists at the most


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> str:
        self.moment += timedelta(milliseconds=1)
        return self.moment.isoformat(timespec="microseconds")

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.moment += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Line:
    """A message as the model knows it."""

    id: str
    role: Role
    word: str  # "" where nothing was said that can be looked for
    hidden: bool = False
    pinned: bool = False
    deleted: bool = False
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    size: int = 0  # characters, arguments of calls included

    @property
    def visible(self) -> bool:
        """True where prompts may show it."""
        return not self.deleted and not self.hidden


class Talk:
    """One store with conversations, and what is known about them."""

    def __init__(self, seed: int, place: Path | str, *, words: Words | None = None, **settings: Any) -> None:
        self.dice = random.Random(seed)
        self.words = words or Words(self.dice)
        self.clock = Clock()
        self.place = place
        self.settings = {"background": False, **settings}
        self.engine = backscroll.open(place, **self.settings)
        self.engine.means = ClockAndIds(self.clock, random.Random(seed + 1).randbytes)
        self.lines: dict[str, list[Line]] = {}
        self.said: dict[str, Line] = {}  # by revision
        self.calls = 0
        self.trail: list[str] = []

    def close(self) -> None:
        """Let go of the store."""
        self.engine.close()

    @contextmanager
    def told(self) -> Iterator[Talk]:
        """What was done is part of whatever goes wrong."""
        try:
            yield self
        except BaseException as error:
            first = max(0, len(self.trail) - _TOLD)
            listed = [f"  {n + 1}. {text}" for n, text in enumerate(self.trail) if n >= first]
            error.add_note("\n".join(["what was done:", *listed]))
            raise
        finally:
            self.close()

    # -- what there is ---------------------------------------------------------------------------------------

    def thread(self, name: str) -> backscroll.Thread:
        """A handle on a thread."""
        return self.engine.thread(name)

    def some_thread(self) -> str:
        """One of the threads, the newest more often."""
        names = list(self.lines)
        return names[-1] if self.dice.random() < 0.4 else self.dice.choice(names)

    def some_line(self, name: str, *, role: Role | None = None, deleted: bool | None = False) -> Line | None:
        """One of the lines of a thread, those at its end more often; `deleted=None` for any."""
        found = [
            line
            for line in self.lines[name]
            if (not role or line.role == role) and deleted in (None, line.deleted)
        ]
        if not found:
            return None
        return self.dice.choice(found[-4:] if self.dice.random() < 0.5 else found)

    def index(self, name: str, id: str) -> int:
        """Where a line stands, gone ones counted."""
        return next(n for n, line in enumerate(self.lines[name]) if line.id == id)

    def live(self, name: str) -> list[Line]:
        """The lines that are not deleted."""
        return [line for line in self.lines[name] if not line.deleted]

    def visible_words(self, *names: str) -> set[str]:
        """Words of lines that prompts may show, in some threads (all, where none is named)."""
        return {
            line.word
            for name in names or self.lines
            for line in self.lines[name]
            if line.visible and line.word
        }

    def cropped(self, name: str) -> set[str]:
        """Ids of messages that are cropped, by the log alone.

        A fork of an earlier message does not share what a later step of a task took out of the prompt.
        """
        acts: dict[int, tuple[str, list[int]]] = {}
        runs: dict[int, Any] = {}
        standing: set[int] = set()

        def turn(seq: int, on: bool) -> None:
            kind, of = acts[seq]
            if kind == "cropped":
                (standing.add if on else standing.discard)(seq)
            elif kind == "uncropped":
                for each in of:
                    (standing.discard if on else standing.add)(each)
            elif kind in ("undone", "redone"):
                for each in of:
                    if each in acts:
                        turn(each, not on)

        for event in _in_past(self.thread(name).events()):
            kind = event.kind.value
            if kind in ("cropped", "uncropped", "undone", "redone"):
                acts[event.seq] = kind, list(event.head.get("of", ()))
                runs[event.seq] = event.head.get("runs", ())
                turn(event.seq, True)
        gone: set[str] = set()
        for line in self.lines[name]:
            seq = int(line.id.rpartition(".")[2])
            if any(seq < crop and any(a <= seq <= b for a, b in runs[crop]) for crop in standing):
                gone.add(line.id)
        return gone

    # -- doing -----------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Write down what is done, for a reproduction."""
        self.trail.append(text)

    def tried(self, text: str, work: Callable[[], Any]) -> Any:
        """Do something; a refusal that says why is an answer, any other exception is a bug."""
        self.note(text)
        self.clock.wait(1)
        try:
            return work()
        except StoreError:
            raise
        except BackscrollError as refused:
            self.trail[-1] += f"  (refused: {refused})"
            return None

    def create(self, **about: Any) -> str:
        """Begin a conversation."""
        made = self.engine.create(self.dice.choice(("Night train", "夜车", "")), **about)
        self.lines[made.id] = []
        self.note(f"create {made.id[:8]} {about or ''}")
        return made.id

    def parts(self, role: Role, lines: int | None = None) -> tuple[list[Any], Line]:
        """Content for a message that holds a fresh word, and the line that stands for it."""
        dice = self.dice
        if dice.random() < 0.03:
            return [Text(dice.choice(BLANK))], Line("", role, "")
        word = self.words.word()
        parts: list[Any] = [Text(self.words.text(word, self.words.lines() if lines is None else lines))]
        if role == "user" and dice.random() < 0.06:
            parts.append(Media("image/png", data=PIXEL))
        if role == "assistant" and dice.random() < 0.1:
            parts.insert(0, Reasoning("thinking it over", dice.choice(("sig", None))))
        return parts, Line("", role, word)

    def say(
        self, name: str, role: Role, lines: int | None = None, *, hidden: bool = False, pinned: bool = False
    ) -> None:
        """Append a message."""
        parts, line = self.parts(role, lines)
        self.put(name, parts, replace(line, hidden=hidden, pinned=pinned))

    def put(self, name: str, parts: list[Any], line: Line) -> None:
        """Append given content. Some of it is signed, and some calls broke off: by their words, not by the dice."""
        self.clock.wait(self.dice.choice((1, 1, 5, 40)))
        signed = line.role in ("user", "assistant") and line.word[:1] in SIGNED
        broken = list(line.calls[-1:]) if line.word[-1:] in BROKEN else []
        about = {"act": {"cut": True, "cut_calls": broken}} if broken else {}
        content = Content(tuple(parts), AUTHOR if signed else None, about)
        made = self.thread(name).append(line.role, content, hidden=line.hidden, pinned=line.pinned)
        line = replace(line, id=str(made.id), size=size_of(parts))
        self.keep(name, len(self.lines[name]), line, str(made.revision))
        self.note(
            f"append {name[:8]} {line.role} {line.word} ({line.size} characters{_flags(line)}) -> {made.id.seq}"
        )

    def keep(self, name: str, place: int, line: Line, revision: str) -> None:
        """Put a line into the model."""
        self.lines[name].insert(place, line)
        self.said[revision] = line

    def use_tools(self, name: str) -> None:
        """A reply with one call or several at once; results may be missing, late, giant or in another order."""
        dice = self.dice
        count = dice.choice((1, 1, 1, 2, 3))
        ids = [f"call_{self.calls + n}" for n in range(count)]
        self.calls += count
        word = self.words.word()
        long = dice.choices((0, 30, 3000, 40_000), (12, 12, 3, 2))[0]
        calls: list[Any] = []
        for id in ids:
            body = {"path": f"src/{word}.py", "content": ("x = 1\n好" * (long // 7))[:long]}
            calls.append(ToolCall(id, dice.choice(TOOLS), body if dice.random() < 0.8 else str(body)))
        lead = [Text(word)] if dice.random() < 0.7 else []
        self.put(name, [*lead, *calls], Line("", "assistant", word, calls=tuple(ids)))
        answered = list(ids if dice.random() < 0.75 else ids[: dice.randrange(count)])
        if dice.random() < 0.2:
            dice.shuffle(answered)
        for id in answered:
            self.answer(name, id)

    def answer(self, name: str, id: str) -> None:
        """The result of a call."""
        word = self.words.word()
        lines = self.dice.choices((1, 8, 60, 500, 3000), (20, 12, 6, 3, 1))[0]
        content = (Text(self.words.text(word, lines)),)
        result = ToolResult(id, content, is_error=self.dice.random() < 0.1)
        self.put(name, [result], Line("", "tool", word, answers=(id,)))

    def turn(self, name: str) -> None:
        """A user's message and what follows."""
        self.say(name, "user")
        for _ in range(self.dice.choice((0, 0, 1, 1, 2, 4))):
            self.use_tools(name)
        if self.dice.random() < 0.85:
            self.say(name, "assistant")

    def change_line(self, name: str, id: str, **changes: Any) -> None:
        """Change a line of the model."""
        place = self.index(name, id)
        self.lines[name][place] = replace(self.lines[name][place], **changes)

    def adopt(self, name: str) -> None:
        """Take over what the store lists, where the model cannot know."""
        out: list[Line] = []
        for m in self.thread(name).messages(deleted=True):
            known = self.said.get(str(m.revision)) or Line("", m.role, "")
            flags = {"hidden": m.hidden, "pinned": m.pinned, "deleted": m.deleted}
            out.append(replace(known, id=str(m.id), role=m.role, **flags))
        self.lines[name] = out

    def assert_lines(self, name: str) -> None:
        """The store lists what the model expects."""
        there = [(str(m.id), m.role, m.hidden, m.pinned) for m in self.thread(name).messages()]
        wanted = [(line.id, line.role, line.hidden, line.pinned) for line in self.live(name)]
        assert there == wanted, f"thread {name[:8]} holds {there}\nexpected {wanted}"


def _in_past(events: Iterable[Any]) -> list[Any]:
    """The events without those that say of themselves that they stand behind the place where a fork began."""
    out: list[Any] = []
    limit = None
    for event in reversed(list(events)):
        place = event.head.get("place")
        if limit is None or not isinstance(place, str) or bytes.fromhex(place) <= limit:
            out.append(event)
        if event.kind.value == "forked" and event.head["position"] is not None:
            began = bytes.fromhex(event.head["position"])
            limit = began if limit is None else min(limit, began)
    return out[::-1]


def size_of(parts: Iterable[Any]) -> int:
    """Characters of some content."""
    return len(str(list(parts)))


def _flags(line: Line) -> str:
    flags = [flag for flag in ("hidden", "pinned") if getattr(line, flag)]
    return "".join(f", {flag}" for flag in (*flags, *(f"calls {c}" for c in line.calls)))
