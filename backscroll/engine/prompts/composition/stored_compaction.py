"""A compaction as recorded: the resolution at which the history is shown, and what is beside it.

Owns encoding and decoding the sealed body of the event.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from backscroll.assemble.view.compaction import Compaction
from backscroll.engine.inputs.compaction import edge_of_compaction
from backscroll.errors import StoreCorrupt
from backscroll.record.chain import words_from_bytes
from backscroll.vocab.event import Event
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope


@dataclass(frozen=True, slots=True)
class ProtectedText:
    """A text that no compaction may lose, and the revision that contains it."""

    kind: str
    text: str
    source: Ref


_FROZEN = 16  # compactions in memory: for each thread the newest is asked for


@dataclass(frozen=True, slots=True)
class StoredCompaction:
    """A compaction as recorded, with the texts beside it."""

    compaction: Compaction
    far: tuple[tuple[int, Ref], ...] = ()  # tree nodes that summarize what precedes the window
    bound: tuple[ProtectedText, ...] = ()
    event: int | None = None  # None: not recorded yet
    at: str = ""  # when older history was summarized; later model summaries are not shown
    after: bytes | None = None  # position up to which only summaries are shown
    under: int | None = None  # texts placed under this compaction (0: none) are shown; None: under this one

    @property
    def placed_under(self) -> int | None:
        """The compaction under which texts are placed in prompts; None: this one, which is not recorded yet."""
        return self.event if self.under is None else self.under

    def to_json(self) -> dict[str, Json]:
        """Return the sealed body of the event."""
        body: dict[str, Json] = {
            "compaction": self.compaction.to_json(),
            "told": self.at,
            "far": [[level, str(opening)] for level, opening in self.far],
            "bound": [[b.kind, b.text, str(b.source)] for b in self.bound],
        }
        return body if self.under is None else {**body, "under": self.under}

    def without(self, dead: Collection[Ref]) -> StoredCompaction:
        """Return the compaction without the text of some revisions."""
        notes = tuple(n for n in self.compaction.notes if n.source not in dead)
        indexed = tuple(m for m in self.compaction.indexed if m.source not in dead)
        bound = tuple(b for b in self.bound if b.source not in dead)
        return replace(self, compaction=replace(self.compaction, notes=notes, indexed=indexed), bound=bound)

    def shown_sources(self) -> tuple[Ref, ...]:
        """Return the revisions quoted in prompts beside the history."""
        return (*(n.source for n in self.compaction.notes), *(b.source for b in self.bound))

    def sources(self) -> tuple[Ref, ...]:
        """Return the revisions quoted in the body."""
        return (*self.shown_sources(), *(m.source for m in self.compaction.indexed))


def frozen_of(event: Event) -> StoredCompaction:
    """Return the compaction that an event records."""
    assert event.body is not None
    body = cast("Mapping[str, Json]", words_from_bytes(event.body))
    try:
        return StoredCompaction(
            Compaction.from_json(body["compaction"]),
            tuple((int(level), _opening(name)) for level, name in body["far"]),
            tuple(ProtectedText(str(k), str(t), parse_ref(s)) for k, t, s in body["bound"]),
            event.seq,
            str(body.get("told") or event.at),
            edge_of_compaction(event),
            None if body.get("under") is None else int(body["under"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(
            f"compaction {event.id.short} is damaged", hint="undo it, or compact again; no message is touched"
        ) from error


def known_frozen(engine: EngineScope, event: Event) -> StoredCompaction:
    """Return the compaction of an event, decoded once: every prompt until the next one starts with it."""
    shelf = engine.memo.shelf("frozen", _FROZEN)
    key = (event.id, event.body)  # with its text, which may be forgotten
    found: StoredCompaction | None = shelf.get(key)
    if found is None:
        found = shelf[key] = frozen_of(event)
    return found


def _opening(name: str) -> Ref:
    """Return the first message of a node; sequence 0 is the very beginning, which no message has."""
    thread, _, seq = name.rpartition(".")
    return Ref(thread, int(seq))
