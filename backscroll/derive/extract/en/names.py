"""Names in English text, found by spelling and use, without a list of names.

Owns which capitalised words are names and, if the words around show it, of what. A capital at the start of a sentence
makes a name only of a word that is usually not written in lower case, or that is a name elsewhere in the turn. Refuses
facts about names: `derive/extract/en/reader` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from backscroll.derive.extract.en.grammar.words import EnglishWord, common, table, tags, words

_LINKS = frozenset({"of", "de", "von", "van", "der", "del", "la", "le", "da", "di", "du", "bin", "al", "y"})
LONGEST_NAME = 6  # words
_HEADLINE = 7  # a longer sentence of capitalised words is a headline even if it ends in a full stop
_STRETCHED = re.compile(r"(.)\1\1")


@dataclass(slots=True)
class NameEvidence:
    """Uses of capitalised words in a turn, collected before it is read by sentence."""

    inside: set[str] = field(default_factory=set[str])  # capitalised inside a sentence
    small: set[str] = field(default_factory=set[str])  # also written in lower case
    heads: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])  # the same, in headings
    #: two capitalised words inside a sentence
    pairs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


def survey(lines: Iterable[Sequence[EnglishWord]]) -> NameEvidence:
    """Collect the evidence of all sentences of a turn."""
    seen = NameEvidence()
    for line in lines:
        if is_shouted(line):
            continue
        opening = True
        plain = lead(line)
        for i, word in enumerate(line):
            opening = opening or i < plain
            if i + 1 < plain and word.text[0].isupper() and line[i + 1].text[0].isupper():
                seen.heads.add((word.text, line[i + 1].text))
            first = word.text[0]
            if first.isalpha():
                if not first.isupper():
                    if len(word.text) > 2:
                        seen.small.add(word.low)
                elif not opening:
                    seen.inside.add(word.text)
                    if i + 1 < len(line) and line[i + 1].text[0].isupper():
                        seen.pairs.add((word.text, line[i + 1].text))
                opening = False
            elif word.tag in '.":*-' or word.low in "-•":
                opening = True
    return seen


def lead(line: Sequence[EnglishWord]) -> int:
    """Return how many words at the start are a bold heading or the head of an item: their capitals are not evidence."""
    size = len(line)
    at = 0
    while at < size and not line[at].text[0].isalpha() and line[at].low != "*":
        at += 1
    if at + 1 < size and line[at].low == line[at + 1].low == "*":
        close = at + 2
        while close + 1 < size and not (line[close].low == line[close + 1].low == "*"):
            close += 1
        return close + 1
    if at == 0:
        return 0  # not an item
    for k in range(at, min(at + 8, size)):
        if line[k].low == ":":
            return k + 1
    letters = [w for w in line[at:] if w.text[0].isalpha()]
    return size if len(letters) < 5 and all(w.text[0].isupper() for w in letters) else 0


def is_shouted(line: Sequence[EnglishWord]) -> bool:
    """Return True for a sentence in capitals, or a headline: nearly all words capitalised and no full stop."""
    upper = [w.text for w in line if w.low[0] != w.text[0]]
    if len(upper) < 2:
        return False
    letters = sum(1 for w in line if len(w.low) > 1 and w.low[0].isalpha())
    if letters < 4:
        return letters > 1 and len(upper) >= letters and all(text.isupper() for text in upper)
    if letters < _HEADLINE and any(w.tag == "." for w in line[-2:]):  # "Plates from Santa Rosita."
        upper = [text for text in upper if text.isupper()]
    return sum(1 for text in upper if len(text) > 1) * 10 >= letters * 7


def merge(line: list[EnglishWord], seen: NameEvidence) -> list[EnglishWord]:
    """Return the sentence with every name merged into one word."""
    if is_shouted(line):
        return line
    out: list[EnglishWord] = []
    i, opening = 0, True
    size, plain = len(line), lead(line)
    while i < size:
        word = line[i]
        opening = opening or i < plain
        first = word.text[0]
        if word.tag == "K":  # a title in quotation marks
            out.append(word)
            i, opening = i + 1, False
            continue
        titled = first.isupper() and _after_title(line, i)
        if titled or (first.isupper() and _may_be(word, opening, seen, line, i, i < plain)):
            end = _name_end(line, i)
            name = _join_words(line, i, end)
            name.sure = 0.85 if opening and end == i + 1 and word.text not in seen.inside else 1.0
            if (
                titled
                and word.low in words("titles", "person")
                and name.type != "place"
                and " of " not in name.text
            ):
                name.type = "person"
            out.append(name)
            i = end
            opening = False
            continue
        out.append(word)
        if first.isalnum():
            opening = False
        elif word.tag in '.":*-' or word.low in "-•":
            opening = True
        i += 1
    return out


@cache
def _load_numbered_places() -> frozenset[str]:
    return frozenset(str(table("extract_en_cues")["place"]["numbered"]).split())


def _after_title(line: Sequence[EnglishWord], i: int) -> bool:
    """Return True for a title followed by a name ("Mr. Geller", "Aunt Lisa"), and for "Bank of America", "Lord of the Rings"."""
    size, at = len(line), i + 1
    if at >= size or len(line[i].text) < 2 or line[i].tag not in "wI":
        return False
    if line[i].text.endswith("."):  # initials
        return line[at].text[0].isupper() and line[at].tag == "w" and len(line[at].text) > 1
    if line[i].low in words("titles", "before"):
        if line[at].low == "." and line[at].start == line[i].end:
            at += 1
        if at < size and line[at].text[0].isupper() and line[at].tag in "wB" and line[at].low not in _WEEK:
            return line[at].start - line[at - 1].end <= 1
        at = i + 1
    if line[at].low == "of":
        at += 1
        if at < size and line[at].low == "the":
            at += 1
        return (
            at < size
            and line[at].text[0].isupper()
            and line[at].tag in "wB"
            and line[at].low not in words("never_names")
        )
    return False


def _may_be(
    word: EnglishWord, opening: bool, seen: NameEvidence, line: Sequence[EnglishWord], i: int, heading: bool
) -> bool:
    low = word.low
    if len(low) < 2 or low in words("never_names") or low.endswith(".") or low in words("nationality"):
        return False
    if _is_interjection(word.text, low):
        return False
    tagged = low in tags()
    if not opening:
        return _inside(word, seen, line, i, tagged)
    if tagged or word.tag == "V" or (word.text.isupper() and len(low) <= 3):
        return False
    following = line[i + 1] if i + 1 < len(line) else None
    if low in _load_numbered_places() and following is not None and following.tag == "#":
        return True
    item = line[0].tag != '"' and not line[0].text[0].isalpha() and len(line) > 1
    item = item and line[1].start > line[0].end  # and not the end of a quotation: '… ," Vera said'
    if item and following is not None and following.low in {"*", ":"}:
        return word.text in seen.inside
    if word.text in seen.inside and (low not in common() or low not in seen.small):
        return True
    if low in seen.small or low in common():
        return _two(word, following, seen, heading)
    if item and (following is None or following.tag in "wR#" or following.low in {":", "(", "-"}):
        return False  # no evidence for more than the first word
    return not _has_common_ending(low) or _tells(following)


def _inside(word: EnglishWord, seen: NameEvidence, line: Sequence[EnglishWord], i: int, tagged: bool) -> bool:
    """Return True if a capitalised word inside a sentence may be a name."""
    low = word.low
    if low in _load_numbered_places() and (i + 1 == len(line) or line[i + 1].tag != "#"):
        return low not in common()
    if word.tag == "V" or (tagged and word.tag not in "B#"):
        return False
    if word.text.isupper() and len(word.text) > 5:
        return False  # emphasis, not a name
    return not (tagged and low in seen.small)


def _is_interjection(text: str, low: str) -> bool:
    """Return True for sounds and stammering: "Ohhh", "I-I", "No-no", "Y'know", "Shh"."""
    if "-" in low:
        parts = low.split("-")
        if any(a.startswith(b) or b.startswith(a) for a, b in pairwise(parts)) or parts[0] in tags():
            return True
        if text.rpartition("-")[2][0].islower() and len(parts[-1]) > 3:
            return True  # "Asian-inspired"
    if "'" in low or "\u2019" in low:
        return not (len(text) > 2 and text[1] in "'\u2019" and text[2].isupper())  # O'Brien
    if _STRETCHED.search(low):
        return True
    return low.isascii() and not text.isupper() and not any(c in "aeiouy" for c in low)


def _tells(following: EnglishWord | None) -> bool:
    """Return True if what follows a capitalised word at the start of a sentence shows that it is a name."""
    return following is not None and following.tag == "'"


def _two(word: EnglishWord, following: EnglishWord | None, seen: NameEvidence, heading: bool) -> bool:
    """Return True for an ordinary word at the start of a sentence that begins a longer name: "New York", or one seen elsewhere."""
    if following is None or not following.text[0].isupper() or following.start - word.end != 1:
        return False
    if following.low in words("never_names") or following.low in tags():
        return False
    both = (word.text, following.text)
    if both in seen.pairs or (both in seen.heads and not heading):
        return True
    return word.low in words("name_tails", "place_head") and following.low not in common()


_ENDINGS = tuple("ing ed tion ness ment able ible ful less ously ally ize ise ity ism ous".split())


def _has_common_ending(low: str) -> bool:
    """Return True for words with an ending that is rare in names of people and places."""
    return len(low) > 5 and low.endswith(_ENDINGS)


def _name_end(line: Sequence[EnglishWord], i: int) -> int:
    """Return the position after the last word of a name that begins at `i`."""
    end, count, size = i + 1, 1, len(line)
    while end < size and count < LONGEST_NAME:
        word = line[end]
        gap = line[end - 1].end
        if word.start - gap > 1:
            break
        if (
            word.text[0].isupper()
            and word.text[0].isalpha()
            and word.tag not in "PIC"
            and word.low not in _WEEK
        ):
            if word.start == gap:
                break
            end, count = end + 1, count + 1
            continue
        if count == 1 and word.tag == "#" and line[i].low in _load_numbered_places():
            return end + 1
        if _goes_on(line, end):
            end, count = end + 2, count + 1
            continue
        if (
            word.low == "."
            and word.start == gap
            and (len(line[end - 1].text) == 1 or line[end - 1].low in words("titles", "before"))
        ):
            if end + 1 < size and line[end + 1].text[0].isupper() and line[end + 1].tag in "wB":
                end, count = end + 2, count + 1
                continue
            break
        after = end + 1
        if word.low in _LINKS:
            if after < size and line[after].low in {"the", "our", "my", "your"}:
                after += 1
            if (
                after < size
                and line[after].text[0].isupper()
                and line[after].tag in "wB#"
                and line[after].low not in words("never_names")
            ):
                end, count = after + 1, count + 1
                continue
        break
    return end


def _goes_on(line: Sequence[EnglishWord], at: int) -> bool:
    """Return True for a connector inside a name: "Widow's Pass", "Sugar & Rye"."""
    following = line[at + 1] if at + 1 < len(line) else None
    if following is None or not following.text[0].isupper() or following.start - line[at].end != 1:
        return False
    if line[at].low == "&":
        return True
    return line[at].tag == "'" and following.low in words("name_tails", "place")


_WEEK = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december".split()
)


def _join_words(line: Sequence[EnglishWord], i: int, end: int) -> EnglishWord:
    first, last = line[i], line[end - 1]
    if end == i + 1:
        return EnglishWord(first.text, first.low, "K", first.start, first.end, _type_of([first.low]))
    text = first.text
    for before, word in zip(line[i:end], line[i + 1 : end], strict=False):
        text += (" " if word.start > before.end else "") + word.text
    lows = [w.low for w in line[i:end]]
    return EnglishWord(text, text.lower(), "K", first.start, last.end, _type_of(lows))


def _type_of(lows: Sequence[str]) -> str:
    """Return the type that the words of a name show."""
    if (
        len(lows) == 2
        and lows[0] in _load_numbered_places()
        and (lows[1][0].isdigit() or tags().get(lows[1]) == "#")
    ):
        return "place"
    if len(lows) > 1:
        if lows[-1] in words("name_tails", "water"):
            return ""
        if lows[-1] in words("name_tails", "place") or (
            lows[0] in words("name_tails", "place_head") and lows[-1] not in common()
        ):
            return "place"
        if lows[-1] in words("name_tails", "organisation"):
            return "organisation"
        if lows[0] in words("titles", "person") and lows[-1] not in common():
            return "person"
    return ""
