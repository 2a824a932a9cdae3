"""Commands of the command line inside a chat: the same drawing, on the chat's console, with the chat's store.

Owns a screen that prints between turns and a session whose store stays open. Only read-only commands are borrowed: commands
that change something act on the chat's own thread, as its user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, cast

from backscroll.surfaces.chat.slash.replies import print_lines
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.screen.plain import safe
from backscroll.surfaces.screen.screen import Screen

if TYPE_CHECKING:
    from click import Command

    from backscroll.config import Settings
    from backscroll.engine.engine import Engine
    from backscroll.surfaces.chat.talk import Talk

_NARROWEST = 40


class TalkScreen(Screen):
    """A screen whose lines are printed between the turns of a chat."""

    def __init__(self, talk: Talk) -> None:
        super().__init__()
        self._talk = talk
        self.terminal = True
        self.coloured = talk.console.color_system is not None and not talk.console.no_color

    @property
    def width(self) -> int:
        """The width of the chat's console."""
        return max(_NARROWEST, self._talk.console.width)

    def line(self, text: str = "") -> None:
        """Print one line, or several."""
        print_lines(self._talk, [text or " "])

    def lines(self, lines: Iterable[str]) -> None:
        """Print several lines at once, so that they stay together on the screen."""
        print_lines(self._talk, lines)

    def raw(self, text: str) -> None:
        """Print text as it is."""
        print_lines(self._talk, [text.removesuffix("\n")])

    def remark(self, text: str, style: str = "") -> None:
        """Print a remark with the rest: there is only one screen."""
        print_lines(self._talk, [self.style(text.strip("\n"), style)])

    @property
    def can_ask(self) -> bool:
        """Always True: a user is present."""
        return True

    def asks(self, question: str) -> bool:
        """Ask yes or no in the chat."""
        return self._talk.confirm(safe(question))

    def flush(self) -> None:
        """Do nothing: no output is held back."""

    @contextlib.contextmanager
    def page_output(self) -> Generator[None]:
        """Use no pager: the terminal scrolls back."""
        yield


class TalkSession(CliSession):
    """A command-line session that works in the store of a chat and leaves it open."""

    def __init__(self, talk: Talk) -> None:
        super().__init__(use_pager=False)
        self._talk = talk
        self.__dict__["screen"] = TalkScreen(talk)  # instead of the one that would be made on first use

    @property
    def has_store(self) -> bool:
        """Always True: the store is open."""
        return True

    def settings(self) -> Settings:
        """Return the settings of the open store."""
        return self._talk.engine.settings

    def engine(self, *, make: bool = False) -> Engine:  # noqa: ARG002 - the signature of the session
        """Return the open store; leaving the `with` of a command must not close it, hence the wrapper."""
        return cast("Engine", nullcontext(self._talk.engine))


def screen_of(talk: Talk) -> Screen:
    """Return a screen for the drawing functions of the command line."""
    return TalkScreen(talk)


def borrow(talk: Talk, command: Command, *arguments: str) -> None:
    """Run a command of the command line; options must be ours, user input goes after `--`."""
    from click.exceptions import Exit

    try:
        with command.make_context(command.name or "", list(arguments), obj=TalkSession(talk)) as context:
            command.invoke(context)
    except Exit:
        return  # a help page was asked for and is shown
