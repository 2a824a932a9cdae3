"""The index of what was read: strings whose units leave the window, so that later compactions can still choose notes from it.

Most of what a conversation comes back to after a long time was never spoken: a path, a symbol or an amount that stood in one tool
result. The window of a prompt is bounded, so what is known of such a string (where it was read, who used it, how lately) is
written into the compaction that passes over it. Owns which are kept, under a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from backscroll.assemble.compaction.notes import FAINT, worth
from backscroll.assemble.compaction.trail import Trail
from backscroll.assemble.view.compaction import IndexedString
from backscroll.assemble.view.meter import rough

MOST = 300  # strings in a compaction


@dataclass(slots=True)
class _Count:
    last: int  # unit, counted as the trail does
    words: int = 0
    arguments: int = 0
    told: int = 0


def remember(trail: Trail, gone: int, most: int = MOST) -> tuple[IndexedString, ...]:
    """Return what the trail began with and the strings of its first `gone` units: those most likely to be needed per token,
    newest last.
    """
    counts: dict[str, _Count] = {m.text: _Count(-m.age, m.words, m.arguments, m.told) for m in trail.earlier}
    for seen in trail.seen[:gone]:
        for string in seen.strings:
            count = counts.get(string)
            if count is None:
                count = counts[string] = _Count(seen.number)
            count.last = seen.number
            count.words += string in seen.used.get("words", ())
            count.arguments += string in seen.used.get("argument", ())
            count.told += string in seen.used.get("result", ())
    uses, now = trail.uses, len(trail.seen)
    ranked = sorted(
        (-value / (1 + rough(string)), string)
        for string in counts
        if (value := worth(uses[string], now)) > FAINT
    )
    chosen = sorted((string for _, string in ranked[:most]), key=lambda s: (counts[s].last, s))
    return tuple(
        IndexedString(s, uses[s].revision, gone - c.last, c.words, c.arguments, c.told, uses[s].crowd)
        for s in chosen
        if (c := counts[s])
    )
