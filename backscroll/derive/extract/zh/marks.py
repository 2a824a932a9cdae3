"""Marked sentences: names, pronouns and values replaced by one character each, so that patterns can refer to "a person".

Owns the marks: each kind of thing has its own range of private characters; a pattern writes `{P}` for any person, `{L}`
place, `{O}` organisation, `{W}` work, `{D}` date, `{U}` length of time, `{M}` amount of money, `{H}` hours, `{F}` telephone,
`{N}` count, `{A}` award. What a stretch of the marked text was before can always be had back. Refuses meaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from backscroll.derive.extract.zh.naming.names import ANIMAL, ORGANISATION, PERSON, PLACE, WORK, NameSpan
from backscroll.derive.extract.zh.words import table

_FIRST = 0xF0000
_ROOM = 0x1000  # marks of one kind in a sentence; further ones are left unmarked
KINDS = "PLOWDUMHFNA"
_LETTER = {PERSON: "P", PLACE: "L", ORGANISATION: "O", WORK: "W", ANIMAL: "P"}
KIND_OF = {"P": PERSON, "L": PLACE, "O": ORGANISATION, "W": WORK}
CLASS = {k: f"[{chr(_FIRST + i * _ROOM)}-{chr(_FIRST + i * _ROOM + _ROOM - 1)}]" for i, k in enumerate(KINDS)}
CLASS_P, CLASS_L = chr(_FIRST), chr(_FIRST + _ROOM)
_GLUE = r"(?:[、，,/ 【】]|和|与|及|以及|还有|跟|同)"

_PARTS = re.compile(
    f"[、，,兼]|(?<![A-Za-z])/(?![A-Za-z])|以及|[和与](?=.)|及(?=[{chr(_FIRST)}-{chr(_FIRST + _ROOM * len(KINDS))}])"
)

_VALUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "F",
        re.compile(
            r"(?<![\d.-])(?:0\d{2,3}-\d{7,8}|400-?\d{3}-?\d{4}|1[3-9]\d{9})(?:[,，、/;；](?:0\d{2,3}-\d{7,8}|400-?\d{3}-?\d{4}|1[3-9]\d{9})){0,5}(?!\d)"
        ),
    ),
    (
        "D",
        re.compile(
            r"(?<!\d)(?:\d{4}年(?: ?\d{1,2}月(?: ?\d{1,2}[日号]?)?)?|\d{1,2}月\d{1,2}[日号]|\d{4}-\d{1,2}-\d{1,2}|[一二三四五六七八九十]{1,2}月[一二三四五六七八九十]{1,3}[日号])"
        ),
    ),
    (
        "H",
        re.compile(
            r"(?<![\d:])(?:周[一二三四五六日天][至到-]周[一二三四五六日天][^，。；\n]{0,3})?\d{1,2}[:：]\d{2} ?[-—~～－到至]{1,2} ?(?:次日)?\d{1,2}[:：]\d{2}|全天(?:开放)?|24小时(?:开放|营业)"
        ),
    ),
    (
        "U",
        re.compile(
            r"(?<![\d.])(?:\d{1,4}(?:\.\d)?(?:个)?(?:小时|分钟|天)(?:\d{1,2}分钟?)?(?:(?: ?[-—~～－到至]{1,2} ?)\d{1,4}(?:\.\d)?(?:个)?(?:小时|分钟|天))?|\d{1,3}分\d{1,2}秒|\d{1,2}(?:\.\d)?[-—~到至]\d{1,2}(?:\.\d)?(?:个)?(?:小时|分钟|天)|[半一两三四五六七八九十]{1,3}(?:个)?(?:多)?(?:小时|分钟))"
        ),
    ),
    (
        "M",
        re.compile(
            r"(?<![\d.])(?:\d[\d,]{0,14}(?:\.\d{1,4})?(?:多|余)?[万亿千百]{0,2}(?:多|余)?(?:元|块钱|块|美元|美金|日元|欧元|英镑|港币|港元|人民币|韩元|新台币)(?:/人)?|免费)"
        ),
    ),
    (
        "N",
        re.compile(r"(?<![\d.])\d{1,6}(?:\.\d{1,2})?(?:首|集|厘米|公分|cm|CM|kg|KG|公斤|斤|米|名|人|公里)"),
    ),
)
_DELIMITED = re.compile(r"[^，。！？、；：\s“”《》!?;:,]{3,42}")
_AWARDING = ("奖", "届", "提名", "大赏", "电影节最佳")
_AWARD = re.compile(
    r"(?:(?:第[\d零一二三四五六七八九十百]{1,5}|[一二两三四五六七八九十\d]{1,2})[届屆]|(?:19|20)\d\d年?度?|[^获得过拿了有和是的凭借因]{2,14}?(?:奖|大赏|电影节|盛典|排行榜))"
    r"[^，。！？、；：]{0,30}?(?:(?:奖|提名|冠军|亚军|大奖|新人|歌手|专辑|歌曲|演员|导演|男主角|女主角|男配角|女配角|影帝|影后|编剧|摄影|剪辑|组合|影片|原创剧本|改编剧本|外语片|动画片|音乐|金曲|作词人|作曲人|制作人)(?:\(提名\)|提名|奖)?)(?=$|[得的呢呀啊吧哦吗嘛等了和与]|\W)"
)
_PRONOUN_EDGE = {
    "他": (r"(?<![其吉维])", r"(?!人|乡|日|妈的)"),
    "我": (r"(?<!自)", r"(?!国|方)"),
    "你": ("", r"(?!好(?!像|看|奇|好|厉|棒|美|帅|坏|傻|可|吗|吃))"),
    "它": (r"(?<!其)", ""),
    "您": ("", r"(?!好(?!像|看|奇|好|厉|棒|美|帅|坏|傻|可|吗|吃))"),
}


@dataclass(frozen=True, slots=True)
class SentenceMention:
    """A mention at one place of a sentence."""

    kind: str  # a letter of `KINDS`
    start: int  # in the normal text of the sentence
    end: int
    name: str  # as written; for a pronoun its marker
    sure: float = 1.0
    of: str = ""  # for 我妈妈: the word for kin
    owner: str = ""  # and whose


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence with marks: `text` is what patterns read, `places` maps each character to its offset."""

    text: str
    plain: str  # as it is in the message
    places: tuple[int, ...]  # one more than characters
    mentions: tuple[SentenceMention, ...]
    marks: Mapping[str, SentenceMention]

    def at(self, mark: str) -> SentenceMention:
        """Return the mention that a mark stands for."""
        return self.marks[mark]

    def was(self, start: int, end: int) -> str:
        """Return the original text of a stretch of the marked text."""
        return self.plain[self.places[start] : self.places[end]]

    def group(self, match: re.Match[str], name: str) -> str:
        """Return the original text of a group of a match."""
        return self.was(*match.span(name)) if match[name] is not None else ""

    def parts(self, match: re.Match[str], name: str) -> list[str]:
        """Return the items of an enumeration; names stay whole, even if they contain a separator (颐和园)."""
        out: list[str] = []
        at, end = match.span(name)
        for cut in [*_PARTS.finditer(self.text, at, end), None]:
            stop = end if cut is None else cut.start()
            if piece := self.was(at, stop).strip(' 　“”"。'):
                out.append(piece)
            at = end if cut is None else cut.end()
        return out


