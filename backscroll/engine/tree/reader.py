"""Read the summary tree: summaries of everything up to a position, finer for newer parts, coarser for older ones.

Anything changed since the tree was last updated is left out: such a span is represented by its handle until the next
compaction. Cropped messages are left out. A choice can be identified by numbers (`FarSummary.level`, `opening`) and read
again later: unless its messages change, it reads the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.recipe import Count
from backscroll.derive.summaries.gist import Gist, gist_messages
from backscroll.derive.summaries.spans import cut, rank
from backscroll.derive.summaries.summary import limit_of, summarise
from backscroll.derive.summaries.tree import PROGRESS, just_before
from backscroll.engine.core.lineage import View
from backscroll.engine.inputs.inputs import crop_marks, standing_of
from backscroll.engine.models.usage import GIST, SUMMARY, models_used
from backscroll.engine.tree.memo import ForestMemo, forest_memo
from backscroll.engine.tree.parts import FarSummary, LooseMessages, PartGist
from backscroll.engine.tree.texts import Texts, changed_by
from backscroll.record.derived import SummaryNode
from backscroll.record.history import Entry
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.engine.inputs.inputs import CropMark

_LOOSE = 128  # messages outside of the tree that are summarized on the spot; more wait for the tree
_LEAST = 140  # tokens below which a separate part is not worth its handle
_LIMIT = 1 << 16  # more tokens than any summary has
_SHARES = {1: 1.0, 2: 0.75, 3: 0.6}  # shares of the budget up to which spans of a level are split


def far_summaries(thread: ThreadScope, before: bytes | None, budget: int, count: Count) -> list[FarSummary]:
    """Return summaries of everything up to and including a position (None: everything), in chronological order.

    Together the parts, each preceded by its handle, have at most `budget` tokens.
    """
    if budget <= 0:
        return []
    return thread.reading(
        lambda view: Forest(view, memo=forest_memo(thread.engine)).far(before, budget, count)
    )


def text_of_node(thread: ThreadScope, level: int, opening: Ref) -> str:
    """Return the current text of one node; empty if it does not exist."""

    def look(view: View) -> str:
        entry = view.entry(opening)
        node = None if entry is None else Forest(view).node(level, opening, entry.position)
        return "" if node is None else Texts("", view.reader, view).of(node).text

    return thread.reading(look)


class Forest:
    """The tree of a thread at one moment, without what may not be shown."""

    def __init__(self, view: View, upto: str = "", memo: ForestMemo | None = None) -> None:
        self.view, self.reader, self.thread = view, view.reader, view.state.id
        self._upto = upto
        self._memo = ForestMemo({}, {}, {}) if memo is None else memo
        self._models: dict[str, list[str]] = {}
        self.texts = Texts("", view.reader, view, self._memo.gists)
        seen = view.reader.progress(self.thread, PROGRESS)
        # Without a node there is nothing to withhold.
        events = view.others(seen) if seen else []
        self._stale = sorted(changed_by(events, [View(view.reader, view.state, seen), view]))
        self._crops = _crops_of(view)
        self._last: dict[int, SummaryNode | None] = {}
        self._read: dict[LooseMessages, Gist] = {}

    # -- covering a stretch ----------------------------------------------------------------------------------

    def cover(self, first: bytes | None, last: bytes | None) -> list[SummaryNode | LooseMessages]:
        """Return the largest closed nodes in a stretch, and the messages between and after them."""
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
            out.append(LooseMessages(rest[0][0].position, newest[0][0].position))
        return out

    def _final(self, level: int) -> SummaryNode | None:
        if level not in self._last:
            found = self.reader.nodes(self.thread, level, newest_first=True, limit=1)
            self._last[level] = found[0] if found else None
        return self._last[level]

    def _within(
        self, level: int, first: bytes | None, last: bytes | None
    ) -> Iterator[SummaryNode | LooseMessages]:
        low = None
        if first is not None:
            begun = self.reader.nodes(self.thread, level, before=first + b"\0", newest_first=True, limit=1)
            low = just_before(begun[0].position) if begun else just_before(first)
        high = None if last is None else last + b"\0"
        for node in self.reader.nodes(self.thread, level, after=low, before=high):
            if first is not None and node.end < first:
                continue
            yield from self._part(node, first, last)

    def _part(
        self, node: SummaryNode, first: bytes | None, last: bytes | None
    ) -> Iterator[SummaryNode | LooseMessages]:
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
            yield LooseMessages(
                max(node.position, first or b""), node.end if last is None else min(node.end, last)
            )

    def _places(self) -> list[tuple[bytes, bytes]]:
        return [place for mark in self._crops for place in mark.places]

    def node(self, level: int, opening: Ref, position: bytes) -> SummaryNode | None:
        """Return the node of a level that a message opens; if it no longer opens one, the node that contains it."""
        near = self.reader.nodes(self.thread, level, before=position + b"\0", newest_first=True, limit=1)
        if near and (near[0].opening == opening or near[0].end >= position):
            return near[0]
        if near:
            return near[0]
        following = self.reader.nodes(self.thread, level, after=position, limit=1)
        return following[0] if following else None

    # -- telling ---------------------------------------------------------------------------------------------

    def gist(self, part: SummaryNode | LooseMessages) -> Gist:
        """Return the gist of a part; only its handle if it changed since the tree was updated."""
        found = self._node(part) if isinstance(part, SummaryNode) else self._loose(part)
        if any(part.position <= p <= part.end for p in self._stale):
            if isinstance(part, LooseMessages):
                return found  # just read
            return Gist("", (), first=found.first or part.opening, last=found.last or part.opening)
        return found

    def _node(self, node: SummaryNode) -> Gist:
        """Return the gist of a node, in a model's words if one wrote it in time."""
        found = self.texts.of(node)
        kind = SUMMARY if node.level else GIST
        if kind not in self._models:
            self._models[kind] = models_used(self.reader, kind)
        if not self._models[kind]:
            return found
        from backscroll.engine.tree.model_summaries import node_words  # start-up: only with a model

        words = node_words(self.reader, [node], self._upto).get(node.key)
        return found if words is None else replace(found, text=words.text, sources=words.sources)

    def _loose(self, part: LooseMessages) -> Gist:
        """Return the gist of messages outside the tree; if there are many, only their handle."""
        found = self._read.get(part)
        if found is None:
            found = self._read[part] = self._gist_of(part)
        return found

    def _gist_of(self, part: LooseMessages) -> Gist:
        if (
            len(self.view.page(_LOOSE + 1, after=just_before(part.position), before=part.end + b"\0"))
            > _LOOSE
        ):
            return Gist("", (), first=self._standing_at(part.position), last=self._standing_at(part.end))
        messages = self.texts.messages(part.position, part.end, self._is_uncropped)
        pieces = [gist_messages(run) for run in cut(messages, _opens)]
        return pieces[0] if len(pieces) == 1 else summarise(pieces) if pieces else Gist("", ())

    def _is_uncropped(self, entry: Entry) -> bool:
        return not any(mark.holds(entry.message) for mark in self._crops)

    def render_parts(self, parts: Sequence[SummaryNode | LooseMessages], limit: int = 0) -> PartGist:
        """Return several parts as one."""
        pairs = [(p, g) for p in parts if (g := self.gist(p)).first is not None]
        if len(pairs) == 1 and not limit:
            return PartGist(tuple(parts), pairs[0][1])
        level = 1 + max((p.level for p in parts if isinstance(p, SummaryNode)), default=0)
        nodes = [p for p, g in pairs if isinstance(p, SummaryNode) and self._memo.gists.get(p.key) is g]
        # Messages outside of the tree, and models' texts, have no key here: they are joined each time.
        key = (level, *(node.key for node in nodes)) if len(nodes) == len(pairs) else None
        return PartGist(
            tuple(parts),
            self._memo.join_gists(key, [g for _, g in pairs], limit or limit_of(level), level),
            limit,
        )

    def summary(self, told: PartGist, count: Count) -> FarSummary | None:
        """Return the finished summary of a part; None if there is nothing to show."""
        handle, text = _split_handle(told.gist)
        if not handle:
            return None
        part = told.parts[0]
        opening, end = self._standing_at(part.position), self._standing_at(told.parts[-1].end)
        if len(told.parts) == 1 and isinstance(part, SummaryNode) and not told.limit:
            level, opening = part.level, part.opening
        else:
            level = -(end.seq * _LIMIT + min(told.limit, _LIMIT - 1))
        size, stretch = _size(handle, text, count), (part.position, told.parts[-1].end)
        return FarSummary(level, opening, end, text, size, handle, told.gist.sources, *stretch)

    def _standing_at(self, position: bytes) -> Ref:
        """Return the message at a position."""
        return self.view.page(1, after=just_before(position))[0][0].message

    # -- choosing --------------------------------------------------------------------------------------------

    def far(self, before: bytes | None, budget: int, count: Count) -> list[FarSummary]:
        """Return the parts that fit a budget."""
        start = [t for p in self.cover(None, before) if (t := self.render_parts([p])).gist.first is not None]
        if sum(self._cost(t, count) for t in start) <= budget:
            chosen = self._finer(start, budget, count)
        else:
            chosen = self._shorter(start, budget, count)
        found = [f for t in chosen if (f := self.summary(t, count)) is not None]
        while found and sum(f.tokens for f in found) > budget:
            found = found[1:]  # a budget of a few tokens: the newest part is worth more
        return found

    def _cost(self, told: PartGist, count: Count) -> int:
        handle, text = _split_handle(told.gist)
        return _size(handle, text, count) if handle else 0

    def _finer(self, parts: list[PartGist], budget: int, count: Count) -> list[PartGist]:
        """Split spans as long as there is room, the newest first, and coarse levels only up to a share of it."""
        total = sum(self._cost(t, count) for t in parts)
        top = max((p.level for t in parts for p in t.parts if isinstance(p, SummaryNode)), default=0)
        # Coarse levels first leave room for finer ones; the remainder goes to any that can use it.
        shares = [(level, _SHARES.get(level, 0.5)) for level in range(top, 0, -1)]
        for level, share in (*shares, *((level, 1.0) for level, _ in shares)):
            for place in range(len(parts) - 1, -1, -1):
                node = parts[place].parts[0]
                if not isinstance(node, SummaryNode) or node.level != level:
                    continue
                finer = [
                    t
                    for p in self.texts.children(node)
                    if (t := self.render_parts([p])).gist.first is not None
                ]
                after = total - self._cost(parts[place], count) + sum(self._cost(t, count) for t in finer)
                if after > budget * share:
                    break
                parts[place : place + 1] = finer
                total = after
        return parts

    def _shorter(self, parts: list[PartGist], budget: int, count: Count) -> list[PartGist]:
        """Join the smallest neighbours until there are few enough, then give each its share, the newer a larger one."""
        most = max(1, budget // _LEAST)
        groups = [(list(t.parts), self._cost(t, count)) for t in parts]
        while len(groups) > most:
            pairs = [(groups[i][1] + groups[i + 1][1], i) for i in range(len(groups) - 1)]
            _, at = min(pairs)
            groups[at : at + 2] = [(groups[at][0] + groups[at + 1][0], groups[at][1] + groups[at + 1][1])]
        weights = [(1 + n / len(groups)) * cost**0.5 for n, (_, cost) in enumerate(groups)]
        out: list[PartGist] = []
        left, rest = budget, sum(weights)
        for (own, _), weight in zip(groups, weights, strict=True):
            told = self._within_tokens(own, int(left * weight / rest), count)
            rest -= weight
            if told is not None:
                left -= self._cost(told, count)
                out.append(told)
        return out

    def _within_tokens(
        self, parts: Sequence[SummaryNode | LooseMessages], room: int, count: Count
    ) -> PartGist | None:
        told = self.render_parts(parts)
        cost, limit = self._cost(told, count), room + 2
        for _ in range(6):
            if cost <= room:
                return told if cost else None
            limit = min(limit - 4, limit * room // cost if limit < room else limit)
            if limit < 8:
                return None
            told = self.render_parts(parts, limit)
            cost = self._cost(told, count)
        return None

    # -- reading again ---------------------------------------------------------------------------------------

    def again(self, far: Sequence[tuple[int, Ref]], edge: bytes | None = None) -> list[FarSummary]:
        """Return summaries of parts chosen before; each extends to the next one, the last one to the edge."""
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
                told = self._render_node(level, opening, (entry.position, stop, edge), done)
            found = None if told is None else self.summary(told, rough_count)
            if found is not None:
                out.append(found)
        return out

    def _stretch(self, level: int, start: bytes, stop: bytes | None) -> PartGist | None:
        """Return a stretch that is summarized more briefly; both the stretch and its length are encoded in its level."""
        end, limit = divmod(-level, _LIMIT)
        parts = self.cover(start, self._end(end) if stop is None else stop)
        return self.render_parts(parts, limit) if parts else None

    def _render_node(
        self,
        level: int,
        opening: Ref,
        place: tuple[bytes, bytes | None, bytes | None],
        done: set[tuple[int, Ref]],
    ) -> PartGist | None:
        """Return the current node of the tree; `place`: its beginning, that of the next one, the edge of the window."""
        start, stop, edge = place
        node = self.node(level, opening, start)
        if node is None:  # fewer levels than before: much was deleted, or a fork is shorter
            parts = self.cover(start, stop)
        elif (level, node.opening) in done:
            return None
        else:
            done.add((level, node.opening))
            beyond = edge is not None and edge < node.end
            clipped = beyond or self._overlaps(node)
            parts = list(self._part(node, None, edge if beyond else node.end)) if clipped else [node]
        return self.render_parts(parts) if parts else None

    def _end(self, seq: int) -> bytes | None:
        """Return the position of a message by its number along the lineage."""
        event = self.view.event(seq)
        entry = None if event is None or event.message is None else self.view.entry(event.message)
        return None if entry is None else entry.position

    def _overlaps(self, node: SummaryNode) -> bool:
        return any(a <= node.end and node.position <= b for a, b in self._places())


def _split_handle(gist: Gist) -> tuple[str, str]:
    """Return the handle and the text of a gist, which ends with its handle."""
    handle = gist.handle
    return handle, gist.text.strip().removesuffix(handle).rstrip()


def _size(handle: str, text: str, count: Count) -> int:
    return count(f"{handle} {text}") + 2


def _opens(message: Message) -> bool:
    return rank(message.role, message.id) >= 0


def _crops_of(view: View) -> list[CropMark]:
    standing = standing_of(view)
    return crop_marks(standing, view.others(min(standing.crops) - 1), view) if standing.crops else []
