"""What speaks for a stretch of Chinese being a name: where it stands, how it is made, how often the turn uses it.

There is no list of names, and the word cutter knows few: an unknown word may be a name, or a piece of a sentence cut wrongly. Owns the weight of
each use (called out, alone between marks, before a verb that people are the subject of, after a word that takes a person or a
place) and their sum over one turn. A turn may say too little; the fold adds turns up (`graph/proof`). Words are data
(`extract_zh_cues.toml`). Refuses facts. Before: `extract_zh_words`. After: `extract_zh`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from backscroll.derive.extract_zh_latin import latin_uses
from backscroll.derive.extract_zh_names import (
    ORGANISATION,
    PERSON,
    PLACE,
    WORK,
    Found,
    is_chinese_name,
    is_transcribed,
)
from backscroll.derive.extract_zh_words import Word, cutter, letters, listed, tables, words_of

_HAN = re.compile("[\u4e00-\u9fff]{2,4}")
_MARK = frozenset("，。！？…；：、“”‘’「」『』（）()!?,;:*~— \n\t《》—-")
_ALONE = re.compile("(?:^|[，。！？…；：“‘（(*~— ])([\u4e00-\u9fff]{2,4})(?=[，。！？…；：、”’）)*~— !?,]|$)")
_CALLED = frozenset("，！？…!?,")
_TO_YOU = frozenset("你您咱快别请")
_SMALL = frozenset("阿小老大")
_THERE = frozenset("在到去往从进回离过出")
_COUNTED = frozenset("家间座所条个片口趟扇道栋幢处层")
_HOLDS = frozenset("在着了起到过得")

SETTLED = 0.6  # a word of two characters before one for a settlement or a school of people: 落霞镇
LATIN = 0.4
SPOKEN_TO = 0.15  # called, and spoken to in the same breath: 秋棠，你去
CALLED, ALONE, SPEAKS, ACTS, LED, BARE = 0.5, 0.4, 0.45, 0.3, 0.3, 0.15
_HARDLY = 5
_RARE = 60  # how often the cutter's corpus has a word that may still be a name
AGAIN = 0.1  # for every further use in the turn
SHAPED, ADDRESSED, KNOWN = (
    0.2,
    0.35,
    0.25,
)  # made like a name; with a form of address; off for a word of the dictionary


@cache
def _table() -> dict[str, frozenset[str]]:
    text = resources.files("backscroll.derive").joinpath("extract_zh_cues.toml").read_text(encoding="utf-8")
    raw = {name: str(value) for name, value in tomllib.loads(text).items()}
    return {
        name: frozenset(value)
        if name in ("never", "given", "verbs", "opening")
        else frozenset(value.split())
        for name, value in raw.items()
    }


@cache
def _endings(name: str) -> tuple[str, ...]:
    own = _table()[name]
    more = {
        "address": listed("titles") | listed("titles_short"),
        "places": listed("place_suffixes"),
        "groups": listed("org_suffixes"),
    }[name]
    return tuple(sorted(own | more, key=lambda w: (-len(w), w)))


def _known(word: str) -> bool:
    """True for a word of the dictionary that people do write; what it has hardly ever seen may as well be a name."""
    return cutter().has_word(word) and (len(word) == 1 or cutter().suggest_freq(word) > _HARDLY)


@dataclass(slots=True)
class Candidate:
    """A stretch that may be a name, with what the turn says for it."""

    text: str
    kind: str = PERSON
    worth: float = 0.0
    person: float = 0.0  # what speaks for somebody: who is called, or speaks, is no place
    uses: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    @property
    def sure(self) -> float:
        """How sure the turn makes it."""
        return min(0.95, max(0.05, self.worth + AGAIN * (len(self.uses) - 1)))


def candidates(texts: Sequence[str], cut: Sequence[list[Word]]) -> dict[str, Candidate]:
    """What may be names in the sentences (normal texts, and their words) of one turn."""
    found: dict[str, Candidate] = {}
    for number, (text, words) in enumerate(zip(texts, cut, strict=True)):
        for m in _ALONE.finditer(text):
            _alone(found, number, text, m.start(1), m.end(1), words)
        for at, word in enumerate(words):
            _placed(found, number, text, words, at)
            _standing(found, number, text, words, at, word)
    _latin(found, texts)
    for one in list(found.values()):
        _count(one, texts)
        _go_on(found, one, texts)
    _settle(found)
    return found


def _latin(found: dict[str, Candidate], texts: Sequence[str]) -> None:
    """Names in Latin letters that are used as somebody or somewhere, or more than once."""
    uses = [(number, use) for number, text in enumerate(texts) for use in latin_uses(text)]
    often = Counter(use.name for _, use in uses)
    for number, use in uses:
        if use.kind or often[use.name] > 1:
            _note(found, number, use.start, use.name, LATIN, use.kind or PERSON)


def _note(
    found: dict[str, Candidate], number: int, at: int, name: str, worth: float, kind: str = PERSON
) -> None:
    one = found.setdefault(name, Candidate(name, kind))
    fresh = worth + _made(name)
    if fresh > one.worth:
        one.worth = fresh
    elif (number, at) not in one.uses:
        one.worth += worth * 0.3
    if kind != PERSON and fresh >= one.person:
        one.kind = kind
    elif kind == PERSON:
        one.person = max(one.person, fresh)
        one.kind = PERSON if fresh >= one.worth else one.kind
    one.uses.add((number, at))


@cache
def _never(name: str) -> bool:
    return name in listed("not_names") or name in listed("not_places") or name in listed("endearments")


def _may_be(name: str, tag: str = "") -> bool:
    """True for two to four characters of which none is a word of grammar; given names have some of those (姜晚, 陆之衡)."""
    if _HAN.fullmatch(name) is None or _never(name) or (len(name) == 2 and name in listed("titles")):
        return False
    bare = name.removesuffix(_address(name)) or name
    odd = _table()["never"].intersection(bare)
    if not odd or (len(bare) > 2 and is_transcribed(bare)):
        return True
    family = bare[0] in letters("surnames") and tag.startswith("nr") and not _known(bare)
    return family and len(bare) in (2, 3) and odd <= _table()["given"] and bare[0] not in odd


def like_a_name(label: str) -> bool:
    """True for what stands before a colon and is no ordinary word: somebody who speaks in a play."""
    words = words_of(label)
    if is_transcribed(label.replace("·", "")) and len(label) > 2:
        return True
    tag = words[0].tag if words else ""
    return _may_be(label, tag) and not _known(label) and _whole(label, words)


def _address(name: str) -> str:
    """The form of address at the end of a name: 玄微 + 真人."""
    return next((e for e in _endings("address") if name.endswith(e) and len(name) > len(e)), "")


def _made(name: str) -> float:
    """What the characters of a name say for it."""
    worth = 0.0
    ending = _address(name)
    if ending and len(name) - len(ending) <= 2 and not _known(name):
        worth += ADDRESSED
    elif (name[0] in _SMALL and len(name) == 2 and not _known(name)) or (
        name[0] in letters("surnames") and len(name) in (2, 3) and not _known(name)
    ):
        worth += SHAPED
    elif len(name) == 2 and letters("given").issuperset(name) and not _known(name):
        worth += SHAPED  # 佳怡
    if _known(name):
        worth -= 0.0 if len(name) > 2 and is_transcribed(name) else KNOWN
    return worth


def _alone(
    found: dict[str, Candidate], number: int, text: str, start: int, end: int, words: list[Word]
) -> None:
    """A name by itself between marks: called out, or answered with."""
    name = text[start:end]
    if len(name) == 4 and name[:2] == name[2:]:
        name = name[:2]  # called twice
    inside = [w for w in words if w.start < end and w.end > start]
    tag = inside[0].tag if inside else ""
    doubled = len(name) == 2 and name[0] == name[1] and tag[:1] in ("n", "x")  # 苗苗 is a word of the dictionary as well
    if not _may_be(name, tag) or (_known(name) and len(name) < 3 and not doubled):
        return
    before, after = text[start - 1 : start], text[end : end + 1]
    if before in tuple("（(") and after in tuple("）)"):
        return  # a stage direction
    if any(
        len(w.text) > 1 and w.text != name and not w.tag.startswith("n") and _known(w.text) for w in inside
    ):
        return
    if not _whole(name, inside):
        return
    label = start == 0 and after == "："
    worth = CALLED if label or after in _CALLED else ALONE
    if after in ("，", "！") and text[end + 1 : end + 2] in _TO_YOU:
        worth += SPOKEN_TO
    _note(found, number, start, name, worth)


def _whole(name: str, inside: list[Word]) -> bool:
    """True where a stretch by itself is one word, or made like a name: four characters between marks are mostly a phrase (眉心微蹙)."""
    if _made(name) > 0 or is_transcribed(name):
        return True
    if name[:2] in tables()["surnames_double"].split() or (name[0] in _SMALL and len(name) < 4):
        return True
    if len(inside) == 1:
        return len(name) < 4 and inside[0].tag[0] not in "lim"
    if len(name) > 2:
        return False
    return not any(w.tag[0] in "vdrpcumqyt" for w in inside)


def _standing(
    found: dict[str, Candidate], number: int, text: str, words: list[Word], at: int, word: Word
) -> None:
    """A word where names stand: before a verb at the start of a clause, after a word that leads to somebody."""
    name, end = word.text, word.end
    if word.tag[0] not in "nxvazjgs" or len(name) > 4:
        return
    if len(name) == 1:
        joined = _joined(words, at)
        if joined is None:
            return
        name, end = joined
    elif len(name) == 3 and name[-1] in _table()["verbs"] and not _known(name):
        name, end = name[:-1], end - 1
    elif longer := _third(words, at):
        name, end = longer
    if not _may_be(name, word.tag) or len(name) < 2:
        return
    unknown = not _known(name)
    if not unknown and not word.tag.startswith("nr"):
        return
    opens = word.start == 0 or text[word.start - 1] in _MARK or words[at - 1].tag == "c"
    before = words[at - 1].text if at else ""
    led = opens or before in _table()["lead"] or (at > 0 and words[at - 1].tag[0] in "pcdu")
    if not led:
        return
    rest = text[end : end + 8]
    if opens and _speaks(rest):
        worth = SPEAKS + (0.1 if text[word.start - 1 : word.start] == "”" else 0.0)
    elif opens and _goes_on(rest, end, words):
        worth = ACTS
    elif not opens and (not rest or rest[0] in _MARK or _goes_on(rest, end, words)):
        worth = LED if before in ("叫", "找", "问", "跟", "给", "告诉", "认识") else 0.2
    else:
        return
    _note(found, number, word.start, name, worth)


def _joined(words: list[Word], at: int) -> tuple[str, int] | None:
    """Two or three single characters, or one and a cut piece, that stand together: 洛 + 绯, 温予 + 安."""
    first = words[at]
    if first.text not in letters("surnames") | letters("transcribing") and first.text not in _SMALL:
        return None
    out, end = first.text, first.end
    for word in words[at + 1 : at + 3]:
        if word.start != end or len(out) + len(word.text) > 3 or word.text in _table()["follow"]:
            break
        if word.text in _table()["human"] or word.tag[0] in "pcdurxy" or not _HAN.match(word.text * 2):
            break
        if len(word.text) > 1 and _known(word.text) and not word.tag.startswith("n"):
            break
        out, end = out + word.text, word.end
    return (out, end) if len(out) > 1 else None


def _third(words: list[Word], at: int) -> tuple[str, int] | None:
    """A name of three characters of which the word cutter took two: 郁南 + 星 + 摘下."""
    word = words[at]
    given = words[at + 1] if at + 1 < len(words) else None
    behind = words[at + 2] if at + 2 < len(words) else None
    if given is None or len(word.text) != 2 or not word.tag.startswith("nr") or len(given.text) != 1:
        return None
    if word.text[0] not in letters("surnames") or _known(word.text) or not _inner(given.text):
        return None
    if given.tag[0] not in "nagx" or not _HAN.match(given.text * 2) or (behind and behind.tag[0] != "v"):
        return None
    return word.text + given.text, given.end


def _speaks(rest: str) -> bool:
    """True where a verb follows that people are the subject of, at once or after an adverb."""
    for cut in (0, 1, 2, 3, 4):
        tail = rest[cut:]
        if cut and not rest[:cut].endswith(("地", "声")) and not (cut <= 2 and _known(rest[:cut])):
            continue
        if tail[:3] in _table()["human"] or tail[:2] in _table()["human"] or tail[:1] in _table()["human"]:
            return True
    return False


def _goes_on(rest: str, end: int, words: list[Word]) -> bool:
    if rest[:1] in _table()["follow"] or rest[:2] in _table()["follow"]:
        return True
    following = next((w for w in words if w.start == end), None)
    return following is not None and following.tag[0] in "vdp" and len(following.text) > 1


def _placed(found: dict[str, Candidate], number: int, text: str, words: list[Word], at: int) -> None:
    """A place or a group by its last characters: 去 + 听潮阁, 赤羽卫 + 的."""
    end = words[at].end
    if len(words[at].text) > 1 and words[at].text[-1] in "里来上下内外中" and not _known(words[at].text):
        end -= 1  # 九龙 + 塔里
    if text[end : end + 1] in _HOLDS and text[end - 1] in "站关会教派队集军守":
        return  # 老班 + 站在
    last = words[at].text
    if len(last) == 2 and not _known(last) and _known(text[end - 1 : end + 1]):
        end -= 1  # 青云 + 宗山 + 门前
    elif len(last) == 2 and last[1] in "会局关社门派教" and _known(last) and end == words[at].end:
        return  # 看 + 机会
    for kind, name in ((PLACE, "places"), (ORGANISATION, "groups")):
        ending = next((e for e in _endings(name) if text.endswith(e, 0, end)), "")
        if not ending:
            continue
        start = _begin(text, words, end, len(ending))
        whole = text[start:end]
        stem = whole[: -len(ending)]
        if not stem or not 3 <= len(whole) <= 6 or whole in listed("not_places") or not _stem(stem):
            continue
        led = text[start - 1 : start] in _THERE
        named = any(w.tag.startswith("nr") for w in words if start <= w.start < end)
        if is_chinese_name(whole) and len(ending) == 1 and named and not led:
            continue  # 顾寒山, 郁南 + 星
        if ending == "会" and any(w.start == end and w.tag[0] == "v" for w in words):
            continue  # 她会来
        known = _known(whole)
        if known and cutter().suggest_freq(whole) > _RARE:
            continue
        if not _bounded(text, words, start, end):
            continue  # a piece of an address, or of a longer name
        before = text[start - 1 : start]
        proper = not _known(stem) or len(ending) > 1
        worth = (0.5 if led else 0.35) + (0.2 if proper else 0.0) + (_made(whole) and KNOWN if known else 0.0)
        if kind == ORGANISATION:
            worth = (0.4 if proper and len(whole) >= 3 else 0.15) + (0.1 if led or not before else 0.0)
        if not known and not led and len(stem) == 2 and ending in _table()["settled"]:
            worth = max(worth, SETTLED)
        _note(found, number, start, whole, worth, kind)
        return


def _bounded(text: str, words: list[Word], start: int, end: int) -> bool:
    """True where a name can begin and end: at marks, at words that lead to one or follow it."""
    before, after = text[start - 1 : start], text[end : end + 1]
    ahead = next((w for w in words if w.end == start), None)
    behind = next((w for w in words if w.start == end), None)
    opens = (
        not before
        or before in _MARK
        or before in _table()["lead"]
        or before in _COUNTED
        or (ahead is not None and ahead.tag[0] in "vpcdury")
    )
    closes = (
        not after
        or after in _MARK
        or after in _table()["follow"]
        or after in "里上下内外中前后边旁附口那这来"
        or _known(text[end : end + 2])
        or (behind is not None and behind.tag[0] in "vpcdury")
    )
    return opens and closes


def _stem(stem: str) -> bool:
    """True for what can stand before a place word: more than a size, a colour or a number, and no grammar inside."""
    if all(c in "大小新旧老高低长短红白黑一二三四五六七八九十百千座条家栋间所" for c in stem):
        return False
    return _table()["never"].isdisjoint(stem[1:]) and (
        stem[0] not in _table()["never"] or stem[0] in _table()["opening"]
    )


def _begin(text: str, words: list[Word], end: int, size: int) -> int:
    """Where a name that ends in a place word begins: up to four characters back, not beyond a mark or a word that leads to it."""
    start = end - size
    limit = max(0, start - 4)
    never, lead = _table()["never"], _table()["lead"]
    ends = {word.end: word for word in words if limit < word.end <= start}
    while start > limit:
        char = text[start - 1]
        if char in _MARK or not "\u4e00" <= char <= "\u9fff" or char in lead or char in _COUNTED:
            break
        if char in never:
            begins = (
                start - 2 < 0
                or text[start - 2] in _MARK
                or text[start - 2] in lead
                or text[start - 2] in _COUNTED
            )
            if char in _table()["opening"] and begins:
                start -= 1
            break
        word = ends.get(start)
        verb = word is not None and len(word.text) > 1 and word.tag[0] in "vdpcr" and _known(word.text)
        if verb and word is not None and (end - start > size or word.text in lead):
            break
        start -= 1
    return start


def _count(one: Candidate, texts: Sequence[str]) -> None:
    """Every use of it in the turn."""
    for number, text in enumerate(texts):
        at = text.find(one.text)
        while at >= 0:
            one.uses.add((number, at))
            at = text.find(one.text, at + len(one.text))


def _go_on(found: dict[str, Candidate], one: Candidate, texts: Sequence[str]) -> None:
    """A name that the word cutter cut short (沈知 + 微): nowhere does it end where a name can, and one character on it always does."""
    if one.kind != PERSON or len(one.text) > 3:
        return
    after = {texts[n][at + len(one.text) : at + len(one.text) + 1] for n, at in one.uses}
    if len(after) != 1:
        return
    (char,) = after
    if not "\u4e00" <= char <= "\u9fff" or not _inner(char) or not _may_be(one.text + char):
        return
    ends = [texts[n][at + len(one.text) + 1 : at + len(one.text) + 4] for n, at in one.uses]
    if any(rest and _known(char + rest[0]) for rest in ends):
        return  # 小九 + 忽然
    if all(not rest or rest[0] in _MARK or rest[0] in _table()["follow"] or _speaks(rest) for rest in ends):
        longer = found.setdefault(one.text + char, Candidate(one.text + char, one.kind, one.worth))
        longer.worth = max(longer.worth, one.worth)
        longer.uses |= one.uses


def _inner(char: str) -> bool:
    """True for a character that is no word by itself after a name."""
    table = _table()
    return not any(char in table[name] for name in ("never", "follow", "verbs", "human", "lead"))


def _settle(found: dict[str, Candidate]) -> None:
    """Of two that overlap the one that is used more often, or else the longer, keeps what speaks for both."""
    for name in sorted(found, key=len):
        one = found.get(name)
        if one is None:
            continue
        for other in [o for o in found.values() if o.text != name and name in o.text]:
            if len(other.uses) >= len(one.uses):
                found.pop(name, None)
                other.worth = max(other.worth, one.worth)
                break
            if (
                len(one.uses) > len(other.uses)
                and one.kind == other.kind == PERSON
                and not _made(other.text) > _made(name)
            ):
                found.pop(other.text, None)


def weigh(name: str, found: Found, candidate: Candidate | None, text: str) -> tuple[float, str]:
    """How sure a name that other rules have found is one, and of what kind, by its making and by where it stands."""
    kind, own = found.kind, 0.35
    before, rest = text[found.start - 1 : found.start], text[found.end : found.end + 3]
    there = before in ("在", "到", "去", "往", "从", "进", "回", "离", "来") or text[: found.start].endswith(
        "来自"
    )
    if kind == PERSON and before == "在" and any(rest.startswith(w) for w in _table()["works"]):
        kind = ORGANISATION
    if kind == WORK:
        own = 0.8 if found.sure > 0.9 or text.startswith("《", found.start) else 0.6 * found.sure
    elif "·" in name:
        own = 0.8
    elif kind == PLACE:
        own = 0.3 + (0.35 if there else 0.0) + (0.4 if _usual_place(name) else 0.0)
        own += 0.3 if len(name) > 2 and not _known(name) and name.endswith(_endings("places")) else 0.0
    elif kind == ORGANISATION:
        own = 0.6 if len(name) > 3 or there else 0.3
    elif any(name.endswith(e) and len(name) > len(e) for e in listed("titles")):
        own = 0.7 if found.sure >= 0.9 else 0.5
    elif (not _known(name) and len(name) == 3 and is_chinese_name(name)) or (
        len(name) > 2 and is_transcribed(name)
    ):
        own = 0.65
    elif not name.isascii() and is_chinese_name(name) and not _known(name):
        own = 0.45
    elif name.isascii():
        own = 0.4
    if candidate is not None:
        own = max(own, candidate.sure, min(0.95, own + candidate.worth * 0.5))
        if (
            PERSON in (kind, candidate.kind)
            and kind != candidate.kind
            and (not there or name.isascii())
            and not _usual_place(name)
        ):
            kind = candidate.kind
    return min(0.95, own), kind


def _usual_place(name: str) -> bool:
    """A place that everybody writes of: 上海."""
    return len(name) > 1 and _known(name) and cutter().suggest_freq(name) > 900
