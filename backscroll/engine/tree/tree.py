"""The summary tree of a thread, kept up to date piece by piece.

`catch_up` looks at what happened since it last looked, cuts again where that touched anything, and makes the gists and summaries
that are missing under their current keys. All of a step is written together with how far it got, so it can stop at any
moment, several processes may try, and after any history the tree is the one that a rebuild gives. The last node of a level
is still growing: it has a key, but its text is made when somebody asks. Reading the tree: `engine/prompts/tree/reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from typing import TYPE_CHECKING, cast

from backscroll.derive.summaries.spans import rank
from backscroll.derive.summaries.tree import (
    PROGRESS,
    Level,
    Region,
    Said,
    just_before,
    opens,
    piece,
    regroup,
    span,
)
from backscroll.engine.core.lineage import View
from backscroll.engine.core.strides import in_strides
from backscroll.engine.prompts.tree.reading import FarSummary, far_summaries, node_summaries, text_of_node
from backscroll.engine.prompts.tree.texts import Texts, changed_by, said_of
from backscroll.errors import NotFound
from backscroll.record.derived import Node
from backscroll.record.order import at_end
from backscroll.record.ports import Reader, ThreadState, Writer
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine

__all__ = [
    "FarSummary",
    "catch_up",
    "catch_up_soon",
    "far_summaries",
    "node_summaries",
    "rebuild",
    "text_of_node",
]

_PAGE = 64  # messages read at once; with their words, which may be long
_STEP = 1000  # events that one transaction takes on
_TRIES = 3
_SLICE = 128  # events that a caller may wait for in any case
_SOON = 500  # … and where no worker lives that would do it meanwhile


def catch_up(engine: Engine, thread: str, limit: int | None = None) -> int:
    """Bring the tree of a thread up to date, at most so many events; gives how many it took on."""
    return in_strides(lambda most: _step(engine, thread, most), _STEP, limit)


def catch_up_soon(engine: Engine, thread: str) -> int:
    """Bring a tree up to date that is behind a little, for a caller that waits; much is left to a background worker.

    Where none lives, a slice of it is done, so that a program without one gets there as well, call by call.
    """

    def behind(reader: Reader) -> int:
        state = reader.thread(thread)
        return 0 if state is None else state.head - reader.progress(thread, PROGRESS)

    late = engine.store.read(behind)
    if engine.at_work is not None:
        return catch_up(engine, thread, late) if 0 < late <= _SLICE else 0
    return catch_up(engine, thread, late if late <= _SOON else _SLICE) if late > 0 else 0


def waiting_for_tree(view: View, before: bytes | None, shown: int) -> int:
    """How many messages up to a position the tree has not reached yet; a prompt that shows `shown` others has only handles for them."""
    if before is None:
        return 0
    level, tops = 0, view.reader.nodes(view.state.id, 0, newest_first=True, limit=1)
    if tops and tops[0].end >= before:
        return 0
    while above := view.reader.nodes(view.state.id, level + 1, limit=1):
        level, tops = level + 1, above
    tops = view.reader.nodes(view.state.id, level) if tops else []
    return max(1, view.state.messages - shown - sum(node.messages for node in tops))


def rebuild(engine: Engine, thread: str) -> int:
    """Forget the nodes of a thread and make them again from its history; gives how many events that took."""

    def clear(tx: Writer) -> None:
        for level in range(64):
            found = tx.nodes(thread, level)
            for node in found:
                tx.drop_node(thread, level, node.opening)
            if not found and level:
                break
        tx.set_progress(thread, PROGRESS, 0)

    engine.store.write(clear)
    return catch_up(engine, thread)


def _step(engine: Engine, thread: str, limit: int) -> int:
    for _ in range(_TRIES):
        work = engine.store.read(lambda reader: _planned(engine, reader, thread, limit))
        if work is None:
            return 0
        if engine.store.write(work.write):
            return work.upto - work.seen
    return 0  # others are quicker; what they leave is due at the next look


def _planned(engine: Engine, reader: Reader, thread: str, limit: int) -> Step | None:
    state = reader.thread(thread)
    if state is None:
        raise NotFound(f"no thread {thread}", hint="`backscroll threads` lists what is in the store")
    seen = reader.progress(thread, PROGRESS)
    if seen >= state.head:
        return None
    step = Step(engine, reader, state, seen, min(state.head, seen + limit))
    step.plan()
    return step


class Step:
    """The work between two events of a log."""

    def __init__(self, engine: Engine, reader: Reader, state: ThreadState, seen: int, upto: int) -> None:
        self.thread = state.id
        self.seen, self.upto = seen, upto
        self._reader = reader
        self._now = View(reader, state, upto)
        self._before = View(reader, state, seen)
        self._texts = Texts(engine.means.now(), reader, self._now)
        self._drops: list[Node] = []
        self._sets: list[Node] = []

    def write(self, tx: Writer) -> bool:
        """Write everything together; False where somebody else was quicker, or something was forgotten meanwhile."""
        if tx.progress(self.thread, PROGRESS) != self.seen:
            return False
        tx.make(self._texts.made)
        for node in self._drops:
            tx.drop_node(self.thread, node.level, node.opening)
        for node in self._sets:
            tx.set_node(node)
        tx.set_progress(self.thread, PROGRESS, self.upto)
        return True

    def plan(self) -> None:
        """Find out what there is to do, level by level."""
        layer = Layer(self._reader, self.thread, 0)
        dirty = sorted(changed_by(self._now.others(self.seen), (self._before, self._now)))
        changed = self._level(layer, self._walk, _opens_piece, dirty, at_end(self.seen + 1))
        level = 1
        while layer.several():
            below, layer = layer, Layer(self._reader, self.thread, level)
            if changed:
                changed = self._level(layer, below.walk, _opener(level), changed, None)
            elif not layer.stored(None, limit=1):
                break
            level += 1
        self._prune(level)

    def _prune(self, level: int) -> None:
        """A level above a single node says nothing new."""
        while found := self._reader.nodes(self.thread, level):
            self._drops += found
            level += 1

    def _walk(self, after: bytes | None) -> Iterator[Said]:
        while True:
            rows = self._now.page(_PAGE, after=after)
            for row in rows:
                if row[1].body is not None:
                    self._texts.keep(row)
                    yield said_of(*row)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0].position

    def _level(
        self,
        layer: Layer,
        walk: Callable[[bytes | None], Iterator[Said | Node]],
        opens_here: Callable[[Said | Node], bool],
        dirty: Sequence[bytes],
        endless: bytes | None,
    ) -> list[bytes]:
        """Cut one level again; gives the positions at which its nodes changed."""
        level = Level(walk, opens_here, layer.last_before, layer.had)
        changed: list[bytes] = []
        for region in regroup(level, dirty, endless):
            nodes = [self._node(layer.level, run) for run in region.runs]
            self._make(layer.level, region, nodes)
            old = layer.between(region.start, region.stop)
            changed += self._differences(layer, old, nodes)
        return changed

    def _node(self, level: int, run: Sequence[Said | Node]) -> Node:
        if level == 0:
            return piece(self.thread, cast("Sequence[Said]", run))
        return span(self.thread, level, cast("Sequence[Node]", run))

    def _make(self, level: int, region: Region, nodes: Sequence[Node]) -> None:
        """Make the texts of nodes that are closed; the last one of all is still growing."""
        closed = [*zip(nodes, region.runs, strict=True)]
        if region.stop is None:
            closed = closed[:-1]
        if level == 0:
            self._texts.make_pieces([(node, cast("Sequence[Said]", run)) for node, run in closed])
        else:
            self._texts.make_spans([(node, cast("Sequence[Node]", run)) for node, run in closed])

    def _differences(self, layer: Layer, old: Sequence[Node], new: Sequence[Node]) -> list[bytes]:
        were, are = {n.opening: n for n in old}, {n.opening: n for n in new}
        gone = [n for n in old if n.opening not in are]
        fresh = [n for n in new if were.get(n.opening) != n]
        layer.change(gone, fresh)
        self._drops += gone
        self._sets += fresh
        moved = [were[n.opening].position for n in fresh if n.opening in were]
        return sorted({*(n.position for n in gone), *(n.position for n in fresh), *moved})


def _opens_piece(thing: Said | Node) -> bool:
    assert isinstance(thing, Said)
    return rank(thing.role, thing.message) >= 0


def _opener(level: int) -> Callable[[Said | Node], bool]:
    def opens_span(thing: Said | Node) -> bool:
        assert isinstance(thing, Node)
        return opens(thing, level)

    return opens_span


class Layer:
    """The nodes of one level: as they are stored, and with what is about to change."""

    def __init__(self, reader: Reader, thread: str, level: int) -> None:
        self.level = level
        self._reader, self._thread = reader, thread
        self._gone: set[Ref] = set()
        self._fresh: list[Node] = []

    def change(self, gone: Iterable[Node], fresh: Iterable[Node]) -> None:
        """Note what is about to change."""
        new = list(fresh)
        self._gone.update(n.opening for n in (*gone, *new))
        self._fresh = sorted([*self._fresh, *new], key=lambda n: n.position)

    def stored(self, after: bytes | None, *, limit: int | None = None) -> list[Node]:
        """Nodes as they are stored, after a position."""
        return self._reader.nodes(self._thread, self.level, after=after, limit=limit)

    def last_before(self, position: bytes) -> Node | None:
        """The last stored node that begins before a position."""
        found = self._reader.nodes(self._thread, self.level, before=position, newest_first=True, limit=1)
        return found[0] if found else None

    def had(self, position: bytes) -> bool:
        """True where a stored node begins at a position."""
        found = self._reader.nodes(self._thread, self.level, after=just_before(position), limit=1)
        return bool(found) and found[0].position == position

    def between(self, start: bytes | None, stop: bytes | None) -> list[Node]:
        """Stored nodes from a position on and before another."""
        after = None if start is None else just_before(start)
        return self._reader.nodes(self._thread, self.level, after=after, before=stop)

    def walk(self, after: bytes | None) -> Iterator[Node]:
        """Nodes after a position, as they are about to be."""
        fresh = (n for n in self._fresh if after is None or n.position > after)
        return merge(self._kept(after), fresh, key=lambda n: n.position)

    def _kept(self, after: bytes | None) -> Iterator[Node]:
        while True:
            page = self.stored(after, limit=_PAGE)
            yield from (n for n in page if n.opening not in self._gone)
            if len(page) < _PAGE:
                return
            after = page[-1].position

    def several(self) -> bool:
        """True where there are two nodes or more, as they are about to be."""
        walk = self.walk(None)
        return next(walk, None) is not None and next(walk, None) is not None
