"""The inputs of a prompt: everything read from a thread in one view.

Reads no more than the budget can hold: back from the newest message to the start of the last compaction (or until there is
clearly more than fits), and before that only system messages and pins. Cropped messages are replaced by their summary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from backscroll.assemble.compaction.crop import within
from backscroll.assemble.view.units import WaitingReply
from backscroll.engine.core.lineage import View
from backscroll.engine.inputs.changes import CropMark, PastChange, changes_by, strides_of, touched_by
from backscroll.engine.inputs.compaction import compaction_in_force, edge_of_compaction
from backscroll.engine.inputs.open_calls import waited_then, waiting_now
from backscroll.engine.inputs.rows import RowCaches, Strides, Telling
from backscroll.engine.inputs.window import PLENTY, InputWindow
from backscroll.formats.language import language_of
from backscroll.record.chain import words_from_bytes
from backscroll.record.crops import CropState, fold_standing
from backscroll.record.history import HIDDEN, Entry
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Content, Message, is_spoken_by_user
from backscroll.vocab.part import Json, Text

_PAGE = 256
#: Limit for what a compaction condensed, and for giants that will be cut: so many times the room, but at most _ORIGINALS tokens
#: if that is more than _TIMES the room. A compaction leaves less than this in the window.
DEEP, _LONG, _TIMES, _ORIGINALS = 1.6, 12, 4.0, 200_000
#: The text in place of cropped messages, in the language of the thread, else of the summary.
_NOTES = {
    "en": (
        "[{count} earlier messages were cropped; {handle} has them in full]",
        "[the summary written for them was withheld: some of them were changed since]",
    ),
    "zh": (
        "[较早的 {count} 条消息已裁剪；{handle} 是全部原文]",
        "[为它们写的摘要没有显示：其中有些消息后来改过]",
    ),
}
#: The number of newest crops whose summaries every prompt contains.
CROPS_KEPT = 3


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """The inputs of a prompt."""

    thread: str
    head: int  # the newest event
    standing: CropState
    crops: tuple[CropMark, ...]
    compaction: Event | None  # the event in force, with its body
    marked: tuple[Message, ...]  # system messages and pins before the window
    window: tuple[Message, ...]  # the visible messages from the edge on, in order
    edge: (
        bytes | None
    )  # position of the last message before the window; None: the window starts with the history
    reached: bool  # False if the window ended before it reached the start of the compaction
    touched: frozenset[Ref]  # messages changed since the compaction
    messages: int  # live messages of the thread
    asked: Message | None  # the user's last message, if it precedes the window
    kept: tuple[Message, ...]  # all system messages and pins, in the window or before it
    waiting: tuple[WaitingReply, ...]  # of the newest turn, in the window or before it; oldest first
    changes: tuple[PastChange, ...] = ()  # since the compaction
    sizes: Mapping[Ref, int] = field(
        default_factory=dict[Ref, int]
    )  # tokens of the messages read, by revision
    waited: tuple[WaitingReply, ...] | None = (
        None  # those that the compaction in force shows before the window; None: not recorded
    )

    @property
    def apart(self) -> tuple[Message, ...]:
        """Messages shown wherever the window begins: system messages, pins, the last question, waiting replies."""
        asked = () if self.asked is None else (self.asked,)
        return (*self.kept, *asked, *(w.message for w in (*self.waiting, *(self.waited or ()))))


Summarised: TypeAlias = Callable[[View, CropMark], str]


def kept_long(room: float) -> float:
    """Return the tokens of originals that may be in a window, however condensed they are shown."""
    return max(_TIMES * room, min(_LONG * room, _ORIGINALS))


def standing_of(view: View, known: CropState | None = None) -> CropState:
    """Return the state of crops and compactions, continuing from a known one (folded events are not read again)."""
    if known is None or known.seen > view.as_of:
        known = CropState()
    return replace(fold_standing(view.others(known.seen), known), seen=view.as_of)


def read_sheet(
    view: View,
    room: int,
    told: Telling,
    summarised: Summarised,
    memo: MutableMapping[object, Any] | None = None,
    kept: RowCaches | None = None,
    without: Collection[Ref] = (),
) -> PromptInputs:
    """Read what a prompt of `room` tokens can need. `memo` caches what was folded and looked up, `kept` the rows.

    `without` names messages that are read as if they did not exist yet.
    """
    memo = {} if memo is None else memo
    known = cast("CropState | None", memo.get(view.state.id))
    standing = standing_of(view, known)
    memo[view.state.id] = standing
    crops, strides = _crops(view, standing, memo)
    window = InputWindow(view, crops, strides, told, kept, without)
    compaction = _in_force(window, standing, memo, room)
    since = 0 if compaction is None else compaction.seq
    touched, changes = _changes(view, standing, since, memo)
    after = None if compaction is None else edge_of_compaction(compaction)
    messages, edge, reached = window.read(after, PLENTY * room, since, DEEP * kept_long(room))
    begins = messages[0].position if messages else None
    rows = [r for r in view.list_marked_entries() if not r[0].flags & HIDDEN and r[1].body is not None]
    rows = [r for r in rows if r[0].message not in without]
    before = [r for r in rows if _beside_window(r[0], begins, edge, crops) and _was_marked(r[0], compaction)]
    return PromptInputs(
        view.state.id,
        view.as_of,
        standing,
        tuple(crops),
        compaction,
        tuple(m for m, _ in window.measure_messages(before)),
        tuple(_with_stand_ins(view, messages, crops, edge, summarised)),
        edge,
        reached,
        frozenset() if compaction is None else touched,
        (view.state.messages if view.as_of >= view.state.head else view.count()) - len(without),
        _find_question(window, messages, edge, standing, memo)
        or (_asked_then(window, compaction) if reached else None),
        tuple(m for m, _ in window.measure_messages(rows)),
        tuple(waiting_now(window, messages, standing.rare, memo)),
        changes,
        window.sizes,
        waited_then(window, compaction) if reached else None,
    )


def _crops(
    view: View, standing: CropState, memo: MutableMapping[object, Any]
) -> tuple[list[CropMark], Strides]:
    """Return the crops in force, and the stretches they let a reader skip; only a rare event changes either."""
    if not standing.crops:
        return [], ()
    key = ("crops", view.state.id, standing.rare)
    if key not in memo:
        rare = view.others(standing.crops[0] - 1)
        crops = crop_marks(standing, rare, view)
        memo[key] = crops, strides_of(crops, rare, view)
    return memo[key]


def _changes(
    view: View, standing: CropState, since: int, memo: MutableMapping[object, Any]
) -> tuple[frozenset[Ref], tuple[PastChange, ...]]:
    """Return what changed since an event: the messages, and the positions from which prompts differ."""
    if since >= standing.rare:
        return frozenset(), ()
    key = ("changes", view.state.id, since, standing.rare)
    if key not in memo:
        events = view.others(since)
        memo[key] = frozenset(touched_by(iter(events))), tuple(changes_by(view, events))
    return memo[key]


def _beside_window(entry: Entry, begins: bytes | None, edge: bytes | None, crops: Sequence[CropMark]) -> bool:
    """Return True for a system message or a pin outside the window: before it, or pinned after it was cropped."""
    if edge is not None and (begins is None or entry.position < begins):
        return True
    return any(crop.holds(entry.message) for crop in crops)


def _was_marked(entry: Entry, compaction: Event | None) -> bool:
    """Return False for a message pinned since, or while cropped: it is shown after the history, not before it."""
    if entry.role == "system" or compaction is None:
        return entry.role == "system"
    known = compaction.head.get("marked")  # earlier versions did not record this
    return known is None or str(entry.message) in known


def _asked_then(window: InputWindow, compaction: Event | None) -> Message | None:
    """Return the user's last message as of the compaction if it precedes the window: shown until the next compaction."""
    name = None if compaction is None else compaction.head.get("asked")
    return None if name is None else window.visible_message(parse_ref(name))


