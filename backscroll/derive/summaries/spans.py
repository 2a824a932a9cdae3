"""Spans: where to cut a history so that an edit moves no other cut.

Whether a message opens a span depends on the message alone: on its role and a hash of its id, as in a prolly tree. So
deleting or inserting a turn changes only the spans it is in. Every user message opens a piece (level 0); inside
a long turn a reply opens one about every 16 steps. A piece opens a span of level 1 about every eighth time, of level 2 every
sixty-fourth, and so on. The first message of a history opens every level.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

from backscroll.vocab.ids import Ref

T = TypeVar("T")
BITS = 3  # zero bits per level: about 2**3 nodes of one level make one of the next
STEP_BITS = 4  # zero bits with which a reply opens a piece of a long turn


@lru_cache(maxsize=65_536)
def zeros(ref: Ref) -> int:
    """Return the number of trailing zero bits in the hash of an id."""
    value = int.from_bytes(hashlib.sha256(str(ref).encode()).digest()[:8], "big")
    return 64 if not value else (value & -value).bit_length() - 1


def rank(role: str, message: Ref) -> int:
    """Return the highest level that a message opens by itself; -1 if none."""
    if role == "user":
        return zeros(message) // BITS
    if role == "assistant":
        more = zeros(message) - STEP_BITS
        return -1 if more < 0 else more // BITS
    return -1


def cut(things: Iterable[T], opens: Callable[[T], bool]) -> Iterator[list[T]]:
    """Yield runs of items, each beginning where one opens; the first always does."""
    current: list[T] = []
    for thing in things:
        if current and opens(thing):
            yield current
            current = []
        current.append(thing)
    if current:
        yield current
