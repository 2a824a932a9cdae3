"""The lorebooks of a thread: the entries in force, with the names of the conversation filled in.

Books are events of the log, so undo, forks and copies include them. What was read is cached until the next rare event.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from backscroll.engine.core.lineage import View
from backscroll.engine.knowledge.graph_acts import world_in
from backscroll.formats.cards.macros import fill_macros
from backscroll.graph.view import WorldEntry
from backscroll.recall.lore.activation import LoreLine
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.engine.inputs.inputs import PromptInputs

_ACTING = frozenset({Kind.WORLD_TOLD, Kind.LIFTED, Kind.UNDONE, Kind.REDONE})
_HELD = 64  # threads whose books are kept in memory
#: The prefix of an entry's id in the list of what a block contains.
TELLS = "lore:"
_UNNAMED = {"en": ("User", "Character"), "zh": ("用户", "角色")}


@dataclass(frozen=True, slots=True)
class Books:
    """The lorebooks of a thread, as read up to a rare event."""

    rare: int = 0
    acts: tuple[Event, ...] = ()
    entries: tuple[WorldEntry, ...] = ()  # entries in force that can be triggered
    ids: frozenset[str] = frozenset()

    def holds(self, tells: Sequence[str]) -> bool:
        """Return True if every entry quoted in a block is still in force with the same text."""
        return all(told.removeprefix(TELLS) in self.ids for told in tells if told.startswith(TELLS))


def is_lore(tells: Sequence[str]) -> bool:
    """Return True for a block that contains lorebook entries."""
    return any(told.startswith(TELLS) for told in tells)


def entry_id(entry: WorldEntry) -> str:
    """Return an id derived from an entry's content and place."""
    words = f"{entry.source}\0{entry.name}\0{entry.text}"
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def books_of(thread: ThreadScope, sheet: PromptInputs, as_of: int | None) -> Books:
    """Return the books in force when the sheet was read."""
    rare = sheet.standing.rare
    if as_of is not None:
        return _read(thread, Books(), rare, as_of)
    shelf: dict[str, Any] = cast("dict[str, Any]", thread.engine.memo.shelf("lore", _HELD))
    known = cast("Books | None", shelf.get(thread.id))
    if known is None or known.rare > rare:
        known = Books()
    if known.rare != rare:
        known = _read(thread, known, rare, None)
        shelf[thread.id] = known
    return known


def _read(thread: ThreadScope, known: Books, rare: int, as_of: int | None) -> Books:
    history = thread if as_of is None else thread.at(as_of)

    def look(view: View) -> Books:
        news = [e for e in view.others(known.rare) if e.seq <= rare]
        if known.rare and any(e.kind is Kind.FORGOTTEN for e in news):  # cached text may be forgotten
            return look_at(Books(), view.others(0))
        return look_at(known, news)

    def look_at(before: Books, events: Sequence[Event]) -> Books:
        acts = [e for e in events if e.seq <= rare and (e.kind in _ACTING)]
        if not any(e.kind is Kind.WORLD_TOLD for e in (*before.acts, *acts)):
            return replace(before, rare=rare, acts=(*before.acts, *acts))
        every = (*before.acts, *acts)
        if not acts and before.rare:
            return replace(before, rare=rare)
        told = [e for e in every if e.kind is not Kind.WORLD_TOLD or e.body is not None]
        entries = tuple(e for e in world_in(told) if e.rule is not None)
        ids = frozenset(entry_id(e) for e in entries if e.enabled)
        return Books(rare, every, entries, ids)

    return history.reading(look)


# -- names -----------------------------------------------------------------------------------------------------------


def names_in(thread: ThreadScope, messages: Sequence[Message], language: str) -> tuple[str, str]:
    """Return the values of `{{user}}` and `{{char}}`: the names of the card, of the authors, or generic words."""
    card = card_of_thread(thread)
    char = card or _find_author(messages, "assistant")
    actor = thread.engine.settings.actor
    user = _find_author(messages, "user") or ("" if actor == "user" else actor)
    unnamed = _UNNAMED["zh" if language.startswith("zh") else "en"]
    return user or unnamed[0], char or unnamed[1]


def user_name(actor: str, language: str) -> str:
    """Return the value of `{{user}}` before the user has written anything."""
    return _UNNAMED["zh" if language.startswith("zh") else "en"][0] if actor == "user" else actor


def card_of_thread(thread: ThreadScope) -> str:
    """Return the name of the character whose card the thread began with; empty if there is none."""
    return card_name(thread.legible.info.metadata)


def card_name(metadata: Mapping[str, Json]) -> str:
    """Return the name of the character in the metadata of a thread."""
    card: Json = metadata.get("card")
    name = cast("Mapping[str, Json]", card).get("name") if isinstance(card, Mapping) else None
    return name if isinstance(name, str) else ""


def _find_author(messages: Sequence[Message], role: str) -> str:
    return next(
        (m.author.strip() for m in reversed(messages) if m.role == role and m.author and m.author.strip()), ""
    )


def lines_of(entries: Sequence[WorldEntry], user: str, char: str) -> list[LoreLine]:
    """Return entries as they may be placed, with names filled in in their text and keys."""
    out: list[LoreLine] = []
    for entry in entries:
        rule = entry.rule
        if rule is None:
            continue
        if any("{{" in key or "<" in key for key in (*rule.keys, *rule.secondary)):
            keys = tuple(fill_macros(key, user, char) for key in rule.keys)
            rule = replace(
                rule, keys=keys, secondary=tuple(fill_macros(key, user, char) for key in rule.secondary)
            )
        text = fill_macros(entry.text, user, char).strip()
        out.append(LoreLine(entry_id(entry), entry.source, entry.name, text, rule, entry.enabled))
    return out
