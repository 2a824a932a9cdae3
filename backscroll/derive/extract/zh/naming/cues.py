"""Evidence that a stretch of Chinese is a name: its position, its form, how often the turn uses it.

It needs no list of names, and the word segmenter knows few: an unknown word may be a name, or a wrongly cut piece of a sentence.
Owns the weight of each use (called out, alone between marks, before a verb that takes a person as subject, after a word that
takes a person or a place) and their sum over one turn. One turn may be too little; the fold adds turns up
(`graph/claims/evidence`). Words are data (`extract_zh_cues.toml`). Refuses facts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from backscroll.derive.extract.tuning import ACTS, AGAIN, ALONE, CALLED, LATIN, LED, SPEAKS, SPOKEN_TO
from backscroll.derive.extract.zh.naming.latin import latin_uses
from backscroll.derive.extract.zh.naming.names import (
    ORGANISATION,
    PERSON,
    PLACE,
    WORK,
    NameSpan,
    is_chinese_name,
)
from backscroll.derive.extract.zh.naming.places import place_at
from backscroll.derive.extract.zh.naming.shapes import (
    HAN,
    MARK,
    SMALL,
    cue_words,
    endings,
    is_inner,
    is_known,
    is_whole,
    may_be,
    rate_name_shape,
)
from backscroll.derive.extract.zh.naming.transcription import is_transcribed
from backscroll.derive.extract.zh.words import ChineseWord, cutter, letters, load_words

_ALONE = re.compile("(?:^|[，。！？…；：“‘（(*~— ])([\u4e00-\u9fff]{2,4})(?=[，。！？…；：、”’）)*~— !?,]|$)")
_CALLED = frozenset("，！？…!?,")
_TO_YOU = frozenset("你您咱快别请")


@dataclass(slots=True)
class NameCandidate:
    """A possible name, with the evidence of the turn."""

    text: str
    kind: str = PERSON
    worth: float = 0.0
    person: float = 0.0  # evidence for a person: a place is not addressed and does not speak
    uses: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    @property
    def sure(self) -> float:
        """How certain the turn makes it."""
        return min(0.95, max(0.05, self.worth + AGAIN * (len(self.uses) - 1)))


def candidates(texts: Sequence[str], cut: Sequence[list[ChineseWord]]) -> dict[str, NameCandidate]:
    """Return the possible names in the sentences (normal texts, and their words) of one turn."""
    found: dict[str, NameCandidate] = {}
    for number, (text, words) in enumerate(zip(texts, cut, strict=True)):
        for m in _ALONE.finditer(text):
            _alone(found, number, text, m.start(1), m.end(1), words)
        for at, word in enumerate(words):
            if use := place_at(text, words, at):
                _note(found, number, use.start, use.name, use.worth, use.kind)
            _standing(found, number, text, words, at, word)
    _latin(found, texts)
    for one in list(found.values()):
        _count(one, texts)
        _go_on(found, one, texts)
    _settle(found)
    return found


def _latin(found: dict[str, NameCandidate], texts: Sequence[str]) -> None:
    """Find names in Latin letters that are used as a person or place, or more than once."""
    uses = [(number, use) for number, text in enumerate(texts) for use in latin_uses(text)]
    often = Counter(use.name for _, use in uses)
    for number, use in uses:
        if use.kind or often[use.name] > 1:
            _note(found, number, use.start, use.name, LATIN, use.kind or PERSON)


def _note(
    found: dict[str, NameCandidate], number: int, at: int, name: str, worth: float, kind: str = PERSON
) -> None:
    one = found.setdefault(name, NameCandidate(name, kind))
    fresh = worth + rate_name_shape(name)
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


def _alone(
    found: dict[str, NameCandidate], number: int, text: str, start: int, end: int, words: list[ChineseWord]
) -> None:
    """Find a name by itself between marks: a form of address or an answer."""
    name = text[start:end]
    if len(name) == 4 and name[:2] == name[2:]:
        name = name[:2]  # called twice
    inside = [w for w in words if w.start < end and w.end > start]
    tag = inside[0].tag if inside else ""
    doubled = (
        len(name) == 2 and name[0] == name[1] and tag[:1] in ("n", "x")
    )  # 苗苗 is a word of the dictionary as well
    if not may_be(name, tag) or (is_known(name) and len(name) < 3 and not doubled):
        return
    before, after = text[start - 1 : start], text[end : end + 1]
    if before in tuple("（(") and after in tuple("）)"):
        return  # a stage direction
    if any(
        len(w.text) > 1 and w.text != name and not w.tag.startswith("n") and is_known(w.text) for w in inside
    ):
        return
    if not is_whole(name, inside):
        return
    label = start == 0 and after == "："
    worth = CALLED if label or after in _CALLED else ALONE
    if after in ("，", "！") and text[end + 1 : end + 2] in _TO_YOU:
        worth += SPOKEN_TO
    _note(found, number, start, name, worth)


def _standing(
    found: dict[str, NameCandidate],
    number: int,
    text: str,
    words: list[ChineseWord],
    at: int,
    word: ChineseWord,
) -> None:
    """Find a word in the position of a name: before a verb at the start of a clause, or after a word that introduces a person."""
    name, end = word.text, word.end
    if word.tag[0] not in "nxvazjgs" or len(name) > 4:
        return
    if len(name) == 1:
        joined = _join_characters(words, at)
        if joined is None:
            return
        name, end = joined
    elif len(name) == 3 and name[-1] in cue_words()["verbs"] and not is_known(name):
        name, end = name[:-1], end - 1
    elif longer := _third(words, at):
        name, end = longer
    if not may_be(name, word.tag) or len(name) < 2:
        return
    unknown = not is_known(name)
    if not unknown and not word.tag.startswith("nr"):
        return
    opens = word.start == 0 or text[word.start - 1] in MARK or words[at - 1].tag == "c"
    before = words[at - 1].text if at else ""
    led = opens or before in cue_words()["lead"] or (at > 0 and words[at - 1].tag[0] in "pcdu")
    if not led:
        return
    rest = text[end : end + 8]
    if opens and _speaks(rest):
        worth = SPEAKS + (0.1 if text[word.start - 1 : word.start] == "”" else 0.0)
    elif opens and _goes_on(rest, end, words):
        worth = ACTS
    elif not opens and (not rest or rest[0] in MARK or _goes_on(rest, end, words)):
        worth = LED if before in ("叫", "找", "问", "跟", "给", "告诉", "认识") else 0.2
    else:
        return
    _note(found, number, word.start, name, worth)


def _join_characters(words: list[ChineseWord], at: int) -> tuple[str, int] | None:
    """Join two or three single characters, or one and a fragment: 洛 + 绯, 温予 + 安."""
    first = words[at]
    if first.text not in letters("surnames") | letters("transcribing") and first.text not in SMALL:
        return None
    out, end = first.text, first.end
    for word in words[at + 1 : at + 3]:
        if word.start != end or len(out) + len(word.text) > 3 or word.text in cue_words()["follow"]:
            break
        if word.text in cue_words()["human"] or word.tag[0] in "pcdurxy" or not HAN.match(word.text * 2):
            break
        if len(word.text) > 1 and is_known(word.text) and not word.tag.startswith("n"):
            break
        out, end = out + word.text, word.end
    return (out, end) if len(out) > 1 else None


def _third(words: list[ChineseWord], at: int) -> tuple[str, int] | None:
    """Return a name of three characters of which the word segmenter took two: 郁南 + 星 + 摘下."""
    word = words[at]
    given = words[at + 1] if at + 1 < len(words) else None
    behind = words[at + 2] if at + 2 < len(words) else None
    if given is None or len(word.text) != 2 or not word.tag.startswith("nr") or len(given.text) != 1:
        return None
    if word.text[0] not in letters("surnames") or is_known(word.text) or not is_inner(given.text):
        return None
    if given.tag[0] not in "nagx" or not HAN.match(given.text * 2) or (behind and behind.tag[0] != "v"):
        return None
    return word.text + given.text, given.end


def _speaks(rest: str) -> bool:
    """Return True if a verb that takes a person as subject follows, at once or after an adverb."""
    for cut in (0, 1, 2, 3, 4):
        tail = rest[cut:]
        if cut and not rest[:cut].endswith(("地", "声")) and not (cut <= 2 and is_known(rest[:cut])):
            continue
        if (
            tail[:3] in cue_words()["human"]
            or tail[:2] in cue_words()["human"]
            or tail[:1] in cue_words()["human"]
        ):
            return True
    return False


def _goes_on(rest: str, end: int, words: list[ChineseWord]) -> bool:
    if rest[:1] in cue_words()["follow"] or rest[:2] in cue_words()["follow"]:
        return True
    following = next((w for w in words if w.start == end), None)
    return following is not None and following.tag[0] in "vdp" and len(following.text) > 1


def _count(one: NameCandidate, texts: Sequence[str]) -> None:
    """Count every use in the turn."""
    for number, text in enumerate(texts):
        at = text.find(one.text)
        while at >= 0:
            one.uses.add((number, at))
            at = text.find(one.text, at + len(one.text))


def _go_on(found: dict[str, NameCandidate], one: NameCandidate, texts: Sequence[str]) -> None:
    """Extend a name that segmentation cut short (沈知 + 微): with one more character it always ends where a name can."""
    if one.kind != PERSON or len(one.text) > 3:
        return
    after = {texts[n][at + len(one.text) : at + len(one.text) + 1] for n, at in one.uses}
    if len(after) != 1:
        return
    (char,) = after
    if not "\u4e00" <= char <= "\u9fff" or not is_inner(char) or not may_be(one.text + char):
        return
    ends = [texts[n][at + len(one.text) + 1 : at + len(one.text) + 4] for n, at in one.uses]
    if any(rest and is_known(char + rest[0]) for rest in ends):
        return  # 小九 + 忽然
    if all(not rest or rest[0] in MARK or rest[0] in cue_words()["follow"] or _speaks(rest) for rest in ends):
        longer = found.setdefault(one.text + char, NameCandidate(one.text + char, one.kind, one.worth))
        longer.worth = max(longer.worth, one.worth)
        longer.uses |= one.uses


def _settle(found: dict[str, NameCandidate]) -> None:
    """Merge two overlapping names: the more frequent, or else the longer, gets the evidence of both."""
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
                and not rate_name_shape(other.text) > rate_name_shape(name)
            ):
                found.pop(other.text, None)


def weigh(name: str, found: NameSpan, candidate: NameCandidate | None, text: str) -> tuple[float, str]:
    """Return the certainty and kind of a name that other rules found, by its form and its position."""
    kind, own = found.kind, 0.35
    before, rest = text[found.start - 1 : found.start], text[found.end : found.end + 3]
    there = before in ("在", "到", "去", "往", "从", "进", "回", "离", "来", "于") or text[
        : found.start
    ].endswith("来自")
    if kind == PERSON and before == "在" and any(rest.startswith(w) for w in cue_words()["works"]):
        kind = ORGANISATION
    if kind == WORK:
        own = 0.8 if found.sure > 0.9 or text.startswith("《", found.start) else 0.6 * found.sure
    elif "·" in name:
        own = 0.8
    elif kind == PLACE:
        own = 0.3 + (0.35 if there else 0.0) + (0.4 if _usual_place(name) else 0.0)
        own += 0.3 if len(name) > 2 and not is_known(name) and name.endswith(endings("places")) else 0.0
    elif kind == ORGANISATION:
        own = 0.6 if len(name) > 3 or there else 0.3
    elif any(name.endswith(e) and len(name) > len(e) for e in load_words("titles")):
        own = 0.7 if found.sure >= 0.9 else 0.5
    elif (not is_known(name) and len(name) == 3 and is_chinese_name(name)) or (
        len(name) > 2 and is_transcribed(name)
    ):
        own = 0.65
    elif not name.isascii() and is_chinese_name(name) and not is_known(name):
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
    """Return True for a well-known place: 上海."""
    return len(name) > 1 and is_known(name) and cutter().suggest_freq(name) > 900
