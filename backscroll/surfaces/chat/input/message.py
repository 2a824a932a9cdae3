"""A message from what was typed: the text as it is, with the pictures that were pasted and the files that it mentions.

Owns the marks of pasted pictures in the text: a picture goes along as long as its mark stands there. Before: `pasting`. After:
`mention` and `attaching` make the content.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.surfaces.screen.plain import safe
from backscroll.vocab.part import Text as Words

if TYPE_CHECKING:
    from backscroll.surfaces.chat.input.pastes import Pastes
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.message import Content


class Attachments:
    """Pictures that wait for their message."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._own: set[Path] = set()

    def add(self, path: Path, *, own: bool = False) -> str:
        """Keep a picture; gives the mark that stands for it in the text. `own`: a file that we made for it."""
        mark = f"[#{len(self._files) + 1} {path.name}]"
        self._files[mark] = path
        if own:
            self._own.add(path)
        return mark

    def clean(self) -> None:
        """Remove the files that we made: what was sent is in the record."""
        for path in self._own:
            path.unlink(missing_ok=True)
        self._own.clear()

    def find_pictures(self, text: str) -> list[Path]:
        """The pictures whose marks stand in a text; the others were taken back by deleting theirs."""
        found = [path for mark, path in self._files.items() if mark in text]
        self._files.clear()
        return found


def message(talk: Talk, text: str, attachments: Attachments, pastes: Pastes) -> Content:
    """What is sent; a line is shown for everything that goes along, or cannot.

    Only what was typed mentions files: an `@` in a long paste is a part of it.
    """
    from rich.text import Text

    # start-up: most messages mention nothing
    from backscroll.surfaces.chat.input.mention import with_mentions

    made = with_mentions(text, root=talk.root, thread=talk.thread, paths=attachments.find_pictures(text))
    attachments.clean()
    for note in made.notes:
        talk.show(Text(safe(note), style="dim"))
    return _with_pastes(made.content, pastes)


def _with_pastes(content: Content, pastes: Pastes) -> Content:
    """Long pastes in place of their marks."""
    parts = [
        replace(part, text=pastes.whole(part.text)) if isinstance(part, Words) else part
        for part in content.parts
    ]
    return replace(content, parts=tuple(parts))