def _in_force(
    window: InputWindow, standing: CropState, memo: MutableMapping[object, Any], room: int
) -> Event | None:
    """Return the compaction in force; looked up again only after a rare event, because new messages cannot change it."""
    view = window.view
    key = ("compaction", view.state.id, standing.rare, room)
    if key not in memo:
        found = compaction_in_force(view, standing, window.visible, room)
        memo[key] = found
    return memo[key]


def compaction_standing(view: View, standing: CropState) -> Event | None:
    """Return the compaction in force for prompts of the size it was made for."""
    window = InputWindow(view, *_crops(view, standing, {}), lambda _: [])
    return compaction_in_force(view, standing, window.visible, 0)


def _find_question(
    window: InputWindow,
    messages: Sequence[Message],
    edge: bytes | None,
    standing: CropState,
    memo: MutableMapping[object, Any],
) -> Message | None:
    """Return the user's last message if the window does not show it; an empty window begins after its edge."""
    if edge is None or any(is_spoken_by_user(m) for m in messages):
        return None
    begins = messages[0].position if messages else edge + b"\0"
    # Only a rare event can change what precedes the window.
    key = ("asked", window.view.state.id, begins, standing.rare)
    if key not in memo:
        memo[key] = window.asked_before(begins)
    return memo[key]


# -- crops -------------------------------------------------------------------------------------------------------


def crop_marks(standing: CropState, rare: Sequence[Event], view: View) -> list[CropMark]:
    """Return the crops in force, oldest first; `rare` reaches back to the first of them."""
    wanted = set(standing.crops)
    crops = [e for e in rare if e.kind is Kind.CROPPED and e.seq in wanted and in_past_of(view, e)]
    found = [_mark(event, rare, view) for event in crops]
    return [mark for whole in found if (mark := _share_crop(view, whole)) is not None]


def in_past_of(view: View, event: Event) -> bool:
    """Return False for what a parent did after the message at which the fork began, if the event records its place."""
    place = event.head.get("place")
    limit = view.limit(event.thread) if isinstance(place, str) else None
    return limit is None or bytes.fromhex(str(place)) <= limit


