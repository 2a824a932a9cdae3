"""Cropping: messages leave prompts, stay in the history, and are replaced by a summary with a handle.

Recorded as one event; `uncrop` and `undo` restore everything exactly. `assemble/compaction/crop` decides which amounts are
possible. The summary is the user's (or a program's) own text, or made by rules; if a message it covers changes later, the
own text is withheld and a rule-made summary replaces it, so that no deleted text survives in a summary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from backscroll.assemble.compaction.crop import (
    CropSelection,
    Direction,
    checked_amount,
    checked_direction,
    cut_amount,
    cut_range,
    relevance,
    runs,
)
from backscroll.assemble.view.units import Unit, units_of
from backscroll.derive.flat import flat
from backscroll.derive.recipe import Count
from backscroll.derive.summaries.gist import gist_turn
from backscroll.derive.summaries.summary import summarise
from backscroll.engine.budget.counts import counts_for
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.core.pen import Pen
from backscroll.engine.crops.crop_price import crop_price
from backscroll.engine.inputs.inputs import CropMark, Summarised, crop_marks, standing_of
from backscroll.engine.inputs.rows import Row
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.record.history import FORGOTTEN, HIDDEN, Entry
from backscroll.record.ports import RevisionBody
from backscroll.record.turns import into_turns
from backscroll.vocab.event import Kind
from backscroll.vocab.handle import Handle, parse_handle
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_PAGE = 256
_BEHIND = 4_096  # messages after a crop that are counted; more do not fit into a prompt
_LISTED = 64  # messages that the event lists one by one; more are listed only as runs
_COMPARED, _SCANNED = 200, 4000  # messages, and characters of each, that are compared with the task
#: Tokens of a rule-made summary.
SUMMARY_TOKENS = 300
#: From this relevance to the current task on, the user should be asked first.
RELEVANT = 0.35


@dataclass(frozen=True, slots=True)
class Crop:
    """What a crop did, or would do."""

    handle: str
    messages: int
    tokens: int  # tokens that leave every prompt
    summary: str
    summary_tokens: int
    relevance: float  # 0 … 1: how relevant the removed messages are to the current task
    ask_first: bool  # so relevant that the user should be asked
    event: int | None  # None: dry run
    cost_now: float  # of rewriting what follows it, in plain input tokens
    saves_per_call: float  # in plain input tokens
    pays_back_after: int | None  # calls; None: never


def crop(
    thread: ThreadScope,
    direction: str | None,
    amount: int | None,
    summary: str | None,
    *,
    first: Ref | str | None = None,
    last: Ref | str | None = None,
    dry_run: bool = False,
) -> Crop:
    """Replace messages in prompts with a summary; see `Thread.crop`."""
    by_range = first is not None or last is not None
    if by_range == (direction is not None or amount is not None):
        raise InvalidInput("give a direction and an amount, or a first and a last message")
    if by_range and (first is None or last is None):
        raise InvalidInput("a range needs a first and a last message")
    edges = (parse_ref(first), parse_ref(last)) if first is not None and last is not None else None
    way = checked_direction(direction or "") if edges is None else None
    count = checked_amount(amount) if edges is None else 0

    def plan_cut(view: View) -> tuple[CropSelection, Ref | None]:
        marks = crops_of(view)
        latest = _latest_user(view, marks)
        if edges is not None:
            return cut_range(list(units_of(_visible(view, marks))), *edges, latest), latest
        assert way is not None
        if way is Direction.TOP:
            return cut_amount(units_of(_visible(view, marks)), way, count, latest), latest
        return cut_amount(_units_backwards(view, marks), way, count, latest), latest

    cut, _ = thread.reading(plan_cut)
    words, tokens = _words(thread, cut, summary)
    if dry_run:
        return _describe_crop(thread, cut, words, tokens, None)

    def work(pen: Pen) -> Ref:
        again, _ = plan_cut(pen.view)
        if again.messages != cut.messages:
            raise Conflict("the history changed while it was being cropped", hint="crop again")
        by = {"by": "rules" if summary is None else "person"}
        return pen.write(Kind.CROPPED, head={**_head(pen.view, cut), **by}, body={"summary": words}).id

    done = thread.stroke(work)
    return _describe_crop(thread, cut, words, tokens, done.seq)


def _describe_crop(
    thread: ThreadScope, cut: CropSelection, words: str, tokens: int, event: int | None
) -> Crop:
    seqs = [m.id.seq for m in cut.messages]
    share = _relevance(thread, cut)
    summed = tokenizer_for(thread.engine.settings.model).count(words)
    price = crop_price(thread.engine, _behind(thread, cut), tokens - summed, summed)
    return Crop(
        str(Handle(min(seqs), max(seqs))),
        len(seqs),
        tokens,
        words,
        summed,
        share,
        share >= RELEVANT,
        event,
        price.cost_now,
        price.saves_per_call,
        price.pays_back_after,
    )


def _behind(thread: ThreadScope, cut: CropSelection) -> Iterator[Message]:
    """Yield what stays in prompts after the first removed message, newest first."""
    gone = {m.id for m in cut.messages}
    first = min(m.position for m in cut.messages)

    def newest(view: View) -> list[Message]:
        out: list[Message] = []
        for message in _visible(view, crops_of(view), newest_first=True):
            if message.position <= first or len(out) >= _BEHIND:
                break
            if message.id not in gone:
                out.append(message)
        return out

    yield from thread.reading(newest)


def _relevance(thread: ThreadScope, cut: CropSelection) -> float:
    """Return how relevant the removed messages are to the user's last request."""
    return relevance(_at_hand(thread, cut), [flat(m)[:_SCANNED] for m in cut.messages[-_COMPARED:]])


def _at_hand(thread: ThreadScope, cut: CropSelection) -> str:
    """Return the current subject, from the messages that stay: the user's last request, and what followed."""
    gone = {m.id for m in cut.messages}
    recent = [m for m in thread.legible.recent(40) if m.id not in gone and not m.hidden]
    asked = next((n for n in range(len(recent) - 1, -1, -1) if is_spoken_by_user(recent[n])), None)
    since = recent[-3:] if asked is None else [recent[asked], *recent[asked + 1 :][-2:]]
    return " ".join(m.text for m in since)


def each_relevance(thread: ThreadScope, direction: str, amount: int) -> list[tuple[Message, float]]:
    """Return the messages that a crop would remove, in order, each with its relevance to the current task; changes nothing."""
    way, count = checked_direction(direction), checked_amount(amount)

    def plan_amount(view: View) -> CropSelection:
        marks = crops_of(view)
        top = way is Direction.TOP
        units = units_of(_visible(view, marks)) if top else _units_backwards(view, marks)
        return cut_amount(units, way, count, _latest_user(view, marks))

    cut = thread.reading(plan_amount)
    task = _at_hand(thread, cut)
    return [(m, relevance(task, [flat(m)[:_SCANNED]])) for m in cut.messages]


def uncrop(thread: ThreadScope, handle: str) -> int:
    """Lift a crop by its handle; return how many messages return to prompts."""
    wanted = parse_handle(handle)

    def work(pen: Pen) -> int:
        marks = [m for m in crops_of(pen.view) if _fits(m, wanted)]
        if not marks:
            raise NotFound(f"crop {wanted} not found", hint="run `backscroll context` to list crops")
        pen.write(Kind.UNCROPPED, head={"of": [m.event.seq for m in marks]})
        return sum(m.count for m in marks)

    return thread.stroke(work)


def _fits(mark: CropMark, wanted: Handle) -> bool:
    whole = (mark.runs[0][0], mark.runs[-1][1])
    return whole == (wanted.first, wanted.last) or mark.event.seq == wanted.first == wanted.last


def crops(thread: ThreadScope) -> list[CropMark]:
    """Return the crops in force."""
    return thread.reading(crops_of)


def crops_of(view: View) -> list[CropMark]:
    """Return the crops in force, as of a view."""
    standing = standing_of(view)
    return crop_marks(standing, view.others(standing.crops[0] - 1), view) if standing.crops else []


# -- reading what can be cropped ---------------------------------------------------------------------------------


def _is_shown(entry: Entry, spoken: RevisionBody) -> bool:
    return not entry.flags & (HIDDEN | FORGOTTEN) and spoken.body is not None


def _visible(view: View, marks: Sequence[CropMark], *, newest_first: bool = False) -> Iterator[Message]:
    edge: bytes | None = None
    while True:
        after, before = (None, edge) if newest_first else (edge, None)
        rows = view.page(_PAGE, after=after, before=before, newest_first=newest_first)
        for entry, spoken in rows:
            if _is_shown(entry, spoken) and not any(mark.holds(entry.message) for mark in marks):
                yield message_of(entry, spoken)
        if len(rows) < _PAGE:
            return
        edge = rows[-1][0].position


def _units_backwards(view: View, marks: Sequence[CropMark]) -> Iterator[Unit]:
    """Yield units from the end: a stretch of replies and results is read whole before it is divided."""
    stretch: list[Message] = []
    for message in _visible(view, marks, newest_first=True):
        if message.role in ("assistant", "tool"):
            stretch.append(message)
            continue
        yield from reversed(list(units_of(reversed(stretch))))
        stretch = []
        yield Unit((message,))
    yield from reversed(list(units_of(reversed(stretch))))


def _latest_user(view: View, marks: Sequence[CropMark]) -> Ref | None:
    return next((m.id for m in _visible(view, marks, newest_first=True) if is_spoken_by_user(m)), None)


def _stretch(view: View, low: bytes, high: bytes) -> Iterator[Row]:
    """Yield live rows from one position to another, both included."""
    before = view.page(1, before=low, newest_first=True, gone=True)
    after = before[0][0].position if before else None
    while True:
        rows = view.page(_PAGE, after=after)
        for row in rows:
            if row[0].position > high:
                return
            yield row
        if len(rows) < _PAGE:
            return
        after = rows[-1][0].position


def _head(view: View, cut: CropSelection) -> dict[str, Json]:
    """Return the event's head: message numbers, and the stretches that hold nothing else."""
    gone = {m.id for m in cut.messages}
    positions = [m.position for m in cut.messages]
    seqs: list[int] = []
    places: list[list[str]] = []
    open_now = False
    for entry, _ in _stretch(view, min(positions), max(positions)):
        seqs.append(entry.message.seq)
        if entry.message not in gone:
            open_now = False
        elif open_now:
            places[-1][1] = entry.position.hex()
        else:
            places.append([entry.position.hex()] * 2)
            open_now = True
    seqs += _strangers(view, sorted(ref.seq for ref in gone))
    listed = [str(m.id) for m in cut.messages] if len(cut.messages) <= _LISTED else None
    facts = {"runs": runs(seqs, [m.id.seq for m in cut.messages]), "places": places, "count": len(gone)}
    return {**facts, **({"sources": listed} if listed else {})}


def crop_head(view: View, cut: CropSelection) -> dict[str, Json]:
    """Return the head of a crop, for modules of the engine that crop as part of a larger step."""
    return _head(view, cut)


def _strangers(view: View, numbers: Sequence[int]) -> Iterator[int]:
    """Yield one remaining message from each gap between the numbers of the removed ones, wherever it is.

    Messages can be moved and inserted, so consecutive numbers in one place may have others between them elsewhere.
    """
    for before, after in pairwise(numbers):
        for seq in range(before + 1, after):
            event = view.event(seq)
            if event is not None and event.message == event.id:
                yield seq
                break


# -- the summary -------------------------------------------------------------------------------------------------


def _words(thread: ThreadScope, cut: CropSelection, summary: str | None) -> tuple[str, int]:
    tokenizer = tokenizer_for(thread.engine.settings.model)
    sizes = counts_for(thread.engine, cut.messages, tokenizer, thread.engine.settings.wire)
    tokens = sum(sizes.values())
    words = summary.strip() if summary is not None else made_summary(cut.messages, tokenizer.count, tokens)
    if summary is not None and not words:
        raise InvalidInput("the summary is empty", hint="leave it out, and one is made")
    if summary is not None and tokenizer.count(words) >= tokens:
        raise InvalidInput(
            f"the summary ({tokenizer.count(words)} tokens) is not shorter than what it replaces ({tokens})",
            hint="shorten it, or leave it out",
        )
    return words, tokens


def made_summary(messages: Sequence[Message], count: Count, tokens: int | None = None) -> str:
    """Return a rule-made summary, clearly shorter than its messages: what was said and what calls returned, with figures and names."""
    limit = SUMMARY_TOKENS if tokens is None else min(SUMMARY_TOKENS, tokens // 2)
    turns = into_turns(messages[0].id.thread, messages)
    gists = [gist_turn(turn, count=count, operations=True) for turn in turns]
    text = summarise(gists, limit_tokens=limit, count=count).text
    return text if tokens is None or count(text) < tokens else ""


def summarised_again(thread: ThreadScope) -> Summarised:
    """Return the function that summarizes a crop whose own summary is missing or withheld."""
    count = tokenizer_for(thread.engine.settings.model).count

    def again(view: View, mark: CropMark) -> str:
        rows = (row for first, last in mark.places for row in _stretch(view, first, last))
        messages = [message_of(*row) for row in rows if mark.holds(row[0].message) and _is_shown(*row)]
        return made_summary(messages, count) if messages else ""

    return again
