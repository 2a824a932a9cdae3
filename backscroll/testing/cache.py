"""Simulate a provider's prompt cache: how many tokens of a prompt were cached.

Owns the arithmetic of both kinds. OpenAI caches the prefix of every prompt automatically, in steps; Anthropic caches up to
marked blocks, and looks back a bounded number of blocks. Pure except for its memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backscroll.testing.request import CachePiece, ScriptedRequest

_KEPT = 64  # prompts that are remembered per model
_LOOK_BACK = 20  # blocks before a mark that Anthropic searches for a cached prefix


@dataclass(frozen=True, slots=True)
class CacheTokens:
    """Tokens of a prompt: total, read from the cache, written to the cache."""

    input: int
    cached: int = 0
    written: int = 0


def rough_count(text: str) -> int:
    """Estimate the tokens of a text: four bytes each."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


class PrefixCache:
    """The prefixes of earlier prompts, per model."""

    def __init__(
        self, count: Callable[[str], int] = rough_count, *, least: int = 1024, step: int = 128
    ) -> None:
        self._count = count
        self._least = least
        self._step = max(1, step)
        self._prompts: dict[str, list[str]] = {}
        self._marks: dict[str, set[bytes]] = {}

    def count(self, asked: ScriptedRequest) -> CacheTokens:
        """Count a prompt without remembering it."""
        return CacheTokens(sum(self._count(p.text) for p in asked.pieces))

    def take(self, asked: ScriptedRequest) -> CacheTokens:
        """Count a prompt against what is known, and remember it."""
        if asked.wire == "anthropic":
            return self._count_marked(asked.model, asked.pieces)
        return self._automatic(asked.model, asked.pieces)

    def _automatic(self, model: str, pieces: Sequence[CachePiece]) -> CacheTokens:
        text = "\n".join(p.text for p in pieces)
        known = self._prompts.setdefault(model, [])
        shared = max((_find_common_prefix(text, old) for old in known), key=len, default="")
        tokens = sum(self._count(p.text) for p in pieces)
        cached = min(self._count(shared), tokens) // self._step * self._step if shared else 0
        known.append(text)
        del known[:-_KEPT]
        return CacheTokens(tokens, cached if cached >= self._least else 0)

    def _count_marked(self, model: str, pieces: Sequence[CachePiece]) -> CacheTokens:
        known = self._marks.setdefault(model, set())
        chain, upto = b"", 0
        names: list[bytes] = []
        sizes: list[int] = []
        for piece in pieces:
            chain = hashlib.sha256(chain + piece.text.encode("utf-8", "replace")).digest()
            upto += self._count(piece.text)
            names.append(chain)
            sizes.append(upto)
        marks = [n for n, piece in enumerate(pieces) if piece.marked and sizes[n] >= self._least]
        read = 0
        for mark in marks:
            for place in range(mark, max(-1, mark - _LOOK_BACK), -1):
                if names[place] in known:
                    read = max(read, sizes[place])
                    break
        written = max(0, sizes[marks[-1]] - read) if marks else 0
        known.update(names[mark] for mark in marks)
        return CacheTokens(upto, read, written)


def _find_common_prefix(one: str, other: str) -> str:
    """Return the common prefix of two texts; by bisection, because prompts are long."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return one[:low]