def _share_crop(view: View, mark: CropMark) -> CropMark | None:
    """Return the part of a crop that a fork shares: its summary may cover messages that the fork does not have."""
    limit = view.limit(mark.event.thread)
    if limit is None or all(high <= limit for _, high in mark.places):
        return mark
    places = tuple((low, min(high, limit)) for low, high in mark.places if low <= limit)
    seqs = [seq for low, high in places for seq in _numbers(view, low, high)]
    runs = tuple((min(own), max(own)) for a, b in mark.runs if (own := [n for n in seqs if a <= n <= b]))
    count = sum(within(seq, runs) for seq in seqs)
    return (
        replace(mark, runs=runs, places=places, count=count, summary=None, disturbed=True) if runs else None
    )


def _numbers(view: View, low: bytes, high: bytes) -> Iterator[int]:
    """Yield the numbers of the messages between two positions, deleted ones included."""
    before: bytes | None = high + b"\0"
    while rows := view.page(_PAGE, before=before, newest_first=True, gone=True):
        yield from (entry.message.seq for entry, _ in rows if entry.position >= low)
        before = rows[-1][0].position
        if before < low:
            return


def _mark(event: Event, rare: Sequence[Event], view: View) -> CropMark:
    runs = tuple((int(a), int(b)) for a, b in event.head["runs"])
    written = int(event.head.get("written", event.seq))
    since = rare if written == event.seq else view.others(written)
    changed = {r for r in touched_by(e for e in since if e.seq > written) if within(r.seq, runs)}
    disturbed = bool(changed) and _is_disturbed(view, written, changed)
    body = cast("dict[str, Json]", words_from_bytes(event.body)) if event.body is not None else {}
    summary = body.get("summary")
    return CropMark(
        event.id,
        event.at,
        event.actor,
        runs,
        tuple((bytes.fromhex(a), bytes.fromhex(b)) for a, b in event.head["places"]),
        int(event.head["count"]),
        summary if isinstance(summary, str) and not disturbed else None,
        str(event.head.get("by", "rules")),
        disturbed,
        written,
    )


def _is_disturbed(view: View, written: int, changed: Iterable[Ref]) -> bool:
    """Return True if a message that a crop's summary covers has changed since.

    What counts is its current state: a deletion that was undone leaves the summary valid.
    """
    then = View(view.reader, view.state, written)
    for message in changed:
        was, now = then.entry(message), view.entry(message)
        if was is None or not was.live or was.flags & HIDDEN:
            continue  # the summary never covered it
        if now is None or not now.live or now.flags & HIDDEN or now.revision != was.revision:
            return True
    return False


def stand_in(view: View, mark: CropMark, summarised: Summarised, *, kept: bool = True) -> Message:
    """Return the message that replaces cropped ones; with `kept`, every prompt must show it."""
    words = mark.summary if mark.summary is not None else summarised(view, mark)
    language = view.state.about.language or language_of(words)
    cropped, withheld = _NOTES["zh" if language.startswith("zh") else "en"]
    note = cropped.format(count=mark.count, handle=mark.handle)
    if mark.by == "person" and mark.disturbed:
        note += f"\n{withheld}"
    text = f"{note}\n{words}".rstrip()
    content = Content((Text(text),), metadata={"backscroll": "crop"})
    # A separate revision for each wording: what is cached about a revision must never change.
    revision = Ref(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32], mark.event.seq)
    return Message(mark.event, "user", revision, content, mark.at, pinned=kept, position=mark.places[0][0])


def _with_stand_ins(
    view: View,
    messages: Sequence[Message],
    crops: Sequence[CropMark],
    edge: bytes | None,
    summarised: Summarised,
) -> Iterator[Message]:
    """Yield visible messages in order, with crop summaries in place of their first message (or at the window's edge).

    Every prompt shows the newest crops. Older ones fade as messages do, so that many crops do not use up the room.
    """
    newest = {c.event for c in sorted(crops, key=lambda c: c.event.seq)[-CROPS_KEPT:]}
    shown = [c for c in crops if c.places and (c.event in newest or edge is None or c.places[0][0] > edge)]
    waiting = sorted(shown, key=lambda c: c.places[0][0])
    for message in messages:
        while waiting and waiting[0].places[0][0] < message.position:
            mark = waiting.pop(0)
            yield stand_in(view, mark, summarised, kept=mark.event in newest)
        yield message
    for mark in waiting:
        yield stand_in(view, mark, summarised, kept=mark.event in newest)


def out_of_place(sheet: PromptInputs, shown: Collection[Ref]) -> list[WaitingReply]:
    """Return the waiting replies that precede what is shown, in order; those of the compaction in force as it shows them."""
    then = {w.message.id: w for w in sheet.waited or ()}
    now = {w.message.id: w for w in sheet.waiting}
    found = [w for id, w in {**now, **then}.items() if id not in shown]
    return sorted(found, key=lambda w: w.message.position)


def waits_anew(sheet: PromptInputs) -> bool:
    """Return True if a waiting reply precedes the window and the compaction in force does not show it."""
    if sheet.waited is None:
        return False
    known = {w.message.id for w in sheet.waited} | {m.id for m in sheet.window}
    return any(w.message.id not in known for w in sheet.waiting)
