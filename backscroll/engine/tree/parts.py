"""Parts of the far past: whole nodes of the summary tree, messages outside of it, and what stands in for them in a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from backscroll.derive.summaries.gist import Gist
from backscroll.record.derived import SummaryNode
from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class FarSummary:
    """One part of what stands in for the far past.

    `level` and `opening` name it for `node_summaries`: a level of the tree, or (negative) a stretch from `opening` to `end`
    that is reported more shortly.
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


class LooseMessages(NamedTuple):
    """Messages from one position to another that are no whole node."""

    position: bytes
    end: bytes


class PartGist(NamedTuple):
    """A part with what it says."""

    parts: tuple[SummaryNode | LooseMessages, ...]
    gist: Gist
    limit: int = 0  # tokens it was cut down to; 0: as it is
