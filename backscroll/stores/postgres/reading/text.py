"""Encode values for PostgreSQL's index: words as a tsvector, marks of tenants, hours of times."""

from __future__ import annotations

import hashlib
from collections import Counter
from enum import Enum

from backscroll.recall.text.words import tsvector_of
from backscroll.stores.postgres.reading.tsquery import OVERFULL, quote_lexeme

HOUR = 3_600_000_000
_MOST_PLACES = 255  # of one word in a tsvector
_LAST_PLACE = 16383
_ROOM = 1_000_000  # bytes


def hour(us: int) -> int:
    """Return the hour of a time."""
    return us // HOUR


def tenant_mark(tenant: str) -> str:
    """Return a lexeme that no text contains, under which the index finds everything of a tenant."""
    return "=" + hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def indexable(words: str, mark: str) -> tuple[str, str | None]:
    """Return index words as a tsvector literal, and as plain text (between spaces) if it cannot hold all of them."""
    literal = f"{tsvector_of(words)} {quote_lexeme(mark)}"
    held = _measure_coverage(words)
    if held is TextCoverage.WHOLE:
        return literal, None
    return literal + (
        f" {quote_lexeme(OVERFULL)}" if held is TextCoverage.IN_PART else ""
    ), f" {' '.join(words.split())} "


class TextCoverage(Enum):
    """How much of a text a tsvector keeps."""

    WHOLE = "every place of every word, so that the words can be read back from it"
    EVERY_WORD = "every word, but not every place"
    IN_PART = "not even every word"


def _measure_coverage(words: str) -> TextCoverage:
    if len(words) < 2 * _MOST_PLACES:
        return TextCoverage.WHOLE  # too short to contain more words than that
    each = words.split(" ")
    if len(words.encode()) + 8 * len(each) > _ROOM:
        # Overestimates if words repeat; the text is then matched by its own words, which is still correct.
        return TextCoverage.IN_PART
    if len(each) >= _LAST_PLACE or (len(each) > _MOST_PLACES and max(Counter(each).values()) > _MOST_PLACES):
        return TextCoverage.EVERY_WORD
    return TextCoverage.WHOLE
