"""Building a message from input: the text as it is, with pasted images and mentioned files.

Owns the marks of pasted images in the text: an image is attached as long as its mark is there. `mention` and
`attachments` make the content.
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
    """Images that wait for their message."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._own: set[Path] = set()

    def add(self, path: Path, *, own: bool = False) -> str:
        """Keep an image; return its mark for the text. `own`: a file that we made for it."""
        mark = f"[#{len(self._files) + 1} {path.name}]"
        self._files[mark] = path
        if own:
            self._own.add(path)
        return mark

    def clean(self) -> None:
        """Remove the files that we made: what was sent is in the log."""
        for path in self._own:
            path.unlink(missing_ok=True)
        self._own.clear()

    def find_pictures(self, text: str) -> list[Path]:
        """Return the images whose marks are in a text; deleting a mark removes its image."""
        found = [path for mark, path in self._files.items() if mark in text]
        self._files.clear()
        return found


def message(talk: Talk, text: str, attachments: Attachments, pastes: Pastes) -> Content:
    """Return the message to send; a line is shown for everything that is attached, or cannot be.

    Only typed text mentions files: an `@` in a long paste is part of the paste.
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
    """Return the content with long pastes in place of their marks."""
    parts = [
        replace(part, text=pastes.whole(part.text)) if isinstance(part, Words) else part
        for part in content.parts
    ]
    return replace(content, parts=tuple(parts))
