"""Read lorebooks and project descriptions in any of the usual formats.

Owns detecting the format of a text, and writing a file that SillyTavern imports. Reads SillyTavern's world info, the book
inside a character card (V1 to V3) and the card itself, NovelAI, Risu and Agnai books, plain JSON, Markdown and plain text.
What an entry means: `graph/world/description`. Does not open files.
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.errors import FormatError
from backscroll.formats.lorebooks.json_books import entries_of
from backscroll.formats.lorebooks.rule import LoreEntry
from backscroll.formats.lorebooks.text_books import from_markdown, from_plain, looks_like_markdown
from backscroll.formats.sources.json_text import NotJson, dumps, try_parse
from backscroll.formats.sources.rows import as_array, as_object, stem
from backscroll.vocab.part import Json

__all__ = ["LoreEntry", "read_lorebook", "write_lorebook"]

#: The fields that SillyTavern expects in an entry, under its names.
_DEFAULTS: dict[str, Json] = {
    "vectorized": False,
    "selective": True,
    "selectiveLogic": 0,
    "addMemo": True,
    "position": 0,
    "excludeRecursion": False,
    "preventRecursion": False,
    "delayUntilRecursion": False,
    "probability": 100,
    "useProbability": True,
    "depth": 4,
    "group": "",
    "groupOverride": False,
    "groupWeight": 100,
    "scanDepth": None,
    "caseSensitive": None,
    "matchWholeWords": None,
    "useGroupScoring": None,
    "automationId": "",
    "role": None,
    "sticky": 0,
    "cooldown": 0,
    "delay": 0,
}


def read_lorebook(text: str, name: str = "") -> list[LoreEntry]:
    """Return the entries of a book, in its order; `name` is that of the file. Raises FormatError if it cannot be read, or if
    part of it would be lost."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise FormatError(
            "the world description is empty", hint="give a lorebook, a character card, Markdown or plain text"
        )
    if text.count("\x00") > 8 or text.startswith("\ufffdPNG"):
        raise FormatError(
            "the world description is a binary file",
            hint="hand the bytes of a picture over as they are",
        )
    value = try_parse(text)
    if (table := as_object(value)) is not None:
        return entries_of(table, _book_name(name))
    if (rows := as_array(value)) is not None:
        return entries_of(rows, _book_name(name))
    if isinstance(value, NotJson) and _claims_json(text, name):
        line = text.count("\n", 0, value.at) + 1
        raise FormatError(
            f"the lorebook is incomplete or not valid JSON: line {line}: {value.what}",
            hint="export the book again; nothing was taken from it",
        )
    if looks_like_markdown(text, name):
        return from_markdown(text, _book_name(name))
    return from_plain(text, _book_name(name))


def write_lorebook(entries: Sequence[LoreEntry]) -> str:
    """Return the entries as world info that SillyTavern imports; reading it again gives the same entries."""
    out: dict[str, Json] = {}
    for number, entry in enumerate(entries):
        rest = as_object(try_parse(entry.rest)) or {} if entry.rest else {}
        comment = entry.comment or entry.name
        row: dict[str, Json] = {
            "uid": number,
            "key": list(entry.keys),
            "keysecondary": list(entry.secondary_keys),
            "comment": comment,
            "content": entry.text,
            "constant": entry.constant,
            "order": entry.order,
            "disable": not entry.enabled,
            "displayIndex": number,
            **_DEFAULTS,
            **rest,
        }
        if entry.name != comment:
            row["name"] = entry.name
        if entry.category:
            row["category"] = entry.category
        out[str(number)] = row
    return dumps({"entries": out}, indent=2) + "\n"


def _book_name(name: str) -> str:
    return stem(name.replace("\\", "/").rpartition("/")[2])


def _claims_json(text: str, name: str) -> bool:
    """Return True if the text is meant as JSON. A bracket alone is not enough: descriptions in W++ begin with one."""
    if name.lower().endswith((".json", ".lorebook", ".scenario")):
        return True
    head = "".join(text[:400].split())
    return head.startswith(('{"', "[{", '["', "{}", "[]"))
