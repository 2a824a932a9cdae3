"""Cuts: results shortened in place, between two compactions.

A compaction covers the whole past; a cut touches a step or two and leaves everything before them in the cache. Two cases: a
newest step that does not fit, and a giant result that has been answered. Pure arithmetic over units; which parts of a result
stay is chosen by `assemble/compaction/policy`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from backscroll.assemble.compaction.policy import trim
from backscroll.assemble.compaction.retention import Boost
from backscroll.assemble.compaction.trail import Trail
from backscroll.assemble.compaction.tuning import CUT_WORTH
from backscroll.assemble.view.compaction import Compaction
from backscroll.assemble.view.units import Unit
from backscroll.assemble.view.view import RenderContext
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import ToolResult


def count_results(units: Iterable[Unit], among: Collection[Ref]) -> int:
    """Return how many tool results some of the units contain: a message may contain several."""
    parts = (part for unit in units if unit.id in among for m in unit.messages for part in m.parts)
    return sum(isinstance(part, ToolResult) for part in parts)


def answered_giants(
    units: Sequence[Unit],
    current: Compaction | None,
    lens: RenderContext,
    *,
    cap: int,
    room: int,
    safe: Collection[Ref],
    fresh: Collection[Ref],
) -> list[int]:
    """Return the indexes of answered steps with more than `cap` tokens, newest first, as far back as cutting them
    pays.
    """
    levels: Mapping[Ref, object] = {} if current is None else current.levels
    upto = None if current is None else current.upto
    behind, gained = 0, 0
    giants: list[int] = []
    chosen: list[int] = []
    for place in range(len(units) - 1, -1, -1):
        unit = units[place]
        if unit.id in fresh:
            continue
        if upto is not None and unit.last.seq <= upto.seq and unit.id in levels:
            break  # condensed before
        tokens = sum(lens.meter.message(m) for m in unit.messages)
        if tokens > cap and unit.id not in safe and any(m.role == "tool" for m in unit.messages):
            giants.append(place)
            gained += tokens - cap
            behind += cap
            if gained > CUT_WORTH * behind:
                chosen = list(giants)
        else:
            behind += tokens
        if behind > room:
            break
    return chosen


def with_cuts(
    units: Sequence[Unit],
    current: Compaction | None,
    lens: RenderContext,
    places: Sequence[int],
    *,
    cap: int,
    trail: Trail,
    safe: Mapping[Ref, str],
    boost: Boost | None = None,
) -> Compaction | None:
    """Return the compaction in force with the steps at some places cut down to `cap` tokens each; None if nothing can be cut."""
    made = current
    for place in places:
        cut = trim(units[: place + 1], made, lens, cap=cap, trail=trail, boost=boost, safe=safe)
        if cut is not None:
            ends = [r for r in (cut.upto, None if made is None else made.upto) if r is not None]
            made = replace(cut, upto=max(ends, key=lambda r: r.seq), reason="pays")
    return None if made is current else made
