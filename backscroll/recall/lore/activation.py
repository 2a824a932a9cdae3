"""Activation of lorebook entries by a conversation, with the reasons: the rules of role-play programs, without randomness.

Constant entries, primary and secondary keys, depth of scanning, recursion, groups and chance. Chance is decided by the entry and
the message that activated it, so the same log gives the same prompt. Not here: budgets and places (`engine/knowledge/lore`). Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from backscroll.formats.lorebooks.rule import WakeRule
from backscroll.recall.lore.keys import ScannedText, matches, needle
from backscroll.vocab.ids import Ref

_ROUNDS = 12  # rounds of entries that activate entries
CONSTANT, STICKY = "constant", "sticky"
_ELSEWHERE = ("outlet", "card")  # already placed by a macro, or in front of the conversation


@dataclass(frozen=True, slots=True)
class LoreLine:
    """An entry that may be placed: its text with the names filled in."""

    id: str  # of what it says
    book: str
    name: str
    text: str
    rule: WakeRule
    enabled: bool = True
    #: What must occur in a text for a primary key to match: a quick check that rules out most entries.
    needles: tuple[str, ...] = field(init=False, default=())
    patterned: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Precompute for repeated searches."""
        found = [needle(key, patterns=self.rule.patterns) for key in self.rule.keys]
        object.__setattr__(self, "needles", tuple(each for each in found if each))
        object.__setattr__(self, "patterned", None in found)


@dataclass(frozen=True, slots=True)
class LoreMessage:
    """A message that is scanned."""

    revision: Ref
    mark: str  # the seed of chance
    scanned: ScannedText


@dataclass(frozen=True, slots=True)
class AwakeEntry:
    """An active entry, and why."""

    line: LoreLine
    key: str = ""  # the key that matched
    message: Ref | None = None  # the revision in which it matched
    through: str = ""  # the entry whose text contains it
    why: str = ""  # constant, sticky

    @property
    def id(self) -> str:
        """The id of its text."""
        return self.line.id


@dataclass(slots=True)
class LoreActivation:
    """The result of one scan: active entries, in order of activation, and those that could have been."""

    awake: list[AwakeEntry] = field(default_factory=list[AwakeEntry])
    kept_out: dict[str, str] = field(default_factory=dict[str, str])  # id → chance, group


@dataclass(frozen=True, slots=True)
class _LoreText:
    scanned: ScannedText
    message: Ref | None
    mark: str
    through: str = ""


def wake(
    lines: Sequence[LoreLine],
    messages: Sequence[LoreMessage],
    *,
    depth: int,
    count: int,
    char: str = "",
    standing: Callable[[str], bool] = lambda _: False,
    sticky: bool = False,
) -> LoreActivation:
    """Scan messages (the newest first). `count`: messages of the conversation. `standing`: entries that prompts show already.

    `sticky`: earlier placements are gone, so entries that stay active for some messages are searched further back.
    """
    out = LoreActivation()
    live = [line for line in lines if _may(line, count, char)]
    levels = sorted({line.rule.delay_recursion for line in live if line.rule.delay_recursion})
    level, recursed, fresh = (levels.pop(0) if levels else 0), list[_LoreText](), list[_LoreText]()
    done: set[str] = set()
    half: set[str] = set()  # their secondary keys did not match; more text may change that
    mark = messages[0].mark if messages else ""
    seen = "\n".join(message.scanned.small for message in messages)
    for number in range(_ROUNDS):
        hay = seen if number == 0 else "\n".join(text.scanned.small for text in fresh)
        found: list[AwakeEntry] = []
        for line in live:
            rule = line.rule
            again = number == 0 or line.id in half or rule.delay_recursion
            if line.id in done or (number and not again and not _may_stand(line, hay)):
                continue  # a key that did not match before can only match in new text
            if not rule.constant and number == 0 and not _may_stand(line, hay):
                continue
            if woken := _wake_entry(line, messages, recursed, number, level, depth, half, sticky=sticky):
                found.append(woken)
        found = _with_luck(found, out, done, mark, messages)
        found = _of_groups(found, out, done, mark, standing)
        done.update(woken.id for woken in found)
        out.awake += found
        heard = [w for w in found if not w.line.rule.prevent_recursion and w.line.rule.book_recursive]
        fresh = [_LoreText(ScannedText.of(w.line.text), w.message, mark, w.line.name) for w in heard]
        recursed += fresh
        if not fresh:
            if not levels:
                break
            level = levels.pop(0)
    return out


def _may_stand(line: LoreLine, hay: str) -> bool:
    """Return False if no key of an entry can match a text."""
    return line.patterned or any(each in hay for each in line.needles)


def _may(line: LoreLine, count: int, char: str) -> bool:
    rule = line.rule
    if (
        not line.enabled
        or rule.never
        or rule.position in _ELSEWHERE
        or count < rule.delay
        or not line.text.strip()
    ):
        return False
    name = char.casefold()
    if rule.only_for and name not in (n.casefold() for n in rule.only_for):
        return False
    return name not in (n.casefold() for n in rule.not_for)


