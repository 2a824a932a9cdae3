"""What a slash command gets to work with: the conversation as it stands, and ways to ask and to show.

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
    """One conversation in one terminal."""

    @property
    def engine(self) -> Engine:
        """The store."""
        ...

    @property
    def thread(self) -> Thread:
        """The conversation at hand."""
        ...

    @property
    def agent(self) -> Agent:
        """Who answers in it."""
        ...

    @property
    def root(self) -> Path:
        """The folder it works in."""
        ...

    @property
    def console(self) -> Console:
        """Where things are printed."""
        ...

    def show(self, *what: RenderableType) -> None:
        """Print something between the turns."""
        ...

    def ask(self, question: str, *, initial: str = "", lines: bool = False) -> str | None:
        """A line (or, with `lines`, several) from the person; None where they turned away (Ctrl-C, Ctrl-D, Escape)."""
        ...

    def choose(self, title: str, options: Sequence[str], *, initial: int = 0) -> int | None:
        """One of a few, by arrow keys or number; None where they turned away."""
        ...

    def confirm(self, question: str, *, usual: bool = False) -> bool:
        """Yes or no."""
        ...

    def play(self, happenings: Iterable[Happening]) -> Finished | None:
        """Draw what an agent does as it happens, until it is finished or stopped."""
        ...

    def say(self, text: str) -> Finished | None:
        """Send a message as if the person had typed it."""
        ...

    def switch(self, thread: Thread, *, answer: bool = False) -> None:
        """Go on in another conversation; with `answer`, its last message is answered at once."""
        ...

    def leave(self) -> None:
        """End the program after this command."""
        ...
