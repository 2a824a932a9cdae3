"""Form of Chinese names: their characters, the family name they begin with, the form of address they end in.

Owns what can be judged from a stretch by itself, without its sentence. Words are data (`extract_zh_cues.toml`). Refuses
judging its position: `derive/extract/zh/naming/cues` does, and `derive/extract/zh/naming/places` for places.
"""

from __future__ import annotations

import re
from functools import cache

from backscroll.derive.extract.tuning import ADDRESSED, KNOWN, SHAPED
from backscroll.derive.extract.zh.naming.transcription import is_transcribed
from backscroll.derive.extract.zh.words import ChineseWord, cutter, letters, load_words, tables, words_of
from backscroll.vocab.values.table import read_table

HAN = re.compile("[\u4e00-\u9fff]{2,4}")
MARK = frozenset("，。！？…；：、“”‘’「」『』（）()!?,;:*~— \n\t《》—-")
SMALL = frozenset("阿小老大")
_HARDLY = 5


@cache
def cue_words() -> dict[str, frozenset[str]]:
    """Return a table of `extract_zh_cues.toml`: characters, or words."""
    raw = {
        name: str(value) for name, value in read_table("backscroll.derive", "extract_zh_cues.toml").items()
    }
    return {
        name: frozenset(value) if name in ("never", "given", "verbs", "opening") else frozenset(value.split())
        for name, value in raw.items()
    }


@cache
def endings(name: str) -> tuple[str, ...]:
    """Return the endings of names of one kind, the longest first."""
    own = cue_words()[name]
    more = {
        "address": load_words("titles") | load_words("titles_short"),
        "places": load_words("place_suffixes"),
        "groups": load_words("org_suffixes"),
    }[name]
    return tuple(sorted(own | more, key=lambda w: (-len(w), w)))


def is_known(word: str) -> bool:
    """Return True for a dictionary word in actual use; a very rare one may as well be a name."""
    return cutter().has_word(word) and (len(word) == 1 or cutter().suggest_freq(word) > _HARDLY)


@cache
def _never(name: str) -> bool:
    return (
        name in load_words("not_names")
        or name in load_words("not_places")
        or name in load_words("endearments")
    )


def may_be(name: str, tag: str = "") -> bool:
    """Return True for two to four characters without function words; given names have some of those (姜晚, 陆之衡)."""
    if (
        HAN.fullmatch(name) is None
        or _never(name)
        or name[0] in "姓名"
        or (len(name) == 2 and name in load_words("titles"))
    ):
        return False
    bare = name.removesuffix(address_of(name)) or name
    odd = cue_words()["never"].intersection(bare)
    if not odd or (len(bare) > 2 and is_transcribed(bare)):
        return True
    family = bare[0] in letters("surnames") and _unheard(tag) and not is_known(bare)
    return family and len(bare) in (2, 3) and odd <= cue_words()["given"] and bare[0] not in odd


def _unheard(tag: str) -> bool:
    """Return True for the tags that the word segmenter gives to unknown words: a name, or a fragment."""
    return tag.startswith("nr") or tag == "x" or tag.endswith("g")


def like_a_name(label: str) -> bool:
    """Return True for a word before a colon that is not ordinary: a speaker in a play."""
    words = words_of(label)
    if is_transcribed(label.replace("·", "")) and len(label) > 2:
        return True
    tag = words[0].tag if words else ""
    return may_be(label, tag) and not is_known(label) and is_whole(label, words)


def address_of(name: str) -> str:
    """Return the form of address at the end of a name: 玄微 + 真人."""
    return next((e for e in endings("address") if name.endswith(e) and len(name) > len(e)), "")


def rate_name_shape(name: str) -> float:
    """Return the evidence from the characters of a name."""
    worth = 0.0
    ending = address_of(name)
    if ending and len(name) - len(ending) <= 2 and not is_known(name):
        worth += ADDRESSED
    elif (name[0] in SMALL and len(name) == 2 and not is_known(name)) or (
        name[0] in letters("surnames") and len(name) in (2, 3) and not is_known(name)
    ):
        worth += SHAPED
    elif len(name) == 2 and letters("given").issuperset(name) and not is_known(name):
        worth += SHAPED  # 佳怡
    if is_known(name):
        worth -= 0.0 if len(name) > 2 and is_transcribed(name) else KNOWN
    return worth


def is_whole(name: str, inside: list[ChineseWord]) -> bool:
    """Return True if a stretch is one word or has the form of a name: four characters between marks are mostly a phrase (眉心微蹙)."""
    if rate_name_shape(name) > 0 or is_transcribed(name):
        return True
    if name[:2] in tables()["surnames_double"].split() or (name[0] in SMALL and len(name) < 4):
        return True
    if len(inside) == 1:
        return len(name) < 4 and inside[0].tag[0] not in "lim"
    if len(name) > 2:
        return False
    return not any(w.tag[0] in "vdrpcumqyt" for w in inside)


def is_inner(char: str) -> bool:
    """Return True for a character that does not form a word by itself after a name."""
    table = cue_words()
    return not any(char in table[name] for name in ("never", "follow", "verbs", "human", "lead"))
