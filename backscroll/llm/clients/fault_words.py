"""Classify services' error codes and messages by the table `faults.toml`.

Owns that table: codes and messages of vendors and imitators for overlong prompts, unknown models, filters, and accounts
without credit; and finish reasons. Which error is raised: `faults`. Pure except for reading the table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias, cast

from backscroll.llm.clients.client import Finish
from backscroll.vocab.part import Json

#: The kinds of trouble that a message can indicate.
Trouble: TypeAlias = Literal["overflow", "output_limit", "unknown_model", "filtered", "no_credit"]


@dataclass(frozen=True, slots=True)
class _FaultPattern:
    codes: frozenset[str]
    words: tuple[re.Pattern[str], ...]


@cache
def _table() -> Mapping[str, Json]:
    return tomllib.loads((files("backscroll.llm") / "faults.toml").read_text(encoding="utf-8"))


@cache
def _load_patterns(trouble: Trouble) -> _FaultPattern:
    entry = _table()[trouble]
    return _FaultPattern(
        frozenset(entry["codes"]), tuple(re.compile(w, re.IGNORECASE) for w in entry["words"])
    )


def means(trouble: Trouble, code: str, said: str) -> bool:
    """Return whether a code or message indicates this trouble."""
    known = _load_patterns(trouble)
    return code.lower() in known.codes or any(p.search(said) for p in known.words)


def window_in(said: str) -> int | None:
    """Return the model's context window, if an overflow message states it."""
    for pattern in _load_patterns("overflow").words:
        found = pattern.search(said)
        number = found and "window" in pattern.groupindex and found["window"]
        if number:
            return int(str(number).replace(",", ""))
    return None


def output_limit_in(said: str) -> int | None:
    """Return the output token limit, if a service states it in its error message."""
    for pattern in _load_patterns("output_limit").words:
        found = pattern.search(said)
        if found is None:
            continue
        groups = found.groupdict()
        most = int(groups["most"]) if groups.get("most") else int(groups["beyond"]) - 1
        return most if most > 0 else None
    return None


@cache
def _endings() -> Mapping[str, str]:
    table = cast("Mapping[str, list[str]]", _table()["finish"])
    return {word: meaning for meaning, words in table.items() for word in words}


def finish_of(told: Json) -> Finish | Literal["broken"]:
    """Return our finish reason; `broken`: the service gave up."""
    return cast("Finish", _endings().get(str(told).lower(), "other"))
