"""Names in Chinese text: people, places, organisations, works, by their form and position.

Owns finding them without any list of names: family name and given name, transcriptions, 小王 and 老李, 王老师, 叫…, titles in 《》,
words that end in 公司 or 公园, the tags of the word segmenter if the form agrees. Refuses resolving referents: the fold
does that.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from backscroll.derive.extract.zh.naming.transcription import (
    COMMON,
    SINGLE_END,
    count_glued,
    first_piece,
    is_piece,
    is_rare,
    is_transcribed,
    last_piece,
)
from backscroll.derive.extract.zh.words import (
    ChineseWord,
    cutter,
    is_region,
    letters,
    load_words,
    one_of,
    tables,
    words_of,
)

PERSON, PLACE, ORGANISATION, WORK, ANIMAL = "person", "place", "organisation", "work", "animal"


_TWO = re.compile(r"([^·和与跟及]+(?:·[^·和与跟及]+)+)[和与跟及]([^·和与跟及]+(?:·[^·和与跟及]+)+)")
_WHERE = re.compile(r"(?:住在|来自|去了|飞往|抵达|前往|位于|家在|搬到|搬去|飞到|回到|离开)$")


class NameSpan(NamedTuple):
    """A name at its place in the normal text."""

    start: int
    end: int
    kind: str
    sure: float = 1.0


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    family = "(?:" + one_of(tables()["surnames_double"]) + "|[" + "".join(sorted(letters("surnames"))) + "])"
    long_titles = one_of(frozenset(t for t in load_words("titles") if len(t) > 1))
    return {
        "work": re.compile(r"《([^《》\n]{1,40})》|(?<=[看过听读、影剧歌书是演])【([^【】\n]{1,20})】"),
        "named": re.compile(
            r"(?:名字(?:就)?(?:叫做|叫|是|为)|名叫|叫做|(?<![大喊尖惨嚎])叫(?!你|我|他|她|它|人|醒|车|外卖|什么|啥|好|到|来|去|了|着|个|一|声|板|停|起|做|这|那|不))"
            r"[“\"]?([^\s，。！？、；：“”\"（）()《》的了吧啊呀呢吗嘛是在，和跟与]{1,8})"
        ),
        "nick": re.compile("(?:小|老|阿)([" + "".join(sorted(letters("surnames") | letters("given"))) + "])"),
        "titled": re.compile(
            f"{family}(?:{long_titles}|{one_of(tables()['titles_short'])}(?![\u4e00-\u9fff])"
            "|总(?![是共算之体有能会得在觉统理部裁监]))"
        ),
        "double": re.compile(
            one_of(tables()["surnames_double"]) + "[" + "".join(sorted(letters("given"))) + "]{1,2}"
        ),
        "latin": re.compile(
            r"(?<![A-Za-z0-9_./@:-])[A-Z][a-z]{1,15}(?:[ ·][A-Z][a-z]{1,15}){0,3}(?![A-Za-z0-9_./@-])"
        ),
        "after": re.compile(long_titles),
        "family": re.compile(family),
    }


def names_of(text: str, words: list[ChineseWord] | None = None) -> list[NameSpan]:
    """Return the names in a sentence (normal text), in order, without nesting; `words`: its words, if already segmented."""
    words = words_of(text) if words is None else words
    works = _patterns()["work"].finditer(text)
    found = [NameSpan(*m.span(1 if m[1] else 2), WORK) for m in works]
    found += _find_dotted_names(text, words)
    found += _find_titled_names(text, words)
    found += _small(text, words)
    found += _find_composed_names(words)
    found += _find_tagged_names(text, words)
    found += _latin(text)
    return [one for one in _apart(found) if not _says_how(text, one) and not _one_of(text, one)]


_ANY = re.compile(
    r"(?:最[\u4e00-\u9fff]{1,4}的|一[座个家处所片条间](?:[\u4e00-\u9fff]{1,6}的|大型|著名|综合|专业)?)$"
)


def _one_of(text: str, one: NameSpan) -> bool:
    """Return True for a description: 全国最大的内陆水族馆, 一座大型主题公园."""
    if one.kind not in (PLACE, ORGANISATION) or not _ANY.search(text, max(0, one.start - 12), one.start):
        return False
    name = text[one.start : one.end]
    return not is_region(name) and all(cutter().has_word(w.text) for w in words_of(name))


def _says_how(text: str, one: NameSpan) -> bool:
    """Return True for a doubled word before 地, which is an adverb: 沙沙地, 淅淅沥沥地."""
    name = text[one.start : one.end]
    doubled = len(name) in (2, 4) and all(name[at] == name[at + 1] for at in range(0, len(name), 2))
    return doubled and text.startswith("地", one.end)


_PLACE_AFTER = re.compile(r"(?:国际)?(?:电影节|音乐节|双年展|机场|大学|地区|奥运会)|[市省州县]")


def _apart(found: list[NameSpan]) -> list[NameSpan]:
    """Return names that do not overlap: the first rule that claims a place wins."""
    taken: list[NameSpan] = []
    cells: set[int] = set()
    for one in found:
        span = range(one.start, one.end)
        if one.start < one.end and not any(at in cells for at in span):
            taken.append(one)
            cells.update(span)
    return sorted(taken)


def is_chinese_name(text: str) -> bool:
    """Return True for a family name and one or two characters of a given name."""
    family = _patterns()["family"].match(text)
    return family is not None and 1 <= len(text) - family.end() <= 2 and text not in load_words("not_names")


def _find_dotted_names(text: str, words: list[ChineseWord]) -> list[NameSpan]:
    """Return transcribed names with a dot between their parts."""
    out: list[NameSpan] = []
    at = 0
    while at < len(words):
        if words[at].text != "·" or at == 0 or at + 1 >= len(words):
            at += 1
            continue
        first, last = first_piece(words, at), last_piece(words, at)
        while last + 1 < len(words) and words[last + 1].text == "·":
            last = last_piece(words, last + 1)
        if first < at < last:
            out += _each(text, words[first].start, words[last].end + count_glued(words, last))
        at = last + 1
    return out


def _each(text: str, start: int, end: int) -> list[NameSpan]:
    """Return a transcribed name, or two that the word segmenter joined: 布拉德·皮特和梅拉尼·罗兰."""
    both = _TWO.fullmatch(text, start, end)
    parts = [both.span(1), both.span(2)] if both else [(start, end)]
    return [_with_title(text, NameSpan(*span, PERSON)) for span in parts]


def _find_titled_names(text: str, words: list[ChineseWord]) -> list[NameSpan]:
    """Find 王老师, 李总: a family name with a form of address; the family name must begin a word."""
    starts = {w.start for w in words}
    out = [
        NameSpan(m.start(), m.end(), PERSON)
        for m in _patterns()["titled"].finditer(text)
        if (m.start() in starts or text[m.start() - 1 : m.start()] in ("和", "跟", "与"))
        and m[0] not in load_words("not_names")
    ]
    known = {w.start: w for w in words}
    for m in _patterns()["double"].finditer(text):
        first = known.get(m.start())
        if first is not None and first.end <= m.end() and not cutter().has_word(m[0][2:]):
            out.append(NameSpan(m.start(), m.end(), PERSON, 0.9))
    return out


def _small(text: str, words: list[ChineseWord]) -> list[NameSpan]:
    """Find 小王, 老李, 阿珍."""
    out: list[NameSpan] = []
    starts = {w.start: w for w in words}
    for m in _patterns()["nick"].finditer(text):
        word = starts.get(m.start())
        if word is None or m[0] in load_words("not_names") or word.end > m.end() or cutter().has_word(m[0]):
            continue
        inside = next((w for w in words if w.start < m.end() < w.end), None)
        if inside is not None and not inside.tag.startswith("nr"):
            continue  # 小 + 王和李 is still 小王, 小 + 明天 is not 小明
        out.append(NameSpan(m.start(), m.end(), PERSON, 0.9))
    return out


def _find_composed_names(words: list[ChineseWord]) -> list[NameSpan]:
    """Return names that end in a word for an organisation or a place, after something that makes them names."""
    out: list[NameSpan] = []
    for i, word in enumerate(words):
        kind, bare = _suffix(word)
        if not kind:
            continue
        first = i
        while (
            first > 0
            and i - first < 5
            and words[first - 1].end == words[first].start
            and _modifies(words[first - 1])
        ):
            first -= 1
        if first == i and bare:
            continue
        if first == i and word.tag[:2] not in ("ns", "nt") and len(word.text) < 4:
            continue
        proper = any(
            w.tag[:2] in ("ns", "nr", "nz", "nt", "en") or not cutter().has_word(w.text)
            for w in words[first : i + 1]
        )
        if not proper and not word.text.endswith(tuple(load_words("wild_suffixes"))):
            continue  # 历史博物馆 is one of many
        begin = words[first].start
        if (
            word.end - begin > 2
            and words[first].text[0] in "进到去在往从来回出住过至"
            and not cutter().has_word(words[first].text)
        ):
            begin += 1  # 进青禾 + 路
        out.append(NameSpan(begin, word.end, kind))
    # the longest first: 北京大学附属中学 before 北京大学
    return sorted(out, key=lambda f: (-(f.end - f.start), f.start))


def _suffix(word: ChineseWord) -> tuple[str, bool]:
    """Return the kind that a word makes, and whether it states nothing but that."""
    if word.tag[0] in "vdcpru" or word.text in load_words("not_places"):
        return "", False
    if word.text in load_words("org_suffixes") or word.text in load_words("place_suffixes"):
        return (ORGANISATION if word.text in load_words("org_suffixes") else PLACE), len(
            word.text
        ) > 1 or word.tag[:2] not in ("ns", "nt")
    if len(word.text) > 2 and word.tag[:2] in ("ns", "nt", "nz", "n", "nr", "x"):
        if word.text.endswith(_long("org_suffixes")):
            return ORGANISATION, False
        if word.text.endswith(_long("place_suffixes")):
            return PLACE, False
        if word.tag == "nz" and word.text.endswith(tuple(load_words("place_suffixes"))):
            return PLACE, False
    return "", False


@cache
def _long(name: str) -> tuple[str, ...]:
    return tuple(sorted(s for s in load_words(name) if len(s) > 1))


_NO_PART = frozenset("的 之 家 座 个 这 那 某 我 你 感觉 周边 附近 情况 地方 周围 旁边".split())


def _modifies(word: ChineseWord) -> bool:
    if word.text in _NO_PART:
        return False
    if word.tag == "x":
        return word.text >= "\u4e00" and not cutter().has_word(word.text)  # a word that no dictionary has
    return word.tag.startswith("nr") or word.tag[:2] in ("n", "ns", "nz", "nt", "en", "ng", "j", "b", "s")


def _find_tagged_names(text: str, words: list[ChineseWord]) -> list[NameSpan]:
    """Return the names tagged by the word segmenter whose form agrees; adjacent parts are joined."""
    out: list[NameSpan] = []
    at = 0
    while at < len(words):
        word = words[at]
        end = at + 1
        if is_piece(word):
            while end < len(words) and is_piece(words[end]):
                end += 1
            out += _run(text, words[at:end])
        if given := _family_apart(words, at):
            out.append(_with_title(text, NameSpan(word.start, given.end, PERSON, 0.8)))
        elif word.tag.startswith("nr") and is_chinese_name(word.text) and is_rare(word.text):
            glued = len(word.text) == 3 and word.text[-1] in letters("never_edge")  # 乔伊 + 在
            whole = NameSpan(
                word.start, word.end - glued, PERSON, 0.9 if len(word.text) - glued == 3 else 0.8
            )
            if _WHERE.search(text, max(0, word.start - 3), word.start):
                out.append(NameSpan(word.start, word.end, PLACE, 0.7))  # 住在高雄
            elif _plausible(word.text):
                out.append(_with_title(text, whole))
        elif (
            word.tag[:2] in ("ns", "nt")
            and len(word.text) > 1
            and not _never(word.text)
            and not _within(word)
        ):
            while end < len(words) and words[end].tag == word.tag == "ns" and not _never(words[end].text):
                end += 1  # 山东 + 青岛
            kind = PLACE if word.tag[:2] == "ns" or is_region(word.text) else ORGANISATION
            out.append(
                NameSpan(word.start, words[end - 1].end, kind, _rate_place(text, word, words[end - 1]))
            )
        at = end
    return out


def _within(word: ChineseWord) -> bool:
    """Return True for 黑里: inside something, not a place from the dictionary."""
    return len(word.text) == 2 and word.text[1] in "里上下中内外" and not cutter().has_word(word.text)


def _never(text: str) -> bool:
    gathering = text.endswith(("会", "中心")) and not text.endswith(
        ("协会", "学会", "委员会", "工会", "商会", "联合会", "基金会")
    )
    return text in load_words("not_places") or text in load_words("not_names") or gathering


def _rate_place(text: str, first: ChineseWord, last: ChineseWord) -> float:
    """Return the certainty of a place that only the dictionary knows: higher if the words around it treat it as one."""
    often = cutter().suggest_freq(text[first.start : last.end]) > 4 * COMMON
    if last.end - first.start > 2 or often:
        return 0.9
    before, after = text[: first.start][-1:], text[last.end : last.end + 1]
    return 0.9 if before in set("在去到来从往于自住飞回离达") or after in set("的人市省县、，。") else 0.55


def _plausible(name: str) -> bool:
    """Return True if a given name has characters that are usual in given names."""
    rest = name[2:] if name[:2] in tables()["surnames_double"].split() else name[1:]
    return bool(letters("given") & set(rest)) or is_transcribed(name)


def _family_apart(words: list[ChineseWord], at: int) -> ChineseWord | None:
    """Return the given name after a family name that the word segmenter took for a separate word (张 + 亚东)."""
    if len(words[at].text) != 1 or words[at].text not in letters("surnames") or at + 1 == len(words):
        return None
    given = words[at + 1]
    before = words[at - 1] if at else None
    if before is not None and (before.tag[0] == "m" or before.text in ("这", "那", "每", "几", "哪")):
        return None  # a measure word: 一张
    proper = given.tag[:2] in ("nr", "ns", "nz") and len(given.text) == 2
    if (
        words[at].tag == "nr"
        and given.tag in ("a", "n", "z", "b", "vn", "an", "ng", "g")
        and len(given.text) < 3
    ):
        proper = proper or letters("given").issuperset(given.text)
    return given if proper and given.text not in load_words("not_names") | load_words("not_places") else None


def _run(text: str, run: list[ChineseWord]) -> list[NameSpan]:
    """Return the name made of adjacent pieces of transcription, without what does not belong."""
    while run and len(run[-1].text) == 1 and run[-1].tag not in SINGLE_END and not _closes(text, run):
        run = run[:-1]
    while run and len(run[0].text) == 1 and run[0].tag not in (*SINGLE_END, "nrfg", "tg", "vg"):
        run = run[1:]
    if not run or (all(len(w.text) == 1 for w in run) and len(run) < 3):
        return []
    start, end = run[0].start, run[-1].end
    whole = text[start:end]
    if len(run) == 1 and run[0].tag[:2] == "ns":
        return []  # a place that the dictionary knows
    if len(whole) > 7 or (len(run) == 1 and not is_rare(whole)):
        return []
    if len(run) > 1 and is_chinese_name(run[0].text) and not is_transcribed(run[0].text):
        return []
    named = any(w.tag.startswith("nr") for w in run)
    if _PLACE_AFTER.match(text, end) or _WHERE.search(text, max(0, start - 3), start):
        return [NameSpan(start, end, PLACE, 0.7)]  # 威尼斯 + 国际电影节, 出生在布朗克斯
    return [_with_title(text, NameSpan(start, end, PERSON, 0.9 if named else 0.6))]


def _closes(text: str, run: list[ChineseWord]) -> bool:
    """Return True if the last piece of a longer transcribed name can only be its end: 艾 + 德里 + 安，"""
    start, end = run[0].start, run[-1].end
    return end - start > 3 and (end == len(text) or text[end] in "，。！？…；：、”吗吧呢啊的")


def _with_title(text: str, found: NameSpan) -> NameSpan:
    title = _patterns()["after"].match(text, found.end)
    return NameSpan(found.start, title.end(), PERSON, max(found.sure, 0.9)) if title else found


def _latin(text: str) -> list[NameSpan]:
    """Return names in Latin letters inside Chinese text; their type is open, a person unless something indicates otherwise."""
    return [
        NameSpan(m.start(), m.end(), PERSON, 0.5)
        for m in _patterns()["latin"].finditer(text)
        if m[0] not in ("The", "App", "Ok", "Hi", "Hello")
    ]
