"""Relevance of memories for a task: by meaning, by words, by shared files, by the kind of work.

Owns the score and its reasons; every score comes with them. The vectors of an encoder are passed in; without one, words
alone are used. Not here: reading: memories are passed in, faded. The cues for kinds of work are data (`relevance.toml`).
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import log
from typing import TypeAlias, cast

from backscroll.derive.essence.cues import lower_aligned, paths_in
from backscroll.derive.recipe import Count
from backscroll.recall.text.terms import stopwords
from backscroll.recall.text.words import index_words
from backscroll.vocab.handle import IN_TEXT
from backscroll.vocab.task import Memory, MemoryKind
from backscroll.vocab.values.pattern import late

#: Texts in, rows of numbers of length 1 out.
Encode: TypeAlias = "Callable[[Sequence[str]], Sequence[Sequence[float]]]"
# Constants of the score. `bench/outcomes.py` asks questions in other words than the memories that answer them (decision 0056);
# what bounds work is chosen by hand.
#: Score from which a memory is worth its tokens.
RELEVANT = 0.22
#: Similarity of any two sentences, and the range above it up to certainly the same subject.
_BASE, _SPAN = 0.2, 0.4
#: Share of the semantic similarity that counts if no word is shared.
_ALONE = 0.75
#: Parts of a memory that are compared by meaning, and characters of each. Chosen by hand.
_PIECES, _LEAST = 8, 6
#: Weights of shared words, meaning, shared files and the same kind of work.
_WORDS, _MEANING, _FILES, _SAME_KIND = 0.55, 0.45, 0.35, 0.06
#: Share of the score that does not depend on weight and confidence. Chosen by hand.
_SOUND = 0.55
#: Characters of a text that are compared. Chosen by hand.
_WIDE = 4_000
_HAN = late(r"[\u3400-\u9fff]")
_PARTS = late(r"[。！？；;!?\n→]|\.\s|^[^:：]{1,12}[:：]|(?<=[；;])[^:：]{1,12}[:：]")


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory, its score, and the reasons."""

    memory: Memory
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparisonText:
    """A text prepared for comparison."""

    terms: frozenset[str]
    files: frozenset[str]  # names of the files in it


def prepare_text(text: str) -> ComparisonText:
    """Prepare a text for comparison; callers that compare often cache the result."""
    return ComparisonText(frozenset(terms_of(text)), frozenset(_names(paths_in(text[:_WIDE]))))


@cache
def _kinds() -> Mapping[str, re.Pattern[str]]:
    raw = resources.files("backscroll.tasks").joinpath("relevance.toml").read_text(encoding="utf-8")
    table = cast("Mapping[str, Sequence[str]]", tomllib.loads(raw)["kinds"])
    return {
        kind: re.compile("|".join(re.escape(w) if _HAN.search(w) else rf"\b{re.escape(w)}" for w in words))
        for kind, words in table.items()
    }


def kind_of(text: str) -> str:
    """Return the kind of work a request asks for; empty if its words do not show it."""
    low = lower_aligned(text[:_WIDE])
    best, most = "", 0
    for kind, pattern in _kinds().items():
        found = len(pattern.findall(low))
        if found > most:
            best, most = kind, found
    return best


def terms_of(text: str) -> list[str]:
    """Return the words by which texts are compared, without handles."""
    words, stop = index_words(IN_TEXT.sub(" ", text[:_WIDE])).split(), stopwords()
    # A lone Han character is the tail of a pair: it matches too much.
    return [w for w in words if len(w) > 1 and w not in stop]


def rank(
    query: str,
    memories: Sequence[Memory],
    *,
    encode: Encode | None = None,
    files: Collection[str] = (),
    kinds: Mapping[str, str] | None = None,
    prepare: Callable[[str], ComparisonText] = prepare_text,
) -> list[RankedMemory]:
    """Return memories by relevance for a text, best first; irrelevant ones are left out.

    A text that is only the name of a kind of work (`fix`, `test`, `refactor` …) asks for the results of such work.
    `files` are paths that the task touches beside those the text names; `kinds` maps a memory's id to the kind of work it
    came from.
    """
    told = [m for m in memories if m.text.strip()]
    if not told or not query.strip():
        return []
    if query.strip().casefold() in _kinds():
        return _of_kind(query.strip().casefold(), told, kinds or {})
    asked = list(dict.fromkeys(terms_of(query)))
    own = [prepare(m.text) for m in told]
    rarity = _rarity([one.terms for one in own])
    best = sum(rarity(t) for t in asked) or 1.0
    meaning = _meaning(query, told, encode)
    wanted, names = kind_of(query), {*_names(files), *_names(paths_in(query[:_WIDE]))}
    out: list[RankedMemory] = []
    for number, memory in enumerate(told):
        shared = [t for t in asked if t in own[number].terms]
        held = sum(rarity(t) for t in shared) / best
        near = min(1.0, max(0.0, (meaning[number] - _BASE) / _SPAN)) if meaning else 0.0
        common = sorted(names & own[number].files)
        same = bool(wanted) and (kinds or {}).get(memory.id) == wanted
        raw = (_WORDS * held + _MEANING * near) / (_WORDS + (_MEANING if meaning else 0.0))
        raw = max(raw, _ALONE * near)
        score = raw + _FILES * bool(common) + _SAME_KIND * same
        score *= _SOUND + (1 - _SOUND) * memory.weight * memory.confidence
        if score >= RELEVANT and (held > 0.08 or common or near > 0.3):
            out.append(RankedMemory(memory, round(score, 4), _reasons(shared, rarity, near, common, same)))
    return sorted(out, key=lambda r: (-r.score, r.memory.id))


