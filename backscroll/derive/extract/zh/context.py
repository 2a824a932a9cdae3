"""Context of a turn while it is read: topics by kind, referents of 他 and 这部电影, the last question.

Owns the state that runs from sentence to sentence of one turn, and the words that introduce a topic. Refuses guesses: if
two people could be meant, a pronoun stays a pronoun.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from backscroll.derive.extract.zh.marks import KIND_OF, MarkedSentence
from backscroll.derive.extract.zh.naming.names import (
    ORGANISATION,
    PERSON,
    PLACE,
    WORK,
    NameSpan,
    is_chinese_name,
    is_transcribed,
)
from backscroll.derive.extract.zh.rules import ClaimRule
from backscroll.derive.extract.zh.words import is_region, load_words, table, words_of

_KINDS = {
    WORK: "电影|影片|片子|电视剧|连续剧|剧|歌曲|歌|曲子|专辑|唱片|单曲|小说|书|作品|动画片|动画|动漫|节目|游戏|纪录片|大片",
    PLACE: "景点|景区|地方|公园|城市|酒店|餐厅|餐馆|饭店|宾馆|饭馆|博物馆|寺庙|古镇|小镇|村子|国家",
    ORGANISATION: "公司|乐队|组合|乐团|团体|社团|机构|学校|大学",
    PERSON: "人|演员|导演|歌手|明星|艺人|作家|编剧|音乐人|艺术家|女孩|男孩|老师|主持人",
}
_TITLE = r"[^\s，。！？；、：“”《》（）…~!?;]{1,18}?"
_BAD = re.compile(
    r"^(?:听说|当时|现在|今天|昨天|记得|感觉|其实|原来|后来|就是|刚才|最后)$|说到|提到|关于|对于|觉得|玩|多久|可以|能不能|咱|请|帮|附近|"
    r"[是吗呢吧了]|什么|怎么|哪|谁|这|那|有没有|知道|多少|你|我(?!的)|他|她|它|几|最近|一[个部首]|它|自己|喜欢|附近|周边|电影$|歌曲?$|景点$|地址|电话|门票|导演|主演|演员|时间|歌手|专辑$|价格|多长|以前|之前|的(?:电影|歌|人|地方|作品|成就|奖|代表作)"
)


@cache
def _introductions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    out: list[tuple[str, re.Pattern[str]]] = []
    for kind, words in _KINDS.items():
        out.append(
            (
                kind,
                re.compile(
                    rf"(?:知道|听过|听说过|听说|看过|了解|去过|认识|喜欢|推荐|说到|关于|看|听|叫|去|是|有|，|。|^)(?P<x>{_TITLE})(?:这|那)(?:一)?(?:个|部|首|张|本|座|家|位|名|支|款|出|处|支)(?:{words})"
                ),
            )
        )
        out.append(
            (
                kind,
                re.compile(
                    rf"(?:电影|歌曲|专辑|小说|影片|电视剧|单曲)?[“\"](?P<x>[^“”\"\s，。！？]{{1,18}})[”\"](?:这|那)(?:个|部|首|张|本|座|家|位)(?:{words})"
                ),
            )
        )
    out.append(
        (
            WORK,
            re.compile(
                r"(?:一部|部|一首|首|一张|张|一本)(?:叫|叫做|名为|名叫)(?:做)?[“\"]?(?P<x>[^\s，。！？；“”《》\"]{2,14}?)(?:的|[”\"，。！？]|$)"
            ),
        )
    )
    out.append(
        (
            "",
            re.compile(
                rf"(?:你)?(?:知道|听过|听说过|看过|了解|去过|认识|听说)(?:过)?(?P<x>{_TITLE})(?:吗|嘛|么|不|没|没有|吧)?[？?]"
            ),
        )
    )
    out.append(
        (
            PLACE,
            re.compile(
                r"推荐(?:您|你|大家)?(?:去|到|住|前往|入住|试试|尝尝)(?P<x>[^\s，。！？；“”《》]{2,22}?)(?:游玩|用餐|住宿|吃饭|参观|看看|玩|逛逛|[，。！？]|$)"
            ),
        )
    )
    out.append(
        (
            PLACE,
            re.compile(
                r"推荐(?:您|你|大家)?(?P<x>[^\s，。！？；“”《》]{2,22}?(?:公园|酒店|宾馆|饭店|餐厅|馆|寺|宫|乐园|景区|店))(?=[，。！？]|$|这)"
            ),
        )
    )
    return tuple(out)


_FORE = re.compile(r"^(?:感觉|觉得|那|就|想|去|还|有|这个|那个|对|像|是)+")


@cache
def _definites() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern)) for kind, pattern in table("definite").items())


def find_introduced_names(text: str) -> list[NameSpan]:
    """Return names that a sentence introduces as a topic: 你知道X吗, X这部电影."""
    out: list[NameSpan] = []
    for kind, pattern in _introductions():
        for m in pattern.finditer(text):
            start, end = m.span("x")
            if fore := _FORE.match(m["x"]):
                start += fore.end()
            name = text[start:end]
            if (
                len(name) < 2
                or _BAD.search(name)
                or name in load_words("not_names")
                or name in load_words("not_places")
                or _grammar(name)
            ):
                continue
            sure = 0.9 if kind else 0.75 if _guess(name) != WORK else 0.7
            out.append(NameSpan(start, end, kind or _guess(name), sure))
    return out


def _grammar(name: str) -> bool:
    """Return True for a mere connective: 而且, 其实."""
    words = words_of(name)
    return len(words) == 1 and words[0].tag[0] in "cdpruyo"


def _guess(name: str) -> str:
    foreign = is_transcribed(name.replace("·", ""))
    if (is_chinese_name(name) and len(name) <= 3) or foreign:
        return PERSON
    if any(name.endswith(s) for s in load_words("place_suffixes")):
        return PLACE  # 华韵·宜兴传统文化馆
    if "·" in name:
        return PERSON
    return ORGANISATION if any(name.endswith(s) for s in load_words("org_suffixes") if len(s) > 1) else WORK


def definites(text: str) -> list[tuple[int, int, str]]:
    """Return the places where a thing is referred to by its kind (这部电影), with the kind."""
    return [(m.start(), m.end(), kind) for kind, pattern in _definites() for m in pattern.finditer(text)]


@dataclass(slots=True)
class Context:
    """The topics of a turn at one point of its reading."""

    topics: dict[str, str] = field(default_factory=dict[str, str])  # kind -> name
    order: list[str] = field(default_factory=list[str])  # kinds, the most recently introduced last
    clear: bool = False  # whether the person in `topics` is the only candidate
    sexes: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[tuple[ClaimRule, str, int]] = field(
        default_factory=list[tuple[ClaimRule, str, int]]
    )  # rule, of what, in which message
    selves: set[str] = field(default_factory=set[str])  # names that speakers have given themselves
    asking: int = -1  # number of the last message with a question

    def bring_up(self, kind: str, name: str, clear: bool = True) -> None:
        """Set the current topic."""
        self.topics[kind] = name
        if kind in self.order:
            self.order.remove(kind)
        self.order.append(kind)
        if kind == PERSON:
            self.clear = clear

    def asked_about(self, number: int, message: int) -> str:
        """Return what the previous message asked about; empty if nothing."""
        return next((of for rule, of, at in self.asked if rule.number == number and at == message - 1), "")

    def about(self, kinds: tuple[str, ...]) -> tuple[str, str]:
        """Return name and kind of the topic, of one of these kinds; empty if there is none."""
        for kind in reversed(self.order):
            if kind in kinds:
                return self.topics[kind], kind
        return "", ""

    def who(self, marker: str) -> str:
        """Return the referent of a pronoun if it is clear, else the pronoun."""
        if marker in ("@he", "@she") and self.clear and PERSON in self.topics:
            name = self.topics[PERSON]
            sex = self.sexes.get(name)
            if sex is None or sex == marker:
                return name
        if marker == "@it":
            name, _ = self.about((WORK, PLACE, ORGANISATION, "animal"))
            return name or marker
        if marker.startswith("@the "):
            return self.topics.get(marker[5:], "@it")
        return marker

    def open_topic(self, kind: str, name: str, sure: float) -> None:
        """Open a topic; one of an unknown kind may turn out to be a work or a place."""
        if kind == WORK and sure <= 0.7:
            self.bring_up(PLACE, name)
        self.bring_up(kind, name)

    def note_sentence(self, marked: MarkedSentence, new: set[str], objects: set[str]) -> None:
        """Note the topics of a sentence: what it introduced, then names that stand alone or first."""
        by_kind: dict[str, list[str]] = {}
        for number, one in enumerate(marked.mentions):
            after = marked.mentions[number + 1 : number + 2]
            called = bool(one.of and after) and after[0].kind == "P" and after[0].start <= one.end + 2
            if (
                one.kind in KIND_OF
                and not one.name.startswith("@")
                and not called
                and one.name not in self.selves
            ):
                by_kind.setdefault(KIND_OF[one.kind], []).append(one.name)
        for kind, names in by_kind.items():
            different = list(dict.fromkeys(names))
            fresh = [n for n in different if n in new]
            free = [
                n
                for n in different
                if not any(n in o for o in objects) and (kind != PLACE or (len(n) > 2 and not is_region(n)))
            ]
            if fresh:
                self.bring_up(kind, fresh[-1])
            elif kind == PERSON:
                self.bring_up(kind, different[0], clear=len(different) == 1)
            elif self.topics.get(kind) in different:
                self.bring_up(kind, self.topics[kind])
            elif free and (
                kind not in self.topics or (len(different) == 1 and self._leads(marked, kind, free[0]))
            ):
                self.bring_up(kind, free[0])

    @staticmethod
    def _leads(marked: MarkedSentence, kind: str, name: str) -> bool:
        """Return True if a name opens a clause, or is marked as a title: then it becomes the topic."""
        if kind == WORK:
            return True
        one = next(m for m in marked.mentions if m.name == name)
        before = marked.plain[max(0, one.start - 4) : one.start]
        return not re.search(r"[在于到去从自由属]$", before) and bool(
            re.search(r"(?:^|[，。！？；,!?\s])[^，。！？；]{0,3}$", before)
        )
