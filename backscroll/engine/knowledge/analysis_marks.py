"""Which marks a step of the analysis needs: the newest ones, and those around changes further back.

A change affects the turns at the places it touched, the ones before and after them, and settled turns that held such a
place when they left the window. The others neither change nor matter, so they are not read; turns between two that are read
are outside the window.
"""

from __future__ import annotations

from collections.abc import Collection

from backscroll.derive.summaries.tree import just_before
from backscroll.derive.window import Window
from backscroll.engine.core.lineage import View
from backscroll.record.derived import TurnMark
from backscroll.record.ports import Reader
from backscroll.vocab.ids import Ref

_FAR = 64  # places that are looked up one by one; if more were touched, all marks are read
_FEW, _MANY = 4, 256


def newest_marks(reader: Reader, thread: str, rule: str, most: int) -> list[TurnMark]:
    """Return the newest marks, at least so many of turns that are in the history."""
    found: list[TurnMark] = []
    before: bytes | None = None
    while sum(not m.gone for m in found) < most:
        page = reader.turn_marks(thread, rule, before=before, newest_first=True, limit=most * 2)
        found += page
        if len(page) < most * 2:
            break
        before = page[-1].position
    return found


def marks_around(
    reader: Reader, thread: str, window: Window, places: Collection[bytes], messages: int
) -> list[TurnMark]:
    """Return the marks needed for a change of so many messages that touched these places."""
    rule = window.rule
    if len(places) > _FAR:
        return reader.turn_marks(thread, rule)
    # Each deleted message may bring one more turn back into the window.
    found = {m.opening: m for m in newest_marks(reader, thread, rule, window.size + 2 + messages)}
    touched: dict[Ref, TurnMark] = {}
    for place in sorted({b"", *places}):
        at = reader.turn_marks(thread, rule, after=just_before(place) or None, before=place + b"\0")
        near = [_live(reader, thread, rule, place, back=back) for back in (True, False)]
        over = reader.turn_marks(thread, rule, over=place)
        touched |= {m.opening: m for m in (*at, *near, *over) if m is not None}
    for mark in touched.values():
        # A turn ends where the next one starts.
        after = None if mark.opening in found else _live(reader, thread, rule, mark.position, back=False)
        if after is not None:
            found[after.opening] = after
    return list((found | touched).values())


def _live(reader: Reader, thread: str, rule: str, place: bytes, *, back: bool) -> TurnMark | None:
    """Return the nearest turn of the history that begins before or after a place."""
    limit = _FEW
    while True:
        edge = {"before": place} if back else {"after": place}
        page = reader.turn_marks(thread, rule, newest_first=back, limit=limit, **edge)
        mark = next((m for m in page if not m.gone), None)
        if mark is not None or len(page) < limit:
            return mark
        place, limit = page[-1].position, _MANY


def number_in(view: View, opening: Ref) -> int:
    """Return the number of the turn that a message opens."""
    if opening.seq == 0:
        return 0
    entry = view.entry(opening)
    return view.count(role="user", upto=entry.position) if entry is not None and entry.opens_turn else -1
