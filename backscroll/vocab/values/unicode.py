"""Clean text to valid Unicode, which all rooms read, however it was logged.

Files that were cut in the middle of an emoji, names of files that are not UTF-8 and some programs leave lone surrogates:
half of a character, which no encoding, tokenizer or word cutter accepts. The log keeps them unchanged
(`record/content.original`); all analysis reads text without them. Two matching halves become their character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from backscroll.vocab.part import Json

_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def is_valid_text(text: str) -> bool:
    """Return True for text that UTF-8 can hold."""
    return text.isascii() or _SURROGATES.search(text) is None


def valid_text(text: str) -> str:
    """Return the text without lone surrogates; the same object if it has none."""
    return text if text.isascii() else _SURROGATES.sub(_join_surrogates, text)


def _join_surrogates(found: re.Match[str]) -> str:
    return found[0].encode("utf-16", "surrogatepass").decode("utf-16") if len(found[0]) == 2 else ""


def valid_json(value: Json) -> Json:
    """Return a JSON value with every string cleaned, field names included."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, Mapping):
        return {
            valid_text(name): valid_json(inner) for name, inner in cast("Mapping[str, Json]", value).items()
        }
    if isinstance(value, list | tuple):
        return [valid_json(inner) for inner in cast("list[Json]", value)]
    return value
