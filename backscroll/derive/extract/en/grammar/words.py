"""Words of an English sentence, each with a tag, and the tables behind the rules (`extract_en*.toml`).

Owns splitting a sentence into words (contractions apart: "I'm" is "I" and "'m") and tagging each. Refuses finding
names: `derive/extract/en/names` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from backscroll.vocab.part import Json
from backscroll.vocab.values.table import read_table

#: No pattern here nests quantifiers over the same characters, so the time is linear in the text.
_WORD = re.compile(
    r"(?:[^\W\d_]\.){2,}"  # initials: U.S.
    r"|[^\W\d_]+(?:['’\-][^\W\d_]+)*\+?"
    r"|['’](?:s|m|re|ve|ll|d)\b"
    r"|\d[\d.,:]*\d|\d"
    r"|\.{2,}|…|--+|[^\w\s]"
)
_CUT = re.compile(r"(?i)(?P<not>n['’]t)$|(?P<rest>['’](?:s|m|re|ve|ll|d))$|(?P<of>['’])$")
_STOPS = frozenset(".!?;:…—–()[]{}*~\n") | {"...", "..", "--", "---"}
_QUOTES = frozenset('"“”«»')
_SPECIAL = {
    "can't": ("can", "n't"),
    "won't": ("will", "n't"),
    "cannot": ("can", "not"),
    "wanna": ("want", "to"),
    "i'ma": ("i", "'ll"),
}


@dataclass(slots=True)
class EnglishWord:
    """One word, or one name of several words.

    `tag`: P pronoun, S possessive, D determiner, A auxiliary, N negation, R preposition, C conjunction, W question word,
    V adverb, I interjection, B verb, # number, K name, ' possessive ending, comma, stop and quote marks as themselves, w other.
    """

    text: str
    low: str
    tag: str
    start: int
    end: int
    type: str = ""  # of a name
    sure: float = 1.0  # that it is a name
    quoted: bool = False  # it is in quotation marks


@cache
def table(name: str = "extract_en") -> dict[str, Json]:
    """Return a table of the rules as it is in its file."""
    return read_table("backscroll.derive", f"{name}.toml")


@cache
def words(room: str, key: str = "words") -> frozenset[str]:
    """Return a list of words; `_` in it represents a blank."""
    return frozenset(w.replace("_", " ") for w in str(table()[room][key]).split())


@cache
def common() -> frozenset[str]:
    """Return words that are mostly written in lower case."""
    return frozenset(str(table("extract_en_common")["words"]).split())


@cache
def tags() -> dict[str, str]:
    """Return the words with a fixed tag."""
    out: dict[str, str] = {}
    for tag, listed in table()["tags"].items():
        for word in str(listed).split():
            out.setdefault(word, "#" if tag == "number" else tag)
    return out


def _tag(low: str, known: dict[str, str]) -> str:
    tag = known.get(low)
    if tag is not None:
        return tag
    first = low[0]
    if first.isalpha():
        return "V" if len(low) > 4 and low.endswith("ly") and low not in _NO_ADVERB else "w"
    if first.isdigit():
        return "#"
    if low in _STOPS:
        return "."
    if first in _QUOTES:
        return '"'
    return first


_NO_ADVERB = frozenset(
    "family italy friendly lovely lonely ugly early daily weekly monthly holy silly only jelly belly lily emily reply supply bully elderly "
    "fly july assembly anomaly butterfly curly likely lively deadly costly cowardly sly molly polly sally billy kelly".split()
)


def cut(text: str, at: int = 0) -> list[EnglishWord]:
    """Split a sentence that begins at `at` in its message into words."""
    known = tags()
    out: list[EnglishWord] = []
    curly = "’" in text
    for found in _WORD.finditer(text):
        raw = found[0]
        start = at + found.start()
        if "'" not in raw and not (curly and "’" in raw):
            low = raw.lower()
            out.append(EnglishWord(raw, low, known.get(low) or _tag(low, known), start, start + len(raw)))
        else:
            _split_contraction(raw.replace("’", "'"), start, known, out)
    return out


def _split_contraction(raw: str, start: int, known: dict[str, str], out: list[EnglishWord]) -> None:
    low = raw.lower()
    if low in _SPECIAL:
        pieces: tuple[str, ...] = _SPECIAL[low]
    elif low.endswith("n't") and len(low) > 3:
        pieces = (raw[:-3], raw[-3:])
    else:
        tail = _CUT.search(raw)
        if tail is None or tail.start() == 0 or tail.lastgroup == "not":
            pieces = (raw,)
        else:
            pieces = (raw[: tail.start()], raw[tail.start() :])
    at = start
    for piece in pieces:
        small = piece.lower()
        tag = _tag(small, known)
        out.append(EnglishWord(piece, small, tag, at, at + len(piece)))
        at += len(piece)
    if len(pieces) == 2 and out[-1].low == "'s" and out[-2].tag not in "PWDRVIC":
        out[-1].tag = "'"  # of, or is: the rule that reads it decides by what follows
