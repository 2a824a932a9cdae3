"""Chinese places and groups by their last characters: 去 + 听潮阁, 赤羽卫 + 的.

Owns where such a name begins and ends in a sentence, and the certainty by its ending, its stem and the words around it. Words
are data (`extract_zh_cues.toml`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from backscroll.derive.extract.tuning import KNOWN, SETTLED
from backscroll.derive.extract.zh.naming.names import ORGANISATION, PLACE, is_chinese_name
from backscroll.derive.extract.zh.naming.shapes import MARK, cue_words, endings, is_known, rate_name_shape
from backscroll.derive.extract.zh.words import ChineseWord, cutter, load_words

_THERE = frozenset("在到去往从进回离过出")
_COUNTED = frozenset("家间座所条个片口趟扇道栋幢处层")
_HOLDS = frozenset("在着了起到过得")
_RARE = 60  # maximum corpus frequency of a dictionary word that may still be a name


class PlaceUse(NamedTuple):
    """One use of such a name in a sentence."""

    start: int
    name: str
    worth: float
    kind: str


def place_at(text: str, words: list[ChineseWord], at: int) -> PlaceUse | None:
    """Return the place or group whose name ends with a word of a sentence."""
    end = _end(text, words[at])
    for kind, ending in _ending(text, end) if end else ():
        start = _begin(text, words, end, len(ending))
        whole = text[start:end]
        stem = whole[: -len(ending)]
        if not stem or not 3 <= len(whole) <= 6 or whole in load_words("not_places") or not _stem(stem):
            continue
        led = text[start - 1 : start] in _THERE
        if _is_other(words, start, end, ending, whole, led) or not _is_bounded(text, words, start, end):
            continue  # or a piece of an address, or of a longer name
        known, proper = is_known(whole), not is_known(stem) or len(ending) > 1
        worth = (
            (0.5 if led else 0.35)
            + (0.2 if proper else 0.0)
            + (rate_name_shape(whole) and KNOWN if known else 0.0)
        )
        if kind == ORGANISATION:
            worth = (0.4 if proper else 0.15) + (0.1 if led or not start else 0.0)
        if not known and len(stem) == 2 and ending in cue_words()["settled"]:
            worth = max(worth, SETTLED)
        return PlaceUse(start, whole, worth, kind)
    return None


def _end(text: str, word: ChineseWord) -> int:
    """Return where a name that ends with this word would end; 0 if none can."""
    end, last = word.end, word.text
    if len(last) > 1 and last[-1] in "里来上下内外中" and not is_known(last):
        end -= 1  # 九龙 + 塔里
    if text[end : end + 1] in _HOLDS and text[end - 1] in "站关会教派队集军守":
        return 0  # 老班 + 站在
    if len(last) > 1 and not is_known(last) and is_known(text[end - 1 : end + 1]):
        return end - 1  # 青云 + 宗山 + 门前
    if len(last) == 2 and last[1] in "会局关社门派教" and is_known(last):
        return 0  # 看 + 机会
    return end


def _ending(text: str, end: int) -> Iterator[tuple[str, str]]:
    """Yield the longest ending of each kind that the text has there."""
    for kind, name in ((PLACE, "places"), (ORGANISATION, "groups")):
        for ending in _by_last(name).get(text[end - 1], ()):
            if text.endswith(ending, 0, end):
                yield kind, ending
                break


@cache
def _by_last(name: str) -> dict[str, tuple[str, ...]]:
    """Return endings by their last character."""
    out: dict[str, tuple[str, ...]] = {}
    for ending in endings(name):
        out[ending[-1]] = (*out.get(ending[-1], ()), ending)
    return out


def _is_other(words: list[ChineseWord], start: int, end: int, ending: str, whole: str, led: bool) -> bool:
    """Return True for a person's name, a verb, and a common word."""
    named = any(w.tag.startswith("nr") for w in words if start <= w.start < end)
    if is_chinese_name(whole) and len(ending) == 1 and named and not led:
        return True  # 顾寒山, 郁南 + 星
    if ending == "会" and any(w.start == end and w.tag[0] == "v" for w in words):
        return True  # 她会来
    return is_known(whole) and cutter().suggest_freq(whole) > _RARE


def _is_bounded(text: str, words: list[ChineseWord], start: int, end: int) -> bool:
    """Return True if a name can begin and end: at marks, or at words that introduce or follow one."""
    before, after = text[start - 1 : start], text[end : end + 1]
    ahead = next((w for w in words if w.end == start), None)
    behind = next((w for w in words if w.start == end), None)
    opens = (
        not before
        or before in MARK
        or before in cue_words()["lead"]
        or before in _COUNTED
        or (ahead is not None and ahead.tag[0] in "vpcduryt")
    )
    closes = (
        not after
        or after in MARK
        or after in cue_words()["follow"]
        or after in "里上下内外中前后边旁附口那这来"
        or is_known(text[end : end + 2])
        or (behind is not None and behind.tag[0] in "vpcdury")
    )
    return opens and closes


def _stem(stem: str) -> bool:
    """Return True for what can precede a place word: more than a size, a colour or a number, and no function words."""
    if all(c in "大小新旧老高低长短红白黑一二三四五六七八九十百千座条家栋间所" for c in stem):
        return False
    return cue_words()["never"].isdisjoint(stem[1:]) and (
        stem[0] not in cue_words()["never"] or stem[0] in cue_words()["opening"]
    )


def _begin(text: str, words: list[ChineseWord], end: int, size: int) -> int:
    """Return where a name that ends in a place word begins: up to four characters back, not beyond a mark or an introducing word."""
    start = end - size
    limit = max(0, start - 4)
    never, lead = cue_words()["never"], cue_words()["lead"]
    ends = {word.end: word for word in words if limit < word.end <= start}
    while start > limit:
        char = text[start - 1]
        if char in MARK or not "\u4e00" <= char <= "\u9fff" or char in lead or char in _COUNTED:
            break
        if char in never:
            begins = (
                start - 2 < 0
                or text[start - 2] in MARK
                or text[start - 2] in lead
                or text[start - 2] in _COUNTED
            )
            if char in cue_words()["opening"] and begins:
                start -= 1
            break
        word = ends.get(start)
        verb = word is not None and len(word.text) > 1 and word.tag[0] in "vdpcrtm" and is_known(word.text)
        if verb and word is not None and (end - start > size or word.text in lead):
            break
        start -= 1
    return start
