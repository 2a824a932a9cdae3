"""Arrangement: the order of summaries and placed texts among the messages that a prompt shows.

The order must not depend on later messages: a prompt is the previous one plus an addition at its end. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.prompt import Block

#: A message and its revision, after which something was placed.
PlacedKey: TypeAlias = tuple[Ref, ...]


def arrange(
    history: Sequence[Block],
    beside: Sequence[Block],
    cuts: Sequence[Ref],
    unseen: Iterable[tuple[bytes, PlacedKey]],
    places: Mapping[Ref, bytes],
    stood_in: Callable[[PlacedKey, Block, Sequence[Block]], Iterable[Block]],
    told: Callable[[PlacedKey], Iterable[Block]],
) -> list[Block]:
    """Return the history with the blocks beside it, in front of the first message that the last of the `cuts` left unchanged.

    If none of those can be shown, new messages follow after all of it. `unseen` is what was placed after messages that the
    history does not show one by one, in order; `stood_in` gives what was sent in place of a result that had not arrived.
    """
    newer = (n for n, b in enumerate(history) if cuts and b.message and b.message.seq >= cuts[-1].seq)
    first = next(newer, len(history) if cuts else 0)
    waiting = list(unseen)
    out: list[Block] = [] if first else [*beside]
    for n, block in enumerate(history, 1):
        while waiting and block.message is not None and waiting[0][0] < places.get(block.message, b""):
            out += told(waiting.pop(0)[1])
        out.append(block)
        key = () if block.message is None else (block.message, *block.sources)
        out += stood_in(key, block, history[n : n + 1])
        if n == first:
            out += beside
        out += told(key)
    return [*out, *(block for _, key in waiting for block in told(key))]


def placed_unseen(
    keys: Iterable[PlacedKey], window: Iterable[Message], history: Iterable[Block]
) -> list[tuple[bytes, PlacedKey]]:
    """Return the keys and positions of texts placed after live messages that the history does not show one by one."""
    shown = {b.message for b in history if b.message is not None}
    live: dict[PlacedKey, bytes] = {(m.id, m.revision): m.position for m in window if m.id not in shown}
    return sorted((live[key], key) for key in keys if key in live)
