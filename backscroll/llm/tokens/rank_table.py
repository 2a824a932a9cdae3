"""Search a rank table on disk, and count short texts exactly with it.

Owns the file format (`pack_ranks`), looking up single tokens (`RankTable`), and counting by the rules of o200k without building
the vocabulary in memory: that takes a third of a second and 60 MB, and most processes count a few sentences. Counts only
scripts whose character classes are stable across Unicode versions (ASCII, Chinese). Everything else, long texts and cutting
need the whole vocabulary (`llm/tokens/encodings`).
"""

from __future__ import annotations

import mmap
import re
import struct
from array import array
from binascii import b2a_base64
from collections.abc import Mapping
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from sys import byteorder
from typing import Final
from zlib import crc32

_MAGIC: Final = b"BSRANKS1"
_HEAD: Final = struct.Struct("<8sI")
_BUCKETS: Final = 1 << 16
_LONGEST: Final = 4096  # characters of a piece
_BRIEF: Final = 48  # bytes up to which scanning all neighbours is faster than a heap
_FOUND: Final = 6  # characters of cached words that take as long as one of a new word
_NEVER: Final = 1 << 30  # a rank after all ranks

#: The Chinese characters present in every Unicode version, and their punctuation.
_HAN: Final = "\u4e00-\u9fa5"
_MARKS: Final = "\u2013\u2014\u2018\u2019\u201c\u201d\u2026\u3001\u3002\u3008-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
_KNOWN: Final = re.compile(f"[\x00-\x7f{_HAN}{_MARKS}]*")
_ENDING: Final = "(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?"
_OTHER: Final = f"[^\r\nA-Za-z0-9{_HAN}]?"
#: How o200k splits a text, for the characters of `_KNOWN`.
_PIECES: Final = re.compile(
    "|".join(
        [
            f"{_OTHER}[A-Z{_HAN}]*[a-z{_HAN}]+{_ENDING}",
            f"{_OTHER}[A-Z{_HAN}]+[a-z{_HAN}]*{_ENDING}",
            "[0-9]{1,3}",
            f" ?[^\t-\r A-Za-z0-9{_HAN}]+[\r\n/]*",
            "[\t-\r ]*[\r\n]+",
            "[\t-\r ]+(?![^\t-\r ])",
            "[\t-\r ]+",
        ]
    )
)


def pack_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """Pack a rank table into a file: bucket offsets, token offsets, ranks, and the tokens in bucket order."""
    order = sorted(ranks, key=lambda token: (crc32(token) % _BUCKETS, ranks[token]))
    starts, offsets, numbers = array("I", [0]), array("I", [0]), array("I")
    for token in order:
        while len(starts) <= crc32(token) % _BUCKETS:
            starts.append(len(numbers))
        numbers.append(ranks[token])
        offsets.append(offsets[-1] + len(token))
    starts.extend([len(numbers)] * (_BUCKETS + 1 - len(starts)))
    tables = [starts, offsets, numbers]
    if byteorder != "little":
        for table in tables:
            table.byteswap()
    return b"".join([_HEAD.pack(_MAGIC, len(order)), *(t.tobytes() for t in tables), *order])


class RankTable:
    """Tokens and their ranks, in a memory-mapped file."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            self._map = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        magic, count = _HEAD.unpack_from(self._map)
        if magic != _MAGIC:
            raise ValueError(f"not a rank table: {file.name}")
        place = _HEAD.size
        tables: list[array[int] | memoryview] = []
        for size in (_BUCKETS + 1, count + 1, count):
            part = memoryview(self._map)[place : place + 4 * size]
            if byteorder == "little":
                tables.append(part.cast("I"))
            else:
                turned = array("I", bytes(part))
                turned.byteswap()
                tables.append(turned)
            place += 4 * size
        self._starts, self._offsets, self._ranks = tables
        self._tokens = memoryview(self._map)[place:]

    def find(self, token: bytes) -> int | None:
        """Return the rank of a token; None if the table does not have it."""
        bucket, size, offsets = crc32(token) % _BUCKETS, len(token), self._offsets
        for number in range(self._starts[bucket], self._starts[bucket + 1]):
            start = offsets[number]
            if offsets[number + 1] - start == size and bytes(self._tokens[start : start + size]) == token:
                return self._ranks[number]
        return None

    def ranks(self) -> dict[bytes, int]:
        """Return all tokens and ranks."""
        tokens, ends = bytes(self._tokens), list(self._offsets)
        spelled = [tokens[a:b] for a, b in pairwise(ends)]
        return dict(zip(spelled, self._ranks, strict=True))

    def as_text(self) -> bytes:
        """Return the table in its published form: a base64 token and its rank on each line."""
        ranks = self.ranks()
        lines = [
            b"%b %d\n" % (b2a_base64(t, newline=False), ranks[t])
            for t in sorted(ranks, key=ranks.__getitem__)
        ]
        return b"".join(lines)


class ShortCounter:
    """Counts texts exactly, piece by piece."""

    def __init__(self, table: RankTable) -> None:
        self._table = table
        self.work = 0  # work so far: approximate number of letters of new words joined
        self._piece = lru_cache(maxsize=8_192)(self._tokens_of)

    def count(self, text: str) -> int | None:
        """Return the tokens of a text; None if some characters need the whole vocabulary."""
        if _KNOWN.fullmatch(text) is None:
            return None
        pieces = _PIECES.findall(text)
        if any(len(piece) > _LONGEST for piece in pieces):
            return None
        self.work += len(text) // _FOUND
        return sum(map(self._piece, pieces))

    def _tokens_of(self, piece: str) -> int:
        """Join the neighbours with the lowest rank, leftmost first, until none can be joined."""
        whole = piece.encode()
        if self._table.find(whole) is not None:
            return 1
        if len(whole) <= _BRIEF:
            self.work += len(whole)
            return self._count_merged(whole)
        self.work += 2 * len(whole)
        return self._joined_in_order(whole)

    def _count_merged(self, whole: bytes) -> int:
        find = self._table.find
        ends = list(range(len(whole) + 1))
        ranks = [_rank(find(whole[a : a + 2])) for a in range(len(whole) - 1)]
        while ranks and (lowest := min(ranks)) < _NEVER:
            at = ranks.index(lowest)
            del ends[at + 1], ranks[at]
            if at < len(ranks):
                ranks[at] = _rank(find(whole[ends[at] : ends[at + 2]]))
            if at:
                ranks[at - 1] = _rank(find(whole[ends[at - 1] : ends[at + 1]]))
        return len(ends) - 1

    def _joined_in_order(self, whole: bytes) -> int:
        """Return the same for a long piece, in near-linear instead of quadratic time."""
        find, size = self._table.find, len(whole)
        following, before = (
            list(range(1, size + 1)),
            list(range(-1, size)),
        )  # start of a token -> start of the next
        due = [(_rank(find(whole[a : a + 2])), a, a + 2) for a in range(size - 1)]
        heapify(due)
        count = size
        while due:
            rank, start, end = heappop(due)
            if rank == _NEVER:
                break
            middle = following[start]
            if middle < 0 or middle >= size or following[middle] != end:
                continue  # one of the two has been joined since
            following[start], following[middle] = end, -1
            count -= 1
            if end < size:
                before[end] = start
                heappush(due, (_rank(find(whole[start : following[end]])), start, following[end]))
            if start:
                heappush(due, (_rank(find(whole[before[start] : end])), before[start], end))
        return count


def _rank(found: int | None) -> int:
    return _NEVER if found is None else found
