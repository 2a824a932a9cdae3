"""Facts stated as fields: W++ and similar notations, lists in brackets, and lines such as `Race: forest elf`.

Separates fields from prose and returns the prose as the rest.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from backscroll.graph.world.words import (
    WorldStatement,
    is_field,
    is_han,
    plain,
    predicate_of,
    tidy,
    type_of_category,
)

LONGEST = 400  # characters of a value; anything longer is text, not a fact
_WPP_HEAD = re.compile(r"\[?\s{0,20}([A-Za-z一-鿿]{1,24})\s*\(\s*[\"“]([^\"”\n]{1,80})[\"”]\s*\)\s*[{｛]")
_WPP_FIELD = re.compile(r"([\w一-鿿][\w一-鿿 '’/-]{0,39}?)\s*\(\s*([\"“][^()]{0,2000}?[\"”])\s*\)")
_QUOTED = re.compile(r"[\"“]([^\"“”]{1,400})[\"”]")
_BOX = re.compile(r"\[([^\[\]]{3,4000})\]")
_LINE = re.compile(
    r"^[ \t]*(?:[-*+•][ \t]+)?(?:\*\*|__)?([^\s:：*_|{}<>][^:：*|{}<>\n]{0,39}?)(?:\*\*|__)?[ \t]*[:：](?:\*\*|__)?[ \t]*(\S[^\n]*)$",
    re.MULTILINE,
)
#: A label alone, its values as items below it, as in YAML.
_ITEMS = re.compile(
    r"^([ \t]*[^\s:：*|{}<>#-][^:：*|{}<>\n]{0,39})[:：][ \t]*\n((?:[ \t]*[-*•][ \t]+[^\n:：]{1,200}(?:\n|\Z))+)",
    re.MULTILINE,
)
#: Another field on the same line: `Race: forest elf. Faction: none.`
_NEXT = re.compile(r"[.。;；|][ \t]{0,4}(?=([A-Za-z一-鿿][\w一-鿿 ]{0,24})[:：][ \t]*\S)")
_ITEM = re.compile(r"^[ \t]*[-*•][ \t]+", re.MULTILINE)
_TAG = re.compile(r"^[ \t]*</?[^<>\n]{1,60}>[ \t]*$", re.MULTILINE)
_OWNER = re.compile(r"^[^:：\n]{1,40}?(?:'s|’s|的)\s*")
_SEVERAL = re.compile(r"\s*(?:[,，、;；+/]|\band\b|\bund\b)\s*")
_SENTENCE = re.compile(r"[.。!！?？]\s*\S")
_CODE = re.compile(r"`|\]\(|==|\w\(\)|://|\w\[")
_NO_LABEL = re.compile(r"^(?:https?|ftp|note|e\.g|i\.e|warning|\d+)$", re.IGNORECASE)
#: Predicates whose list of values is kept as one value.
_WHOLE = set("description appearance personality disposition goal status health age size name title".split())


class Fields(NamedTuple):
    """The facts in fields, the type in a header, the names they give, and the rest of the text."""

    said: list[WorldStatement]
    type: str
    names: list[str]
    rest: str


def read_fields(text: str) -> Fields:
    """Return the fields of an entry and the rest of its text."""
    said: list[WorldStatement] = []
    names: list[str] = []
    kind, text = _wpp(_TAG.sub("", text), said, names)
    text = _ITEMS.sub(_on_one_line, text)
    text = _NEXT.sub(lambda found: "\n" if is_field(found[1].strip()) else found[0], text)
    text = _BOX.sub(lambda found: "" if _read_bracket_list(found[1], said, names) else found[0], text)
    lines = sum(1 for line in text.split("\n") if line.strip())
    sheet = len(_LINE.findall(text)) * 2 >= lines  # mostly fields: unknown labels count too
    text = _LINE.sub(
        lambda found: (
            "" if (sheet or is_field(found[1])) and _field(found[1], found[2], said, names) else found[0]
        ),
        text,
    )
    return Fields(said, kind, names, text.strip())


def _on_one_line(found: re.Match[str]) -> str:
    items = [line.strip() for line in _ITEM.sub("", found[2]).split("\n") if line.strip()]
    return f"{found[1]}: {'; '.join(items)}\n"


def _wpp(text: str, said: list[WorldStatement], names: list[str]) -> tuple[str, str]:
    """Read W++: `[Character("Ellie") {Race("Forest Elf") Mind("kind" + "shy")}]`, with balanced or truncated braces."""
    found = _WPP_HEAD.search(text)
    if not found:
        return "", text
    end = text.find("}", found.end())
    end = len(text) if end < 0 else end
    names.append(tidy(found[2]))
    for field in _WPP_FIELD.finditer(text[found.end() : end]):
        values = [tidy(value) for value in _QUOTED.findall(field[2])]
        _add(field[1], [value for value in values if value], said, names)
    rest = text[: found.start()] + re.sub(r"^[}\]\s｝]+", "", text[end:])
    return type_of_category(found[1]), rest


def _read_bracket_list(inside: str, said: list[WorldStatement], names: list[str]) -> bool:
    """Read a list in brackets: `[Ellie's persona: shy, kind; Ellie's clothes: green dress]`."""
    pieces = [piece for piece in re.split(r"[;；\n]", inside) if piece.strip()]
    pairs = [re.split(r"[:：=]", piece, maxsplit=1) for piece in pieces]
    if not all(len(pair) == 2 and pair[1].strip() and len(pair[0]) <= 60 for pair in pairs):
        return False
    if len(pairs) == 1 and not is_field(_OWNER.sub("", pairs[0][0])):
        return False
    taken = [
        _field(_OWNER.sub("", label), value, said, names) for label, value in pairs
    ]  # all of them are fields
    return all(taken)


def _field(label: str, value: str, said: list[WorldStatement], names: list[str]) -> bool:
    """Add one field; return False if it is rather a sentence with a colon."""
    label, value = tidy(label), value.strip()
    value = re.sub(r"^(?:\*\*|__)\s*|\s*(?:\*\*|__)$", "", value)
    if not label or len(label.split()) > 4 or _NO_LABEL.match(label) or value.startswith("//"):
        return False
    if re.search(r"[,，.。!！?？;；(（`=\\/]", label) or len(value) > LONGEST * 5 or _CODE.search(value):
        return False
    predicate = predicate_of(label)
    if not is_field(label) and (len(label.split()) > 2 or (is_han(label) and len(label) > 6)):
        return False
    quoted = _QUOTED.findall(value) if value[:1] in '"“' else []
    if len(quoted) > 1:  # "caring", "gentle", …
        values = [tidy(piece) for piece in quoted]
    elif predicate in _WHOLE or _SENTENCE.search(value):
        values = [tidy(value)]
    else:
        values = [tidy(piece) for piece in _SEVERAL.split(value)]
    _add(label, [v for v in values if v], said, names)
    return True


def _add(label: str, values: list[str], said: list[WorldStatement], names: list[str]) -> None:
    predicate = predicate_of(label)
    if predicate in {"name", "alias"}:
        names += [name for name in values if len(name) <= 60]
        return
    if predicate in _WHOLE and len(values) > 1:
        values = [", ".join(values)]
    for value in values:
        short = value if len(value) <= LONGEST else value[: LONGEST - 1].rstrip() + "…"
        if predicate and plain(short) not in {"", "none", "n/a", "unknown", "无", "未知", "不详", "?"}:
            said.append(WorldStatement("", predicate, short))
