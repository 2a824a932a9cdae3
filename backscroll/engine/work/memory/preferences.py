"""What users said about their preferences, thread by thread, kept along the summary tree.

Owns reading statements once: what a node of the tree says is an artefact under the version of that node, so an edit makes one path
anew, and any process finds what another one read. A background worker makes them (`catch_up`). Whoever waits gives an allowance:
within it messages that no artefact speaks for are read on the spot, the newest first, and the rest is counted as pending. Without an
allowance everything is read. Refuses weighing statements (`tasks/preferences/preferences`). Before: `engine/prompts/tree/tree`. After:
`engine/work/memory/reading`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from backscroll.derive.summaries.tree import PROGRESS, just_before
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.prompts.tree.texts import changed_by
from backscroll.errors import StoreCorrupt
from backscroll.record.derived import Made, Node
from backscroll.record.history import HIDDEN, Entry
from backscroll.record.ports import Reader, Spoken, Writer
from backscroll.tasks.preferences import preferences as said
from backscroll.tasks.preferences.reading import Stated, loaded, statements, stored

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine

#: Under this name the store keeps up to which event of a thread everything was read.
SAID = f"said:{said.RECIPE.version}"
_PAGE = 256
#: While somebody waits: changes that the tree has not seen and are looked at one by one, and nodes that are looked up (as many as
#: a tree of any size needs once all is read).
_CHANGES, _NODES = 200, 256
_REMEMBERED = 4_000  # messages, and nodes, of which it is remembered what they say


@dataclass(slots=True)
class Allowance:
    """How much a caller that waits may still read; shared by all threads of one question."""

    messages: int


@dataclass(frozen=True, slots=True)
class Said:
    """Statements of a thread, in no order, and how far they were read."""

    stated: tuple[Stated, ...] = ()
    edge: bytes | None = None  # the newest position that was read
    pending: int = 0  # messages that were not


class _Stretch(NamedTuple):
    """Messages strictly between two positions that no artefact speaks for."""

    after: bytes | None
    before: bytes | None


def said_in(engine: Engine, view: View, allowance: Allowance | None = None) -> Said:
    """What the user messages of a thread say about preferences."""
    tree, out, known, left = Tree(engine, view, waits=allowance is not None), list[Stated](), 0, False
    newest = view.page(1, newest_first=True)
    for part in _joined(tree.cover()):
        if isinstance(part, Node):
            out += tree.said(part) or ()
            known += part.messages
            continue
        rows, whole = _rows(view, part, allowance)
        out += [says for row in rows for says in says_in(engine, *row)]
        known += len(rows)
        left = left or not whole
    pending = max(1, view.state.messages - known) if left else 0
    return Said(tuple(out), newest[0][0].position if newest else None, pending)


def _joined(parts: Iterator[Node | _Stretch]) -> Iterator[Node | _Stretch]:
    """The same, with stretches that follow each other as one: each costs a look into the store."""
    held: _Stretch | None = None
    for part in parts:
        if isinstance(part, Node):
            if held is not None:
                yield held
            held = None
            yield part
        else:
            held = part if held is None else _Stretch(part.after, held.before)
    if held is not None:
        yield held


def said_since(engine: Engine, view: View, before: Said) -> Said | None:
    """The same, going on from what was read where nothing but the end of the thread changed; None where much came."""
    rows = view.page(_PAGE, after=before.edge)
    if len(rows) == _PAGE:
        return None
    fresh = [says for row in rows for says in says_in(engine, *row)]
    edge = rows[-1][0].position if rows else before.edge
    return Said((*before.stated, *fresh), edge, before.pending)


def says_in(engine: Engine, entry: Entry, spoken: Spoken) -> list[Stated]:
    """What one message says; read once per revision."""
    if entry.role != "user" or entry.flags & HIDDEN or spoken.body is None:
        return []
    shelf = engine.memo.shelf("remembered-read", _REMEMBERED)
    found = cast("list[Stated] | None", shelf.get(entry.revision))
    if found is None:
        found = shelf[entry.revision] = statements(message_of(entry, spoken))
    return found


def _rows(
    view: View, stretch: _Stretch, allowance: Allowance | None = None
) -> tuple[list[tuple[Entry, Spoken]], bool]:
    """The messages of a stretch, the newest first as far as is allowed, and whether those are all."""
    out: list[tuple[Entry, Spoken]] = []
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


def catch_up(engine: Engine, thread: str, limit: int) -> int:
    """Make what is missing along the tree, of about so many messages; gives how many were read."""

    def look(reader: Reader) -> tuple[list[Made], int, int]:
        state = reader.thread(thread)
        if state is None:
            return [], 0, 0
        tree = Tree(engine, View(reader, state))
        made, read = tree.made(limit)
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


class Tree:
    """The nodes of a thread with what their users said."""

    def __init__(self, engine: Engine, view: View, *, waits: bool = False) -> None:
        self.engine, self.view, self.reader, self.thread = engine, view, view.reader, view.state.id
        progress = self.reader.progress(self.thread, PROGRESS)
        events = view.others(progress) if progress else []
        # Where very much was changed since, whoever waits goes without the tree.
        self.usable = bool(progress) and (not waits or len(events) <= _CHANGES)
        then = View(self.reader, view.state, progress)
        # Positions at which something changed that the tree has not seen.
        self.stale = sorted(changed_by(events, (then, view))) if self.usable else []
        self._shelf = engine.memo.shelf("remembered-nodes", _REMEMBERED)
        self._known: dict[bytes, Sequence[Stated]] = {}
        self._left = _NODES if waits else None

    # -- reading ---------------------------------------------------------------------------------------------

    def cover(self) -> Iterator[Node | _Stretch]:
        """The whole thread, the newest first: nodes that are known, and stretches that have to be read."""
        tops = self._tops() if self.usable else []
        if not tops:
            yield _Stretch(None, None)
            return
        yield _Stretch(tops[-1].end, None)
        yield from self._within(tops, None, tops[-1].end + b"\0")

    def _tops(self) -> list[Node]:
        """The nodes of the highest level."""
        level, found = 0, self.reader.nodes(self.thread, 0, limit=1)
        while above := self.reader.nodes(self.thread, level + 1, limit=1):
            level, found = level + 1, above
        return self.reader.nodes(self.thread, level) if found else []

    def _within(self, nodes: Sequence[Node], low: bytes | None, high: bytes) -> Iterator[Node | _Stretch]:
        """What neighbours cover. Each speaks for everything up to where the next one begins: something may have been put between."""
        self.load(nodes)
        for number in range(len(nodes) - 1, -1, -1):
            node = nodes[number]
            first = just_before(node.position) if number else low
            if self._left is not None:
                self._left -= 1
                if self._left < 0:
                    yield _Stretch(low, high)
                    return
            if not self._touched(first, high) and self.said(node) is not None:
                yield node
            elif node.level and (children := self.children(node)):
                yield from self._within(children, first, high)
            else:
                yield _Stretch(first, high)
            high = node.position

    def _touched(self, after: bytes | None, before: bytes) -> bool:
        low = 0 if after is None else bisect_right(self.stale, after)
        return low < bisect_left(self.stale, before)

    def children(self, node: Node) -> list[Node]:
        """The nodes below a node."""
        low = just_before(node.position)
        return self.reader.nodes(self.thread, node.level - 1, after=low, before=node.end + b"\0")

    def load(self, nodes: Sequence[Node]) -> None:
        """Get what is stored for some nodes."""
        missing: list[bytes] = []
        for key in map(key_of, nodes):
            held = cast("Sequence[Stated] | None", self._shelf.get(key))
            if held is None:
                missing.append(key)
            else:
                self._known[key] = held
        for start in range(0, len(missing), _PAGE):
            for key, made in self.reader.made(missing[start : start + _PAGE]).items():
                try:
                    self._known[key] = self._shelf[key] = tuple(loaded(made.body)[0])
                except StoreCorrupt:
                    continue  # it can be read again; `verify` tells about the store

    def said(self, node: Node) -> Sequence[Stated] | None:
        """What a node says; None where nobody has read it yet."""
        return self._known.get(key_of(node))

    # -- making ----------------------------------------------------------------------------------------------

    def made(self, limit: int) -> tuple[list[Made], int]:
        """Artefacts for nodes that are closed and were not read yet, of about so many messages, and how many were read."""
        tops = self._tops() if self.usable and not self.stale else []
        if not tops:
            return [], 0  # the tree comes first
        maker = _Maker(self, limit)
        maker.take(tops, growing=True)
        return maker.out, maker.read

    def rows(self, node: Node) -> list[tuple[Entry, Spoken]]:
        """The messages of a node."""
        return _rows(self.view, _Stretch(just_before(node.position), node.end + b"\0"))[0]


class _Maker:
    """Makes artefacts from below, until enough was read."""

    def __init__(self, tree: Tree, limit: int) -> None:
        self.out: list[Made] = []
        self.read = 0
        self._tree, self._limit = tree, limit
        self._at = tree.engine.means.now()

    def take(self, nodes: Sequence[Node], *, growing: bool) -> list[Stated] | None:
        """What neighbours say; None where something is left. `growing`: the last one has no end yet."""
        self._tree.load(nodes)
        out, whole = list[Stated](), True
        for number, node in enumerate(nodes):
            found = self._tree.said(node)
            if found is None:
                found = self._one(node, growing=growing and number == len(nodes) - 1)
            whole = whole and found is not None
            out += found or ()
        return out if whole else None

    def _one(self, node: Node, *, growing: bool) -> list[Stated] | None:
        if self.read >= self._limit:
            return None
        if node.level:
            found = self.take(self._tree.children(node), growing=growing)
        elif growing:
            return None
        else:
            found = list[Stated]()
            for row in self._tree.rows(node):
                self.read += 1
                found += says_in(self._tree.engine, *row)
        if found is not None and not growing:
            sources = tuple(dict.fromkeys(s.revision for s in found))
            made = Made(key_of(node), said.RECIPE.name, node.thread, stored(found, b""), sources, self._at)
            self.out.append(made)
        return found


def key_of(node: Node) -> bytes:
    """The key of what a node says: its version is a hash over all that stands in it."""
    return said.RECIPE.key([node.version])
