"""What users stated about their preferences, per thread, stored along the summary tree.

Owns reading statements once: the statements of a tree node are an artefact under the version of that node, so an edit
remakes one path, and processes share what they read. A background worker makes them (`catch_up`). A waiting caller gives an
allowance: within it, messages without an artefact are read on the spot, the newest first, and the rest is counted as
pending. Without an allowance everything is read. Weighing statements is in `tasks/preferences/preferences`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from backscroll.derive.summaries.tree import PROGRESS, just_before
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.tree.texts import changed_by
from backscroll.errors import StoreCorrupt
from backscroll.record.derived import Artefact, SummaryNode
from backscroll.record.history import HIDDEN, Entry
from backscroll.record.ports import Reader, RevisionBody, Writer
from backscroll.tasks.preferences import preferences as said
from backscroll.tasks.preferences.reader import (
    PreferenceStatement,
    decode_statements,
    encode_statements,
    statements,
)

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

#: The name under which the store keeps up to which event of a thread everything was read.
SAID = f"said:{said.RECIPE.version}"
_PAGE = 256
#: While a caller waits: changes not in the tree that are checked one by one, and nodes that are looked up (as many as
#: a tree of any size needs once everything is read).
_CHANGES, _NODES = 200, 256
_REMEMBERED = 4_000  # messages and nodes whose statements are cached


@dataclass(slots=True)
class Allowance:
    """How much a waiting caller may still read; shared by all threads of one query."""

    messages: int


@dataclass(frozen=True, slots=True)
class ThreadStatements:
    """Statements of a thread, in no order, and how far it was read."""

    stated: tuple[PreferenceStatement, ...] = ()
    edge: bytes | None = None  # the newest position that was read
    pending: int = 0  # messages not read yet


class _Stretch(NamedTuple):
    """Messages strictly between two positions that no artefact covers."""

    after: bytes | None
    before: bytes | None


def said_in(engine: EngineScope, view: View, allowance: Allowance | None = None) -> ThreadStatements:
    """Return what the user messages of a thread state about preferences."""
    tree, out, known, left = (
        PreferenceTree(engine, view, waits=allowance is not None),
        list[PreferenceStatement](),
        0,
        False,
    )
    newest = view.page(1, newest_first=True)
    for part in _join_stretches(tree.cover()):
        if isinstance(part, SummaryNode):
            out += tree.read_statements(part) or ()
            known += part.messages
            continue
        rows, whole = _rows(view, part, allowance)
        out += [says for row in rows for says in says_in(engine, *row)]
        known += len(rows)
        left = left or not whole
    pending = max(1, view.state.messages - known) if left else 0
    return ThreadStatements(tuple(out), newest[0][0].position if newest else None, pending)


def _join_stretches(parts: Iterator[SummaryNode | _Stretch]) -> Iterator[SummaryNode | _Stretch]:
    """Join adjacent stretches: each one costs a query."""
    held: _Stretch | None = None
    for part in parts:
        if isinstance(part, SummaryNode):
            if held is not None:
                yield held
            held = None
            yield part
        else:
            held = part if held is None else _Stretch(part.after, held.before)
    if held is not None:
        yield held


def said_since(engine: EngineScope, view: View, before: ThreadStatements) -> ThreadStatements | None:
    """Return the statements, continuing from `before` if only the end of the thread changed; None if much was added."""
    rows = view.page(_PAGE, after=before.edge)
    if len(rows) == _PAGE:
        return None
    fresh = [says for row in rows for says in says_in(engine, *row)]
    edge = rows[-1][0].position if rows else before.edge
    return ThreadStatements((*before.stated, *fresh), edge, before.pending)


def says_in(engine: EngineScope, entry: Entry, spoken: RevisionBody) -> list[PreferenceStatement]:
    """Return what one message states; read once per revision."""
    if entry.role != "user" or entry.flags & HIDDEN or spoken.body is None:
        return []
    shelf = engine.memo.shelf("remembered-read", _REMEMBERED)
    found = cast("list[PreferenceStatement] | None", shelf.get(entry.revision))
    if found is None:
        found = shelf[entry.revision] = statements(message_of(entry, spoken))
    return found


def _rows(
    view: View, stretch: _Stretch, allowance: Allowance | None = None
) -> tuple[list[tuple[Entry, RevisionBody]], bool]:
    """Return the messages of a stretch, the newest first as far as allowed, and whether those are all."""
    out: list[tuple[Entry, RevisionBody]] = []
    before = stretch.before
    while allowance is None or allowance.messages > 0:
        size = _PAGE if allowance is None else min(_PAGE, allowance.messages)
        rows = view.page(size, after=stretch.after, before=before, newest_first=True)
        if allowance is not None:
            allowance.messages -= len(rows)
        out += rows
        if len(rows) < size:
            return out, True
        before = rows[-1][0].position
    return out, not view.page(1, after=stretch.after, before=before)


def catch_up(engine: EngineScope, thread: str, limit: int) -> int:
    """Make missing artefacts along the tree, for about `limit` messages; return how many were read."""

    def look(reader: Reader) -> tuple[list[Artefact], int, int]:
        state = reader.thread(thread)
        if state is None:
            return [], 0, 0
        tree = PreferenceTree(engine, View(reader, state))
        made, read = tree.make_artefacts(limit)
        reached = 0 if tree.stale or read >= limit else reader.progress(thread, PROGRESS)
        return made, read, reached if reached > reader.progress(thread, SAID) else 0

    found, count, reached = engine.store.read(look)
    if found or reached:

        def keep(tx: Writer) -> None:
            tx.make(found)
            if reached:
                tx.set_progress(thread, SAID, reached)

        engine.store.write(keep)
    return count


class PreferenceTree:
    """The tree nodes of a thread with the statements of their users."""

    def __init__(self, engine: EngineScope, view: View, *, waits: bool = False) -> None:
        self.engine, self.view, self.reader, self.thread = engine, view, view.reader, view.state.id
        progress = self.reader.progress(self.thread, PROGRESS)
        events = view.others(progress) if progress else []
        # If very much changed since, a waiting caller proceeds without the tree.
        self.usable = bool(progress) and (not waits or len(events) <= _CHANGES)
        then = View(self.reader, view.state, progress)
        # Positions of changes that are not in the tree.
        self.stale = sorted(changed_by(events, (then, view))) if self.usable else []
        self._shelf = engine.memo.shelf("remembered-nodes", _REMEMBERED)
        self._known: dict[bytes, Sequence[PreferenceStatement]] = {}
        self._get_remaining_pause = _NODES if waits else None

    # -- reading ---------------------------------------------------------------------------------------------

    def cover(self) -> Iterator[SummaryNode | _Stretch]:
        """Yield the whole thread, the newest first: nodes with known statements, and stretches that must be read."""
        tops = self._tops() if self.usable else []
        if not tops:
            yield _Stretch(None, None)
            return
        yield _Stretch(tops[-1].end, None)
        yield from self._within(tops, None, tops[-1].end + b"\0")

    def _tops(self) -> list[SummaryNode]:
        """Return the nodes of the highest level."""
        level, found = 0, self.reader.nodes(self.thread, 0, limit=1)
        while above := self.reader.nodes(self.thread, level + 1, limit=1):
            level, found = level + 1, above
        return self.reader.nodes(self.thread, level) if found else []

    def _within(
        self, nodes: Sequence[SummaryNode], low: bytes | None, high: bytes
    ) -> Iterator[SummaryNode | _Stretch]:
        """Yield what neighbouring nodes cover. Each covers everything up to the next one: a message may have been inserted between."""
        self.load(nodes)
        for number in range(len(nodes) - 1, -1, -1):
            node = nodes[number]
            first = just_before(node.position) if number else low
            if self._get_remaining_pause is not None:
                self._get_remaining_pause -= 1
                if self._get_remaining_pause < 0:
                    yield _Stretch(low, high)
                    return
            if not self._is_stale(first, high) and self.read_statements(node) is not None:
                yield node
            elif node.level and (children := self.children(node)):
                yield from self._within(children, first, high)
            else:
                yield _Stretch(first, high)
            high = node.position

    def _is_stale(self, after: bytes | None, before: bytes) -> bool:
        low = 0 if after is None else bisect_right(self.stale, after)
        return low < bisect_left(self.stale, before)

    def children(self, node: SummaryNode) -> list[SummaryNode]:
        """Return the nodes below a node."""
        low = just_before(node.position)
        return self.reader.nodes(self.thread, node.level - 1, after=low, before=node.end + b"\0")

    def load(self, nodes: Sequence[SummaryNode]) -> None:
        """Load what is stored for some nodes."""
        missing: list[bytes] = []
        for key in map(key_of, nodes):
            held = cast("Sequence[PreferenceStatement] | None", self._shelf.get(key))
            if held is None:
                missing.append(key)
            else:
                self._known[key] = held
        for start in range(0, len(missing), _PAGE):
            for key, made in self.reader.read_artefacts(missing[start : start + _PAGE]).items():
                try:
                    self._known[key] = self._shelf[key] = tuple(decode_statements(made.body)[0])
                except StoreCorrupt:
                    continue  # it can be read again; `verify` reports problems of the store

    def read_statements(self, node: SummaryNode) -> Sequence[PreferenceStatement] | None:
        """Return the statements of a node; None if it was not read yet."""
        return self._known.get(key_of(node))

    # -- making ----------------------------------------------------------------------------------------------

    def make_artefacts(self, limit: int) -> tuple[list[Artefact], int]:
        """Make artefacts for closed nodes that were not read yet, for about `limit` messages; return how many were read."""
        tops = self._tops() if self.usable and not self.stale else []
        if not tops:
            return [], 0  # the tree comes first
        maker = _ArtefactMaker(self, limit)
        maker.take(tops, growing=True)
        return maker.out, maker.read

    def rows(self, node: SummaryNode) -> list[tuple[Entry, RevisionBody]]:
        """Return the messages of a node."""
        return _rows(self.view, _Stretch(just_before(node.position), node.end + b"\0"))[0]


class _ArtefactMaker:
    """Makes artefacts bottom-up until enough messages were read."""

    def __init__(self, tree: PreferenceTree, limit: int) -> None:
        self.out: list[Artefact] = []
        self.read = 0
        self._tree, self._limit = tree, limit
        self._at = tree.engine.means.now()

    def take(self, nodes: Sequence[SummaryNode], *, growing: bool) -> list[PreferenceStatement] | None:
        """Return the statements of neighbouring nodes; None if some are left. `growing`: the last one is still open."""
        self._tree.load(nodes)
        out, whole = list[PreferenceStatement](), True
        for number, node in enumerate(nodes):
            found = self._tree.read_statements(node)
            if found is None:
                found = self._one(node, growing=growing and number == len(nodes) - 1)
            whole = whole and found is not None
            out += found or ()
        return out if whole else None

    def _one(self, node: SummaryNode, *, growing: bool) -> list[PreferenceStatement] | None:
        if self.read >= self._limit:
            return None
        if node.level:
            found = self.take(self._tree.children(node), growing=growing)
        elif growing:
            return None
        else:
            found = list[PreferenceStatement]()
            for row in self._tree.rows(node):
                self.read += 1
                found += says_in(self._tree.engine, *row)
        if found is not None and not growing:
            sources = tuple(dict.fromkeys(s.revision for s in found))
            made = Artefact(
                key_of(node), said.RECIPE.name, node.thread, encode_statements(found, b""), sources, self._at
            )
            self.out.append(made)
        return found


def key_of(node: SummaryNode) -> bytes:
    """Return the key of a node's statements: its version is a hash over its content."""
    return said.RECIPE.key([node.version])