def _wake_entry(
    line: LoreLine,
    messages: Sequence[LoreMessage],
    recursed: Sequence[_LoreText],
    number: int,
    level: int,
    depth: int,
    half: set[str],
    *,
    sticky: bool,
) -> AwakeEntry | None:
    """Return why an entry becomes active in a round; None if it does not."""
    rule = line.rule
    if rule.delay_recursion and (number == 0 or rule.delay_recursion > level):
        return None
    if number and rule.exclude_recursion:
        return None
    if rule.constant:
        return AwakeEntry(line, why=CONSTANT)
    reach = depth if rule.scan_depth is None else rule.scan_depth
    texts = [_LoreText(m.scanned, m.revision, m.mark) for m in messages[:reach]] + list(recursed)
    found = _match_keys(line, texts, half)
    if found is None and sticky and rule.sticky:
        back = [_LoreText(m.scanned, m.revision, m.mark) for m in messages[: reach + rule.sticky]]
        found = _match_keys(line, back, half)
        return None if found is None else AwakeEntry(line, found.key, found.message, found.through, STICKY)
    return found


def _match_keys(line: LoreLine, texts: Sequence[_LoreText], half: set[str]) -> AwakeEntry | None:
    """Return the entry with the first of its keys that matches the texts, if its secondary keys agree."""
    rule = line.rule
    for text in texts:
        key = _first(line, rule.keys, [text])
        if key:
            if _agree(line, texts):
                return AwakeEntry(line, key, text.message, text.through)
            half.add(line.id)
            return None
    return None


def _first(line: LoreLine, keys: Iterable[str], texts: Sequence[_LoreText]) -> str:
    rule = line.rule
    case, whole = bool(rule.case_sensitive), rule.whole_words
    for key in keys:
        if any(matches(key, t.scanned, case=case, whole=whole, patterns=rule.patterns) for t in texts):
            return key
    return ""


def _agree(line: LoreLine, texts: Sequence[_LoreText]) -> bool:
    """Return True if the secondary keys are present, or absent, as the rule requires."""
    rule = line.rule
    if not rule.secondary:
        return True
    there = [bool(_first(line, [key], texts)) for key in rule.secondary]
    if rule.logic == "and_all":
        return all(there)
    if rule.logic == "not_any":
        return not any(there)
    return not all(there) if rule.logic == "not_all" else any(there)


def roll(*seed: str) -> float:
    """Return a number from 0 to 100 derived from the seed."""
    digest = hashlib.sha256("\0".join(seed).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) / 2**64 * 100


def _with_luck(
    found: Sequence[AwakeEntry],
    out: LoreActivation,
    done: set[str],
    mark: str,
    messages: Sequence[LoreMessage],
) -> list[AwakeEntry]:
    """Drop the entries that fail their chance; such an entry is not considered again."""
    marks = {m.revision: m.mark for m in messages}
    kept: list[AwakeEntry] = []
    for woken in found:
        rule, by = woken.line.rule, marks.get(woken.message, mark) if woken.message else mark
        if rule.probability >= 100 or roll("chance", woken.id, by) < rule.probability:
            kept.append(woken)
        else:
            done.add(woken.id)
            out.kept_out[woken.id] = "chance"
    return kept


def _of_groups(
    found: Sequence[AwakeEntry],
    out: LoreActivation,
    done: set[str],
    mark: str,
    standing: Callable[[str], bool],
) -> list[AwakeEntry]:
    """Keep one entry of each group: the one already active, the one with precedence, or one by weight."""
    kept = list(found)
    names = dict.fromkeys(g for woken in found for g in _groups(woken))
    for group in names:
        rivals = [woken for woken in kept if group in _groups(woken)]
        taken = any(group in _groups(woken) for woken in out.awake)
        winner = None if taken else _winner(rivals, group, mark, standing)
        for woken in rivals:
            if woken is not winner:
                kept.remove(woken)
                done.add(woken.id)
                out.kept_out[woken.id] = "group"
    return kept


def _groups(woken: AwakeEntry) -> list[str]:
    return [name for part in woken.line.rule.group.split(",") if (name := part.strip())]


def _winner(
    rivals: Sequence[AwakeEntry], group: str, mark: str, standing: Callable[[str], bool]
) -> AwakeEntry | None:
    if len(rivals) < 2:
        return rivals[0] if rivals else None
    for woken in rivals:
        if standing(woken.id):
            return woken
    first = [woken for woken in rivals if woken.line.rule.group_first]
    if first:
        return max(first, key=lambda woken: woken.line.rule.order)
    weights = [woken.line.rule.group_weight for woken in rivals]
    point = roll("group", group, mark) / 100 * sum(weights)
    for woken, weight in zip(rivals, weights, strict=True):
        if point < weight:
            return woken
        point -= weight
    return rivals[-1]
