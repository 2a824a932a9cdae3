"""Reading the summary tree: what stands in for everything up to a position, finer for the newer, coarser for the older.

Nothing that was changed since the tree was last brought up to date is told: such a span is named by its handle, until the next
compaction. Cropped messages are left out. What is chosen can be named by numbers (`FarSummary.level`, `opening`) and told
again later: between two changes of what it speaks of it reads the same, byte for byte. Before: `engine/prompts/tree/texts`. After:
`engine/prompts/compaction/compaction` chooses, `engine/prompts/composer` shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.recipe import Count
from backscroll.derive.summaries.gist import Gist, gist_messages
from backscroll.derive.summaries.spans import cut, rank
from backscroll.derive.summaries.summary import limit_of, summarise
from backscroll.derive.summaries.tree import PROGRESS, just_before
from backscroll.engine.core.lineage import View
from backscroll.engine.models.used import GIST, SUMMARY, models_used
from backscroll.engine.prompts.tree.memo import ForestMemo, forest_memo
from backscroll.engine.prompts.tree.texts import Texts, changed_by
from backscroll.record.derived import Node
from backscroll.record.history import Entry
from backscroll.vocab.event import HARMLESS, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.prompts.sheet.sheet import CropMark
    from backscroll.engine.thread import Thread

_LOOSE = 128  # messages outside of the tree that are told on the spot; more wait for the tree
_LEAST = 140  # tokens below which a part of its own is not worth its handle
_LIMIT = 1 << 16  # more tokens than any summary has
_SHARES = {1: 1.0, 2: 0.75, 3: 0.6}  # of the budget, up to which spans of a level are split


@dataclass(frozen=True, slots=True)
class FarSummary:
    """One part of what stands in for the far past.

    `level` and `opening` name it for `node_summaries`: a level of the tree, or (negative) a stretch from `opening` to `end`
    that is told more shortly.
    """

    level: int
    opening: Ref
    end: Ref
    text: str
    tokens: int  # with its handle in front
    handle: str
    sources: tuple[Ref, ...]
    first: bytes = b""  # positions of the stretch that it speaks for, both included
    last: bytes = b""


class Loose(NamedTuple):
    """Messages from one position to another that are no whole node."""

    position: bytes
    end: bytes


class Told(NamedTuple):
    """A part with what it says."""

    parts: tuple[Node | Loose, ...]
    gist: Gist
    limit: int = 0  # tokens it was cut down to; 0: as it is


def far_summaries(thread: Thread, before: bytes | None, budget: int, count: Count) -> list[FarSummary]:
    """What stands in for everything up to and including a position (None: everything), in order of time.

    Together the parts, each with its handle in front, have at most `budget` tokens.
    """
    if budget <= 0:
        return []
    return thread.reading(
        lambda view: Forest(view, memo=forest_memo(thread.engine)).far(before, budget, count)
    )


def node_summaries(
    thread: Thread, far: Sequence[tuple[int, Ref]], upto: str = "", edge: bytes | None = None
) -> list[FarSummary]:
    """What parts that were chosen before say now; what was merged meanwhile is told once.

    With `upto` (the moment of the compaction) nothing is told that a model wrote later: the prompt stays as it is. `edge` is the
    position up to which they speak: a node that has grown beyond it is told as far as there.
    """
    from backscroll.engine.prompts.tree.tree import catch_up_soon

    shelf = thread.engine.memo.shelf("far", 64)
    key = (thread.id, tuple(far), upto, edge)

    def known(view: View) -> tuple[bool, list[FarSummary] | None]:
        """Whether the tree is up to date with what changed, and what was told before if it still holds."""
        seen, told = shelf.get(key, (0, None))
        if told is not None and not any(_harms(e.kind) for e in view.others(seen)):
            shelf[key] = (view.as_of, told)
            return True, told
        progress = view.reader.progress(thread.id, PROGRESS)
        return not any(_harms(e.kind) for e in view.others(progress)), None

    current, told = thread.reading(known)
    if told is not None:
        return told
    if not current:
        catch_up_soon(thread.engine, thread.id)

    def tell(view: View) -> list[FarSummary]:
        forest = Forest(view, upto, forest_memo(thread.engine))
        # What has to be withheld now is told at the next compaction, not as soon as it is made again: prompts only grow.
        found = forest.again(far, edge)
        shelf[key] = (view.as_of, found)
        return found

    return thread.reading(tell)


def _harms(kind: Kind) -> bool:
    return kind not in HARMLESS


def text_of_node(thread: Thread, level: int, opening: Ref) -> str:
    """The text of one node as it is now; empty where there is no such node."""

    def look(view: View) -> str:
        entry = view.entry(opening)
        node = None if entry is None else Forest(view).node(level, opening, entry.position)
        return "" if node is None else Texts("", view.reader, view).of(node).text

    return thread.reading(look)


class Forest:
    """The tree of a thread at one moment, without what must not be told."""

    def __init__(self, view: View, upto: str = "", memo: ForestMemo | None = None) -> None:
        self.view, self.reader, self.thread = view, view.reader, view.state.id
        self._upto = upto
        self._memo = ForestMemo({}, {}, {}) if memo is None else memo
        self._models: dict[str, list[str]] = {}
        self.texts = Texts("", view.reader, view, self._memo.gists)
        seen = view.reader.progress(self.thread, PROGRESS)
        # Where there is no node yet, there is nothing to withhold.
        events = view.others(seen) if seen else []
        self._stale = sorted(changed_by(events, [View(view.reader, view.state, seen), view]))
        self._crops = _crops_of(view)
        self._last: dict[int, Node | None] = {}
        self._read: dict[Loose, Gist] = {}

    # -- covering a stretch ----------------------------------------------------------------------------------

    def cover(self, first: bytes | None, last: bytes | None) -> list[Node | Loose]:
        """The largest closed nodes in a stretch, and what is left between and behind them."""
        top = 0
        while self._final(top + 1) is not None:
            top += 1
        out = list(self._within(top, first, last)) if self._final(0) is not None else []
        final = self._final(0)
        after = None if final is None else final.end
        low = (
            max(b for b in (after, just_before(first) if first else b"") if b is not None)
            if (after or first)
            else None
        )
        rest = self.view.page(1, after=low)
        if rest and (last is None or rest[0][0].position <= last):
            newest = self.view.page(1, before=None if last is None else last + b"\0", newest_first=True)
            out.append(Loose(rest[0][0].position, newest[0][0].position))
        return out

    def _final(self, level: int) -> Node | None:
        if level not in self._last:
            found = self.reader.nodes(self.thread, level, newest_first=True, limit=1)
            self._last[level] = found[0] if found else None
        return self._last[level]

    def _within(self, level: int, first: bytes | None, last: bytes | None) -> Iterator[Node | Loose]:
        low = None
        if first is not None:
            begun = self.reader.nodes(self.thread, level, before=first + b"\0", newest_first=True, limit=1)
            low = just_before(begun[0].position) if begun else just_before(first)
        high = None if last is None else last + b"\0"
        for node in self.reader.nodes(self.thread, level, after=low, before=high):
            if first is not None and node.end < first:
                continue
            yield from self._part(node, first, last)

    def _part(self, node: Node, first: bytes | None, last: bytes | None) -> Iterator[Node | Loose]:
        whole = (first is None or first <= node.position) and (last is None or node.end <= last)
        if any(a <= node.position and node.end <= b for a, b in self._places()):
            return
        cropped = any(a <= node.end and node.position <= b for a, b in self._places())
        growing = self._final(node.level) == node
        if whole and not cropped and not growing:
            yield node
        elif node.level:
            low = node.position if first is None or first < node.position else first
            high = node.end if last is None or node.end < last else last
            yield from self._within(node.level - 1, low, high)
        else:
            yield Loose(max(node.position, first or b""), node.end if last is None else min(node.end, last))

    def _places(self) -> list[tuple[bytes, bytes]]:
        return [place for mark in self._crops for place in mark.places]

    def node(self, level: int, opening: Ref, position: bytes) -> Node | None:
        """The node of a level that a message opens; where it opens none any more, the one in which it stood."""
        near = self.reader.nodes(self.thread, level, before=position + b"\0", newest_first=True, limit=1)
        if near and (near[0].opening == opening or near[0].end >= position):
            return near[0]
        if near:
            return near[0]
        following = self.reader.nodes(self.thread, level, after=position, limit=1)
        return following[0] if following else None

    # -- telling ---------------------------------------------------------------------------------------------

    def gist(self, part: Node | Loose) -> Gist:
        """What a part says; only its ends where it was changed since the tree saw it."""
        found = self._node(part) if isinstance(part, Node) else self._loose(part)
        if any(part.position <= p <= part.end for p in self._stale):
            if isinstance(part, Loose):
                return found  # read just now
            return Gist("", (), first=found.first or part.opening, last=found.last or part.opening)
        return found

    def _node(self, node: Node) -> Gist:
        """What a node says, in the words of a model where one wrote some in time."""
        found = self.texts.of(node)
        kind = SUMMARY if node.level else GIST
        if kind not in self._models:
            self._models[kind] = models_used(self.reader, kind)
        if not self._models[kind]:
            return found
        from backscroll.engine.models.writing import node_words

        words = node_words(self.reader, [node], self._upto).get(node.key)
        return found if words is None else replace(found, text=words.text, sources=words.sources)

    def _loose(self, part: Loose) -> Gist:
        """What messages outside of the tree say; where they are many, only where they begin and end."""
        found = self._read.get(part)
        if found is None:
            found = self._read[part] = self._gist_of(part)
        return found

    def _gist_of(self, part: Loose) -> Gist:
        if (
            len(self.view.page(_LOOSE + 1, after=just_before(part.position), before=part.end + b"\0"))
            > _LOOSE
        ):
            return Gist("", (), first=self._standing_at(part.position), last=self._standing_at(part.end))
        messages = self.texts.messages(part.position, part.end, self._uncropped)
        pieces = [gist_messages(run) for run in cut(messages, _opens)]
        return pieces[0] if len(pieces) == 1 else summarise(pieces) if pieces else Gist("", ())

    def _uncropped(self, entry: Entry) -> bool:
        return not any(mark.holds(entry.message) for mark in self._crops)

    def told(self, parts: Sequence[Node | Loose], limit: int = 0) -> Told:
        """Several parts as one."""
        pairs = [(p, g) for p in parts if (g := self.gist(p)).first is not None]
        if len(pairs) == 1 and not limit:
            return Told(tuple(parts), pairs[0][1])
        level = 1 + max((p.level for p in parts if isinstance(p, Node)), default=0)
        nodes = [p for p, g in pairs if isinstance(p, Node) and self._memo.gists.get(p.key) is g]
        # What messages outside of the tree say, and what a model wrote, has no key here: it is put together each time.
        key = (level, *(node.key for node in nodes)) if len(nodes) == len(pairs) else None
        return Told(
            tuple(parts),
            self._memo.joined(key, [g for _, g in pairs], limit or limit_of(level), level),
            limit,
        )

    def summary(self, told: Told, count: Count) -> FarSummary | None:
        """The finished part; None where there is nothing to tell."""
        handle, text = _worded(told.gist)
        if not handle:
            return None
        part = told.parts[0]
        opening, end = self._standing_at(part.position), self._standing_at(told.parts[-1].end)
        if len(told.parts) == 1 and isinstance(part, Node) and not told.limit:
            level, opening = part.level, part.opening
        else:
            level = -(end.seq * _LIMIT + min(told.limit, _LIMIT - 1))
        size, stretch = _size(handle, text, count), (part.position, told.parts[-1].end)
        return FarSummary(level, opening, end, text, size, handle, told.gist.sources, *stretch)

    def _standing_at(self, position: bytes) -> Ref:
        """The message at a position."""
        return self.view.page(1, after=just_before(position))[0][0].message

    # -- choosing --------------------------------------------------------------------------------------------

    def far(self, before: bytes | None, budget: int, count: Count) -> list[FarSummary]:
        """The parts that fit a budget."""
        start = [t for p in self.cover(None, before) if (t := self.told([p])).gist.first is not None]
        if sum(self._cost(t, count) for t in start) <= budget:
            chosen = self._finer(start, budget, count)
        else:
            chosen = self._shorter(start, budget, count)
        found = [f for t in chosen if (f := self.summary(t, count)) is not None]
        while found and sum(f.tokens for f in found) > budget:
            found = found[1:]  # a budget of a few tokens: the newest is worth more
        return found

    def _cost(self, told: Told, count: Count) -> int:
        handle, text = _worded(told.gist)
        return _size(handle, text, count) if handle else 0

    def _finer(self, parts: list[Told], budget: int, count: Count) -> list[Told]:
        """Split spans as long as there is room, the newest first, and coarse levels only up to a share of it."""
        total = sum(self._cost(t, count) for t in parts)
        top = max((p.level for t in parts for p in t.parts if isinstance(p, Node)), default=0)
        # Coarse levels first leave room for finer ones; what is left over then goes to whatever can use it.
        shares = [(level, _SHARES.get(level, 0.5)) for level in range(top, 0, -1)]
        for level, share in (*shares, *((level, 1.0) for level, _ in shares)):
            for place in range(len(parts) - 1, -1, -1):
                node = parts[place].parts[0]
                if not isinstance(node, Node) or node.level != level:
                    continue
                finer = [t for p in self.texts.children(node) if (t := self.told([p])).gist.first is not None]
                after = total - self._cost(parts[place], count) + sum(self._cost(t, count) for t in finer)
                if after > budget * share:
                    break
                parts[place : place + 1] = finer
                total = after
        return parts

    def _shorter(self, parts: list[Told], budget: int, count: Count) -> list[Told]:
        """Join the smallest neighbours until there are few enough, then give each its share, the newer a larger one."""
        most = max(1, budget // _LEAST)
        groups = [(list(t.parts), self._cost(t, count)) for t in parts]
        while len(groups) > most:
            pairs = [(groups[i][1] + groups[i + 1][1], i) for i in range(len(groups) - 1)]
            _, at = min(pairs)
            groups[at : at + 2] = [(groups[at][0] + groups[at + 1][0], groups[at][1] + groups[at + 1][1])]
        weights = [(1 + n / len(groups)) * cost**0.5 for n, (_, cost) in enumerate(groups)]
        out: list[Told] = []
        left, rest = budget, sum(weights)
        for (own, _), weight in zip(groups, weights, strict=True):
            told = self._within_tokens(own, int(left * weight / rest), count)
            rest -= weight
            if told is not None:
                left -= self._cost(told, count)
                out.append(told)
        return out

    def _within_tokens(self, parts: Sequence[Node | Loose], room: int, count: Count) -> Told | None:
        told = self.told(parts)
        cost, limit = self._cost(told, count), room + 2
        for _ in range(6):
            if cost <= room:
                return told if cost else None
            limit = min(limit - 4, limit * room // cost if limit < room else limit)
            if limit < 8:
                return None
            told = self.told(parts, limit)
            cost = self._cost(told, count)
        return None

    # -- telling again ---------------------------------------------------------------------------------------

    def again(self, far: Sequence[tuple[int, Ref]], edge: bytes | None = None) -> list[FarSummary]:
        """What parts say that were chosen before; each speaks up to where the next one begins, the last one up to the edge."""
        entries = [self.view.entry(opening) for _, opening in far]
        starts = [entry.position for entry in entries if entry is not None]
        out: list[FarSummary] = []
        done: set[tuple[int, Ref]] = set()
        for (level, opening), entry in zip(far, entries, strict=True):
            if entry is None or (edge is not None and entry.position > edge):
                continue  # not in this fork, or moved away
            following = min((p for p in starts if p > entry.position), default=None)
            stop = edge if following is None else just_before(following)
            told = self._stretch(level, entry.position, stop) if level < 0 else None
            if level >= 0:
                told = self._named(level, opening, (entry.position, stop, edge), done)
            found = None if told is None else self.summary(told, rough_count)
            if found is not None:
                out.append(found)
        return out

    def _stretch(self, level: int, start: bytes, stop: bytes | None) -> Told | None:
        """A stretch that is told more shortly, and how shortly: both lie in its level."""
        end, limit = divmod(-level, _LIMIT)
        parts = self.cover(start, self._end(end) if stop is None else stop)
        return self.told(parts, limit) if parts else None

    def _named(
        self,
        level: int,
        opening: Ref,
        place: tuple[bytes, bytes | None, bytes | None],
        done: set[tuple[int, Ref]],
    ) -> Told | None:
        """A node of the tree as it is now; `place`: where it begins, where the next one does, the edge of the window."""
        start, stop, edge = place
        node = self.node(level, opening, start)
        if node is None:  # fewer levels than when it was chosen: much was deleted, or a fork is shorter
            parts = self.cover(start, stop)
        elif (level, node.opening) in done:
            return None
        else:
            done.add((level, node.opening))
            beyond = edge is not None and edge < node.end
            clipped = beyond or self._overlaps(node)
            parts = list(self._part(node, None, edge if beyond else node.end)) if clipped else [node]
        return self.told(parts) if parts else None

    def _end(self, seq: int) -> bytes | None:
        """Where a message stands by its number along the lineage."""
        event = self.view.event(seq)
        entry = None if event is None or event.message is None else self.view.entry(event.message)
        return None if entry is None else entry.position

    def _overlaps(self, node: Node) -> bool:
        return any(a <= node.end and node.position <= b for a, b in self._places())


def _worded(gist: Gist) -> tuple[str, str]:
    """The handle and the words of a gist, which ends with it."""
    handle = gist.handle
    return handle, gist.text.strip().removesuffix(handle).rstrip()


def _size(handle: str, text: str, count: Count) -> int:
    return count(f"{handle} {text}") + 2


def _opens(message: Message) -> bool:
    return rank(message.role, message.id) >= 0


def _crops_of(view: View) -> list[CropMark]:
    from backscroll.engine.prompts.sheet.sheet import crop_marks, standing_of

    standing = standing_of(view)
    return crop_marks(standing, view.others(min(standing.crops) - 1), view) if standing.crops else []
