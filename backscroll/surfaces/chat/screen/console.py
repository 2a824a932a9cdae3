"""The console of a chat: its colours; text is never interpreted as markup."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.theme import Theme


def make_console() -> Console:
    """Make the console of a chat, which never interprets text as markup."""
    looks = Theme(
        {"markdown.code": "bold cyan", "markdown.code_block": "none", "markdown.item.number": "cyan"}
    )
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Console(
        file=sys.stdout, theme=looks, markup=False, emoji=False, highlight=False, no_color=plain or None
    )
