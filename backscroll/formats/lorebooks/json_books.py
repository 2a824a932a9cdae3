"""Read JSON lorebooks: SillyTavern, character cards, NovelAI, Risu, Agnai, and handwritten ones.

Owns the meaning of each program's fields. An entry that is neither an object nor text is an error: skipping it would lose it
silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from backscroll.errors import FormatError
from backscroll.formats.cards.card import CharacterCard, card_of
from backscroll.formats.lorebooks.rule import LoreEntry, WakeRule, rule_of
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, as_object, as_text, short_title, without
from backscroll.vocab.part import Json

_NAMES = ("name", "displayName", "title", "comment")
_KEYS = ("key", "keys", "keywords", "triggers", "key_list")
_SECONDARY = ("keysecondary", "secondary_keys", "secondkey")
_TEXTS = ("content", "text", "entry", "value", "description", "body")
_ALWAYS = ("constant", "alwaysActive", "always_active", "forceActivation")
_ORDERS = ("order", "insertion_order", "insertorder", "priority")
_FILED = ("category", "folder", "type", "group")
_SPLIT = re.compile(r"[,，、;；\n]")
#: The category of entries that instruct the model and do not describe the world.
TOLD = "instructions"
_SPEAKS = re.compile(r"^\s*\{\{(?:user|char)\}\}\s*[:：]", re.MULTILINE | re.IGNORECASE)
_CHAR = re.compile(r"\{\{char\}\}|<BOT>|<char>", re.IGNORECASE)
#: The fields of a SillyTavern entry that ours can hold.
_OWN = {
    *("uid", "key", "keysecondary", "comment", "content", "constant", "order", "disable", "displayIndex"),
    *("name", "category"),
}
_DEEPEST = 8


def entries_of(value: dict[str, Json] | list[Json], source: str) -> list[LoreEntry]:
    """Return the entries of a parsed book."""
    if isinstance(value, list):
        return _some(_parse_entries(value, source))
    card = card_of(value)
    if card is not None:
        return _of_card(card, source)
    for inner in ("lorebook", "character_book", "worldInfo", "world_info"):
        if (book := as_object(value.get(inner))) is not None:
            return entries_of(book, source)
    if value.get("spec") == "lorebook_v3" and (book := as_object(value.get("data"))) is not None:
        return entries_of(book, source)
    if value.get("type") == "risu" and (rows := as_array(value.get("data"))) is not None:
        return _parse_entries(_without_folders(rows), source)
    if "entries" in value and isinstance(value["entries"], list | dict):
        return _some(_of_book(value, source))
    if _is_entry(value):
        return [_entry(value, "", source)]
    return _of_plain(value, source)


def _of_book(book: Mapping[str, Json], source: str) -> list[LoreEntry]:
    source = as_text(book.get("name")) or source
    rows = book["entries"]
    named = _categories(book)
    if (listed := as_array(rows)) is not None:
        out = _parse_entries(listed, source, book)
    else:
        table = as_object(rows) or {}
        if not all(key.isdecimal() for key in table):  # a plain table of names
            return _of_plain(table, source)
        out = _parse_entries([table[key] for key in sorted(table, key=int)], source, book)
    return [replace(e, category=named.get(e.category, e.category)) for e in out] if named else out


def _categories(book: Mapping[str, Json]) -> dict[str, str]:
    """Return category names by id: NovelAI files entries under ids."""
    rows = as_array(book.get("categories")) or []
    found = [as_object(row) or {} for row in rows]
    return {as_text(row.get("id")): as_text(row.get("name")) for row in found if as_text(row.get("id"))}


def _without_folders(rows: Sequence[Json]) -> list[Json]:
    return [row for row in rows if (as_object(row) or {}).get("mode") != "folder"]


def _parse_entries(
    rows: Sequence[Json], source: str, book: Mapping[str, Json] | None = None
) -> list[LoreEntry]:
    out: list[LoreEntry] = []
    for number, row in enumerate(rows):
        if (fields := as_object(row)) is not None:
            out.append(_entry(fields, "", source, number, book))
        elif isinstance(row, str):
            out.append(LoreEntry(short_title(row), text=row, source=source))
        else:
            raise FormatError(
                f"entry {number + 1} of the lorebook is neither an object nor text",
                hint="every entry is an object with keys and content",
            )
    return out


def _of_plain(table: Mapping[str, Json], source: str) -> list[LoreEntry]:
    """Return a hand-written table: name → text, or name → fields."""
    out: list[LoreEntry] = []
    for name, value in table.items():
        if (fields := as_object(value)) is not None:
            if _is_entry(fields):
                out.append(_entry(fields, name, source))
            else:
                out.append(_by_name(name, _lines(fields), source))
        elif isinstance(value, str | int | float | list):
            out.append(_by_name(name, _words(value), source))
        elif value is not None:
            raise FormatError(
                f"the world description says nothing readable about {name}",
                hint="write text, a list, or a table of facts",
            )
    return _some(out)


def _by_name(name: str, text: str, source: str) -> LoreEntry:
    """Return an entry whose key is its name."""
    return LoreEntry(name, (name,), text=text, source=source, rule=WakeRule((name,)))


def _some(entries: list[LoreEntry]) -> list[LoreEntry]:
    if not entries:
        raise FormatError(
            "no entries were found in the lorebook", hint="a lorebook has entries with keys and content"
        )
    return entries


def _is_entry(fields: Mapping[str, Json]) -> bool:
    return any(isinstance(fields.get(name), str) for name in _TEXTS) and not isinstance(
        fields.get("entries"), list | dict
    )


def _entry(
    fields: Mapping[str, Json],
    name: str,
    source: str,
    number: int = 0,
    book: Mapping[str, Json] | None = None,
) -> LoreEntry:
    text_field = next((n for n in _TEXTS if isinstance(fields.get(n), str)), "")
    text = as_text(fields.get(text_field))
    keys = _strings(_first(fields, _KEYS))
    said = next((as_text(fields.get(n)).strip() for n in _NAMES if as_text(fields.get(n)).strip()), "")
    name = said or name or next(iter(keys), "") or short_title(text) or f"{source} {number + 1}".strip()
    if not text_field and (facts := without(fields, *_NAMES, *_KEYS, *_SECONDARY, *_ALWAYS, *_ORDERS)):
        text = _lines({k: v for k, v in facts.items() if k not in {"enabled", "disable", "id", "uid"}})
    secondary, order = _strings(_first(fields, _SECONDARY)), _order(fields)
    constant = any(fields.get(n) is True for n in _ALWAYS)
    keyed = any(n in fields for n in _KEYS)  # else handwritten: its name is its key
    return LoreEntry(
        name,
        keys,
        secondary,
        text,
        as_text(fields.get("comment")),
        constant,
        fields.get("enabled", True) is not False and not (fields.get("disable") or fields.get("disabled")),
        order,
        source,
        as_text(_first(fields, _FILED)),
        _rest(fields),
        rule_of(fields, keys if keyed else (name,), secondary, constant=constant, order=order, book=book),
    )


def _rest(fields: Mapping[str, Json]) -> str:
    """Return SillyTavern's other fields. Those of other programs mean nothing to it and are not carried."""
    if not ("keysecondary" in fields or "uid" in fields) or "content" not in fields:
        return ""
    kept = without(fields, *_OWN)
    return dumps(kept) if kept else ""


