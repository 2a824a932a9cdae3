"""Known facts about models: family, built-in context window, whether they reason.

Owns `models.toml` and matching a model's many spellings against it. Elsewhere: prices (`llm/prices/prices`), and windows from
other tables (`llm/prices/windows`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from backscroll.vocab.values.pattern import late

#: A reseller's prefix before the name: us.anthropic.claude-…, meta.llama3-…
_SELLER = late(
    r"(?:[a-z]{2,6}\.)?(?:anthropic|amazon|meta|mistral|deepseek|qwen|openai|cohere|google|moonshotai?|ai21|zai|xai|minimax)\."
)
_FINE_TUNED = late(r"ft:([^:]+).*")
#: The longest answer of a model whose limit is not listed: a quarter of its window, and at most this. A service that allows less
#: refuses with its own figure, which is then used (`llm/clients/faults`).
UNKNOWN_OUTPUT = 16_384


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """Models with the same tokenizer and pricing."""

    name: str
    tokenizer: str  # o200k, cl100k or estimate
    factor: float = 1.0
    factor_cjk: float = 1.0
    vocabulary: str = ""
    read: float = 1.0
    write: float = 1.0
    output: float = 4.0


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The size of a context window. `known` is False if the figures are conservative guesses."""

    tokens: int
    output: int  # the longest answer, reasoning included
    known: bool = True


@dataclass(frozen=True, slots=True)
class _WindowRow:
    fits: re.Pattern[str]
    misses: re.Pattern[str] | None
    values: Mapping[str, Any]


def plain_name(model: str) -> str:
    """Return a model's name in lower case, without the reseller."""
    name = model.strip().lower().rpartition("/")[2]
    name = _FINE_TUNED.sub(r"\1", name)
    return _SELLER.sub("", name, count=1) if _SELLER.match(name) else name


def fitting(patterns: Sequence[str]) -> re.Pattern[str]:
    """Compile several patterns with `*`, `?` and `[…]` into one expression."""
    return re.compile("|".join(translate(p.lower()) for p in patterns))


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads((files("backscroll.llm") / "models.toml").read_text(encoding="utf-8"))


@cache
def _tables() -> Mapping[str, tuple[_WindowRow, ...]]:
    return {name: tuple(_row(entry) for entry in _data()[name]) for name in ("family", "window")}


def local_providers() -> frozenset[str]:
    """Return the provider names of self-hosted models, which cost nothing."""
    return frozenset(_data()["local"])


def sold_by_amazon(model: str) -> bool:
    """Return True for names as they are on Bedrock: us.anthropic.claude-…"""
    return "/" not in model and _SELLER.match(model.strip().lower()) is not None


def _row(entry: Mapping[str, Any]) -> _WindowRow:
    without = fitting(entry["except"]) if entry.get("except") else None
    rest = {k: v for k, v in entry.items() if k not in ("match", "except")}
    return _WindowRow(fitting(entry["match"]), without, rest)


def _first(rows: Iterable[_WindowRow], name: str) -> Mapping[str, Any] | None:
    for row in rows:
        if row.fits.match(name) and not (row.misses and row.misses.match(name)):
            return row.values
    return None


@lru_cache(maxsize=512)
def family_of(model: str) -> ModelFamily:
    """Return the family of a model; unknown names get the fallback family."""
    found = _first(_tables()["family"], plain_name(model))
    assert found is not None  # the last row fits everything
    return ModelFamily(**found)


@lru_cache(maxsize=512)
def built_in_window(model: str) -> ContextWindow | None:
    """Return the window of a model by our own table; None if it has no row."""
    found = _first(_tables()["window"], plain_name(model))
    return None if found is None else ContextWindow(found["window"], found["output"])


def usual_output(window: int) -> int:
    """Return the output limit to request if only the window of a model is known."""
    return max(1, min(UNKNOWN_OUTPUT, window // 4))


@lru_cache(maxsize=512)
def thinks(model: str) -> bool:
    """Return True for reasoning models, whose thinking counts as part of the answer."""
    name, entry = plain_name(model), _data()["thinking"]
    return bool(fitting(entry["match"]).match(name)) and not fitting(entry["except"]).match(name)
