"""Pieces of transcribed names: the words that can be one, and how far a name with a dot reaches (伊斯 + 特伍德)."""

from __future__ import annotations

from backscroll.derive.extract.zh.words import ChineseWord, cutter, letters, load_words

#: Corpus frequency from which a word of two characters counts as common.
COMMON = 420
_SINGLE = frozenset("nr nrt nrfg zg x g ng n m nz ns j a v q tg vg k".split())
SINGLE_END = ("nr", "nrt", "nrfg", "zg", "x", "g", "ng", "n", "m", "nz", "ns", "j")


def is_transcribed(text: str) -> bool:
    """Return True if all characters are used to transcribe foreign names."""
    return bool(text) and letters("transcribing").issuperset(text)


def _part(word: ChineseWord, *, next_to: bool = False) -> bool:
    """Return True for a word that can be a piece of a transcribed name; `next_to`: right at the dot, where an unusual one is allowed."""
    if word.text in letters("never_edge") or word.text in load_words("not_names"):
        return False
    return (
        word.tag.startswith("nr")
        or (next_to and word.tag[0] in "nx" and 1 < len(word.text) < 5)
        or is_transcribed(word.text)
        or (word.text.isascii() and word.text.isalpha())
    )


def first_piece(words: list[ChineseWord], dot: int) -> int:
    """Return the index of the first word of a name with a dot at `dot`."""
    first = dot
    while first > 0 and dot - first < 4 and _part(words[first - 1], next_to=first == dot):
        first -= 1
        if not is_transcribed(words[first].text):
            break
    while dot - first > 1 and len(words[first].text) == 1 and words[first].tag[0] in "vpdcr":
        first += 1
    return first


def last_piece(words: list[ChineseWord], dot: int) -> int:
    """Return the index of the last word of a name with a dot at `dot`."""
    last = dot
    if dot + 1 < len(words) and (
        _part(words[dot + 1], next_to=True) or (len(words[dot + 1].text) == 1 and words[dot + 1].tag != "x")
    ):
        last = dot + 1
    while last > dot and last + 1 < len(words) and last - dot < 4 and _goes_on(words[last + 1]):
        last += 1
    while last - dot > 1 and len(words[last].text) == 1 and words[last].tag not in SINGLE_END:
        last -= 1
    return last


def count_glued(words: list[ChineseWord], last: int) -> int:
    """Return 1 if the next word begins with the last character of the name: 帕里 + 西是."""
    word = words[last + 1] if last + 1 < len(words) else None
    if word is None or len(word.text) != 2 or cutter().has_word(word.text):
        return 0
    return int(is_transcribed(word.text[0]) and word.text[1] in "是的在也和与吗就都有")


def _goes_on(word: ChineseWord) -> bool:
    """Return True for what can only be the rest of a name with a dot: 伊斯 + 特伍德."""
    return is_piece(word) or (word.tag == "nr" and len(word.text) > 1 and not cutter().has_word(word.text))


def is_rare(text: str) -> bool:
    """Return True if a dictionary word is rare enough to be a name: everyday words are not."""
    return cutter().suggest_freq(text) < (COMMON if len(text) == 2 else 4 * COMMON)


def is_piece(word: ChineseWord) -> bool:
    """Return True for words into which a transcribed name may be cut."""
    if (
        not is_transcribed(word.text)
        or word.text in load_words("not_names")
        or word.text in letters("never_edge")
    ):
        return False
    if word.tag.startswith("nr") or (len(word.text) == 1 and word.tag in _SINGLE):
        return True
    return (
        len(word.text) > 1
        and is_rare(word.text)
        and (word.tag[:2] in ("nz", "x", "ns") or (word.tag == "n" and len(word.text) > 2))
    )
