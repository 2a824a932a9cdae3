"""Commands of the command line inside a conversation: the same drawing, on the talk's console, with the talk's store.

Owns a screen that prints between the turns and a session whose store stays open. Only what looks is borrowed: what changes
something acts on the talk's own thread, under its name. Before: `cli/command`, `cli/screen`. After: the commands beside it.
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
    """A screen whose lines are printed between the turns of a talk."""

    def __init__(self, talk: Talk) -> None:
        super().__init__()
        self._talk = talk
        self.terminal = True
        self.coloured = talk.console.color_system is not None and not talk.console.no_color

    @property
    def width(self) -> int:
        """The width of the talk's console."""
        return max(_NARROWEST, self._talk.console.width)

    def line(self, text: str = "") -> None:
        """One line, or several."""
        print_lines(self._talk, [text or " "])

    def lines(self, lines: Iterable[str]) -> None:
        """Several lines at once, so that they are one piece on the screen."""
        print_lines(self._talk, lines)

    def raw(self, text: str) -> None:
        """Text as it is."""
        print_lines(self._talk, [text.removesuffix("\n")])

    def remark(self, text: str, style: str = "") -> None:
        """A remark stands with the rest: there is one screen."""
        print_lines(self._talk, [self.style(text.strip("\n"), style)])

    @property
    def can_ask(self) -> bool:
        """Somebody sits there."""
        return True

    def asks(self, question: str) -> bool:
        """Yes or no, asked by the talk."""
        return self._talk.confirm(safe(question))

    def flush(self) -> None:
        """Nothing is held back."""

    @contextlib.contextmanager
    def page_output(self) -> Generator[None]:
        """No pager: the terminal scrolls back."""
        yield


class TalkSession(CliSession):
    """A run of the command line that works in the store of a talk and leaves it open."""

    def __init__(self, talk: Talk) -> None:
        super().__init__(use_pager=False)
        self._talk = talk
        self.__dict__["screen"] = TalkScreen(talk)  # instead of the one that would be made on first use

    @property
    def has_store(self) -> bool:
        """It is open."""
        return True

    def settings(self) -> Settings:
        """The settings of the open store."""
        return self._talk.engine.settings

    def engine(self, *, make: bool = False) -> Engine:  # noqa: ARG002 - the signature of the session
        """The open store; leaving the `with` of a command must not close it, hence the cover."""
        return cast("Engine", nullcontext(self._talk.engine))


def screen_of(talk: Talk) -> Screen:
    """A screen to draw on, for what the modules of the command line draw."""
    return TalkScreen(talk)


def borrow(talk: Talk, command: Command, *arguments: str) -> None:
    """Run a command of the command line; options must be ours, and what people typed stands behind `--`."""
    from click.exceptions import Exit

    try:
        with command.make_context(command.name or "", list(arguments), obj=TalkSession(talk)) as context:
            command.invoke(context)
    except Exit:
        return  # a page of help was asked for and is shown
