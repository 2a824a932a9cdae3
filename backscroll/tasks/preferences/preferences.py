"""Preferences: how users want things done, learned with evidence, used as defaults.

Owns the fold over statements in order: repetition adds certainty; after a contradiction the latest wins and the other is superseded (it
returns when the contradiction is deleted); and the resulting defaults (`defaults_from`). Not here: reading a store and the
clock: ages are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from backscroll.derive.essence.clusters import likeness, pieces
from backscroll.derive.recipe import Recipe
from backscroll.tasks.notes import memory_id, quote_text
from backscroll.tasks.preferences.reader import Aspect, PreferenceStatement, read_text
from backscroll.tasks.preferences.tuning import ALIKE, DOUBT, SUPERSEDED, SUREST
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory, MemoryKind

#: The recipe of statements; raise its version whenever the same message would give others.
RECIPE = Recipe("preferences", 2)


@dataclass(frozen=True, slots=True)
class Preference:
    """A preference, with all statements of it."""

    aspect: Aspect
    topic: str
    value: str
    sign: int
    stated: tuple[PreferenceStatement, ...]
    confidence: float
    superseded: bool = False  # a later statement contradicts it

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id it has or had: one for each statement, the first is its own."""
        return tuple(statement_id(s) for s in self.stated)

    @property
    def text(self) -> str:
        """The last statement, in the user's words."""
        return self.stated[-1].text

    @property
    def sources(self) -> tuple[Ref, ...]:
        """The revisions that state it."""
        return tuple(dict.fromkeys(s.revision for s in self.stated))

    def memory(self, task: str = "") -> Memory:
        """Return the preference as a memory, in the thread where it was first stated."""
        first, last = self.stated[0], self.stated[-1]
        return Memory(
            statement_id(first),
            MemoryKind.PREFERENCE,
            self.text,
            first.message.thread,
            task,
            self.sources,
            last.at,
            self.confidence,
        )


def statement_id(stated: PreferenceStatement) -> str:
    """Return the id of a preference, derived from one of its statements: never from its text."""
    return memory_id("preference", "", (stated.message,), stated.number)


@dataclass(slots=True)
class _PreferenceState:
    stated: list[PreferenceStatement]
    words: frozenset[str]
    doubts: int = 0
    superseded: bool = False
    told: list[float] = field(default_factory=list[float])


def fold(stated: Iterable[PreferenceStatement]) -> list[Preference]:
    """Return preferences from statements in the order in which they were made; superseded ones last, doubtful ones included."""
    held: list[_PreferenceState] = []
    for one in stated:
        words = pieces(one.matter or one.text)
        same = next((h for h in reversed(held) if _same(h, one, words)), None)
        against = [h for h in held if h is not same and not h.superseded and _contrary(h, one, words)]
        for other in against:
            other.superseded = True
        if same is None:
            same = _PreferenceState([one], words)
            held.append(same)
        else:
            same.stated.append(one)
            same.words |= words
            same.superseded = False
        same.doubts += sum(min(4, len(h.stated)) for h in against)
    made = [_preference(h) for h in held]
    return sorted(made, key=lambda p: p.superseded)


def _same(held: _PreferenceState, one: PreferenceStatement, words: frozenset[str]) -> bool:
    first = held.stated[0]
    if first.sign != one.sign or first.aspect != one.aspect or first.topic != one.topic:
        return False
    if one.topic:
        return first.value.casefold() == one.value.casefold()
    return likeness(held.words, words) >= ALIKE


def _contrary(held: _PreferenceState, one: PreferenceStatement, words: frozenset[str]) -> bool:
    first = held.stated[0]
    if first.aspect != one.aspect or first.topic != one.topic:
        return False
    if not one.topic:
        return first.sign != one.sign and likeness(held.words, words) >= ALIKE
    alike = first.value.casefold() == one.value.casefold()
    if alike:
        return first.sign != one.sign
    return first.sign > 0 and one.sign > 0  # only one value of a topic holds


def _preference(held: _PreferenceState) -> Preference:
    first = held.stated[0]
    miss = 1.0
    seen: set[Ref] = set()
    for one in held.stated:
        if one.message not in seen:  # repeating it within one message counts once
            miss *= 1.0 - one.strength
            seen.add(one.message)
    sure = min(SUREST, 1.0 - miss) * DOUBT ** min(4, held.doubts)
    sure = sure * SUPERSEDED if held.superseded else sure
    return Preference(
        first.aspect,
        first.topic,
        first.value,
        first.sign,
        tuple(held.stated),
        round(sure, 3),
        held.superseded,
    )


# -- defaults ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolPreference:
    """A tool that is preferred to others of its kind, or must not be used."""

    group: str
    name: str
    wanted: bool
    memory: str  # id


@dataclass(frozen=True, slots=True)
class PreferenceDefaults:
    """What preferences set in a prompt, a plan, an answer."""

    language: str = ""  # a code such as zh; empty: unknown
    name: str = ""  # the user's preferred form of address
    style: tuple[str, ...] = ()  # lines in the user's words
    tools: tuple[ToolPreference, ...] = ()
    practices: tuple[str, ...] = ()  # other instructions, in the user's words
    tastes: tuple[str, ...] = ()  # likes and dislikes, in the user's words
    memories: tuple[str, ...] = ()  # ids of the preferences it follows from


def guides(memory: Memory) -> bool:
    """Return True for a preference about how things are to be done; False for a mere like."""
    found = read_text(memory.text)
    return not found or any(read.aspect != "taste" for read in found)


def defaults_from(preferences: Iterable[Memory]) -> PreferenceDefaults:
    """Return the defaults set by preferences; of several on one topic a pinned one wins, else the most certain.

    Parses their text again, so a preference that the user added or edited counts like a learned one.
    """
    ranked = sorted(preferences, key=lambda m: (not m.pinned, -m.confidence * m.weight, m.id))
    language = name = ""
    style: dict[str, str] = {}
    tools: dict[str, ToolPreference] = {}
    practices: list[str] = []
    tastes: list[str] = []
    used: list[str] = []
    for memory in ranked:
        if memory.kind is not MemoryKind.PREFERENCE or not memory.text.strip():
            continue
        used.append(memory.id)
        found = read_text(memory.text)
        for read in found:
            if read.aspect == "language" and read.sign > 0:
                language = language or read.value
            elif read.aspect == "name":
                name = name or read.value
            elif read.aspect == "style":
                style.setdefault(read.topic, memory.text)
            elif read.aspect == "tool":
                wanted = read.sign > 0
                key = read.topic if wanted else f"{read.topic} {read.value}"
                tools.setdefault(key, ToolPreference(read.topic, read.value, wanted, memory.id))
        if any(r.aspect == "taste" for r in found):
            tastes.append(memory.text)
        elif not found or any(r.aspect == "practice" for r in found):
            practices.append(memory.text)
    return PreferenceDefaults(
        language, name, tuple(dict.fromkeys(quote_text(s, 200) for s in style.values())), tuple(tools.values()),
        tuple(dict.fromkeys(practices)), tuple(dict.fromkeys(tastes)), tuple(used),
    )  # fmt: skip
