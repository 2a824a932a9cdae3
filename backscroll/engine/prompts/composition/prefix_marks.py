"""Marks in the log that say from where on prompts began in another way: part of a placement.

Refuses to decide when one is due: that is `engine/prompts/prefixes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from backscroll.vocab.event import Event
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json


@dataclass(frozen=True, slots=True)
class PrefixMark:
    """From an event on, prompts began in another way than before it."""

    event: int  # 0: not written yet
    head: str  # digest of what stands before the messages
    shown: int  # the event of the compaction that was in force; 0: none
    since: bytes  # the place before which nothing changed
    doubted: bool = False  # the prompt before was not answered yet: the next reply may belong to either
    bound: frozenset[Ref] = (
        frozenset()
    )  # replies before that place whose thinking still counts: marks before a compaction are not read

    def to_json(self) -> dict[str, Json]:
        """As it stands in the head of the event."""
        more: dict[str, Json] = {"doubted": True} if self.doubted else {}
        if self.bound:
            more["bound"] = [str(ref) for ref in sorted(self.bound)]
        return {"head": self.head, "shown": self.shown, "since": self.since.hex(), **more}


def marks_in(events: Iterable[Event]) -> tuple[PrefixMark, ...]:
    """The marks that some placements hold, oldest first."""
    out: list[PrefixMark] = []
    for event in events:
        raw = cast("Mapping[str, Json] | None", event.head.get("prefix"))
        if raw is not None:
            since = bytes.fromhex(raw["since"])
            doubted = raw.get("doubted") is True
            bound = frozenset(parse_ref(str(ref)) for ref in cast("list[Json]", raw.get("bound", [])))
            out.append(PrefixMark(event.seq, str(raw["head"]), int(raw["shown"]), since, doubted, bound))
    return tuple(out)
