"""Split messages that a program has joined: several of ours in one block of theirs, perhaps with other text in between.

A program that wants roles to alternate joins neighbours of one role, with a blank line or a line break between them, and with
whatever it had injected there. A block is split along the lines of our own texts; the rest becomes a block of its own. Only
entries that are missing at that place are searched for. Boundaries of unknown texts are not guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from backscroll.reconcile.alignment import common
from backscroll.reconcile.matching import ForeignBlock, Gap, Keys, Matching, Sides
from backscroll.reconcile.normal import normal_text, substance
from backscroll.reconcile.operations import JoinNote
from backscroll.vocab.message import Content
from backscroll.vocab.part import Text

TELLING = 8  # shorter entries are searched for only beside others


@dataclass(frozen=True, slots=True)
class _TextLine:
    """A non-blank line: its owner, its text, and its position."""

    owner: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _EntryMatch:
    """An entry of ours inside a block: from line to line."""

    entry: int
    first: int
    last: int


def _lines(owner: int, text: str, keys: Keys) -> list[_TextLine]:
    out: list[_TextLine] = []
    start = 0
    for line in text.split("\n"):
        if line.strip():
            out.append(_TextLine(owner, keys.names.split_name(line.strip())[1], start, start + len(line)))
        start += len(line) + 1
    return out


def taken_apart(
    sides: Sides, matching: Matching, pool: Callable[[int], bool], keys: Keys
) -> tuple[list[ForeignBlock], list[JoinNote]]:
    """Return all blocks in order, those that hold entries of ours replaced by their pieces; and which entries were found in which."""
    pieces: dict[int, list[ForeignBlock]] = {}
    joined: list[JoinNote] = []
    for gap in map(Gap.near, matching.gaps(pool)):
        for t, (lines, found) in _find_contained_entries(sides, gap, keys).items():
            if not _worth_it(sides, lines, found):
                continue
            pieces[t] = _pieces(sides, sides.blocks[t], lines, found, keys)
            if len(found) > 1:
                ids = tuple(sides.ours[f.entry].id for f in found)
                joined.append(JoinNote(sides.blocks[t].theirs, ids))
    out: list[ForeignBlock] = []
    for t, block in enumerate(sides.blocks):
        out.extend(pieces.get(t, [block]))
    return out, joined


def _find_contained_entries(
    sides: Sides, gap: Gap, keys: Keys
) -> dict[int, tuple[list[_TextLine], list[_EntryMatch]]]:
    """Return, for each block of a gap, its lines and the entries it contains whole."""
    left = [line for o in gap.ours for line in _lines(o, sides.our_loose[o], keys)]
    by_block = {t: _lines(t, _text(sides.blocks[t]), keys) for t in gap.theirs}
    right = [line for lines in by_block.values() for line in lines]
    numbers: dict[tuple[str, str], int] = {}
    ours = [numbers.setdefault((sides.our_kinds[x.owner], x.text), len(numbers)) for x in left]
    theirs = [numbers.setdefault((sides.blocks[x.owner].kind, x.text), len(numbers)) for x in right]
    partner = dict(common(ours, theirs))
    begins: dict[int, int] = {}
    for k, line in enumerate(right):
        begins.setdefault(line.owner, k)
    out = {t: (lines, list[_EntryMatch]()) for t, lines in by_block.items()}
    start = 0
    while start < len(left):
        end = start
        while end < len(left) and left[end].owner == left[start].owner:
            end += 1
        places = [partner.get(k, -1) for k in range(start, end)]
        whole = places[0] >= 0 and places == list(range(places[0], places[0] + len(places)))
        if whole and right[places[0]].owner == right[places[-1]].owner:
            t = right[places[0]].owner
            out[t][1].append(_EntryMatch(left[start].owner, places[0] - begins[t], places[-1] - begins[t]))
        start = end
    return {t: pair for t, pair in out.items() if pair[1]}


def _worth_it(sides: Sides, lines: Sequence[_TextLine], found: Sequence[_EntryMatch]) -> bool:
    """Return True if splitting is justified: one entry inside other text may also be an edit, or a short word by coincidence."""
    if len(found) > 1 or found[0].last - found[0].first + 1 == len(lines):
        return True
    entry = found[0].entry
    return sides.our_kinds[entry] == "user" and substance(sides.our_loose[entry]) >= TELLING


def _text(block: ForeignBlock) -> str:
    """Return the text of a block in normal form, including a leading name."""
    return normal_text(block.message.content.text)


def _pieces(
    sides: Sides, block: ForeignBlock, lines: Sequence[_TextLine], found: Sequence[_EntryMatch], keys: Keys
) -> list[ForeignBlock]:
    text = _text(block)
    alone = len(found) == 1 and found[0].last - found[0].first + 1 == len(lines)
    out: list[ForeignBlock] = []
    reached = 0  # lines before this one are done
    for one in (*found, None):
        first = one.first if one else len(lines)
        if first > reached:
            out.append(piece(block, text[lines[reached].start : lines[first - 1].end], keys, glued=True))
        if one:
            words = text[lines[one.first].start : lines[one.last].end]
            known = piece(block, words, keys, glued=not alone)
            out.append(replace(known, loose=sides.our_loose[one.entry]))
            reached = one.last + 1
    return out


def piece(block: ForeignBlock, words: str, keys: Keys, *, glued: bool) -> ForeignBlock:
    """Return a block for part of another's text; a leading name becomes its author."""
    name, rest = keys.names.split_name(words)
    author = name if name is not None else block.message.content.author
    content = Content((Text(rest),), author, block.message.content.metadata)
    message = replace(block.message, content=content)
    return replace(block, message=message, loose=normal_text(rest), glued=glued, signed=name is not None)


def by_signature(block: ForeignBlock, keys: Keys) -> list[ForeignBlock]:
    """Split a signed block in which other speakers sign after a blank line: one block per speaker."""
    text = _text(block)
    starts = [0]
    gap = text.find("\n\n")
    while gap >= 0:
        if keys.names.split_name(text[gap + 2 :])[0] is not None:
            starts.append(gap + 2)
        gap = text.find("\n\n", gap + 2)
    ends = [*starts[1:], len(text)]
    return [piece(block, text[a:b].strip(), keys, glued=False) for a, b in zip(starts, ends, strict=True)]
