"""Parts of older history: whole nodes of the summary tree, messages outside of it, and the summaries that replace them in a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from backscroll.derive.summaries.gist import Gist
from backscroll.record.derived import SummaryNode
from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class FarSummary:
    """One summary of a part of older history.

    `level` and `opening` identify it for `node_summaries`: a level of the tree, or (negative) a stretch from `opening` to
    `end` that is summarized more briefly.
    """

    level: int
    opening: Ref
    end: Ref
    text: str
    tokens: int  # with its handle in front
    handle: str
    sources: tuple[Ref, ...]
    first: bytes = b""  # positions of the stretch that it covers, both included
    last: bytes = b""


class LooseMessages(NamedTuple):
    """Messages between two positions that are not a whole node."""

    position: bytes
    end: bytes


class PartGist(NamedTuple):
    """A part and its gist."""

    parts: tuple[SummaryNode | LooseMessages, ...]
    gist: Gist
    limit: int = 0  # tokens it was cut to; 0: uncut
