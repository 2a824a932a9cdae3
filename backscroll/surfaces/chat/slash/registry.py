"""Running slash commands, and completing their names and arguments.

Owns recognising a command, reporting errors, near names for unknown ones, and completion. Refuses: doing anything; the
modules in `commands` do, and each is loaded when it is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, cast

from backscroll.errors import BackscrollError, NotFound
from backscroll.surfaces.chat.completion import Completion
from backscroll.surfaces.chat.slash.arguments import quote_word, words
from backscroll.surfaces.chat.slash.catalogue import LINE, SLASHES, SlashCommand, by_name, find, split
from backscroll.surfaces.chat.slash.replies import trouble
from backscroll.surfaces.i18n import t

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk

Work = Callable[["Talk", str], None]
#: What a command offers for the word at the cursor, given the words before it: (text, description).
Offer = Callable[["Talk", list[str], str], Iterable[tuple[str, str]]]

#: When the commands were loaded: before the first message of a chat is sent, so that `/cost` can report the cost of this run.
LOADED = datetime.now().astimezone()
_WORD = re.compile(r"[^\W\d][\w-]*")
_MOST = 40  # completions that are offered at once


def all() -> list[SlashCommand]:
    """Every command, in the order of the help page."""
    return list(SLASHES)


def is_slash(text: str) -> bool:
    """Return True for a line that is meant as a command: `/word …`, but neither a path (`/etc/hosts`) nor a comment (`//`)."""
    found = LINE.fullmatch(text.strip())
    return found is not None and (found[1].lower() in by_name() or _WORD.fullmatch(found[1]) is not None)


def near(name: str) -> list[str]:
    """Return names that the user may have meant."""
    known = {word: slash.name for slash in SLASHES for word in (slash.name, *slash.aliases) if len(word) > 1}
    begins = [n for word, n in known.items() if len(name) > 1 and word.startswith(name)]
    close = [known[word] for word in get_close_matches(name, known, n=3, cutoff=0.6)]
    return list(dict.fromkeys([*begins, *close]))[:4]


def run(talk: Talk, line: str) -> None:
    """Run the command of a line. Errors are shown with a hint; the chat continues."""
    try:
        name, rest = split(line)
        slash = find(name)
        if slash is None:
            raise _unknown(name)
        work_of(slash)(talk, rest)
    except Exception as error:  # noqa: BLE001 - the boundary of a command: its error is shown and does not end the conversation
        trouble(talk, error)


def _unknown(name: str) -> NotFound:
    meant = ", ".join(f"/{n}" for n in near(name))
    hint = t("slash.meant", names=meant) if meant else t("slash.see_help")
    return NotFound(t("slash.unknown", name=name), hint=hint)


def _part(slash: SlashCommand, name: str) -> object:
    module = import_module(f"backscroll.surfaces.chat.slash.commands.{slash.module}")
    return getattr(module, name, None)


def work_of(slash: SlashCommand) -> Work:
    """Return the function of a command."""
    found = _part(slash, f"{slash.name}_slash")
    assert callable(found), slash.name
    return cast("Work", found)


def offer_of(slash: SlashCommand) -> Offer | None:
    """Return the completion function of a command; None if it has none."""
    found = _part(slash, f"{slash.name}_offer")
    return cast("Offer", found) if callable(found) else None


def complete(talk: Talk, text_before_cursor: str) -> list[Completion]:
    """Return completions: names of commands, then their arguments. Never raises, whatever is typed or stored."""
    text = text_before_cursor.lstrip()
    if text[:1] not in ("/", "／"):
        return []
    name, gap, rest = _split_command(text)
    if not gap:
        return list(_names(name, len(text)))[:_MOST]
    slash = find(name)
    if slash is None:
        return []
    try:
        return list(_arguments(talk, slash, rest))
    except (BackscrollError, OSError, ValueError, LookupError):
        return []  # an unreadable store offers nothing; running the command reports why


def _split_command(text: str) -> tuple[str, str, str]:
    found = re.fullmatch(r"[/／](\S*)(\s*)(.*)", text, re.DOTALL)
    return ("", "", "") if found is None else (found[1].lower(), found[2], found[3])


def _names(typed: str, length: int) -> Iterator[Completion]:
    """Yield commands with this prefix, then those with an alias that has it, then those that contain the letters in order."""
    ranked: dict[str, SlashCommand] = {}
    tests: tuple[Callable[[SlashCommand], bool], ...] = (
        lambda s: s.name.startswith(typed),
        lambda s: any(a.startswith(typed) for a in s.aliases),
        lambda s: len(typed) > 1 and _in_order(typed, s.name),
    )
    for fits in tests:
        ranked.update({s.name: s for s in SLASHES if s.name not in ranked and fits(s)})
    for slash in ranked.values():
        yield Completion(f"/{slash.name}", slash.call, slash.help, -length)


def _in_order(letters: str, name: str) -> bool:
    place = 0
    for letter in letters:
        place = name.find(letter, place) + 1
        if not place:
            return False
    return name[:1] == letters[:1]


def _arguments(talk: Talk, slash: SlashCommand, rest: str) -> Iterator[Completion]:
    offer = offer_of(slash)
    if offer is None:
        return
    done, current = words(rest), ""
    if done and not rest[-1:].isspace():
        current = rest[rest.rfind(done[-1]) :] if rest.endswith(done[-1]) else done[-1]
        done = done[:-1]
    typed = current.casefold()
    offered = [(text, meta, text.casefold()) for text, meta in offer(talk, done, current)]
    begin = [(text, meta) for text, meta, folded in offered if folded.startswith(typed)]
    inside = [] if begin else [(text, meta) for text, meta, folded in offered if typed in folded]
    for text, meta in (begin or inside)[:_MOST]:
        yield Completion(quote_word(text), text, meta, -len(current))
