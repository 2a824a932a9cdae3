"""`/recall`, `/search`, `/expand`, `/operations`, `/turns`: searching the history.

Draws as the command line does (`slash/cli_bridge`). Nothing here reads more of a history than it shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from backscroll.engine.folder.tool_uses import render_operations
from backscroll.surfaces.chat.completion import recent_turn_numbers
from backscroll.surfaces.chat.slash.arguments import (
    first_word,
    turn_meant,
    whole_number,
    wrong_use,
)
from backscroll.surfaces.chat.slash.cli_bridge import borrow, screen_of
from backscroll.surfaces.chat.slash.replies import print_lines, remark
from backscroll.surfaces.cli.commands.history.search import search_command
from backscroll.surfaces.cli.commands.prompts.recall import recall_command
from backscroll.surfaces.i18n import get_language, t
from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.conversation import ConversationPrinter, role_name
from backscroll.surfaces.words.done import number_of

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.thread import Turn

_TURNS = 15  # entries listed
_LATELY = 20  # operations listed
_LONGEST = 400  # lines of an original that are drawn; the rest is only counted


def recall_slash(talk: Talk, rest: str) -> None:
    """Show what of the past answers a question."""
    if not rest:
        raise wrong_use("recall")
    borrow(talk, recall_command, "--", talk.thread.id, *rest.split())


def search_slash(talk: Talk, rest: str) -> None:
    """Show messages with these words, here or (`-a`) in every conversation."""
    first, more = first_word(rest)
    everywhere = first in ("-a", "--all")
    words = more if everywhere else rest
    if not words:
        raise wrong_use("search")
    where = () if everywhere else ("--thread", talk.thread.id)
    borrow(talk, search_command, *where, "--", *words.split())


def expand_slash(talk: Talk, rest: str) -> None:
    """Show the originals behind a handle, in full."""
    if not rest:
        raise wrong_use("expand")
    screen = screen_of(talk)
    narrator = ConversationPrinter(screen, full=True)
    lines = [
        text
        for message in talk.thread.expand(rest)
        for text in narrator.message(message, number_of(talk.thread, message.id))
    ]
    print_lines(talk, lines[:_LONGEST])
    if len(lines) > _LONGEST:
        remark(talk, t("slash.expand_cut", shown=_LONGEST, all=len(lines), thread=talk.thread.id[:8]))


def expand_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the handles of the last messages and tool results."""
    if before:
        return
    for message in reversed(talk.thread.recent(20)):
        yield f"bs:{message.id.seq}", f"{role_name(message.role)} {cut(one_line(message.text[:200]), 40)}"


def operations_slash(talk: Talk, rest: str) -> None:
    """List recent operations, newest last."""
    last = whole_number(rest, "operations") if rest else _LATELY
    digests = talk.thread.operations(last=max(1, last))
    text = safe(render_operations(digests, get_language()))
    print_lines(talk, [text] if text else [t("tools.nothing")])


def turns_slash(talk: Talk, rest: str) -> None:
    """Show the last turns with their numbers, or the messages of one."""
    if not rest:
        _list_turns(talk)
        return
    turn = talk.thread.turn(turn_meant(talk.thread, rest, "turns"))
    narrator = ConversationPrinter(screen_of(talk))
    first = talk.thread.place(turn.messages[0].id) + 1
    print_lines(
        talk,
        [text for n, message in enumerate(turn.messages, first) for text in narrator.message(message, n)],
    )


def turns_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the last turns."""
    return [] if before else recent_turn_numbers(talk)


def _list_turns(talk: Talk) -> None:
    turns = [turn for turn in talk.thread.recent_turns(_TURNS) if turn.sequence]
    if not turns:
        remark(talk, t("slash.no_turns"))
        return
    number = talk.thread.place(turns[0].messages[0].id) + 1
    rows: list[tuple[str, ...]] = []
    for turn in turns:
        last = number + len(turn.messages) - 1
        span = f"#{number}" if last == number else f"#{number}–{last}"
        rows.append((str(turn.sequence), span, format_time(turn.timestamp, short=True), *_render_turn(turn)))
        number = last + 1
    columns = [
        Column(t("columns.turn"), right=True, style="strong"),
        Column(t("columns.messages"), style="dim"),
        Column(t("columns.when"), style="dim"),
        Column(t("slash.asked"), shrinks=True),
        Column(t("slash.answered"), shrinks=True, style="dim"),
    ]
    print_lines(talk, table(screen_of(talk), columns, rows))
    held = talk.thread.info.turns
    if held > len(turns):
        remark(talk, t("slash.turns_more", shown=len(turns), all=held))


def _render_turn(turn: Turn) -> tuple[str, str]:
    return one_line(turn.user_input[:300]), one_line(turn.response[-300:])
