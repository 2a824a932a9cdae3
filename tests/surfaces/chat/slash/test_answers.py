"""`/regenerate`, `/swipe`, `/fork`, `/undo`, `/redo`."""

from __future__ import annotations

from backscroll.surfaces import i18n
from tests.surfaces.chat.slash.hand import HandTalk


def test_answer_can_be_regenerated(talk: HandTalk) -> None:
    """The new one is live, the old one an alternative, and the count is shown."""
    talk.parrot.answers = ["Three hours."]
    assert "alternative 2 of 2" in talk.run("/retry")
    assert talk.texts()[-1] == "Three hours."
    assert talk.thread.message(-1).alternatives == 2


def test_alternatives_can_be_selected(talk: HandTalk) -> None:
    """Left, right, by number, by picker; at the end another one can be requested."""
    talk.parrot.answers = ["Three hours.", "Four hours."]
    talk.run("/regenerate")
    said = talk.run("/swipe left")
    assert "Two hours." in said
    assert "alternative 1 of 2" in said
    assert talk.texts()[-1] == "Two hours."
    talk.run("/swipe right")
    assert talk.texts()[-1] == "Three hours."
    talk.run("/swipe 1")
    assert talk.texts()[-1] == "Two hours."
    talk.picks = [1]
    talk.run("/swipe")
    assert talk.shown_options[-1] == ["Two hours.", "Three hours."]
    assert talk.texts()[-1] == "Three hours."
    talk.run("/swipe right")  # the last one, and no is said
    assert talk.thread.message(-1).alternatives == 2
    talk.yeses = [True]
    talk.run("/swipe right")
    assert talk.texts()[-1] == "Four hours."


def test_missing_alternative_is_refused(talk: HandTalk, empty: HandTalk) -> None:
    """With how many there are."""
    assert "alternative 7 not found" in talk.run("/swipe 7")
    assert "available: 1" in talk.run("/swipe left")
    assert "alternative 1 of 1" in talk.run("/swipe")
    assert "no answer yet" in empty.run("/swipe")
    assert "no answer to regenerate" in empty.run("/regenerate")


def test_fork_shares_the_past(talk: HandTalk) -> None:
    """Up to a turn, or all of it; the chat continues there."""
    here = talk.thread.id
    assert "forked with 2 turns" in talk.run("/fork 2")
    assert talk.thread.id != here
    assert talk.texts() == ["Where shall we go?", "To the sea.", "And when?", "In May."]
    assert "1 turn" in talk.run("/fork 1")
    assert "turn 9 not found" in talk.run("/fork 9")
    assert "numbered 1 to 1" in talk.run("/fork -5")


def test_undo_and_redo_report_what_they_did(talk: HandTalk) -> None:
    """If there is nothing to undo, that is said with a hint."""
    talk.run("/rename Elsewhere")
    assert "Undone" in talk.run("/undo")
    assert talk.thread.info.title == "Trip"
    assert "Redone" in talk.run("/redo")
    assert talk.thread.info.title == "Elsewhere"
    assert "nothing to redo" in talk.run("/redo")
    i18n.use("zh")
    talk.run("/undo")
    assert "没有" in talk.run("/undo")
