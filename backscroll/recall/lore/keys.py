"""Matching of lorebook keys: whole words in scripts with spaces, any place in scripts without.

A key in Chinese, Japanese or Thai has no word boundaries, so it matches anywhere; a name in Latin letters counts as a
word also between Chinese characters. Unless the book asks for exact words, the plural and the possessive of a key count too.
Pure.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from backscroll.recall.lore.patterns import key_pattern, parse_slash_pattern

#: Characters of one message that are scanned, and as many as a pattern sees.
SCANNED, SCANNED_BY_PATTERN = 20_000, 2_000
_ENDINGS = ("'s", "’s", "es", "s")
#: Scripts that are written without spaces between words.
_UNSPACED = tuple("CJK HIRAGANA KATAKANA HANGUL THAI LAO KHMER MYANMAR TIBETAN IDEOGRAPHIC".split())


@dataclass(frozen=True, slots=True)
class ScannedText:
    """A text to be scanned for keys, as written and in lower case."""

    text: str
    small: str

    @classmethod
    def of(cls, text: str) -> ScannedText:
        """Return the scanned part of a text: its end."""
        text = text[-SCANNED:]
        return cls(text, text.casefold())


@lru_cache(maxsize=8192)
def _in_word(sign: str) -> bool:
    """Return True for a letter or digit of a script that puts spaces between its words."""
    if sign.isascii():
        return sign.isalnum() or sign == "_"
    if not sign.isalnum() and not unicodedata.category(sign).startswith("M"):
        return False
    return not unicodedata.name(sign, "").startswith(_UNSPACED)


def matches(
    key: str, scanned: ScannedText, *, case: bool = False, whole: bool | None = None, patterns: bool = False
) -> bool:
    """Return True if the key matches the text. `whole`: exact whole words (True), any place (False), words and their plurals
    (None).
    """
    key = key.strip()
    if not key:
        return False
    written = parse_slash_pattern(key) or ((key, "" if case else "i") if patterns else None)
    if written is not None:
        found = key_pattern(*written)
        return (
            found.pattern is not None and found.pattern.search(scanned.text[-SCANNED_BY_PATTERN:]) is not None
        )
    text, wanted = (scanned.text, key) if case else (scanned.small, key.casefold())
    if whole is False:
        return wanted in text
    forms = [wanted]
    if whole is None and wanted[-1] == "y" and len(wanted) > 3:
        forms.append(f"{wanted[:-1]}ies")
    return any(_stands(form, text, inflected=whole is None) for form in forms)


def needle(key: str, *, patterns: bool) -> str | None:
    """Return letters that occur in every text (in lower case) that the key matches; None for a pattern."""
    key = key.strip()
    if parse_slash_pattern(key) or patterns:
        return None
    small = key.casefold()
    return small.removesuffix("y")


def _stands(wanted: str, text: str, *, inflected: bool) -> bool:
    """Return True if the words occur in a text with word boundaries on both sides."""
    at = text.find(wanted)
    opens, closes = _in_word(wanted[0]), _in_word(wanted[-1])
    while at >= 0:
        end = at + len(wanted)
        if not (opens and at and _in_word(text[at - 1])):
            if not closes or _ends(text, end):
                return True
            if inflected and wanted[-1].isalpha():
                for ending in _ENDINGS:
                    if text.startswith(ending, end) and _ends(text, end + len(ending)):
                        return True
        at = text.find(wanted, at + 1)
    return False


def _ends(text: str, at: int) -> bool:
    return at >= len(text) or not _in_word(text[at])


def why_unusable(key: str, *, patterns: bool) -> str:
    """Return why a pattern key is invalid; empty if it is valid."""
    written = parse_slash_pattern(key) or ((key, "") if patterns else None)
    return "" if written is None else key_pattern(*written).wrong
