"""One sentence in context: speaker, addressee, words, and the topics of the turn.

Owns resolving a mention (我 is the speaker, 她 the person the turn makes clear) and making an assertion with its quote.
Refuses finding anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from backscroll.derive.extract.utterance import Utterance
from backscroll.derive.extract.zh.context import Context
from backscroll.derive.extract.zh.marks import KIND_OF, MarkedSentence, SentenceMention, is_mark
from backscroll.derive.extract.zh.naming.names import PLACE, WORK
from backscroll.derive.extract.zh.values import is_noun
from backscroll.derive.extract.zh.words import is_region, load_words, normal
from backscroll.vocab.assertion import Assertion, Claim

#: What may follow a complete place name.
_CLOSED = re.compile(
    r"$|[^\u4e00-\u9fff]|[的是在有也就还位坐附周旁很非最真都要可会能评票门电价地开营这那和与跟]"
)
_SOMEBODY = ("@he", "@she")  # resolved from earlier turns: the fold knows them
_HINTS = {"@she": "female", "@he": "male", "@it": "thing"}


@dataclass(frozen=True, slots=True)
class Scene:
    """One sentence in context: speaker, addressee, words, and the topics of the turn."""

    said: Utterance
    me: str  # the referent of "I"
    you: str
    marked: MarkedSentence
    context: Context
    number: int  # of the message in the turn
    sure: float = 1.0

    def settle(self, mention: SentenceMention) -> str:
        """Return the referent of a mention: a name, or a pronoun marker."""
        if mention.name == "@i":
            return self.me
        if mention.name == "@you":
            return self.you or "@you"
        if not mention.name.startswith("@") or mention.of:
            return mention.name
        if mention.name in ("@he", "@she"):
            before = [m for m in self.marked.mentions if m.kind == "P" and m.end <= mention.start]
            named = {m.name for m in before if not m.name.startswith("@") and not self._is_apposed(m)}
            named -= self.context.selves
            if named:  # the person before it in the sentence, unless there are two
                return named.pop() if len(named) == 1 else mention.name
        return self.context.who(mention.name)

    def _is_apposed(self, mention: SentenceMention) -> bool:
        """Return True for 我妹妹 in 我妹妹小芳 and in 小芳是我妹妹: the name is beside it."""
        return bool(mention.of) and (
            any(m.kind == "P" and m.start == mention.end for m in self.marked.mentions)
            or self.marked.plain[: mention.start].endswith("是")
        )

    def claim(
        self, kind: Claim, subject: str, predicate: str = "", sure: float = 0.9, **facts: str
    ) -> Assertion | None:
        """Return an assertion of this sentence; None if it would state nothing."""
        subject = _bare(subject) if "《" in subject or "》" in subject else subject
        other = facts.get("object", "")
        if "《" in other or "》" in other:
            other = facts["object"] = _bare(other)
        if (
            not subject
            or subject == other
            or "@the" in subject
            or "@the" in other
            or re.match(r"@\w+的", subject)
            or re.match(r"@\w+的", other)
        ):
            return None
        scale = 1.0 if kind is Claim.NODE else self.sure  # a name is one, whoever the speaker
        return Assertion(
            kind,
            subject,
            predicate,
            quote=self.marked.plain.strip(),
            source=self.said.source,
            speaker=self.said.who,
            sure=round(sure * scale * (0.8 if subject == "@it" else 1.0), 2),
            hint=_hint(subject, facts.get("type", "")),
            **facts,
        )


def _hint(subject: str, kind: str) -> str:
    if subject == "@topic":
        return kind
    return PLACE if subject == "@it" and kind == PLACE else _HINTS.get(subject, "")


_TITLED = re.compile(r"^[^《》]{0,6}《([^《》]{1,40})》$")


def _bare(name: str) -> str:
    """Return a name without the word for its kind: 电影《X》 is X."""
    found = _TITLED.match(name)
    if found:
        return found[1]
    return name.strip("《》") if name.count("《") != name.count("》") else name


def nearest(scene: Scene, kinds: tuple[str, ...], before: int, after: int = 0, *, venue: bool = False) -> str:
    """Return the nearest thing of one of these kinds: in the clause, or at the start of an earlier one."""
    marked = scene.marked
    limit, floor = marked.places[before], marked.places[after]
    opens = max((marked.text.rfind(c, 0, before) for c in "，。！？；,!?;"), default=-1) + 1
    clause = marked.places[opens]
    best = ""
    for one in marked.mentions:
        if one.end > limit or one.start < floor or KIND_OF.get(one.kind) not in kinds:
            continue
        if one.kind == "L" and not _CLOSED.match(marked.plain, one.end):
            continue  # a piece of a longer name
        if venue and one.kind == "L" and is_region(normal(one.name)):
            continue  # no city has opening hours
        if one.of and marked.plain[: one.start].endswith("是"):
            continue  # 小芳是我的同事，其生日 …: hers
        name = scene.settle(one)
        if (
            name not in _SOMEBODY
            and (name.startswith("@") or name in (scene.me, scene.you))
            and one.name != "@i"
        ):
            continue
        lead = marked.plain[max(0, one.start - 4) : one.start]
        if one.start >= clause or (
            not re.search(r"[在于到去从是为：:]$" if one.kind == "L" else r"[在于到去从]$", lead)
            and re.search(r"(?:^|[，。！？；,!?《])[^，。！？；]{0,3}$", lead)
        ):
            best = name
    return best


_OWNER = re.compile(r"(?:^|[，。！？；,])(?P<x>[^\s，。！？；：、“”\"]{3,22}?)(?P<of>的?)$")


def find_owner_before(scene: Scene, m: re.Match[str]) -> str:
    """Return a thing that no name rule knows, right before its property: 老街面馆(东门店)的营业时间."""
    text = m.string[max(0, m.start() - 30) : m.start()]
    found = _OWNER.search(text)
    if not found or any(is_mark(c) and scene.marked.at(c).name.startswith("@") for c in found["x"]):
        return ""
    start = m.start() - len(text) + found.start("x")
    name = scene.marked.was(start, start + len(found["x"]))
    plain = normal(name).split("(")[0].split("（")[0]
    called = (
        plain.endswith((*load_words("place_suffixes"), *load_words("org_suffixes"), "店", "中心"))
        and len(plain) > 4
    )
    if not called and (not found["of"] or _KIND.search(plain)):
        return ""
    return name if is_noun(plain, strict=True) else ""


_KIND = re.compile(r"(?:景点|酒店|餐馆|餐厅|宾馆|公司|电影|歌|专辑|景区)$")


def infer_topic(scene: Scene, kinds: tuple[str, ...], before: int) -> tuple[str, str]:
    """Return the topic, if the turn does not name it: `@it` for a work or a place, `@topic` for others; the fold knows the
    turns before. Nothing if a person precedes it in the sentence."""
    limit = scene.marked.places[before]
    if any(x.kind == "P" and x.end <= limit for x in scene.marked.mentions):
        return "", ""
    return ("@it" if kinds[0] in (PLACE, WORK) else "@topic"), kinds[0]