def _order(fields: Mapping[str, Json]) -> int:
    value = _first(fields, _ORDERS)
    if value is None:
        value = (as_object(fields.get("contextConfig")) or {}).get("budgetPriority")
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 100


def _first(fields: Mapping[str, Json], names: Iterable[str]) -> Json:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _strings(value: Json) -> tuple[str, ...]:
    if isinstance(value, str):
        pieces: list[str] = [value] if value.startswith("/") else _SPLIT.split(value)
    else:
        pieces = [str(item) for item in as_array(value) or [] if isinstance(item, str | int | float)]
    return tuple(dict.fromkeys(piece.strip() for piece in pieces if piece.strip()))


def _of_card(card: CharacterCard, source: str) -> list[LoreEntry]:
    """Return the character, the scene, the system text, and the book inside the card."""
    name = card.name or source
    source = source or name
    out: list[LoreEntry] = []
    keys = tuple(dict.fromkeys(k for k in (name, card.nickname) if k))
    said = [card.description, f"Personality: {card.personality}" if card.personality else ""]
    said.append(f"Nickname: {card.nickname}" if card.nickname else "")
    if any(said):
        own = WakeRule(keys, constant=True, order=0, ignore_budget=True)
        text = "\n".join(words for words in said if words)
        out.append(
            LoreEntry(name, keys, text=text, source=source, category="character", rule=own, in_card=True)
        )
    if card.scenario:
        scene = WakeRule(constant=True, order=1, ignore_budget=True)
        out.append(
            LoreEntry(
                f"{name}: scenario",
                text=card.scenario,
                constant=True,
                source=source,
                rule=scene,
                in_card=True,
            )
        )
    if card.book:
        out += _of_book(card.book, source)
    if not out:
        raise FormatError(
            "the character card says nothing about its character",
            hint="a card needs a description, a personality or a book",
        )
    return [_insert_character(entry, name) for entry in [*out, *_told_to_model(card, name, source)]]


def _told_to_model(card: CharacterCard, name: str, source: str) -> Iterable[LoreEntry]:
    """Yield a card's instructions to the model, which do not describe the world."""
    for what, text, position, order, shown in (
        ("system prompt", card.system_prompt, "before", -1, True),
        ("examples", card.examples, "examples_top", 100, True),
        ("note", card.depth_prompt, "depth", 100, False),
        ("post-history instructions", card.post_history, "history", 100, False),
    ):
        if text:
            rule = WakeRule(constant=True, order=order, position=position, ignore_budget=True)
            yield LoreEntry(
                f"{name}: {what}", text=text, source=source, category=TOLD, rule=rule, in_card=shown
            )


def _insert_character(entry: LoreEntry, char: str) -> LoreEntry:
    """Return the entry with the character's name in its title; in an interview the macros stay, because they mark the speaker."""
    text = entry.text if _SPEAKS.search(entry.text) else _CHAR.sub(lambda _: char, entry.text)
    return replace(entry, name=_CHAR.sub(lambda _: char, entry.name), text=text)


def _lines(fields: Mapping[str, Json]) -> str:
    """Return facts written as a table, one per line."""
    return "\n".join(f"{key}: {words}" for key, value in fields.items() if (words := _words(value)))


def _words(value: Json, depth: int = 0) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else "yes" if value else "no"
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return dumps(value)
    if (rows := as_array(value)) is not None:
        return ", ".join(words for row in rows if (words := _words(row, depth + 1)))
    if (table := as_object(value)) is not None:
        return "; ".join(f"{k}: {words}" for k, v in table.items() if (words := _words(v, depth + 1)))
    return str(value)
