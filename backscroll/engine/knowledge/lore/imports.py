"""Telling a thread about a book: from text, from the bytes of a card, and with a card that is imported.

A card that is imported is in front of the conversation as a system message, so its description tells the graph about the
character and is not placed a second time.
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


#: Bytes of a card that are read at most.
LARGEST_CARD = LARGEST_FILE + 1


def is_card(data: bytes) -> bool:
    """Return True for a picture or an archive, by its first bytes."""
    return is_packed_card(data)


def tell_book(thread: ThreadScope, name: str, data: str | bytes) -> list[WorldEntry]:
    """Write a description of the world into the log; one of the same name takes the place of the one before."""
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


# -- with a conversation that is imported ------------------------------------------------------------------------------


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
    """Tell a thread about the books that came with it, where it does not know them yet; how many entries were told."""
    thread, told = ThreadScope(engine, thread_id, actor), 0
    for given, text in world.items():
        name = valid_text(given)
        entries = world_entries([_beside_card(e) for e in read_lorebook(valid_text(text), name)])
        if entries and to_json(entries) != _find_entries(thread, name):
            _write(thread, name, entries)
            told += len(entries)
    return told


def _beside_card(entry: LoreEntry) -> LoreEntry:
    """Return the part of a card that is in the system message that the card became."""
    if not entry.in_card or entry.rule is None:
        return entry
    return replace(entry, rule=replace(entry.rule, position="card"))


def _find_entries(thread: ThreadScope, name: str) -> Json:
    """Return the entries that a thread was reported under a name, lifted ones included: what a user dropped is not told again."""
    events = thread.reading(lambda view: view.others())
    bodies = (
        cast("Mapping[str, Json]", words_from_bytes(e.body))
        for e in reversed(events)
        if e.kind is Kind.WORLD_TOLD and e.body is not None
    )
    return next((body["entries"] for body in bodies if body.get("name") == name), None)