def is_mark(char: str) -> bool:
    """Return True for a mark of any kind."""
    return len(char) == 1 and _FIRST <= ord(char) < _FIRST + _ROOM * len(KINDS)


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with its shorthands: `{P}` any person, `{Ps}` one or several in a row."""
    pattern = pattern.replace("{p}", CLASS["P"][1:-1])
    for kind, chars in CLASS.items():
        pattern = pattern.replace("{" + kind + "s}", f"{chars}(?:{_GLUE}{{1,4}}{chars}){{0,30}}").replace(
            "{" + kind + "}", chars
        )
    return re.compile(pattern)


@cache
def _pronouns() -> re.Pattern[str]:
    parts: list[str] = []
    for word in sorted(table("pronouns"), key=lambda w: (-len(w), w)):
        before, after = _PRONOUN_EDGE.get(word, ("", ""))
        parts.append(before + re.escape(word) + after)
    return re.compile("|".join(parts))


def _values(text: str) -> list[tuple[int, int, str]]:
    out: list[tuple[int, int, str]] = []
    for piece in _DELIMITED.finditer(text):
        if any(word in piece[0] for word in _AWARDING):
            out += [
                (piece.start() + found.start(), piece.start() + found.end(), "A")
                for found in _AWARD.finditer(piece[0])
            ]
    for kind, pattern in _VALUES:
        out += [(m.start(), m.end(), kind) for m in pattern.finditer(text)]
    return out


def mark(
    normal: str, plain: str, names: list[NameSpan], topics: list[tuple[int, int, str]]
) -> MarkedSentence:
    """Mark a sentence: works, then values, then definite mentions (`topics`), other names, pronouns."""
    spans: list[tuple[int, int, str, str, float]] = []
    cells = bytearray(len(normal))

    def take(start: int, end: int, kind: str, name: str, sure: float) -> None:
        if start < end and not any(cells[start:end]):
            cells[start:end] = b"\1" * (end - start)
            spans.append((start, end, kind, name, sure))

    for found in names:
        if found.kind == WORK:
            bound = (
                normal[found.start - 1 : found.start] == "《" and normal[found.end : found.end + 1] == "》"
            )
            take(found.start - bound, found.end + bound, "W", plain[found.start : found.end], found.sure)
    for start, end, kind in _values(normal):
        take(start, end, kind, plain[start:end], 1.0)
    for start, end, kind in topics:
        take(start, end, _LETTER[kind], f"@the {kind}", 1.0)
    for found in names:
        take(found.start, found.end, _LETTER[found.kind], plain[found.start : found.end], found.sure)
    for m in _pronouns().finditer(normal):
        take(m.start(), m.end(), "P", table("pronouns")[m[0]], 1.0)
    spans.sort()
    return _build(
        normal,
        plain,
        [SentenceMention(kind, start, end, name, sure) for start, end, kind, name, sure in spans],
    )


def _build(normal: str, plain: str, mentions: list[SentenceMention]) -> MarkedSentence:
    out: list[str] = []
    places: list[int] = []
    kept: list[SentenceMention] = []
    marks: dict[str, SentenceMention] = {}
    counts = dict.fromkeys(KINDS, 0)
    at = 0
    for one in mentions:
        if counts[one.kind] >= _ROOM:
            continue
        out += normal[at : one.start]
        places += range(at, one.start)
        sign = chr(_FIRST + KINDS.index(one.kind) * _ROOM + counts[one.kind])
        marks[sign] = one
        out.append(sign)
        places.append(one.start)
        counts[one.kind] += 1
        kept.append(one)
        at = one.end
    out += normal[at:]
    places += range(at, len(normal) + 1)
    return MarkedSentence("".join(out), plain, tuple(places), tuple(kept), marks)


def remark(marked: MarkedSentence, normal: str, joined: list[SentenceMention]) -> MarkedSentence:
    """Return the same sentence with some stretches merged into one mention each (我妈妈)."""
    taken = [(m.start, m.end) for m in joined]
    rest = [m for m in marked.mentions if not any(a <= m.start and m.end <= b for a, b in taken)]
    return _build(normal, marked.plain, sorted([*rest, *joined], key=lambda m: m.start))


_STARTS = re.compile(
    "(?:同时|也|都|就|还|又|可|已经|现在|目前|一直|曾经|曾|从小|其实|真的|的确|后来|终于|刚刚|最近|当时|并且|并|而且|但是|但|不过|只是|只|才|平时|经常|特别|非常|很|最|比较|然后|之后|今年|从小就){0,3}"
    "(?:不是|是|来自|住|居住|搬|喜欢|不喜欢|最爱|爱|讨厌|害怕|怕|养|有|在|躲在|待在|呆在|藏在|坐在|站在|逃到|当|做|擅长|从事|担任|打算|计划|准备|身高|性格|职业|毕业|出生|毕业于|把|将|去过|去了|买|送|给|嫁|娶|和|跟|精通|患|得了|加入|辞职|离开|\\d{1,3}岁|[二三四五六七八九]?十[一二三四五六七八九]?岁|一个|一名|一位|外号|小名|英文名|昵称|长着|留着|扎着)"
)
_CLAUSE = re.compile("(?<=[，,；;])")
_OPENS = compile_pattern("^(?:[^\\s，。！？在到去从把被对给向是叫有和跟与同]{0,3}?){P}?(?P<a>{P})")


_CALLED = compile_pattern("[有养生].{0,12}叫(?:(?P<b>{P})[，,；;]|)")


def restore_subjects(marked: MarkedSentence) -> MarkedSentence:
    """Return the sentence with its subject restored in later clauses that omit it (我叫小明，[我]住在上海)."""
    text = marked.text
    subject = ""
    out: list[str] = []
    places: list[int] = []
    at = 0
    for cut in [*(m.start() for m in _CLAUSE.finditer(text)), len(text)]:
        clause = text[at:cut]
        opens = _OPENS.match(clause)
        if opens:
            subject = opens["a"]
        elif subject and _STARTS.match(clause):
            out.append(subject)
            places.append(marked.places[at])
        elif any(CLASS_P <= c < CLASS_L for c in clause[:6]):
            subject = ""  # the subject may be another person now
        if called := _CALLED.search(clause):
            subject = called["b"] or ""  # 我有一个女儿叫朵朵，今年5岁: she
        out.append(clause)
        places += marked.places[at:cut]
        at = cut
    return MarkedSentence(
        "".join(out), marked.plain, (*places, marked.places[-1]), marked.mentions, marked.marks
    )
