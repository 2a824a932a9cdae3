"""Placements: text that Backscroll added to prompts, its place, and its exact wording.

A placement is an event of the log. It names the message after which its texts stand and every message that they rest on, so
a copy of the log gives the same prompt, byte for byte. Text that rests on messages of other conversations is stored
separately, with what is derived from those: it is not part of this log's exports, and forgetting it there erases it here. A
text whose sources were deleted, hidden or changed is not shown. A placement also records when prompts began to differ from
earlier ones. What is placed is chosen in `engine/prompts/insertions`, when such a mark is due in `engine/prompts/prefixes`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from backscroll.engine.core.audience import heads_near, may_see
from backscroll.engine.core.lineage import View, ancestors
from backscroll.engine.inputs.changes import touched_by
from backscroll.errors import StoreCorrupt
from backscroll.record.chain import to_bytes, words_from_bytes
from backscroll.record.derived import Artefact
from backscroll.record.history import HIDDEN, Entry
from backscroll.record.ports import Reader, ThreadState
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, Text
from backscroll.vocab.prompt import Block, Level, Section

if TYPE_CHECKING:
    from backscroll.engine.core.pen import Pen

RECIPE = "placed"


@dataclass(frozen=True, slots=True)
class PlacedText:
    """One text of a placement."""

    section: Section
    level: Level
    sources: tuple[Ref, ...]  # revisions that it rests on
    text: str | None  # None: stored separately, or no longer to be shown
    kept: str = ""  # the name under which its text is stored separately
    reason: str = ""
    message: Ref | None = None  # the message that it quotes in full
    tells: tuple[str, ...] = ()  # the memories it contains

    def block(self) -> Block:
        """Return the text as a block of a prompt, without its weight."""
        parts = (Text(self.text or ""),)
        return Block(
            "user",
            parts,
            self.section,
            self.level,
            self.sources,
            self.message,
            reason=self.reason,
            tells=self.tells,
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """Texts after one message."""

    event: Ref
    behind: Ref
    revision: Ref  # the revision of that message at that time
    texts: tuple[PlacedText, ...]
    waits: tuple[str, ...] = ()  # calls that the prompt answered with stand-ins
    goes_on: str = ""  # the text with which the prompt asked the model to continue its reply


@dataclass(frozen=True, slots=True)
class PrefixMark:
    """Records that from an event on, prompts begin differently than before."""

    event: int  # 0: not recorded yet
    head: str  # digest of what precedes the messages
    shown: int  # the event of the compaction that was in force; 0: none
    since: bytes  # nothing before this place changed
    doubted: bool = False  # the previous prompt was unanswered: the next reply may belong to either
    bound: frozenset[Ref] = (
        frozenset()
    )  # replies before that place whose thinking still counts: marks before a compaction are not read

    def to_json(self) -> dict[str, Json]:
        """Return the mark as it is in the head of the event."""
        more: dict[str, Json] = {"doubted": True} if self.doubted else {}
        if self.bound:
            more["bound"] = [str(ref) for ref in sorted(self.bound)]
        return {"head": self.head, "shown": self.shown, "since": self.since.hex(), **more}


@dataclass(frozen=True, slots=True)
class PlacementRecord:
    """What one prompt added after the newest message, to be recorded."""

    newest: Message
    blocks: Sequence[Block] = ()
    waits: tuple[str, ...] = ()
    goes_on: str = ""
    mark: PrefixMark | None = None  # it began differently than the previous prompt
    bound: bool = True  # thinking of its reply can be bound to it


def placement_of(event: Event) -> Placement:
    """Return the placement that an event records."""
    assert event.body is not None
    body = cast("Mapping[str, Json]", words_from_bytes(event.body))
    try:
        texts = tuple(_text_of(raw) for raw in body["texts"])
        behind, revision = parse_ref(event.head["behind"]), parse_ref(event.head["revision"])
        waits = tuple(str(call) for call in body.get("waits", ()))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreCorrupt(
            f"what event {event.id.short} added to prompts is damaged",
            hint="compact the thread: prompts after that do without it; no message is touched",
        ) from error
    return Placement(event.id, behind, revision, texts, waits, str(body.get("goes_on", "")))


def marks_in(events: Iterable[Event]) -> tuple[PrefixMark, ...]:
    """Return the marks in some placements, oldest first."""
    out: list[PrefixMark] = []
    for event in events:
        raw = cast("Mapping[str, Json] | None", event.head.get("prefix"))
        if raw is not None:
            since = bytes.fromhex(raw["since"])
            doubted = raw.get("doubted") is True
            bound = frozenset(parse_ref(str(ref)) for ref in cast("list[Json]", raw.get("bound", [])))
            out.append(PrefixMark(event.seq, str(raw["head"]), int(raw["shown"]), since, doubted, bound))
    return tuple(out)


def _text_of(raw: Mapping[str, Json]) -> PlacedText:
    message, text = raw.get("message"), raw.get("text")
    return PlacedText(
        Section(raw["section"]),
        Level(int(raw["level"])),
        tuple(parse_ref(name) for name in raw["sources"]),
        None if text is None else str(text),
        str(raw.get("kept", "")),
        str(raw.get("reason", "")),
        None if message is None else parse_ref(message),
        tuple(str(name) for name in raw.get("tells", ())),
    )


def place(pen: Pen, placing: PlacementRecord, under: int, shown: int | None = None) -> Event:
    """Record texts placed after a message, valid under the compaction `under` (0: none).

    `shown` is the event of a compaction that was written with it.
    """
    newest, blocks = placing.newest, placing.blocks
    tx, state = pen.tx, pen.state
    family = family_of(tx, state)
    texts: list[Json] = []
    apart: list[Artefact] = []
    named: dict[str, None] = {}
    for number, block in enumerate(blocks):
        raw: dict[str, Json] = {
            "section": block.section.value,
            "level": int(block.level),
            "sources": [str(source) for source in block.sources],
            "reason": block.reason,
        }
        if block.message is not None:
            raw["message"] = str(block.message)
        if block.tells:
            raw["tells"] = list(block.tells)
        strange = tuple(s for s in block.sources if s.thread not in family)
        if strange:
            key = _key(state.id, state.head + 1, number)
            raw["kept"] = key.hex()
            words = to_bytes({"text": block.text})
            apart.append(Artefact(key, RECIPE, state.id, words, strange, pen.means.now()))
        else:
            raw["text"] = block.text
        texts.append(raw)
        named.update(
            dict.fromkeys(_messages(tx, [*block.sources, *([block.message] if block.message else [])]))
        )
    head: dict[str, Json] = {
        "behind": str(newest.id),
        "revision": str(newest.revision),
        "under": under,
        "sources": sorted(named),
    }
    if placing.mark is not None:
        mark = placing.mark if shown is None else replace(placing.mark, shown=shown)
        head["prefix"] = mark.to_json()
    if not placing.bound:
        head["bound"] = False
    body: dict[str, Json] = {"texts": texts}
    body |= {"waits": list(placing.waits)} if placing.waits else {}
    body |= {"goes_on": placing.goes_on} if placing.goes_on else {}
    event = pen.write(Kind.PLACED, head=head, body=body)
    if apart:
        tx.make(apart)
    return event


def family_of(reader: Reader, state: ThreadState) -> frozenset[str]:
    """Return a thread and its ancestors."""
    return frozenset({state.id, *(parent.id for _, parent in ancestors(reader, state))})


def _key(thread: str, seq: int, number: int) -> bytes:
    return hashlib.sha256(f"{RECIPE}\n{thread}\n{seq}\n{number}".encode()).digest()


def _messages(reader: Reader, revisions: Iterable[Ref]) -> Iterable[str]:
    """Yield the messages of revisions; an event that is not a message, by its own id."""
    for revision in revisions:
        event = reader.event(revision)
        yield str(revision if event is None or event.message is None else event.message)


class _PlacementCache(NamedTuple):
    """The result of the previous lookup."""

    upto: int  # the newest event then
    placed: tuple[Placement, ...]


def standing_placements(
    view: View,
    under: int,
    events: Iterable[Event],
    memo: MutableMapping[object, Any],
    rare: int,
    elsewhere: MutableMapping[Any, Any] | None = None,
) -> list[Placement]:
    """Return the placements under a compaction (0: under none) that a prompt may show, with their texts; `events`: all that place something.

    The caller decides whether the preceding message is still shown unchanged. `memo` caches what was read before,
    `elsewhere` what is in other threads: only a rare event of this thread (`rare`: the newest) changes which of its own
    messages are valid. Others can change or be forgotten without a trace here, so texts that rest on them are checked each
    time.
    """
    key = (view.state.id, under, rare)
    known = cast("_PlacementCache | None", memo.get(key))
    if known is None or known.upto > view.as_of:
        known = _PlacementCache(under, ())
    # A fork shares messages with other threads, where their state may differ.
    heads = heads_near(view.reader, view.state) if elsewhere is not None and view.state.parent is None else {}
    alive = SourceCheck(view, heads, elsewhere)
    placed = list(known.placed)
    for event in events:
        if event.seq <= known.upto:
            continue
        if event.body is None or event.head.get("under") != under:
            continue
        found = placement_of(event)
        texts = tuple(t for t in found.texts if all(map(alive.source, _own(view, t))))
        if texts or found.waits or found.goes_on:
            placed.append(replace(found, texts=texts))
    memo[key] = _PlacementCache(view.as_of, tuple(placed))
    out: list[Placement] = []
    for found in placed:
        if all(t.text is not None and len(_own(view, t)) == len(t.sources) for t in found.texts):
            out.append(found)
            continue
        texts = [_with_words(view.reader, text) for text in found.texts if alive.all(text.sources)]
        shown = tuple(text for text in texts if text.text is not None)
        if shown or found.waits or found.goes_on:
            out.append(replace(found, texts=shown))
    return out


def _own(view: View, text: PlacedText) -> list[Ref]:
    """Return the sources of a text that are in the thread's own log."""
    return [source for source in text.sources if source.thread == view.state.id]


