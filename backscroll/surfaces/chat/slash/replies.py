"""Replies of slash commands: a line between the turns, made safe for the terminal.

Owns the kinds of replies (done, a remark, a warning, an error with its hint). The texts of errors are in
`cli/error_report`.
"""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING

from backscroll.surfaces.cli.error_report import describe_error
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.plain import safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backscroll.surfaces.chat.talk import Talk


def line(talk: Talk, text: str, style: str = "") -> None:
    """Print our own text, in one style."""
    from rich.text import Text

    talk.show(Text(safe(text), style=style))


def report_done(talk: Talk, text: str) -> None:
    """Report what a command did."""
    line(talk, f"✓ {text}", "green")


def remark(talk: Talk, text: str) -> None:
    """Print an additional remark."""
    line(talk, text, "dim")


def warning(talk: Talk, text: str) -> None:
    """Print a warning to read before continuing."""
    line(talk, f"! {text}", "yellow")


def print_lines(talk: Talk, lines: Iterable[str]) -> None:
    """Print lines that the command line draws, colours included."""
    from rich.text import Text

    text = "\n".join(lines)
    if text:
        talk.show(Text.from_ansi(text))


def trouble(talk: Talk, error: Exception) -> None:
    """Print what went wrong, and what to do about it."""
    said = describe_error(error)
    if said.kind == "fault" and os.environ.get("BACKSCROLL_DEBUG"):
        remark(talk, "".join(traceback.format_exception(error)))
    line(talk, t("cli.error", message=said.message), "red")
    if said.hint:
        remark(talk, t("cli.hint", hint=said.hint))
