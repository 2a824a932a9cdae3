"""Lorebook entries and the rules that add them to a prompt: keys, their logic and position, as role-play programs define them.

Owns the fields of SillyTavern's world info, of `character_book` (V2, V3, with SillyTavern's `extensions`) and of the
decorators at the top of an entry. Deciding whether an entry is activated: `recall/lore/activation`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

from backscroll.formats.sources.rows import as_array, as_object, as_text
from backscroll.vocab.part import Json

#: How secondary keys count, by SillyTavern's numbers.
LOGIC = ("and_any", "not_all", "not_any", "and_all")
#: SillyTavern's positions by their numbers. `history` is ours: after everything, like post-history instructions.
POSITIONS = (
    *("before", "after", "note_top", "note_bottom", "depth", "examples_top", "examples_bottom", "outlet"),
    "history",
    "card",  # in the system message that a card became: never placed
)
#: From the first in the prompt to the nearest to the answer.
PLACES = (
    *("before", "after", "examples_top", "examples_bottom", "note_top", "note_bottom", "outlet", "depth"),
    "history",
    "card",
)
_DEEPEST = 1000
_DECORATOR = re.compile(r"@@@?([a-z_]+)[ \t]*([^\n]*)(?:\n|$)")
_SPLIT = re.compile(r"[,，、;；]")


@dataclass(frozen=True, slots=True)
class WakeRule:
    """The conditions that activate one entry, and its position."""

    keys: tuple[str, ...] = ()
    secondary: tuple[str, ...] = ()
    logic: str = "and_any"
    constant: bool = False
    order: int = 100  # higher: nearer to the answer, and kept first if the budget is short
    position: str = "before"
    depth: int = 4  # messages from the end, for the position `depth`
    scan_depth: int | None = None  # messages that are scanned; None: the default of the book or the settings
    case_sensitive: bool | None = None
    whole_words: bool | None = None  # None: whole words, in the plural or with 's too
    patterns: bool = False  # the keys are patterns even without slashes
    probability: int = 100
    group: str = ""  # one entry of a group is placed
    group_first: bool = False
    group_weight: int = 100
    exclude_recursion: bool = False  # no other entry activates it
    prevent_recursion: bool = False  # it activates no other entry
    delay_recursion: int = 0  # activated only by other entries, in this round at the earliest
    sticky: int = 0  # messages for which it stays active
    delay: int = 0  # messages that the conversation must contain
    ignore_budget: bool = False
    never: bool = False  # disabled by a decorator, or meant for another kind of request
    only_for: tuple[str, ...] = ()  # names of characters
    not_for: tuple[str, ...] = ()
    book_budget: int = 0  # tokens of all entries of its book; 0: none
    book_recursive: bool = True

    def to_json(self) -> dict[str, Json]:
        """Return the form for the body of an event, without defaults."""
        out: dict[str, Json] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                out[field.name] = list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
        return out


def rule_from_json(raw: Mapping[str, Json]) -> WakeRule:
    """Read a rule from the body of an event. Raises TypeError or ValueError if it is malformed."""
    known = {f.name: f.default for f in fields(WakeRule)}
    values: dict[str, Json] = {}
    for name, value in raw.items():
        if name not in known:
            continue  # written by a later version
        usual = known[name]
        if isinstance(usual, tuple):
            values[name] = tuple(str(item) for item in value)
        elif name == "scan_depth":
            values[name] = None if value is None else int(value)
        elif usual is None:
            values[name] = None if value is None else bool(value)
        else:
            values[name] = type(usual)(value)
    return WakeRule(**values)


def rule_of(
    entry: Mapping[str, Json],
    keys: Sequence[str],
    secondary: Sequence[str],
    *,
    constant: bool,
    order: int,
    book: Mapping[str, Json] | None = None,
) -> WakeRule:
    """Return the rule of an entry from any program. The caller has already found `keys`, `constant` and `order` under their
    names."""
    more = as_object(entry.get("extensions")) or {}

    def first(*names: str) -> Json:
        return next((v for n in names for v in (entry.get(n), more.get(n)) if v is not None), None)

    logic = first("selectiveLogic", "selective_logic")
    chance = _number(first("probability"), 100)
    used = first("useProbability", "use_probability")
    only, never_for = _characters(as_object(first("characterFilter", "character_filter")))
    triggers = [as_text(t) for t in as_array(first("triggers")) or []]
    level = first("delayUntilRecursion", "delay_until_recursion")
    table = book or {}
    rule = WakeRule(
        keys=tuple(keys),
        secondary=() if entry.get("selective") is False else tuple(secondary),
        logic=LOGIC[logic] if isinstance(logic, int) and 0 <= logic < len(LOGIC) else "and_any",
        constant=constant,
        order=order,
        position=_position(entry, more),
        depth=_within(first("depth"), 4),
        scan_depth=_scan_depth(first("scanDepth", "scan_depth"), table),
        case_sensitive=_flag(first("caseSensitive", "case_sensitive")),
        whole_words=_flag(first("matchWholeWords", "match_whole_words")),
        patterns=first("use_regex", "useRegex") is True,
        probability=100 if used is False else max(0, min(100, chance)),
        group=as_text(first("group")) if "group" in entry or "group" in more else "",
        group_first=bool(first("groupOverride", "group_override")),
        group_weight=max(0, _number(first("groupWeight", "group_weight"), 100)),
        exclude_recursion=bool(first("excludeRecursion", "exclude_recursion")),
        prevent_recursion=bool(first("preventRecursion", "prevent_recursion")),
        delay_recursion=1 if level is True else max(0, _number(level, 0)),
        sticky=_within(first("sticky"), 0),
        delay=_within(first("delay"), 0),
        ignore_budget=first("ignoreBudget", "ignore_budget") is True,
        never=bool(triggers) and "normal" not in triggers,
        only_for=only,
        not_for=never_for,
        book_budget=max(0, _number(table.get("token_budget"), 0)),
        book_recursive=table.get("recursive_scanning") is not False,
    )
    return apply_decorators(rule, as_text(entry.get("content")))


def apply_decorators(rule: WakeRule, text: str) -> WakeRule:
    """Apply the decorators at the top of a text to a rule (V3)."""
    at = 0
    while found := _DECORATOR.match(text, at):
        rule, at = _with(rule, found[1], found[2].strip()), found.end()
    return rule


def _with(rule: WakeRule, name: str, value: str) -> WakeRule:
    number = int(value) if value.isascii() and value.isdecimal() and len(value) < 7 else None
    listed = tuple(part.strip() for part in _SPLIT.split(value) if part.strip())
    if name in ("activate", "constant"):
        return replace(rule, constant=True)
    if name == "dont_activate":
        return replace(rule, never=True)
    if name == "scan_depth" and number is not None:
        return replace(rule, scan_depth=min(number, _DEEPEST))
    if name == "depth" and number is not None:
        return replace(rule, position="depth", depth=min(number, _DEEPEST))
    if name == "activate_only_after" and number is not None:
        return replace(rule, delay=min(number, _DEEPEST))
    if name == "additional_keys" and listed and not rule.secondary:
        return replace(rule, secondary=listed, logic="and_any")
    if name == "exclude_keys" and listed and not rule.secondary:
        return replace(rule, secondary=listed, logic="not_any")
    return rule


def _position(entry: Mapping[str, Json], more: Mapping[str, Json]) -> str:
    for found in (more.get("position"), entry.get("position")):
        if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 8:
            return POSITIONS[found]
        if isinstance(found, str):
            return "after" if found == "after_char" else "before"
    return "before"


def _scan_depth(own: Json, book: Mapping[str, Json]) -> int | None:
    for found in (own, book.get("scan_depth")):
        if isinstance(found, int | float) and not isinstance(found, bool) and found >= 0:
            return int(min(found, _DEEPEST))
    return None


def _characters(raw: Mapping[str, Json] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = tuple(as_text(n) for n in as_array((raw or {}).get("names")) or [] if as_text(n))
    return ((), names) if (raw or {}).get("isExclude") is True else (names, ())


def _flag(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def _within(value: Json, usual: int) -> int:
    return max(0, min(_number(value, usual), _DEEPEST))


def _number(value: Json, usual: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return usual
    return int(max(-1e9, min(value, 1e9)))


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """A piece of a world description with its keys."""

    name: str
    keys: tuple[str, ...] = ()  # its keys
    secondary_keys: tuple[str, ...] = ()  # secondary keys, required too
    text: str = ""
    comment: str = ""  # the author's note on it
    constant: bool = False  # always in the prompt: it holds for everything
    enabled: bool = True
    order: int = 100
    source: str = ""  # name of the book or file
    category: str = ""  # its category in the book: "character", "places"
    rest: str = ""  # SillyTavern's other fields as JSON, for export
    rule: WakeRule | None = None  # when it is activated; None: it only describes the world
    in_card: bool = False  # part of a character card, which precedes the conversation
