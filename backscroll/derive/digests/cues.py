"""The tables behind the rules: names of tools, words of errors, names of fields. Data, read once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from backscroll.vocab.part import Json
from backscroll.vocab.values.table import read_table


@dataclass(frozen=True, slots=True)
class Cue:
    """A line pattern and its weight; with `last` the last matching line of a result outweighs the first."""

    shape: re.Pattern[str]
    weight: int
    last: bool = False


@cache
def table(name: str) -> Mapping[str, Json]:
    """Return one of the tables beside this module."""
    return read_table("backscroll.derive.digests", f"{name}.toml")


@cache
def shapes(name: str, section: str) -> tuple[re.Pattern[str], ...]:
    """Return the compiled patterns of a section."""
    return tuple(re.compile(shape) for shape in cast("list[str]", table(name)[section]["shapes"]))


@cache
def any_of(name: str, section: str) -> re.Pattern[str]:
    """Return one pattern for a whole section, for checks that only need to know whether any of it matches."""
    rows = cast("list[str]", table(name)[section]["shapes"])
    return re.compile("|".join(f"(?:{_scope_flags(row)})" for row in rows))


def _scope_flags(shape: str) -> str:
    """Return a pattern whose flags apply only to itself."""
    found = re.match(r"\(\?([aims]+)\)", shape)
    return f"(?{found[1]}:{shape[found.end() :]})" if found else shape


@cache
def cues(name: str, section: str) -> tuple[Cue, ...]:
    """Return the weighted patterns of a section, heaviest first."""
    rows = cast("list[dict[str, Json]]", table(name)[section])
    made = [Cue(re.compile(row["shape"]), row["weight"], row.get("last", False)) for row in rows]
    return tuple(sorted(made, key=lambda cue: -cue.weight))


@cache
def words(name: str, section: str, key: str) -> frozenset[str]:
    """Return a set of words."""
    return frozenset(cast("list[str]", table(name)[section][key]))
