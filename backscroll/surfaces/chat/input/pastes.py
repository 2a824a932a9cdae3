"""Long pastes in the input line: each is shown as a short mark, and sent in full.

Owns the marks, their texts, and when a paste is long enough for one. Deleting a mark deletes its text; a mark that
was edited is ordinary text. Marks live as long as the chat, so that history and questions in between restore them.
Refuses: distinguishing files from text (`clipboard`), keys (`keys`), keeping texts for the next chat (`history_file`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backscroll.surfaces.i18n import count

#: A paste with more lines, or more characters, is folded.
LINES, CHARACTERS = 10, 1000
_MARK = re.compile(r"\[[^\[\]\n]{1,80} #[1-9][0-9]*\]")


class Pastes:
    """The marks and their texts."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str, beside: str = "") -> str:
        """Return what the line shows for a paste: itself, or a mark; `beside` is what the line holds already."""
        if text.count("\n") < LINES and len(text) <= CHARACTERS:
            return text
        return self.mark(text, beside)

    def mark(self, text: str, beside: str = "") -> str:
        """Return a mark for a text, numbered within its line; the same text in the same place has the same one."""
        lines = len(text.rstrip("\n").split("\n"))
        many = ("chat.pasted_lines", lines) if lines > 1 else ("chat.pasted_characters", len(text))
        number = len(self.marks(beside)) + 1
        while True:
            mark = f"[{count(*many)} #{number}]"
            if self._texts.setdefault(mark, text) == text:
                return mark
            number += 1

    def marks(self, text: str) -> list[tuple[int, int]]:
        """Return the positions of marks in a text."""
        return [found.span() for found in _MARK.finditer(text) if found[0] in self._texts]

    def mark_at(self, text: str, cursor: int) -> tuple[int, int] | None:
        """Return the mark that the cursor is in or right after."""
        return next(((a, b) for a, b in self.marks(text) if a < cursor <= b), None)

    def whole(self, text: str) -> str:
        """Return a text with the marks replaced by their texts; a paste's own contents are not searched for marks."""
        return "".join(self.pieces(text))

    def pieces(self, text: str) -> list[str]:
        """Return typed and pasted text in turn: every second piece is a paste."""
        out: list[str] = []
        end = 0
        for first, last in self.marks(text):
            out += [text[end:first], self._texts[text[first:last]]]
            end = last
        return [*out, text[end:]]

    def fold_pieces(self, pieces: Sequence[str]) -> str:
        """Return typed and pasted pieces as a line with marks."""
        line = ""
        for index, piece in enumerate(pieces):
            line += self.mark(piece, line) if index % 2 else piece
        return line

    def fold_again(self, text: str, before: str) -> str:
        """Return a text that was edited outside: pastes of the previous line that are unchanged get their marks back."""
        for first, last in self.marks(before):
            mark = before[first:last]
            text = text.replace(self._texts[mark], mark, 1)
        return text
