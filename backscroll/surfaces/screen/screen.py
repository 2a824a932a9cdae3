"""The output: plain lines, styled if a terminal can show it, or JSON.

Results go to standard output, remarks and progress to standard error, so that a pipe gets results only. Colours only for a
terminal, and never with NO_COLOR. Refuses: deciding what to print (commands do) and layout (`table.py`, `conversation.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Generator, Iterable
from typing import Any, TextIO, cast

from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.pager import pager
from backscroll.surfaces.screen.plain import safe_json

_STYLES = {
    "dim": "2",
    "strong": "1",
    "user": "36",
    "assistant": "32",
    "system": "35",
    "tool": "33",
    "match": "1;33",
    "good": "32",
    "bad": "31",
    "warn": "33",
    "added": "32",
    "removed": "31",
    # The sections of a prompt: neighbours differ on dark and on light backgrounds.
    "section_tools": "33",
    "section_system": "35",
    "section_memory": "95",
    "section_summaries": "36",
    "section_history": "34",
    "section_recent": "32",
    "section_operations": "93",
    "section_recalled": "91",
    "section_graph": "96",
    "section_profile": "94",
    "section_lore": "92",
    "section_around": "37",
    "section_reserve": "90",
}
#: A table in a pipe is as wide as it needs to be.
_UNBOUNDED = 10_000


class Screen:
    """A pair of standard output and standard error."""

    def __init__(self, *, as_json: bool = False, as_lines: bool = False) -> None:
        self.as_json = as_json
        self.as_lines = as_lines
        self.terminal = _is_terminal(sys.stdout)
        self.coloured = self.terminal and _colours_wanted()
        self._error_terminal = _is_terminal(sys.stderr)
        self._error_colour = self._error_terminal and _colours_wanted()
        if as_json:
            _speak_utf8(sys.stdout)

    @property
    def width(self) -> int:
        """The number of cells in a line; without a terminal unlimited, unless COLUMNS says otherwise."""
        if self.terminal or os.environ.get("COLUMNS", "").isdecimal():
            return max(40, shutil.get_terminal_size((80, 24)).columns)
        return _UNBOUNDED

    def room(self, indent: int, most: int = 100) -> int:
        """Return the width for running text after an indent: comfortable to read, or unlimited in a pipe."""
        return self.width if self.width >= _UNBOUNDED else min(self.width, most) - indent

    def style(self, text: str, name: str) -> str:
        """Return the text in a colour, if colours can be shown."""
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if self.coloured and text and name in _STYLES else text

    def line(self, text: str = "") -> None:
        """Print one line, or several, of the result."""
        sys.stdout.write(text + "\n")

    def lines(self, lines: Iterable[str]) -> None:
        """Print several lines of the result."""
        for text in lines:
            self.line(text)

    def raw(self, text: str) -> None:
        """Print text as it is, without a line end."""
        sys.stdout.write(text)

    def json(self, document: Any) -> None:
        """Print the result as one JSON document, indented; with --jsonl on one line, a list as a line for each element."""
        if not self.as_lines:
            sys.stdout.write(safe_json(json.dumps(document, ensure_ascii=False, indent=2)) + "\n")
        elif isinstance(document, list):
            self.json_list(cast("list[Any]", document))
        else:
            self.json_line(document)

    def json_list(self, documents: Iterable[Any]) -> None:
        """Print a listing as one JSON array; with --jsonl each element on its own line as soon as it is known."""
        if not self.as_lines:
            self.json(list(documents))
            return
        for document in documents:
            self.json_line(document)

    def json_line(self, document: Any) -> None:
        """Print one element of a stream on one line, and pass it on at once."""
        sys.stdout.write(safe_json(json.dumps(document, ensure_ascii=False)) + "\n")
        sys.stdout.flush()

    def remark(self, text: str, style: str = "") -> None:
        """Print a remark beside the result; in a terminal it is wrapped between words."""
        if self._error_terminal:
            text = "\n".join(wrap(text, max(40, shutil.get_terminal_size((80, 24)).columns)))
        if self._error_colour and style in _STYLES:
            text = f"\x1b[{_STYLES[style]}m{text}\x1b[0m"
        sys.stdout.flush()
        sys.stderr.write(text + "\n")

    def warning(self, text: str) -> None:
        """Print a warning on standard error, as JSON if the result is JSON."""
        if self.as_json:
            sys.stderr.write(safe_json(json.dumps({"warning": text}, ensure_ascii=False)) + "\n")
        else:
            self.remark(text, "warn")

    @property
    def can_ask(self) -> bool:
        """True if a user is at the terminal."""
        return not self.as_json and _is_terminal(sys.stdin) and _is_terminal(sys.stderr)

    def asks(self, question: str) -> bool:
        """Ask yes or no; Enter means no."""
        sys.stdout.flush()
        while True:
            sys.stderr.write(f"{question} {t('cli.yes_no')} ")
            sys.stderr.flush()
            answer = sys.stdin.readline()
            if not answer.endswith("\n"):
                raise KeyboardInterrupt  # the input was closed
            said = answer.strip().lower()
            if said in {"", "n", "no", "否"}:
                return False
            if said in {"y", "yes", "是"}:
                return True

    def flush(self) -> None:
        """Flush what was written so far."""
        sys.stdout.flush()

    @contextlib.contextmanager
    def page_output(self) -> Generator[None]:
        """Show what is written inside through the user's pager, if there is a terminal."""
        if not self.terminal or not _is_terminal(sys.stdin) or os.environ.get("PAGER") in {"", "cat"}:
            yield
            return
        with pager() as stream:
            kept, sys.stdout = sys.stdout, stream or sys.stdout
            try:
                yield
            except BrokenPipeError:
                if stream is None:
                    raise  # otherwise the user has closed the pager
            finally:
                sys.stdout = kept


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty()


def _colours_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _speak_utf8(stream: TextIO) -> None:
    """Switch a stream to UTF-8: JSON is UTF-8 whatever the locale."""
    import io

    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8")
