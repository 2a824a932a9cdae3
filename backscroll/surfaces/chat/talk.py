"""What a slash command works with: the current conversation, and ways to ask and to print.

Owns the protocol between the terminal (`app`) and the slash commands (`slash`), so that neither imports the other. Refuses:
drawing, reading keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from backscroll.agent.agent import Agent
    from backscroll.agent.events import Finished, Happening
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread


class Talk(Protocol):
    """One chat in one terminal."""

    @property
    def engine(self) -> Engine:
        """The store."""
        ...

    @property
    def thread(self) -> Thread:
        """The current thread."""
        ...

    @property
    def agent(self) -> Agent:
        """The agent of this chat."""
        ...

    @property
    def root(self) -> Path:
        """The folder that the agent works in."""
        ...

    @property
    def console(self) -> Console:
        """The console for output."""
        ...

    def show(self, *what: RenderableType) -> None:
        """Print something between turns."""
        ...

    def ask(self, question: str, *, initial: str = "", lines: bool = False) -> str | None:
        """Ask the user for a line (or, with `lines`, several); None if they cancel (Ctrl-C, Ctrl-D, Escape)."""
        ...

    def choose(self, title: str, options: Sequence[str], *, initial: int = 0) -> int | None:
        """Let the user choose one option, by arrow keys or number; None if they cancel."""
        ...

    def confirm(self, question: str, *, usual: bool = False) -> bool:
        """Ask yes or no."""
        ...

    def play(self, happenings: Iterable[Happening]) -> Finished | None:
        """Draw the events of a run as they arrive, until it is finished or stopped."""
        ...

    def say(self, text: str) -> Finished | None:
        """Send a message as if the user had typed it."""
        ...

    def switch(self, thread: Thread, *, answer: bool = False) -> None:
        """Switch to another conversation; with `answer`, its last message is answered at once."""
        ...

    def leave(self) -> None:
        """End the program after this command."""
        ...
