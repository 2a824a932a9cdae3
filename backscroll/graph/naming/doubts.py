"""What a sentence makes doubtful of the things it names: "my husband died there" speaks against assuming that he is alive.

Owns the words (`doubts.toml`), by attribute. A default that any live sentence speaks against is not assumed (`graph/completion`);
it takes no understanding of who did what to be careful.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources


@cache
def _words() -> Mapping[str, str]:
    return tomllib.loads(resources.files("backscroll.graph").joinpath("doubts.toml").read_text("utf-8"))


@cache
def _doubting() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{words})" for name, words in _words().items()), re.IGNORECASE)


@cache
def _each_doubt() -> Mapping[str, re.Pattern[str]]:
    return {name: re.compile(words, re.IGNORECASE) for name, words in _words().items()}


def find_doubted_attributes(text: str) -> frozenset[str]:
    """Of which attributes a sentence makes the defaults of what it names doubtful ("died": not "alive")."""
    if not _doubting().search(text):
        return frozenset()
    return frozenset(name for name, words in _each_doubt().items() if words.search(text))
