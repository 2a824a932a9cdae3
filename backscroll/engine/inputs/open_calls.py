"""Waiting replies before the window: they await results, and are shown out of place until the next compaction.

Owns which these are: those of the newest turn, and those that the compaction in force already shows, even if the user has
written or a result has arrived since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, cast

from backscroll.assemble.view.units import WaitingReply, answered_in, waiting_replies
from backscroll.engine.inputs.window import InputWindow
from backscroll.vocab.event import Event
from backscroll.vocab.ids import parse_ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import Json, ToolCall


def waiting_now(
    window: InputWindow, messages: Sequence[Message], rare: int, memo: MutableMapping[object, Any]
) -> Iterator[WaitingReply]:
    """Yield replies of the newest turn that await results, wherever the window begins: the turn may begin far before it."""
    turn = list(takewhile(lambda m: not is_spoken_by_user(m), reversed(messages)))
    if len(turn) == len(messages):
        begins = messages[0].position if messages else None
        # Only a rare event can change what precedes the window.
        key = ("waiting", window.view.state.id, begins, rare)
        if key not in memo:
            memo[key] = waiting_replies(window.turn_before(begins))
        late = answered_in(turn)
        for reply in reversed(cast("list[WaitingReply]", memo[key])):
            told = {call.id: late[call.id] for call in reply.calls if call.id in late}
            if any(call.id not in told and call.id not in reply.told for call in reply.calls):
                yield replace(reply, told={**reply.told, **told})
    yield from reversed(waiting_replies(turn))


def waited_then(window: InputWindow, compaction: Event | None) -> tuple[WaitingReply, ...] | None:
    """Return the replies that a compaction shows before the window, each with the results it had then; None if it does not record them."""
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
    found = {ref: message for ref in refs if (message := window.visible_message(ref)) is not None}
    out: list[WaitingReply] = []
    for one in noted:
        reply = found.get(parse_ref(str(one["message"])))
        told = [found.get(parse_ref(str(ref))) for ref in cast("list[Json]", one["told"])]
        if reply is not None:
            calls = {part.id for part in reply.parts if isinstance(part, ToolCall)}
            answers = answered_in(m for m in told if m is not None)
            out.append(WaitingReply(reply, {id: answer for id, answer in answers.items() if id in calls}))
    return tuple(out)


def noted_waiting(replies: Sequence[WaitingReply]) -> list[Json]:
    """Return waiting replies for the head of a compaction: message numbers, no text and no call ids."""
    return [
        {
            "message": str(reply.message.id),
            "told": sorted({str(answer.message) for answer in reply.told.values()}),
        }
        for reply in replies
    ]
