"""What stays of each old unit: which pieces to the letter, which units as a line, which not at all.

Owns the worth of a piece and the choice under a budget: the most worth per token first. Before: `assemble/fade_trail`.
After: `assemble/policy` puts the choice into a compaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll.assemble.fade_trail import Piece, Seen, Trail
from backscroll.assemble.view_pieces import Range, joined
from backscroll.vocab.ids import Ref

KIND = {"words": 0.5, "argument": 0.6, "result": 0.3}  # that a line is copied
HALF_LIFE = 12_000.0  # tokens


@dataclass(frozen=True, slots=True)
class Kept:
    """The choice: pieces by revision, and the strings that stand in them."""

    keeps: Mapping[Ref, tuple[Range, ...]]
    strings: frozenset[str]
    tokens: float


def piece_worth(piece: Piece, worths: Mapping[str, float], trail: Trail) -> float:
    """What a piece is worth: its strings, and the chance that it is copied as it is."""
    value = sum(worths[s] for s in set(piece.strings))
    if len(piece.text) >= 25:
        value += KIND[piece.kind] * (1.5 if trail.lines.get(piece.text, 0) > 1 else 1.0)
    return value


def choose_pieces(old: Sequence[Seen], room: float, worths: Mapping[str, float], trail: Trail) -> Kept:
    """Pieces of old units, the most worth per token first, as many as fit."""
    ranked: list[tuple[float, float, Ref, Piece]] = []
    for seen in old:
        age = 0.5 ** ((trail.tokens - seen.begins) / HALF_LIFE)
        for message, pieces in seen.pieces:
            for piece in pieces:
                value = piece_worth(piece, worths, trail) if piece.text else 0.0
                if value > 0:
                    cost = piece.tokens + 1
                    ranked.append((age * value / cost, cost, message.revision, piece))
    ranked.sort(key=lambda r: (-r[0], r[2], r[3].number))
    chosen: dict[Ref, list[int]] = {}
    strings: set[str] = set()
    lines: set[str] = set()
    spent = 0.0
    for _, cost, revision, piece in ranked:
        if spent + cost > room:
            break
        if piece.text in lines:
            continue
        lines.add(piece.text)
        spent += cost
        chosen.setdefault(revision, []).append(piece.number)
        strings.update(piece.strings)
    return Kept({r: joined(sorted(n)) for r, n in chosen.items()}, frozenset(strings), spent)
