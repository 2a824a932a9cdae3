"""`/undo`, `/redo`: revert your last change to the conversation, or apply it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.surfaces.chat.slash.arguments import no_words
from backscroll.surfaces.chat.slash.replies import report_done
from backscroll.surfaces.cli.commands.history.undo import stroke_words
from backscroll.surfaces.i18n import t

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk


def undo_slash(talk: Talk, rest: str) -> None:
    """Undo your last change."""
    no_words(rest, "undo")
    event = talk.thread.undo()
    report_done(talk, t("undoing.undone", what=stroke_words(talk.thread, event)))


def redo_slash(talk: Talk, rest: str) -> None:
    """Redo what undo reverted."""
    no_words(rest, "redo")
    event = talk.thread.redo()
    report_done(talk, t("undoing.redone", what=stroke_words(talk.thread, event)))
