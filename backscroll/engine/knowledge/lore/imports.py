"""Add a lorebook to a thread: from text, from the bytes of a card, or with an imported card.

An imported card precedes the conversation as a system message, so its description feeds the graph but is not placed in
prompts a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.knowledge.lore.books import card_of_thread, user_name
from backscroll.errors import InvalidInput
from backscroll.formats.cards.macros import fill_macros
from backscroll.formats.cards.reader import LARGEST_FILE, card_file, is_packed_card
from backscroll.formats.lorebooks.reader import read_lorebook
from backscroll.formats.lorebooks.rule import LoreEntry
from backscroll.formats.sources.json_text import dumps
from backscroll.graph.world.description import to_json, world_entries
from backscroll.record.chain import words_from_bytes
from backscroll.vocab.event import Kind
from backscroll.vocab.foreign import ForeignMessage, ForeignThread, Item
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Text
from backscroll.vocab.values.unicode import valid_text

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.graph.view import WorldEntry


#: Maximum number of bytes read from a card.
LARGEST_CARD = LARGEST_FILE + 1


def is_card(data: bytes) -> bool:
    """Return True for an image or an archive, judged by its first bytes."""
    return is_packed_card(data)


def tell_book(thread: ThreadScope, name: str, data: str | bytes) -> list[WorldEntry]:
    """Record a world description in the log; it replaces the previous one of the same name."""
    text = data if isinstance(data, str) else _text_of(data, name)
    entries = world_entries(read_lorebook(text, name), card_of_thread(thread))
    if not entries:
        raise InvalidInput(
            f"{name} says nothing about the world", hint="give a lorebook, Markdown or plain text"
        )
    _write(thread, name, entries)
    return entries


def _text_of(data: bytes, name: str) -> str:
    if is_packed_card(data):
        return dumps(card_file(data, name).value)
    try:
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{name} is neither text nor a character card: {error.reason}",
            hint="give a lorebook, a character card (PNG, CHARX, JSON), Markdown or plain text in UTF-8",
        ) from error


def _write(thread: ThreadScope, name: str, entries: Sequence[WorldEntry]) -> None:
    body: Json = {"name": name, "entries": to_json(entries)}
    thread.stroke(lambda pen: pen.write(Kind.WORLD_TOLD, body=body))


# -- for imported conversations ----------------------------------------------------------------------------------------


def with_user(engine: EngineScope, foreign: ForeignThread) -> ForeignThread:
    """Return a conversation from elsewhere with the user's name in place of `{{user}}`."""
    user = user_name(engine.settings.actor, foreign.language)

    def content(said: Content) -> Content:
        parts = (
            replace(p, text=fill_macros(p.text, user, "")) if isinstance(p, Text) else p for p in said.parts
        )
        return replace(said, parts=tuple(parts))

    def items(given: Iterable[Item]) -> Iterator[Item]:
        for item in given:
            if isinstance(item, ForeignMessage):
                others = tuple(map(content, item.alternatives))
                yield replace(item, content=content(item.content), alternatives=others)
            else:
                yield item

    return replace(foreign, items=items(foreign.items))


def tell_arrived(engine: EngineScope, thread_id: str, actor: str, world: Mapping[str, str]) -> int:
    """Add the lorebooks that came with an imported thread, unless it has them already; return how many entries were added."""
    thread, told = ThreadScope(engine, thread_id, actor), 0
    for given, text in world.items():
        name = valid_text(given)
        entries = world_entries([_beside_card(e) for e in read_lorebook(valid_text(text), name)])
        if entries and to_json(entries) != _find_entries(thread, name):
            _write(thread, name, entries)
            told += len(entries)
    return told


def _beside_card(entry: LoreEntry) -> LoreEntry:
    """Return a card's entry, positioned in the card if the system message made from the card contains it."""
    if not entry.in_card or entry.rule is None:
        return entry
    return replace(entry, rule=replace(entry.rule, position="card"))


def _find_entries(thread: ThreadScope, name: str) -> Json:
    """Return the entries a thread was given under a name, lifted ones included, so that a book the user removed is not added again."""
    events = thread.reading(lambda view: view.others())
    bodies = (
        cast("Mapping[str, Json]", words_from_bytes(e.body))
        for e in reversed(events)
        if e.kind is Kind.WORLD_TOLD and e.body is not None
    )
    return next((body["entries"] for body in bodies if body.get("name") == name), None)
