"""The texts of the summary tree: loaded by their keys, or made.

A gist is made from the text of its messages, a summary from the gists or summaries below it. What is stored under a key is
valid; what is missing is made, recursively, and kept for the caller that writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from typing import TypeAlias, TypeVar

from backscroll.derive.summaries import gist, summary
from backscroll.derive.summaries.gist import Gist, gist_messages
from backscroll.derive.summaries.storage import decode_gist, encode_gist
from backscroll.derive.summaries.summary import Summary, summarise
from backscroll.derive.summaries.tree import TreeMessage, just_before
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.errors import StoreCorrupt
from backscroll.record.derived import Artefact, SummaryNode
from backscroll.record.history import HIDDEN, PINNED, Entry
from backscroll.record.ports import Reader, RevisionBody
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message

_PAGE = 256
_HELD = 32_000_000  # bytes of text kept between grouping and making
_MANY = 500  # keys that are looked up at once

Row: TypeAlias = tuple[Entry, RevisionBody]
T = TypeVar("T")


def said_of(entry: Entry, spoken: RevisionBody) -> TreeMessage:
    """Return a message without its words."""
    return TreeMessage(
        entry.message,
        entry.revision,
        entry.role,
        entry.position,
        spoken.digest.hex() if spoken.digest else "",
        bool(entry.flags & PINNED),
        bool(entry.flags & HIDDEN),
    )


def changed_by(events: Iterable[Event], views: Sequence[View]) -> set[bytes]:
    """Return the positions at which events changed something, as of several moments."""
    messages = dict.fromkeys(ref for event in events for ref in _about(event))
    entries = (view.entry(message) for message in messages for view in views)
    return {entry.position for entry in entries if entry is not None}


def _about(event: Event) -> Iterator[Ref]:
    """Yield the messages whose entries an event changed."""
    if event.message is not None:
        yield event.message
    if event.kind is Kind.FORGOTTEN:
        for hole in event.head.get("messages", ()):
            yield parse_ref(hole["message"])
    if event.kind in (Kind.UNDONE, Kind.REDONE):
        for was in event.head.get("entries", ()):
            yield parse_ref(was["message"])


class Texts:
    """Gists and summaries of one thread at one moment."""

    def __init__(
        self, at: str, reader: Reader, view: View, known: MutableMapping[bytes, Gist] | None = None
    ) -> None:
        self.made: list[Artefact] = []  # new artefacts worth storing
        self._at, self._reader, self._view = at, reader, view
        self._known: MutableMapping[bytes, Gist] = {} if known is None else known  # by keys over all inputs
        self._raw: dict[bytes, bytes] = {}  # stored, and not decoded yet
        self._rows: dict[Ref, Row] = {}
        self._held = 0

    def keep(self, row: Row) -> None:
        """Cache a row that was read anyway, unless there are too many: then it is read again."""
        self._held += len(row[1].body or b"")
        if self._held <= _HELD:
            self._rows[row[0].message] = row

    # -- making ----------------------------------------------------------------------------------------------

    def make_pieces(self, pieces: Sequence[tuple[SummaryNode, Sequence[TreeMessage]]]) -> None:
        """Make the gists that are missing."""
        for node, run in self._missing(pieces):
            said = [s for s in run if s.shown]
            if said:
                self._keep(node, gist_messages(self._words(node, said)), tuple(s.revision for s in said))

    def _words(self, node: SummaryNode, said: Sequence[TreeMessage]) -> list[Message]:
        rows = [self._rows.get(s.message) for s in said]
        held = [message_of(*row) for row in rows if row is not None]
        return held if len(held) == len(said) else self.messages(node.position, node.end)

    def make_spans(self, spans: Sequence[tuple[SummaryNode, Sequence[SummaryNode]]]) -> None:
        """Make the summaries that are missing."""
        for node, children in self._missing(spans):
            self._keep(node, self._summarise_children(node.level, children), ())

    def _missing(self, nodes: Sequence[tuple[SummaryNode, T]]) -> list[tuple[SummaryNode, T]]:
        found = self._load([node.key for node, _ in nodes])
        return [(node, rest) for node, rest in nodes if node.key not in found]

    def _keep(self, node: SummaryNode, made: Gist, sources: tuple[Ref, ...]) -> None:
        self._known[node.key] = made
        recipe = gist.RECIPE if node.level == 0 else summary.RECIPE
        self.made.append(Artefact(node.key, recipe.name, node.thread, encode_gist(made), sources, self._at))

    def _load(self, keys: Sequence[bytes]) -> set[bytes]:
        """Load what is stored under some keys; return the keys that were found."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self._known and key not in self._raw]
        for start in range(0, len(wanted), _MANY):
            found = self._reader.read_artefacts(wanted[start : start + _MANY])
            self._raw.update((key, made.body) for key, made in found.items())
        return {key for key in keys if key in self._known or key in self._raw}

    def _taken_apart(self, key: bytes) -> Gist | None:
        body = self._raw.pop(key, None)
        if body is None:
            return None
        try:
            return decode_gist(body)
        except StoreCorrupt:
            return None  # it can be made again; `verify` reports problems of the store

    def _summarise_children(self, level: int, children: Sequence[SummaryNode]) -> Summary:
        self._load([c.key for c in children])
        return summarise([self.of(c) for c in children], level=level)

    # -- reading ---------------------------------------------------------------------------------------------

    def of(self, node: SummaryNode) -> Gist:
        """Return the gist of a node; made on the spot if it is not stored."""
        found = self._known.get(node.key)
        if found is None:
            self._load([node.key])
            found = self._taken_apart(node.key)
            if found is not None:
                self._known[node.key] = found
        if found is None:
            found = (
                self._gist(node)
                if node.level == 0
                else self._summarise_children(node.level, self.children(node))
            )
            self._known[node.key] = found
        return found

    def children(self, node: SummaryNode) -> list[SummaryNode]:
        """Return the nodes below a node."""
        low = just_before(node.position)
        return self._reader.nodes(node.thread, node.level - 1, after=low, before=node.end + b"\0")

    def _gist(self, node: SummaryNode) -> Gist:
        return gist_messages(self.messages(node.position, node.end))

    def messages(
        self, first: bytes, last: bytes, wanted: Callable[[Entry], bool] = lambda _: True
    ) -> list[Message]:
        """Return the messages between two positions that may be quoted."""
        out: list[Message] = []
        after = just_before(first)
        while rows := self._view.page(_PAGE, after=after):
            inside = [row for row in rows if row[0].position <= last]
            out += [
                message_of(*row)
                for row in inside
                if row[1].body is not None and said_of(*row).shown and wanted(row[0])
            ]
            if len(inside) < _PAGE:
                break
            after = rows[-1][0].position
        return out
