"""What follows the name of a slash command: words, quotes, numbers, messages and turns.

Owns taking a line apart the way people type it (straight, curly and Chinese quotes; a quote that is never closed is a letter)
and finding the message or the turn that is meant.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.i18n import t
from backscroll.vocab.handle import parse_handle
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.chat.slash.catalogue import SlashCommand
    from backscroll.surfaces.chat.talk import Talk

_WORD = re.compile(r"\"([^\"]*)\"(?!\S)|'([^']*)'(?!\S)|“([^”]*)”(?!\S)|「([^」]*)」(?!\S)|(\S+)")
_HANDLE = re.compile(r"\[?bs:[^\]\s]+\]?")


def words(rest: str) -> list[str]:
    """The words of a line; what stands in quotes is one."""
    return [next((g for g in found.groups() if g is not None), "") for found in _WORD.finditer(rest)]


def quote_word(text: str) -> str:
    """A word as it must be typed to be one."""
    return f'"{text}"' if re.search(r"\s", text) and '"' not in text else text


def first_word(rest: str) -> tuple[str, str]:
    """The first word, and the rest as it was typed."""
    found = _WORD.match(rest.strip())
    if found is None:
        return "", ""
    return words(found[0])[0], rest.strip()[found.end() :].strip()


def wrong_use(slash: SlashCommand | str) -> InvalidInput:
    """The error for arguments that make no sense: it says how the command is used."""
    from backscroll.surfaces.chat.slash.registry import find

    known = find(slash) if isinstance(slash, str) else slash
    assert known is not None
    return InvalidInput(t("slash.wrong_use", name=known.name), hint=t("slash.use", usage=known.call))


def no_words(rest: str, name: str) -> None:
    """Refuse arguments where a command takes none."""
    if rest:
        raise wrong_use(name)


def whole_number(text: str, name: str) -> int:
    """A number, or how the command is used."""
    if not re.fullmatch(r"#?[0-9]{1,10}", text):
        raise wrong_use(name)
    return int(text.removeprefix("#"))


def message_meant(thread: Thread, text: str) -> Ref:
    """A message: its number as `/turns` shows it, `last`, its id, or a handle (`bs:17`)."""
    from backscroll.surfaces.cli.references import message_named

    if _HANDLE.fullmatch(text):
        handle = parse_handle(text)
        event = thread.reading(lambda view: view.event(handle.first))  # a fork shares its parent's numbers
        if handle.thread is not None or event is None or event.message is None:
            raise NotFound(t("slash.no_message", name=text), hint=t("slash.see_turns"))
        return thread.message(event.message).id
    return message_named(thread.engine, thread, text)


def messages_meant(thread: Thread, rest: str) -> list[Ref]:
    """Several messages, ranges (`4:9`) included."""
    from backscroll.surfaces.cli.references import messages_named

    out: dict[Ref, None] = {}
    for word in words(rest):
        if _HANDLE.fullmatch(word):
            out[message_meant(thread, word)] = None
        else:
            out.update(dict.fromkeys(messages_named(thread.engine, thread, [word])))
    return list(out)


def turn_meant(thread: Thread, text: str, name: str) -> int:
    """The number of a turn: counted from 1, `last`, or from the end (-1)."""
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


def recent_turn_numbers(talk: Talk, most: int = 20) -> list[tuple[str, str]]:
    """The last turns, newest first: number and how they begin; for completion."""
    from backscroll.surfaces.cli.screen.cells import cut
    from backscroll.surfaces.cli.screen.plain import one_line

    turns = talk.thread.recent_turns(most)
    return [(str(x.sequence), cut(one_line(x.user_input[:200]), 50)) for x in reversed(turns) if x.sequence]
