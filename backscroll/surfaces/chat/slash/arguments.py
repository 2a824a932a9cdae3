"""Arguments of slash commands: words, quotes, numbers, messages and turns.

Owns splitting a line the way people type it (straight, curly and Chinese quotes; a quote that is never closed is a letter)
and finding the message or the turn that it names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.chat.slash.catalogue import SlashCommand, find
from backscroll.surfaces.cli.references import message_named, messages_named
from backscroll.surfaces.i18n import t
from backscroll.vocab.handle import parse_handle
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

_WORD = re.compile(r"\"([^\"]*)\"(?!\S)|'([^']*)'(?!\S)|“([^”]*)”(?!\S)|「([^」]*)」(?!\S)|(\S+)")
_HANDLE = re.compile(r"\[?bs:[^\]\s]+\]?")


def words(rest: str) -> list[str]:
    """Return the words of a line; quoted text is one word."""
    return [next((g for g in found.groups() if g is not None), "") for found in _WORD.finditer(rest)]


def quote_word(text: str) -> str:
    """Return a text quoted so that it is read as one word."""
    return f'"{text}"' if re.search(r"\s", text) and '"' not in text else text


def first_word(rest: str) -> tuple[str, str]:
    """Return the first word, and the rest as typed."""
    found = _WORD.match(rest.strip())
    if found is None:
        return "", ""
    return words(found[0])[0], rest.strip()[found.end() :].strip()


def wrong_use(slash: SlashCommand | str) -> InvalidInput:
    """Return the error for invalid arguments: it shows the usage of the command."""
    known = find(slash) if isinstance(slash, str) else slash
    assert known is not None
    return InvalidInput(t("slash.wrong_use", name=known.name), hint=t("slash.use", usage=known.call))


def no_words(rest: str, name: str) -> None:
    """Raise an error for arguments if a command takes none."""
    if rest:
        raise wrong_use(name)


def whole_number(text: str, name: str) -> int:
    """Parse a number, or raise an error with the usage of the command."""
    if not re.fullmatch(r"#?[0-9]{1,10}", text):
        raise wrong_use(name)
    return int(text.removeprefix("#"))


def message_meant(thread: Thread, text: str) -> Ref:
    """Find a message: by its number as `/turns` shows it, `last`, its id, or a handle (`bs:17`)."""
    if _HANDLE.fullmatch(text):
        handle = parse_handle(text)
        event = thread.reading(lambda view: view.event(handle.first))  # a fork shares its parent's numbers
        if handle.thread is not None or event is None or event.message is None:
            raise NotFound(t("slash.no_message", name=text), hint=t("slash.see_turns"))
        return thread.message(event.message).id
    return message_named(thread.engine, thread, text)


def messages_meant(thread: Thread, rest: str) -> list[Ref]:
    """Find several messages, ranges (`4:9`) included."""
    out: dict[Ref, None] = {}
    for word in words(rest):
        if _HANDLE.fullmatch(word):
            out[message_meant(thread, word)] = None
        else:
            out.update(dict.fromkeys(messages_named(thread.engine, thread, [word])))
    return list(out)


def turn_meant(thread: Thread, text: str, name: str) -> int:
    """Return the number of a turn: counted from 1, `last`, or from the end (-1)."""
    held = thread.info.turns
    if text in ("last", t("slash.last")):
        number = held
    elif re.fullmatch(r"-[0-9]{1,6}", text):
        number = held + 1 + int(text)
    else:
        number = whole_number(text, name)
    if not 1 <= number <= held:
        hint = t("slash.turns_held", n=held) if held else t("slash.no_turns")
        raise NotFound(t("slash.no_turn", n=text), hint=hint)
    return number
