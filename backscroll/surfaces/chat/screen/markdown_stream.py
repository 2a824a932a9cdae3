"""Streamed Markdown, cut into finished blocks and one that may still change.

Owns the cutting. A block is finished when another one has begun on a whole line after it; an item of a list when the next one has.
So printed output never has to be taken back, and only the last block is redrawn. Text is made safe for a
terminal on the way in. Refuses: drawing (`markdown_look`, `player`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from backscroll.surfaces.screen.plain import safe

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FENCE = re.compile(r"\s*(```|~~~)[^`\n]*\n")
_LONG_CODE = 60  # maximum lines of open code that are held back
_LISTS = {"bullet_list_open", "ordered_list_open"}


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """One finished block of Markdown. `close`: it follows the previous one without a blank line (items of a list)."""

    source: str
    close: bool = False


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt().enable("strikethrough").enable("table")


class MarkdownStream:
    """Takes pieces of an answer, returns blocks."""

    def __init__(self) -> None:
        self._text = ""  # the text not returned as a block yet
        self._held = ""  # a carriage return at the end of a piece: its line feed may be in the next
        self._close = False
        self._rows = 0  # characters of the open block known to be a table; 0: it is not one, or is unchecked

    @property
    def open(self) -> MarkdownBlock | None:
        """The block that may still change; None if there is none."""
        return MarkdownBlock(self._text, self._close) if self._text.strip() else None

    @property
    def is_table(self) -> bool:
        """True if the open block is a table: each new row may change the width of all."""
        lines = self._text.lstrip("\n").split("\n", 2)
        return len(lines) > 1 and "|" in lines[0] and set(lines[1]) <= set("|-: ") and "-" in lines[1]

    @property
    def is_single(self) -> bool:
        """True if the open text is certainly one block, not two of which the second is still undecided."""
        return len(_starts(_parser().parse(self._text))) == 1

    def feed(self, piece: str) -> list[MarkdownBlock]:
        """Add a piece of text; return the blocks that are finished now."""
        piece = self._held + piece
        self._held = "\r" if piece.endswith("\r") else ""
        piece = safe(piece.removesuffix("\r"))
        begins = self._text.endswith("\n")
        self._text += piece
        if "\n" not in piece and not begins:
            return []
        return self._cut_code() if self._inside_code() else self._cut()

    def finish(self) -> list[MarkdownBlock]:
        """Return the rest, as blocks, at the end of the text."""
        self._text += safe(self._held) + "\n"
        self._held = ""
        done = self._cut()
        last = self.open
        self._text, self._close, self._rows = "", False, 0
        return [*done, *([last] if last else [])]

    def drop(self) -> None:
        """Discard everything: the text so far is void."""
        self._text, self._held, self._close, self._rows = "", "", False, 0

    def _inside_code(self) -> bool:
        """Return True if a fence is open and nothing can have closed it: long code is not parsed again for every line."""
        began = _FENCE.match(self._text)
        return began is not None and self._text.find(began[1], began.end()) < 0

    def _cut_code(self) -> list[MarkdownBlock]:
        """Return very long code in parts, each a fence of its own: drawing stays fast however long it gets."""
        whole = self._text[: self._text.rfind("\n") + 1]
        lines = whole.splitlines(keepends=True)
        if len(lines) <= _LONG_CODE:
            return []
        began = _FENCE.match(self._text)
        assert began is not None, "only inside code"
        head, close = began[0], self._close
        body = "".join(lines[head.count("\n") :])
        self._text = head.lstrip("\n") + self._text[len(whole) :]
        self._close = True
        return [MarkdownBlock(f"{head}{body}{began[1]}\n", close)]

    def _cut(self) -> list[MarkdownBlock]:
        """Remove and return what is finished. The last line counts only when it has ended: `#` may become a word with a hash.

        Or when it can only be a new paragraph: a letter at its beginning, after an empty line.
        """
        whole = self._text[: self._text.rfind("\n") + 1]
        if whole.endswith("\n\n") and self._text[len(whole) :][:1].isalpha():
            whole = self._text
        if self._only_rows(whole):
            return []
        tokens = _parser().parse(whole)
        starts = _starts(tokens)
        self._rows = 0
        if len(starts) < 2:
            self._rows = len(whole) if starts and _is_open_table(tokens[0], whole) else 0
            return []
        lines = whole.splitlines(keepends=True)
        out: list[MarkdownBlock] = []
        close = self._close
        for (first, _), (after, item) in pairwise(starts):
            source = "".join(lines[first:after])
            out.append(MarkdownBlock(source, close))
            close = item and not source.endswith("\n\n")
        end = starts[-1][0]
        self._text = "".join(lines[end:]) + self._text[len(whole) :]
        self._close = close
        return out

    def _only_rows(self, whole: str) -> bool:
        """Return True if only rows were added to a table: a long one is not parsed again for every row."""
        if not self._rows or not all(line.startswith("|") for line in whole[self._rows :].split("\n")[:-1]):
            return False
        self._rows = len(whole)
        return True


def _is_open_table(token: Token, whole: str) -> bool:
    """Return True for a table that the next line can extend: no blank line has ended it."""
    return token.type == "table_open" and token.map is not None and token.map[1] == whole.count("\n")


def _starts(tokens: list[Token]) -> list[tuple[int, bool]]:
    """Return where blocks begin: the line, and whether it is a further item of the same list."""
    out: list[tuple[int, bool]] = []
    items = 0
    for token in tokens:
        if token.map is None:
            continue
        if token.level == 0 and token.nesting >= 0:
            if token.type in _LISTS:
                items = 0
            else:
                out.append((token.map[0], False))
        elif token.level == 1 and token.type == "list_item_open":
            out.append((token.map[0], items > 0))
            items += 1
    # Text before the first block (blank lines, link definitions) goes with it.
    return [(0, False), *out[1:]] if out else []
