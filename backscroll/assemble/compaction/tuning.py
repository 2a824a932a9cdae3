"""The table of weights by which fading judges, as data beside the code. Read once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights for strings and for lines, by the name of the feature."""

    string: Mapping[str, float]
    line: Mapping[str, float]


@cache
def weights() -> Weights:
    """Return the table."""
    text = resources.files("backscroll.assemble").joinpath("fade_weights.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    return Weights(data["string"], data["line"])