def _of_kind(kind: str, memories: Sequence[Memory], kinds: Mapping[str, str]) -> list[RankedMemory]:
    """Return memories of a kind of work for a request that names only the kind, the most certain and newest first."""
    found = [
        RankedMemory(m, round(m.weight * m.confidence, 4), ("same kind of task",))
        for m in memories
        if kinds.get(m.id) == kind
    ]
    return sorted(found, key=lambda r: (-r.score, r.memory.id))


def _rarity(texts: Sequence[frozenset[str]]) -> Callable[[str], float]:
    counts = Counter(t for words in texts for t in words)
    total = len(texts)

    def rarity(term: str) -> float:
        return log(1 + (total + 1) / (counts.get(term, 0) + 0.5))

    return rarity


def _meaning(query: str, memories: Sequence[Memory], encode: Encode | None) -> list[float]:
    """Return the semantic similarity of each memory, by its most similar part; empty without an encoder.

    A vector is a mean of words: for a whole text it is imprecise about any one subject in it.
    """
    if encode is None:
        return []
    import numpy as np  # without an encoder

    parts = [_pieces(m.text) for m in memories]
    rows = np.asarray(encode([query[:_WIDE], *(piece for some in parts for piece in some)]))
    likeness = rows[1:] @ rows[0]
    out: list[float] = []
    start = 0
    for some in parts:
        out.append(float(likeness[start : start + len(some)].max()))
        start += len(some)
    return out


def _pieces(text: str) -> list[str]:
    """Return the sentences of a memory, and the parts joined by an arrow; the first ones of a long text."""
    plain = IN_TEXT.sub(" ", text[:_WIDE])
    found = [piece.strip() for piece in _PARTS.split(plain)]
    return [piece for piece in found if len(piece) >= _LEAST][:_PIECES] or [plain]


def _names(paths: Collection[str]) -> set[str]:
    """Return files by their names: the same file is written with more or less of its folder."""
    return {p.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].casefold() for p in paths if p.strip("/\\")}


def _reasons(
    shared: Sequence[str], rarity: Callable[[str], float], near: float, common: Sequence[str], same: bool
) -> tuple[str, ...]:
    out: list[str] = []
    if common:
        out.append(f"same files: {', '.join(common[:3])}")
    telling = sorted(shared, key=lambda t: (-rarity(t), t))[:3]
    if telling:
        out.append(f"shared words: {', '.join(telling)}")
    if near > 0.2:
        out.append("similar meaning")
    if same:
        out.append("same kind of task")
    return tuple(out)


def within(
    ranked: Sequence[RankedMemory], room: int, count: Count, line: Callable[[Memory], str]
) -> list[RankedMemory]:
    """Return as many of the best as fit, without near-duplicates and second summaries of the same task."""
    out: list[RankedMemory] = []
    seen: list[set[str]] = []
    for one in ranked:
        words = set(terms_of(one.memory.text))
        if any(_same(words, other) for other in seen):
            continue
        cost = count(line(one.memory)) + 1
        if cost > room:
            continue
        out.append(one)
        seen.append(words)
        room -= cost
    return out


def _same(one: set[str], other: set[str]) -> bool:
    few = min(len(one), len(other))
    return bool(few) and len(one & other) / max(len(one), len(other)) >= 0.85


#: The order of kinds of memories in a list.
ORDER: Mapping[MemoryKind, int] = {
    MemoryKind.PREFERENCE: 0,
    MemoryKind.FACT: 1,
    MemoryKind.LESSON: 2,
    MemoryKind.OUTCOME: 3,
    MemoryKind.SUMMARY: 4,
    MemoryKind.FILE: 5,
}
