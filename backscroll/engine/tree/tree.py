"""The summary tree of a thread, updated incrementally.

`catch_up` reads the events since its last run, regroups what they touched, and makes the gists and summaries that are
missing under their current keys. A step is written in one transaction with its progress, so it can stop at any moment,
several processes may try, and the tree always equals a rebuild. The last node of a level is still growing: it has a key,
but its text is made on request. Reading the tree: `engine/tree/reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from typing import TYPE_CHECKING, cast

from backscroll.derive.summaries.spans import rank
from backscroll.derive.summaries.tree import (
    PROGRESS,
    LevelSource,
    Regrouping,
    TreeMessage,
    just_before,
    opens,
    piece,
    regroup,
    span,
)
from backscroll.engine.core.lineage import View
from backscroll.engine.core.pacing import in_strides
from backscroll.engine.tree.memo import forest_memo
from backscroll.engine.tree.parts import FarSummary
from backscroll.engine.tree.reader import Forest, far_summaries, text_of_node
from backscroll.engine.tree.texts import Texts, changed_by, said_of
from backscroll.errors import NotFound
from backscroll.record.derived import SummaryNode
from backscroll.record.order import at_end
from backscroll.record.ports import Reader, ThreadState, Writer
from backscroll.vocab.event import HARMLESS, Kind
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope

__all__ = [
    "FarSummary",
    "catch_up",
    "catch_up_soon",
    "far_summaries",
    "node_summaries",
    "rebuild",
    "text_of_node",
]

_PAGE = 64  # messages read at once; with their text, which may be long
_STEP = 1000  # events processed in one transaction
_TRIES = 3
_SLICE = 128  # events that a caller waits for in any case
_SOON = 500  # … and if no worker would process them meanwhile


def catch_up(engine: EngineScope, thread: str, limit: int | None = None) -> int:
    """Update the tree of a thread, for at most `limit` events; return how many were processed."""
    return in_strides(lambda most: _step(engine, thread, most), _STEP, limit)


def catch_up_soon(engine: EngineScope, thread: str) -> int:
    """Update a tree that is slightly behind, for a caller that waits; a large backlog is left to a background worker.

    Without a worker, a slice of it is done, so that such a program catches up as well, call by call.
    """

    def behind(reader: Reader) -> int:
        state = reader.thread(thread)
        return 0 if state is None else state.head - reader.progress(thread, PROGRESS)

    late = engine.store.read(behind)
    if engine.at_work is not None:
        return catch_up(engine, thread, late) if 0 < late <= _SLICE else 0
    return catch_up(engine, thread, late if late <= _SOON else _SLICE) if late > 0 else 0


def waiting_for_tree(view: View, before: bytes | None, shown: int) -> int:
    """Return how many messages up to a position the tree has not processed; a prompt that shows `shown` others has only handles for them."""
    if before is None:
        return 0
    level, tops = 0, view.reader.nodes(view.state.id, 0, newest_first=True, limit=1)
    if tops and tops[0].end >= before:
        return 0
    while above := view.reader.nodes(view.state.id, level + 1, limit=1):
        level, tops = level + 1, above
    tops = view.reader.nodes(view.state.id, level) if tops else []
    return max(1, view.state.messages - shown - sum(node.messages for node in tops))


def rebuild(engine: EngineScope, thread: str) -> int:
    """Rebuild the nodes of a thread from its history; return how many events that took."""

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


def _step(engine: EngineScope, thread: str, limit: int) -> int:
    for _ in range(_TRIES):
        work = engine.store.read(lambda reader: _plan_step(engine, reader, thread, limit))
        if work is None:
            return 0
        if engine.store.write(work.write):
            return work.upto - work.seen
    return 0  # another process is faster; what it leaves is due the next time


def _plan_step(engine: EngineScope, reader: Reader, thread: str, limit: int) -> TreePass | None:
    state = reader.thread(thread)
    if state is None:
        raise NotFound(f"thread {thread} not found", hint="run `backscroll threads` to list threads")
    seen = reader.progress(thread, PROGRESS)
    if seen >= state.head:
        return None
    step = TreePass(engine, reader, state, seen, min(state.head, seen + limit))
    step.plan()
    return step


class TreePass:
    """The work between two events of a log."""

    def __init__(self, engine: EngineScope, reader: Reader, state: ThreadState, seen: int, upto: int) -> None:
        self.thread = state.id
        self.seen, self.upto = seen, upto
        self._reader = reader
        self._now = View(reader, state, upto)
        self._before = View(reader, state, seen)
        self._texts = Texts(engine.means.now(), reader, self._now)
        self._drops: list[SummaryNode] = []
        self._sets: list[SummaryNode] = []

    def write(self, tx: Writer) -> bool:
        """Write everything in one transaction; False if another process was faster, or text was forgotten meanwhile."""
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
        """Determine what there is to do, level by level."""
        layer = TreeLevel(self._reader, self.thread, 0)
        dirty = sorted(changed_by(self._now.others(self.seen), (self._before, self._now)))
        changed = self._level(layer, self._walk, _opens_piece, dirty, at_end(self.seen + 1))
        level = 1
        while layer.several():
            below, layer = layer, TreeLevel(self._reader, self.thread, level)
            if changed:
                changed = self._level(layer, below.walk, _opener(level), changed, None)
            elif not layer.read_stored(None, limit=1):
                break
            level += 1
        self._prune(level)

    def _prune(self, level: int) -> None:
        """Remove a level above a single node: it adds nothing."""
        while found := self._reader.nodes(self.thread, level):
            self._drops += found
            level += 1

    def _walk(self, after: bytes | None) -> Iterator[TreeMessage]:
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
        layer: TreeLevel,
        walk: Callable[[bytes | None], Iterator[TreeMessage | SummaryNode]],
        opens_here: Callable[[TreeMessage | SummaryNode], bool],
        dirty: Sequence[bytes],
        endless: bytes | None,
    ) -> list[bytes]:
        """Regroup one level; return the positions at which its nodes changed."""
        level = LevelSource(walk, opens_here, layer.last_before, layer.had)
        changed: list[bytes] = []
        for region in regroup(level, dirty, endless):
            nodes = [self._node(layer.level, run) for run in region.runs]
            self._make(layer.level, region, nodes)
            old = layer.between(region.start, region.stop)
            changed += self._differences(layer, old, nodes)
        return changed

    def _node(self, level: int, run: Sequence[TreeMessage | SummaryNode]) -> SummaryNode:
        if level == 0:
            return piece(self.thread, cast("Sequence[TreeMessage]", run))
        return span(self.thread, level, cast("Sequence[SummaryNode]", run))

    def _make(self, level: int, region: Regrouping, nodes: Sequence[SummaryNode]) -> None:
        """Make the texts of closed nodes; the very last one is still growing."""
        closed = [*zip(nodes, region.runs, strict=True)]
        if region.stop is None:
            closed = closed[:-1]
        if level == 0:
            self._texts.make_pieces([(node, cast("Sequence[TreeMessage]", run)) for node, run in closed])
        else:
            self._texts.make_spans([(node, cast("Sequence[SummaryNode]", run)) for node, run in closed])

    def _differences(
        self, layer: TreeLevel, old: Sequence[SummaryNode], new: Sequence[SummaryNode]
    ) -> list[bytes]:
        were, are = {n.opening: n for n in old}, {n.opening: n for n in new}
        gone = [n for n in old if n.opening not in are]
        fresh = [n for n in new if were.get(n.opening) != n]
        layer.change(gone, fresh)
        self._drops += gone
        self._sets += fresh
        moved = [were[n.opening].position for n in fresh if n.opening in were]
        return sorted({*(n.position for n in gone), *(n.position for n in fresh), *moved})


def _opens_piece(thing: TreeMessage | SummaryNode) -> bool:
    assert isinstance(thing, TreeMessage)
    return rank(thing.role, thing.message) >= 0


def _opener(level: int) -> Callable[[TreeMessage | SummaryNode], bool]:
    def opens_span(thing: TreeMessage | SummaryNode) -> bool:
        assert isinstance(thing, SummaryNode)
        return opens(thing, level)

    return opens_span


class TreeLevel:
    """The nodes of one level: as stored, and with pending changes."""

    def __init__(self, reader: Reader, thread: str, level: int) -> None:
        self.level = level
        self._reader, self._thread = reader, thread
        self._gone: set[Ref] = set()
        self._fresh: list[SummaryNode] = []

    def change(self, gone: Iterable[SummaryNode], fresh: Iterable[SummaryNode]) -> None:
        """Record pending changes."""
        new = list(fresh)
        self._gone.update(n.opening for n in (*gone, *new))
        self._fresh = sorted([*self._fresh, *new], key=lambda n: n.position)

    def read_stored(self, after: bytes | None, *, limit: int | None = None) -> list[SummaryNode]:
        """Return stored nodes after a position."""
        return self._reader.nodes(self._thread, self.level, after=after, limit=limit)

    def last_before(self, position: bytes) -> SummaryNode | None:
        """Return the last stored node that begins before a position."""
        found = self._reader.nodes(self._thread, self.level, before=position, newest_first=True, limit=1)
        return found[0] if found else None

    def had(self, position: bytes) -> bool:
        """Return True if a stored node begins at a position."""
        found = self._reader.nodes(self._thread, self.level, after=just_before(position), limit=1)
        return bool(found) and found[0].position == position

    def between(self, start: bytes | None, stop: bytes | None) -> list[SummaryNode]:
        """Return stored nodes from a position on and before another."""
        after = None if start is None else just_before(start)
        return self._reader.nodes(self._thread, self.level, after=after, before=stop)

    def walk(self, after: bytes | None) -> Iterator[SummaryNode]:
        """Yield nodes after a position, with pending changes."""
        fresh = (n for n in self._fresh if after is None or n.position > after)
        return merge(self._iterate_kept(after), fresh, key=lambda n: n.position)

    def _iterate_kept(self, after: bytes | None) -> Iterator[SummaryNode]:
        while True:
            page = self.read_stored(after, limit=_PAGE)
            yield from (n for n in page if n.opening not in self._gone)
            if len(page) < _PAGE:
                return
            after = page[-1].position

    def several(self) -> bool:
        """Return True if there are two nodes or more, with pending changes."""
        walk = self.walk(None)
        return next(walk, None) is not None and next(walk, None) is not None


def node_summaries(
    thread: ThreadScope, far: Sequence[tuple[int, Ref]], upto: str = "", edge: bytes | None = None
) -> list[FarSummary]:
    """Return the current summaries of parts chosen before; merged parts appear once.

    With `upto` (the time of the compaction), later texts by models are ignored: the prompt stays unchanged. `edge` is the
    position up to which they extend: a node that has grown beyond it is summarized up to there.
    """
    shelf = thread.engine.memo.shelf("far", 64)
    key = (thread.id, tuple(far), upto, edge)

    def read_cached(view: View) -> tuple[bool, list[FarSummary] | None]:
        """Return whether the tree is up to date with changes, and the cached result if it is still valid."""
        seen, told = shelf.get(key, (0, None))
        if told is not None and not any(_harms(e.kind) for e in view.others(seen)):
            shelf[key] = (view.as_of, told)
            return True, told
        progress = view.reader.progress(thread.id, PROGRESS)
        return not any(_harms(e.kind) for e in view.others(progress)), None

    current, told = thread.reading(read_cached)
    if told is not None:
        return told
    if not current:
        catch_up_soon(thread.engine, thread.id)

    def tell(view: View) -> list[FarSummary]:
        forest = Forest(view, upto, forest_memo(thread.engine))
        # What must be withheld now returns at the next compaction, not as soon as it is remade: prompts only grow.
        found = forest.again(far, edge)
        shelf[key] = (view.as_of, found)
        return found

    return thread.reading(tell)


def _harms(kind: Kind) -> bool:
    return kind not in HARMLESS
