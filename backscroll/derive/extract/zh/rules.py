"""The Chinese rules as objects: read from `extract_zh_rules.toml` and `extract_zh_things.toml`, with their shorthands expanded.

Owns the form of a rule and whether a sentence states, asks, supposes or denies something. Refuses names and topics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import cast

from backscroll.derive.extract.zh.marks import compile_pattern
from backscroll.vocab.values.table import read_table

_FILES = ("extract_zh_rules.toml", "extract_zh_things.toml")
_NEEDED = re.compile(r"\(\?P<\w+>\{([PLOWDUMHFNA])s?\}\)(?!\)?\?)")
_BREAK = re.compile(r"[，。！？；,!?;…\n]")
_ASKING = re.compile(
    r"谁|什么|哪|几[个年岁点首部]|多少|多久|多长|多大|怎么|怎样|如何|为何|为什么|吗|么[？?。，]|呢[？?]|是不是|有没有|会不会|对不对|能不能|可不可以|要不要|知不知道|啥|是否|难道|不[？?]$|没[？?]$"
)
_SUPPOSING = re.compile(
    r"如果|要是|假如|假设|倘若|万一|若是|除非|的话|即使|就算|哪怕|只要(?=[^，。]{0,14}就)|希望|但愿|假装|梦见|梦到|想象|幻想|差点|以为|本该|要不是|何必|装作|除了|推荐(?:一|个|几|家|下)|给我推荐|帮我|想找|找一|找家|找个|有没有|能不能|以上的|以内的|最好是|要求"
)
_EXCEPT = re.compile("除了")
_BESIDES = re.compile(r"除了[^。！？]{1,40}(?:还|也)")  # 除了甲，还有乙: both
_MAYBE = re.compile(r"可能|也许|或许|说不定|恐怕|没准|不知道|不确定|我猜|怀疑")
_HEARSAY = re.compile(r"好像|似乎|应该|估计|听说|据说|大概|貌似|传说")
_TAG = re.compile(r"^(?:对|是|不是|行|好)(?:吧|吗|不|不对|么|的吧)?$")
_DENY = re.compile(
    r"不(?!仅|但|只|过|错|光|止|同|少|久|得不|断|由|禁|愧|用)|没(?!错)|未(?!来|婚)|(?<![特个分区级性])别(?!的|人|名|称)|并非|从未|无法"
)


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """One rule: its claim, and the patterns that state it, ask for it and answer it."""

    number: int
    claim: str
    predicate: str
    say: tuple[re.Pattern[str], ...]
    ask: tuple[re.Pattern[str], ...] = ()
    answer: re.Pattern[str] | None = None
    of: tuple[str, ...] = ()
    type: str = ""
    object_type: str = ""
    value: str = ""
    clean: str = ""
    match: str = ""
    negated: str = ""
    sure: float = 0.9
    more: bool = False  # answers may continue in further messages
    cue: frozenset[str] = frozenset()  # every sentence that states it has one of these; none: any may
    needs: tuple[frozenset[str], ...] = ()  # for each pattern of `say`: the kinds of marks it requires


@cache
def rules() -> tuple[ClaimRule, ...]:
    """Return every rule, in the order of the files."""
    out: list[ClaimRule] = []
    words: dict[str, str] = {}
    for name in _FILES:
        data = read_table("backscroll.derive", name)
        words.update(cast("dict[str, str]", data["words"]))
        for raw in cast("list[dict[str, object]]", data["rule"]):
            out.append(_rule(len(out), raw, words))
    return tuple(out)


@cache
def asking() -> tuple[ClaimRule, ...]:
    """Return the rules whose value can be asked for and answered in a word."""
    return tuple(r for r in rules() if r.ask and r.answer is not None)


def written_out(pattern: str, words: dict[str, str]) -> str:
    """Expand the words in capitals in a pattern; words may use other words."""
    for _ in range(2):
        for name, text in words.items():
            pattern = pattern.replace("{" + name + "}", text)
    return pattern


def _rule(number: int, raw: dict[str, object], words: dict[str, str]) -> ClaimRule:
    def patterns(key: str) -> tuple[re.Pattern[str], ...]:
        return tuple(compile_pattern(written_out(p, words)) for p in cast("list[str]", raw.get(key, [])))

    def text(key: str, default: str = "") -> str:
        return str(raw.get(key, default))

    answer = text("answer")
    return ClaimRule(
        number,
        claim=text("claim", "attribute"),
        predicate=text("predicate"),
        say=patterns("say"),
        ask=patterns("ask"),
        answer=compile_pattern(written_out(answer, words)) if answer else None,
        of=tuple(text("of").split()),
        type=text("type"),
        object_type=text("object_type"),
        value=text("value"),
        clean=text("clean"),
        match=text("match"),
        negated=text("negated"),
        sure=float(cast("float", raw.get("sure", 0.9))),
        more=bool(raw.get("more")),
        cue=frozenset(text("cue")),
        needs=tuple(frozenset(_NEEDED.findall(p)) for p in cast("list[str]", raw.get("say", []))),
    )


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of the marked text between two breaks."""

    start: int
    end: int
    text: str
    asks: bool
    supposes: bool
    sure: float


def clauses(text: str) -> list[Clause]:
    """Return the clauses of a marked sentence, each with its mood."""
    out: list[Clause] = []
    at = 0
    supposing, adds = False, "除了" in text and _BESIDES.search(text) is not None
    asked = text.rstrip('”"’」』 ').endswith(("？", "?"))
    edges = [m.start() for m in _BREAK.finditer(text)] + [len(text)]
    for edge in edges:
        piece = text[at:edge]
        if piece.strip():
            supposing = supposing or bool(_SUPPOSING.search(_EXCEPT.sub("", piece, 1) if adds else piece))
            sure = 0.4 if _MAYBE.search(piece) else 0.65 if _HEARSAY.search(piece) else 1.0
            stop = text[edge : edge + 1]
            asks = bool(_ASKING.search(piece + stop)) or (
                stop in ("？", "?") and not _TAG.match(piece.strip())
            )
            out.append(Clause(at, edge, piece, asks, supposing, sure))
        if text[edge : edge + 1] in ("。", "！", "？", "!", "?", "；", ";"):
            supposing = False
        at = edge + 1
    if asked and len(out) > 1 and _TAG.match(out[-1].text.strip()):
        last = out[-2]
        out[-2] = Clause(
            last.start, last.end, last.text, asks=False, supposes=last.supposes, sure=min(last.sure, 0.7)
        )
    return out


def is_denied(text: str) -> bool:
    """Return True if these words deny their statement."""
    return _DENY.search(text) is not None


@cache
def _by_character() -> dict[str, tuple[ClaimRule, ...]]:
    """Return the rules by their cue characters; under the empty string, rules without cues."""
    out: dict[str, list[ClaimRule]] = {"": []}
    for rule in rules():
        for character in rule.cue or ("",):
            out.setdefault(character, []).append(rule)
    return {character: tuple(found) for character, found in out.items()}


def fitting(text: str, kinds: frozenset[str]) -> Iterator[tuple[ClaimRule, re.Pattern[str]]]:
    """Yield the rules and patterns that a sentence with these characters and kinds of marks can match, in their order."""
    table = _by_character()
    able = {rule.number: rule for character in {*text, ""} for rule in table.get(character, ())}
    for _, rule in sorted(able.items()):
        for pattern, needed in zip(rule.say, rule.needs, strict=True):
            if needed <= kinds:
                yield rule, pattern


def asks(text: str) -> bool:
    """Return True if a sentence may contain a question."""
    return "？" in text or "?" in text or _ASKING.search(text) is not None
