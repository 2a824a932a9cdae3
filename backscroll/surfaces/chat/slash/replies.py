"""How slash commands say what they did: a line between the turns, made safe for the terminal.

Owns the few ways of saying something (done, a remark, a warning, an error with its hint). The words of errors are in
`cli/error_report`.
"""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING

from backscroll.surfaces.cli.screen.plain import safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backscroll.surfaces.chat.talk import Talk


def line(talk: Talk, text: str, style: str = "") -> None:
    """Words of ours, in one style."""
    from rich.text import Text

    talk.show(Text(safe(text), style=style))


def report_done(talk: Talk, text: str) -> None:
    """What a command did."""
    line(talk, f"✓ {text}", "green")


def remark(talk: Talk, text: str) -> None:
    """Something beside it."""
    line(talk, text, "dim")


def warning(talk: Talk, text: str) -> None:
    """Something to look at before going on."""
    line(talk, f"! {text}", "yellow")


def print_lines(talk: Talk, lines: Iterable[str]) -> None:
    """Lines that the command line draws, colours included."""
    from rich.text import Text

    text = "\n".join(lines)
    if text:
        talk.show(Text.from_ansi(text))


def trouble(talk: Talk, error: Exception) -> None:
    """What went wrong, and what to do about it."""
    from backscroll.surfaces.cli.error_report import describe_error
    from backscroll.surfaces.i18n import t

    said = describe_error(error)
    if said.kind == "fault" and os.environ.get("BACKSCROLL_DEBUG"):
        remark(talk, "".join(traceback.format_exception(error)))
    line(talk, t("cli.error", message=said.message), "red")
    if said.hint:
        remark(talk, t("cli.hint", hint=said.hint))
