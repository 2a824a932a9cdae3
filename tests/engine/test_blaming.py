"""Blame: which turn wrote a line, what was asked there, and why; through renames, rewinds and other people's edits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.engine.folder.blame import BlameLine
from backscroll.errors import InvalidInput, NotFound
from backscroll.vocab.part import Reasoning, Text, ToolCall
from tests.engine.workrooms import Desk, git


@pytest.fixture(params=[True, False], ids=["git", "hashes"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(tmp_path, git=request.param)
    yield made
    made.close()


def turns(lines: list[BlameLine]) -> list[tuple[str, int | str | None]]:
    """Each line with its turn, or who it was where there is none."""
    return [(b.text, b.by if b.by in ("person", None) else b.turn) for b in lines]


def test_blame_names_the_turn_of_each_line(desk: Desk) -> None:
    """Old lines, lines of two turns and lines by hand are distinguished."""
    desk.write("a.py", "old\n")
    desk.says("Add a greeting")
    desk.edit("a.py", "old\nhello\n", "I add a line that greets")
    desk.says("And a farewell")
    desk.edit("a.py", "old\nhello\nbye\n", "Politeness matters")
    desk.write("a.py", "by hand\nold\nhello\nbye\n")
    desk.room.look()
    found = desk.room.blame("a.py")
    assert turns(found) == [("by hand", "person"), ("old", None), ("hello", 1), ("bye", 2)]
    hello = found[2]
    assert (hello.asked, hello.why, hello.tool) == (
        "Add a greeting",
        "I add a line that greets",
        "write_file",
    )
    assert hello.change is not None
    assert hello.message == hello.change.cause.message
    assert found[3].why == "Politeness matters"
    assert [b.line for b in found] == [1, 2, 3, 4]


def test_blame_of_a_single_line(desk: Desk) -> None:
    """A line number that does not exist and a missing file are refused."""
    desk.turn("one", a__py="1\n2\n3\n")
    (line,) = desk.room.blame("a.py", 2)
    assert (line.line, line.text, line.turn) == (2, "2", 1)
    for wrong in (0, 4):
        with pytest.raises(InvalidInput, match="no line"):
            desk.room.blame("a.py", wrong)
    with pytest.raises(NotFound):
        desk.room.blame("none.py")


def test_blame_survives_renames_and_later_edits(desk: Desk) -> None:
    """A file renamed twice, once with an edit, keeps the authors of its lines."""
    body = "".join(f"line {n}\n" for n in range(10))
    desk.turn("write it", a__py=body)
    desk.says("move it")
    desk.tool(lambda: (desk.root / "a.py").rename(desk.root / "b.py"), tool="run_command")

    def move() -> None:
        (desk.root / "lib").mkdir()
        (desk.root / "b.py").rename(desk.root / "lib" / "c.py")
        desk.write("lib/c.py", body.replace("line 4", "line four"))

    desk.says("move and edit it")
    desk.tool(move, tool="run_command")
    found = desk.room.blame("lib/c.py")
    assert {b.turn for b in found if b.text != "line four"} == {1}
    assert next(b for b in found if b.text == "line four").turn == 3
    assert found[0].asked == "write it"


def test_blame_after_a_rewind_names_the_original_turn(desk: Desk) -> None:
    """After a rewind, and after its redo, lines belong to the turns that wrote them, not to the rewind."""
    desk.write("a.py", "old\n")
    desk.turn("one", a__py="old\nfirst\n")
    desk.turn("two", a__py="old\nsecond\n")
    desk.room.rewind(2)
    assert turns(desk.room.blame("a.py")) == [("old", None), ("first", 1)]
    desk.room.redo()
    assert turns(desk.room.blame("a.py")) == [("old", None), ("second", 2)]
    desk.room.rewind(1)
    assert turns(desk.room.blame("a.py")) == [("old", None)]
    desk.turn("anew", a__py="old\nnew\n")
    assert turns(desk.room.blame("a.py")) == [("old", None), ("new", 1)]


def test_blame_attributes_unrecorded_changes_to_the_person(desk: Desk) -> None:
    """Blame writes nothing into the log."""
    desk.turn("one", a__py="1\n")
    desk.write("a.py", "1\nmine\n")
    head = desk.thread.head
    found = desk.room.blame("a.py")
    assert turns(found) == [("1", 1), ("mine", "person")]
    assert found[1].change is None
    assert desk.thread.head == head


def test_blame_names_lines_of_another_thread(desk: Desk) -> None:
    """Lines that another conversation wrote in the same folder name that conversation and its words."""
    desk.turn("ours", a__py="ours\n")
    other = desk.beside("Other")
    other.turn("theirs, please", a__py="ours\ntheirs\n")
    found = desk.room.blame("a.py")
    assert [b.thread for b in found] == [desk.thread.id, other.thread.id]
    assert found[1].asked == "theirs, please"


def test_blame_names_a_rewound_turn(desk: Desk) -> None:
    """After a rewind of the conversation alone, blame still shows the request; the turn has no number."""
    desk.turn("write it", a__py="1\n")
    desk.room.rewind(1, "conversation")
    (line,) = desk.room.blame("a.py")
    assert (line.by, line.turn, line.asked) == ("tool", None, "write it")


def test_blame_does_not_show_forgotten_words(desk: Desk) -> None:
    """The author of the line is known; the request is erased with the message."""
    desk.says("a secret wish")
    desk.edit("a.py", "1\n", "a secret reason")
    desk.thread.forget(desk.thread.message(0).id, desk.thread.message(1).id)
    (line,) = desk.room.blame("a.py")
    assert (line.by, line.asked, line.why) == ("tool", "", "")


def test_blame_finds_the_reason_before_the_call(desk: Desk) -> None:
    """In the reply with the call, else in earlier text, else in reasoning."""
    desk.says("do it")
    desk.thread.append("assistant", "First I look around.")
    desk.thread.append("tool", "looked")
    desk.tool(lambda: desk.write("a.py", "1\n"), " ")
    assert desk.room.blame("a.py")[0].why == "First I look around."
    desk.says("again")
    from backscroll.vocab.change import Cause

    call = ToolCall("c9", "write_file", {})
    message = desk.thread.append("assistant", [Reasoning("because of the tests"), Text(""), call])
    before = desk.room.look()
    desk.write("b.py", "2\n")
    desk.room.looked(before, Cause("tool", message.id, "c9", "write_file"))
    assert desk.room.blame("b.py")[0].why == "because of the tests"


def test_blame_of_a_recreated_file_starts_anew(desk: Desk) -> None:
    """A file deleted and written again has no older lines."""
    desk.turn("one", a__py="same\n")
    desk.says("two")
    desk.tool((desk.root / "a.py").unlink, tool="run_command")
    desk.turn("three", a__py="same\n")
    assert turns(desk.room.blame("a.py")) == [("same", 3)]


def test_changed_line_endings_do_not_change_blame(desk: Desk) -> None:
    """A turn that only went from CRLF to LF wrote no line."""
    desk.turn("one", a__txt="一\r\n二\r\n")
    desk.turn("two", a__txt="一\n二\n三\n")
    assert turns(desk.room.blame("a.txt")) == [("一", 1), ("二", 1), ("三", 2)]


def test_blame_refuses_ignored_and_outside_paths(tmp_path: Path) -> None:
    """Ignored files, folders and files outside say why."""
    desk = Desk(tmp_path)
    git(desk.root, "init", "-q")
    desk.write(".gitignore", "*.log\n")
    desk.write("a.log", "x")
    desk.write("lib/x.py", "x")
    desk.write(".env", "KEY=1\n")
    desk.room.look()
    for path in ("a.log", "lib", ".env"):
        with pytest.raises(InvalidInput):
            desk.room.blame(path)
    with pytest.raises(InvalidInput):
        desk.room.blame("/etc/passwd")
    desk.close()


def test_blame_of_binary_and_empty_files(desk: Desk) -> None:
    """A file that is not UTF-8, and an empty one."""
    desk.says("one")
    desk.edit("a.txt", b"caf\xe9\n\xff\xfe\n")
    assert [b.turn for b in desk.room.blame("a.txt")] == [1, 1]
    desk.edit("empty.txt", b"")
    assert desk.room.blame("empty.txt") == []


def test_blame_without_snapshots_is_unknown(desk: Desk) -> None:
    """After snapshots are dropped, older lines have no author; later lines do."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="1\n2\n")
    desk.room.forget_snapshots()
    assert turns(desk.room.blame("a.py")) == [("1", None), ("2", None)]
    desk.turn("three", a__py="1\n2\n3\n")
    assert turns(desk.room.blame("a.py")) == [("1", None), ("2", None), ("3", 3)]
