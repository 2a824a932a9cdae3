"""Consoles for tests of drawings: one that records, one that pretends to be a terminal with a screen model behind it."""

from __future__ import annotations

import io
from typing import Any

import pyte
from rich.console import Console

from tests.terminal.terminal import Screen


def recorder(width: int = 80) -> Console:
    """A console without a terminal; `.file.getvalue()` is what was printed."""
    return Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)


def printed(console: Console) -> str:
    """What a recorder has printed."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class Glass:
    """A terminal made of glass: a console writes, a screen model shows."""

    def __init__(self, columns: int = 60, lines: int = 12) -> None:
        self.screen = Screen(columns, lines)
        self._stream = pyte.Stream(self.screen)
        self.raw = ""
        glass = self

        class File(io.StringIO):
            def write(self, s: str, /) -> int:
                glass.raw += s
                glass._stream.feed(s.replace("\n", "\r\n"))
                return len(s)

        self.console = _Sized(self.screen, file=File())

    def rows(self) -> list[str]:
        """The lines that are visible, without the empty ones at the end."""
        return "\n".join(self.screen.rows()).rstrip().split("\n")

    def everything(self) -> str:
        """What was ever printed and not taken away."""
        return "\n".join(self.screen.everything()).rstrip()


class _Sized(Console):
    """As large as the screen behind it, also after that was made another size."""

    def __init__(self, screen: Screen, **more: Any) -> None:
        self._screen = screen
        super().__init__(
            force_terminal=True, markup=False, emoji=False, highlight=False, legacy_windows=False, **more
        )

    @property
    def size(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - nobody sets it here
        from rich.console import ConsoleDimensions

        return ConsoleDimensions(self._screen.columns, self._screen.lines)