def _with_words(reader: Reader, text: PlacedText) -> PlacedText:
    if text.text is not None or not text.kept:
        return text
    key = bytes.fromhex(text.kept)
    made = reader.read_artefacts([key]).get(key)
    if made is None:
        return text
    return replace(text, text=str(cast("Mapping[str, Json]", words_from_bytes(made.body))["text"]))


def _shows(entry: Entry, revision: Ref) -> bool:
    return entry.live and not entry.flags & HIDDEN and entry.revision == revision


class SourceCheck:
    """Checks whether revisions are still valid: in this history, or else in the one they are from.

    What is in a thread of another user is not valid here.
    """

    def __init__(
        self, view: View, heads: Mapping[str, int] | None = None, memo: MutableMapping[Any, Any] | None = None
    ) -> None:
        """`heads` are the newest events of other threads; `memo` caches results for as long as these do not change."""
        self._view = view
        self._heads: Mapping[str, int] = heads or {}
        self._memo: MutableMapping[Any, Any] = dict[Any, Any]() if memo is None else memo
        self._others: dict[str, View | None] = {}
        self._known: dict[Ref, bool] = {}

    def all(self, sources: Iterable[Ref]) -> bool:
        """Return True if every source is valid."""
        return all(self.source(source) for source in sources)

    def source(self, source: Ref) -> bool:
        """Return True if a revision (or an event that is not a message) is still valid."""
        if source not in self._known:
            head = self._heads.get(source.thread)
            if head is None or source.thread == self._view.state.id:
                self._known[source] = self._holds(source)
            else:
                key = (source, head, self._view.state.id, self._view.state.about.user)
                found: bool | None = self._memo.get(key)
                self._known[source] = self._memo[key] = self._holds(source) if found is None else found
        return self._known[source]

    def _holds(self, source: Ref) -> bool:
        event = self._view.reader.event(source)
        if event is None or event.forgotten:
            return False
        if event.kind is Kind.TASKED:
            return self._speaks_true(event)
        if event.kind not in SPEAKING or event.message is None:
            return True
        entry = self._view.entry(event.message)
        if entry is None:  # this history never contained it
            other = self._other(event.message.thread)
            entry = None if other is None else other.entry(event.message)
        return entry is not None and _shows(entry, source)

    def _speaks_true(self, step: Event) -> bool:
        """Return False if a message that the text of a step mentions has changed since."""
        runs = cast("Sequence[Sequence[int]]", step.head.get("runs", ()))
        view = self._view if self._view.event(step.seq) == step else self._other(step.thread)
        if not runs or view is None:
            return True
        then = View(view.reader, view.state, step.seq)
        for message in dict.fromkeys(touched_by(iter(view.others(step.seq)))):
            if any(low <= message.seq <= high for low, high in runs):
                was, now = then.entry(message), view.entry(message)
                if was is not None and was.live and (now is None or not _shows(now, was.revision)):
                    return False
        return True

    def _other(self, thread: str) -> View | None:
        if thread not in self._others:
            state = self._view.reader.thread(thread)
            seen = state is not None and may_see(self._view.state.about, state.about)
            self._others[thread] = View(self._view.reader, state) if state is not None and seen else None
        return self._others[thread]
