"""A group of names that are one node, with what was worked out about it so far.

Owns the caches that hang on a node, nothing that fills them.
"""

from __future__ import annotations

from backscroll.graph.index import Order
from backscroll.graph.reading.view import NodeView
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

Place = tuple[bytes, Ref]
#: What stands on a person's word alone comes after everything that a turn says.
NOWHERE = Ref("", 0)


class NameGroup:
    """Names that are one node, with what was worked out about it so far."""

    __slots__ = ("first", "last", "members", "spans", "told", "view")

    def __init__(self, members: tuple[str, ...]) -> None:
        self.members = members
        self.spans: dict[tuple[str, str], Json] = {}  # predicate and role: what `graph/facts` made of it
        self.view: NodeView | None = None
        self.first: tuple[Order, str] | None = None
        self.last: Place | None = None
        self.told: Json = None  # what `graph/reading/conflicts` keeps here

    def forget(self, predicate: str) -> None:
        """Drop what was worked out about a predicate, and what rests on it."""
        for role in "svox":
            self.spans.pop((predicate, role), None)
        self.view = self.told = None
