"""Convert a character card into the start of a conversation: system text, greeting with alternatives, book.

Owns how a card becomes messages, as role-play programs do it: one system message (system prompt, description, personality,
scenario, examples), then the first message with alternate greetings as swipes. The book, the character's note and
post-history instructions become lorebook entries. `{{user}}` stays for the engine, which knows the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from backscroll.errors import FormatError
from backscroll.formats.cards import charx
from backscroll.formats.cards.card import CharacterCard, card_of
from backscroll.formats.cards.macros import fill_macros
from backscroll.formats.cards.reader import LARGEST_FILE, card_file
from backscroll.formats.language import language_of
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import stem
from backscroll.vocab.foreign import ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Text

NAME = "character-card"
_SPEC = re.compile(r'"spec"\s*:\s*"chara_card_v\d')
_FIELD = re.compile(
    r'"(first_mes|mes_example|personality|scenario|description|name|data|character_book)"\s*:'
)
_START = re.compile(r"^[ \t]*<START>[ \t]*$", re.MULTILINE | re.IGNORECASE)
_WORDS = {
    "en": {
        "main": "You play {char} in a role-play with {user}. Write {char}'s next reply.",
        "personality": "{char}'s personality: {text}",
        "scenario": "Scenario: {text}",
        "examples": "Examples of how {char} talks:\n{text}",
    },
    "zh": {
        "main": "你在角色扮演中扮演{char}，与{user}对话。请写出{char}的下一条回复。",
        "personality": "{char}的性格：{text}",
        "scenario": "场景：{text}",
        "examples": "{char}的说话示例：\n{text}",
    },
}


def sniff(source: Source) -> float:
    """Return the confidence that this is a character card."""
    if source.is_folder:
        return 0.0
    head = source.head()
    if head.startswith("\ufffdPNG"):
        return 0.95
    if head.startswith("PK\x03\x04"):
        return 0.95 if charx.CARD in head or source.name.lower().endswith(".charx") else 0.0
    if not head.lstrip().startswith("{"):
        return 0.0
    names = set(_FIELD.findall(head))
    if _SPEC.search(head):
        return 0.99
    return 0.9 if "name" in names and {"first_mes", "description"} <= names else 0.0


def read(source: Source) -> Iterable[ForeignThread]:
    """Return the one conversation that a card begins."""
    if source.is_folder:
        raise FormatError("a folder is not a character card", hint="name one of the files in it")
    found = card_file(source.data(LARGEST_FILE + 1), source.name)
    card = card_of(found.value)
    if card is None or not (card.name or card.description):
        raise FormatError(
            f"{source.name} holds JSON that is not a character card",
            hint="add a lorebook to a thread with `backscroll lore THREAD FILE`",
        )
    name = card.name or stem(source.name)
    language = language_of("\n".join([card.description, *card.greetings[:1], card.scenario]))
    about: dict[str, Json] = {"name": card.called or name, "spec": card.spec or "chara_card_v1", **card.facts}
    if card.world:
        about["world"] = card.world
    return [
        ForeignThread(
            format=NAME,
            source_id=f"{name}/{stem(source.name)}",
            items=_items(card, name, language, found.problems),
            title=name,
            project=name,
            kind="roleplay",
            language=language,
            metadata={"card": about},
            world={name: dumps(found.value)},
        )
    ]


def _items(card: CharacterCard, name: str, language: str, problems: Iterable[str]) -> Iterator[Item]:
    for problem in problems:
        yield Problem(problem)
    called = card.called or name
    yield ForeignMessage(
        "system", Content((Text(_render_system_text(card, called, language)),)), source_id="card"
    )
    greetings = [Content((Text(fill_macros(g, "", called)),), called) for g in card.greetings]
    if greetings:
        several = tuple(greetings) if len(greetings) > 1 else ()
        yield ForeignMessage("assistant", greetings[0], source_id="greeting", alternatives=several)


def _render_system_text(card: CharacterCard, called: str, language: str) -> str:
    """Return the system text about the character, before the conversation."""
    words = _WORDS["zh" if language.startswith("zh") else "en"]
    parts = [card.system_prompt or words["main"].format(char=called, user="{{user}}"), card.description]
    examples = _START.sub("", card.examples).strip()
    for field, text in (
        ("personality", card.personality),
        ("scenario", card.scenario),
        ("examples", examples),
    ):
        if text:
            parts.append(words[field].format(char=called, text=text))
    return fill_macros("\n\n".join(part for part in parts if part), "", called)


FORMAT = Format(name=NAME, label="character card", suffix=".json", sniff=sniff, read=read)
