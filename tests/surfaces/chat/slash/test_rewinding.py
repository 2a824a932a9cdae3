"""`/rewind`, `/changes`, `/diff`, `/blame`, `/commit`: on a real folder with real snapshots."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.surfaces import i18n
from backscroll.vocab.change import Cause
from tests.surfaces.chat.slash.hand import HandTalk


@pytest.fixture
def coding(make_talk: Callable[..., HandTalk]) -> HandTalk:
    """Two turns, each of which changes files through a tool."""
    talk = make_talk()
    (talk.root / "notes.txt").write_text("old\n", encoding="utf-8")
    room = talk.agent.workroom
    assert room is not None
    room.look()
    for n, (asked, name, text) in enumerate(
        [
            ("Write a greeting", "hello.py", "print('hello')\n"),
            ("Change the notes", "notes.txt", "old\nnew\n"),
        ]
    ):
        user = talk.thread.append("user", asked)
        before = room.look()
        (talk.root / name).write_text(text, encoding="utf-8")
        answer = talk.thread.append("assistant", f"I wrote {name} because you asked.")
        room.looked(before, Cause("tool", answer.id, f"call{n}", "write_file"))
        assert user.id
    return talk


def test_changes_are_listed_by_turn_and_file(coding: HandTalk) -> None:
    """With the tool."""
    said = coding.run("/changes")
    assert "hello.py" in said
    assert "notes.txt" in said
    assert "write_file" in said
    assert "notes.txt" not in coding.run("/changes 1")
    assert "hello.py" not in coding.run("/changes notes.txt")
    assert "no file changes" in coding.run("/changes nothing.txt")
    assert "turn 7 not found" in coding.run("/changes 7")


def test_diff_shows_a_turn(coding: HandTalk) -> None:
    """The last one that changed something, or the one that is named."""
    assert "+new" in coding.run("/diff")
    said = coding.run("/diff 1")
    assert "+print('hello')" in said
    assert "changes in turn 1" in said
    i18n.use("zh")
    assert "第 1 轮的改动" in coding.run("/差异 1")


def test_blame_names_who_asked_for_a_line(coding: HandTalk) -> None:
    """One line with question and reason; a whole file with a margin; older lines are marked as such."""
    said = coding.run("/blame notes.txt:2")
    assert "turn 2" in said
    assert "Change the notes" in said
    assert "because you asked" in said
    whole = coding.run("/blame notes.txt")
    assert "before" in whole
    assert "turn 2" in whole
    assert "99" in coding.run("/blame notes.txt:99")
    assert "rror" in coding.run("/blame missing.txt")


def test_rewind_of_files_and_conversation(coding: HandTalk) -> None:
    """Shown, confirmed, done: as before the turn; and it can be reverted."""
    coding.picks, coding.yeses = [0, "files and conversation"], [True]
    said = coding.run("/rewind")
    assert "1 file" in coding.shown_options[0][0]
    assert "notes.txt" in said
    assert (coding.root / "notes.txt").read_text(encoding="utf-8") == "old\n"
    assert coding.texts() == ["Write a greeting", "I wrote hello.py because you asked."]
    assert "your request: Change the notes" in said
    coding.yeses = [True]
    assert "reverted" in coding.run("/rewind redo")
    assert (coding.root / "notes.txt").read_text(encoding="utf-8") == "old\nnew\n"
    assert len(coding.texts()) == 4


def test_rewind_of_files_or_conversation_alone(coding: HandTalk) -> None:
    """Each side on its own."""
    coding.picks, coding.yeses = ["files only"], [True]
    coding.run("/rewind 2")
    assert (coding.root / "notes.txt").read_text(encoding="utf-8") == "old\n"
    assert len(coding.texts()) == 4
    coding.picks, coding.yeses = ["conversation only"], [True]
    coding.run("/rewind 1")
    assert coding.texts() == []
    assert (coding.root / "hello.py").exists()


def test_rewind_needs_a_confirmation(coding: HandTalk) -> None:
    """Cancelling at any question changes nothing."""
    for picks, yeses in (([None], []), ([0, None], []), ([0, 0], [False])):
        coding.picks, coding.yeses = list(picks), list(yeses)
        coding.run("/rewind")
        assert (coding.root / "notes.txt").read_text(encoding="utf-8") == "old\nnew\n"
        assert len(coding.texts()) == 4
    assert "turn 9 not found" in coding.run("/rewind 9")


def test_rewind_over_changes_of_others_is_confirmed_separately(coding: HandTalk) -> None:
    """And no is the default."""
    (coding.root / "notes.txt").write_text("old\nnew\nby hand\n", encoding="utf-8")
    coding.picks = ["files and conversation"]
    said = coding.run("/rewind 2")
    assert "notes.txt was changed outside this conversation" in said
    assert "by hand" in (coding.root / "notes.txt").read_text(encoding="utf-8")
    coding.picks, coding.yeses = ["files and conversation"], [True]
    coding.run("/rewind 2")
    assert (coding.root / "notes.txt").read_text(encoding="utf-8") == "old\n"


def test_unrecorded_file_is_named_in_the_preview(coding: HandTalk) -> None:
    """A manual edit of a moment ago is not an error afterwards."""
    (coding.root / "mine.txt").write_text("mine\n", encoding="utf-8")
    coding.picks = ["files and conversation"]
    said = coding.run("/rewind 1")
    assert "mine.txt was changed outside this conversation" in said
    assert "nothing was changed" in said
    assert (coding.root / "mine.txt").exists()


def test_rewind_without_a_watched_folder_reverts_messages_only(talk: HandTalk) -> None:
    """It says that files are not watched; one undo restores the messages."""
    talk.agent.workroom = None
    talk.yeses = [True]
    said = talk.run("/rewind 2")
    assert "file tracking is off" in said
    assert talk.texts() == ["Where shall we go?", "To the sea."]
    talk.run("/undo")
    assert len(talk.texts()) == 6
    for line in ("/changes", "/diff", "/blame x", "/commit", "/rewind redo"):
        assert "file tracking is off" in talk.run(line)


def test_commit_contains_exactly_the_agents_changes(coding: HandTalk) -> None:
    """Shown, confirmed, committed with a message; a second time there is nothing to commit."""
    git(coding.root, "init", "-q", "-b", "main")
    git(coding.root, "config", "user.name", "A")
    git(coding.root, "config", "user.email", "a@example.com")
    notes = coding.root / "notes.txt"
    notes.write_text("old\n", encoding="utf-8")  # what the person had before the agent came
    git(coding.root, "add", "notes.txt")
    git(coding.root, "commit", "-q", "-m", "before")
    notes.write_text("old\nnew\n", encoding="utf-8")
    (coding.root / "mine.txt").write_text("mine\n", encoding="utf-8")
    coding.yeses = [False]
    said = coding.run("/commit Greet and note")
    assert "hello.py" in said
    assert "nothing was changed" in said
    coding.yeses = [True]
    assert "committed" in coding.run("/commit Greet and note")
    shown = git(coding.root, "show", "--stat", "--format=%B", "HEAD")
    assert "Greet and note" in shown
    assert "hello.py" in shown
    assert "mine.txt" not in shown
    assert "nothing to commit" in coding.run("/commit")


def git(root: Path, *arguments: str) -> str:
    """Real git."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout
