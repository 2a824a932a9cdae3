"""Replies that wait for results and stand before the window: they are shown out of their place, until the next compaction.

Owns which these are: those of the newest turn, and those that the compaction in force shows already, though the user has spoken or a result has come
since. Before: `engine/prompts/sheet/window`, `assemble/view/units`. After: `engine/prompts/sheet/sheet`, `engine/prompts/composer`, `engine/prompts/compaction/compaction`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

from backscroll.assemble.view.units import WaitingReply, answered_in, waiting_replies
from backscroll.engine.core.history import message_of
from backscroll.engine.prompts.sheet.window import SheetWindow
from backscroll.vocab.event import Event
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import Json, ToolCall

if TYPE_CHECKING:
    from backscroll.engine.prompts.sheet.sheet import Sheet


def waiting_now(
    window: SheetWindow, messages: Sequence[Message], rare: int, memo: MutableMapping[object, Any]
) -> Iterator[WaitingReply]:
    """Replies of the newest turn that wait for results, wherever the window begins: the turn may begin far before it."""
    turn = list(takewhile(lambda m: not is_spoken_by_user(m), reversed(messages)))
    if len(turn) == len(messages):
        begins = messages[0].position if messages else None
        # Nothing but a rare event can change what stands before the window.
        key = ("waiting", window.view.state.id, begins, rare)
        if key not in memo:
            memo[key] = waiting_replies(window.turn_before(begins))
        late = answered_in(turn)
        for reply in reversed(cast("list[WaitingReply]", memo[key])):
            told = {call.id: late[call.id] for call in reply.calls if call.id in late}
            if any(call.id not in told and call.id not in reply.told for call in reply.calls):
                yield replace(reply, told={**reply.told, **told})
    yield from reversed(waiting_replies(turn))


def waited_then(window: SheetWindow, compaction: Event | None) -> tuple[WaitingReply, ...] | None:
    """The replies that a compaction shows before the window, each with the results that it had then; None where it does not say."""
    noted = (
        None
        if compaction is None
        else cast("list[Mapping[str, Json]] | None", compaction.head.get("waiting"))
    )
    if noted is None:
        return None
    refs = [
        parse_ref(str(ref)) for one in noted for ref in (one["message"], *cast("list[Json]", one["told"]))
    ]
    found = {ref: message for ref in refs if (message := _visible(window, ref)) is not None}
    out: list[WaitingReply] = []
    for one in noted:
        reply = found.get(parse_ref(str(one["message"])))
        told = [found.get(parse_ref(str(ref))) for ref in cast("list[Json]", one["told"])]
        if reply is not None:
            calls = {part.id for part in reply.parts if isinstance(part, ToolCall)}
            answers = answered_in(m for m in told if m is not None)
            out.append(WaitingReply(reply, {id: answer for id, answer in answers.items() if id in calls}))
    return tuple(out)


def _visible(window: SheetWindow, ref: Ref) -> Message | None:
    entry = window.view.entry(ref)
    if entry is None or not entry.live:
        return None
    spoken = window.view.reader.spoken([entry.revision]).get(entry.revision)
    return None if spoken is None or not window.visible(entry, spoken) else message_of(entry, spoken)


def out_of_place(sheet: Sheet, shown: Collection[Ref]) -> list[WaitingReply]:
    """The replies that stand before what is shown, in order; those that the compaction in force has shown come as it shows them."""
    then = {w.message.id: w for w in sheet.waited or ()}
    now = {w.message.id: w for w in sheet.waiting}
    found = [w for id, w in {**now, **then}.items() if id not in shown]
    return sorted(found, key=lambda w: w.message.position)


def waits_anew(sheet: Sheet) -> bool:
    """True where a reply that waits stands before the window, and the compaction in force does not say that it is shown."""
    if sheet.waited is None:
        return False
    known = {w.message.id for w in sheet.waited} | {m.id for m in sheet.window}
    return any(w.message.id not in known for w in sheet.waiting)


def noted_waiting(replies: Sequence[WaitingReply]) -> list[Json]:
    """As it stands in the head of a compaction: numbers of messages, no words and no ids of calls."""
    return [
        {
            "message": str(reply.message.id),
            "told": sorted({str(answer.message) for answer in reply.told.values()}),
        }
        for reply in replies
    ]
