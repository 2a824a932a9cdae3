"""Parse a character card of any version: V1 (bare), V2, V3, or Pygmalion's older shape.

Owns which object is a card and which field is what. Nothing is lost: the object itself stays with it. Refuses: files
(`cards/reader`) and what becomes of it (`cards/conversion`, `lorebooks/json_books`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backscroll.formats.sources.rows import as_array, as_object, as_text
from backscroll.vocab.part import Json

_TOLD = ("first_mes", "character_book", "personality", "mes_example", "scenario")
_BARE = ("first_mes", "personality", "char_persona", "mes_example")
_GREETINGS = 200  # alternate greetings that are read


def _nothing() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class CharacterCard:
    """A character card as written, with macros as they are."""

    name: str
    nickname: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    examples: str = ""
    system_prompt: str = ""
    post_history: str = ""  # instructions that follow the history
    depth_prompt: str = ""  # the character's note, a few messages from the end
    greetings: tuple[str, ...] = ()  # the first message, then its alternatives
    book: Mapping[str, Json] = field(default_factory=_nothing)
    world: str = ""  # name of a lorebook that goes with it and is not in it
    spec: str = ""  # chara_card_v2, chara_card_v3; empty: V1
    facts: Mapping[str, Json] = field(default_factory=_nothing)  # creator, version, tags, notes

    @property
    def called(self) -> str:
        """What `{{char}}` represents."""
        return self.nickname or self.name


def card_data(value: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return the character data of an object if it is a card."""
    data = as_object(value.get("data"))
    if str(value.get("spec", "")).startswith("chara_card") and data is not None:
        return data
    if data is not None and isinstance(data.get("name"), str) and any(name in data for name in _TOLD):
        return data
    if isinstance(value.get("name") or value.get("char_name"), str) and any(n in value for n in _BARE):
        return value
    return None


def card_of(value: Mapping[str, Json]) -> CharacterCard | None:
    """Return an object as a card; None if it is not one."""
    data = card_data(value)
    if data is None:
        return None

    def text(*names: str) -> str:
        return next((found for n in names if (found := as_text(data.get(n)).strip())), "")

    more = as_object(data.get("extensions")) or {}
    note = as_object(more.get("depth_prompt")) or {}
    others = as_array(data.get("alternate_greetings")) or []
    said = [text("first_mes", "char_greeting"), *(as_text(g).strip() for g in others[:_GREETINGS])]
    kept = ("creator", "character_version", "tags", "creator_notes")
    return CharacterCard(
        name=text("name", "char_name"),
        nickname=text("nickname"),
        description=text("description", "char_persona"),
        personality=text("personality"),
        scenario=text("scenario", "world_scenario"),
        examples=text("mes_example", "example_dialogue"),
        system_prompt=text("system_prompt"),
        post_history=text("post_history_instructions"),
        depth_prompt=as_text(note.get("prompt")).strip(),
        greetings=tuple(dict.fromkeys(g for g in said if g)),
        book=_book(data.get("character_book")),
        world=as_text(more.get("world")).strip(),
        spec=as_text(value.get("spec")),
        facts={name: data[name] for name in kept if data.get(name)},
    )


def _book(value: Json) -> Mapping[str, Json]:
    book = as_object(value)
    return book if book is not None and isinstance(book.get("entries"), list | dict) else {}
