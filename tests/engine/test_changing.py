"""The workroom: what changes in a folder is written down once, with its cause, and can be found again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.folder.workroom import Workroom
from backscroll.errors import InvalidInput, NotFound
from backscroll.vocab.change import Cause
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref
from tests.engine.workrooms import Desk, git


@pytest.fixture(params=[True, False], ids=["git", "hashes"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(tmp_path, git=request.param)
    yield made
    made.close()


def test_change_names_the_tool_that_caused_it(desk: Desk) -> None:
    """The change carries message, call, tool, turn, files with hashes, diff, description and folder; it reads back the same."""
    desk.write("a.py", "one\ntwo\n")
    desk.says("make it two")
    done = desk.edit("a.py", "one\nTWO\nthree\n", "I raise my voice")
    assert done is not None
    assert (done.cause.by, done.cause.tool, done.turn, done.root) == ("tool", "write_file", 1, str(desk.root))
    assert desk.thread.message(done.cause.message or "").text == "I raise my voice"
    (file,) = done.files
    assert (file.path, file.action, file.added, file.removed) == ("a.py", "changed", 2, 1)
    assert file.before != file.after
    assert "-two" in done.diff
    assert "+TWO" in done.diff
    assert "a.py" in done.description
    assert desk.room.changes()[0] == done


def test_unclaimed_changes_belong_to_the_person(desk: Desk) -> None:
    """The first look has nothing to compare with."""
    desk.write("old.txt", "there before")
    desk.room.look()
    assert desk.room.changes() == []
    desk.write("new.txt", "mine")
    (desk.root / "old.txt").unlink()
    (found,) = desk.room.auto_detect_code_changes()
    assert found.cause == Cause("person")
    assert {(f.path, f.action) for f in found.files} == {("new.txt", "added"), ("old.txt", "deleted")}
    assert desk.room.auto_detect_code_changes() == []


def test_look_without_changes_adds_no_event(desk: Desk) -> None:
    """Looking again and again adds no event."""
    desk.room.look()
    head = desk.thread.head
    first = desk.room.look()
    assert desk.room.looked(first, Cause("turn")) is None
    assert desk.room.look() == first
    assert desk.thread.head == head


def test_two_threads_in_one_folder_record_each_change_once(desk: Desk) -> None:
    """Two conversations in one folder: what one has recorded the other does not record again."""
    desk.write("a", "1")
    other = desk.beside()
    before = desk.room.look()
    other.says("hello")
    other.edit("b", "theirs")
    desk.write("c", "ours")
    change = desk.room.looked(before, Cause("turn"))
    assert change is not None
    assert [f.path for f in change.files] == ["c"]
    assert [f.path for c in other.room.changes() for f in c.files] == ["b"]


def test_parallel_looks_record_each_file_once(desk: Desk) -> None:
    """Parallel tools share a workroom: each file is recorded exactly once."""
    desk.room.look()
    desk.thread.append("user", "go")

    def work(n: int) -> None:
        before = desk.room.look()
        (desk.folder / f"f{n}").write_text(str(n))
        (desk.folder / f"f{n}").rename(desk.root / f"f{n}")  # at once, so that nobody sees half of it
        desk.room.looked(before, Cause("tool", tool=f"t{n}"))

    workers = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    paths = sorted(f.path for c in desk.room.changes() for f in c.files)
    assert paths == [f"f{n}" for n in range(6)]


def test_changes_filter_by_turn_file_and_time(desk: Desk) -> None:
    """Filters combine; newest first; a folder matches its files; a renamed file matches both names."""
    desk.turn("one", a__py="1\n2\n3\n4\n5\n")
    desk.says("two")
    desk.edit("lib/b.py", "b")
    desk.tool(lambda: (desk.root / "a.py").rename(desk.root / "z.py"), tool="run_command")
    room = desk.room
    assert [c.files[0].path for c in room.changes()] == ["z.py", "lib/b.py", "a.py"]
    assert [c.files[0].path for c in room.changes(turn=1)] == ["a.py"]
    assert [c.files[0].action for c in room.changes(file="a.py")] == ["renamed", "added"]
    assert [c.files[0].path for c in room.changes(file="./lib/")] == ["lib/b.py"]
    assert [c.files[0].path for c in room.changes(file=str(desk.root / "z.py"))] == ["z.py"]
    assert len(room.changes(limit=2)) == 2
    assert room.changes(limit=0) == []
    middle = room.changes(turn=2)[-1].at
    assert [c.turn for c in room.changes(since=middle)] == [2, 2]
    assert room.changes(until="2001-01-01") == []
    with pytest.raises(NotFound):
        room.changes(turn=9)
    with pytest.raises(InvalidInput):
        room.changes(limit=-1)
    with pytest.raises(InvalidInput):
        room.changes(file="/etc/passwd")


def test_changes_include_logged_code_changes(desk: Desk) -> None:
    """`log_code_change` works as before, and its changes are listed with the others."""
    desk.turn("one", a__py="1")
    logged = desk.thread.log_code_change("Fixed the parser", "解析.py", details={"lines": 3})
    newest = desk.room.changes()[0]
    assert (newest.id, newest.description, newest.cause.by) == (logged.id, "Fixed the parser", "program")
    assert [f.path for f in newest.files] == ["解析.py"]
    assert newest.turn == 1
    assert [c.description for c in desk.thread.code_changes()][-1] == "Fixed the parser"
    assert [c.file_path for c in desk.thread.code_changes()] == ["a.py", "解析.py"]


def test_header_of_a_change_holds_no_words(desk: Desk) -> None:
    """Paths, diff, folder and description are sealed; what stays after a forget is structure alone."""
    desk.turn("one", secret__py="password = 1\n")
    event = next(e for e in desk.thread.events() if e.kind is Kind.CODE_CHANGED)
    assert "secret" not in str(event.head)
    assert "password" not in str(event.head)
    assert str(desk.root) not in str(event.head)
    assert b"password" in (event.body or b"")


def test_forgetting_a_message_erases_its_changes(desk: Desk) -> None:
    """Other changes stay, and the snapshots can still restore the files."""
    desk.turn("one", a__py="keep\n")
    desk.says("two")
    done = desk.edit("b.py", "token = 'xyzzy-plugh-1234'\n")
    assert done is not None
    erased = desk.thread.forget(done.cause.message or "")
    assert erased.beside == 1
    assert [c.files[0].path for c in desk.room.changes()] == ["a.py"]
    assert all(b"xyzzy" not in (e.body or b"") for e in desk.thread.events())
    assert desk.engine.verify().ok
    desk.room.rewind(2)
    assert set(desk.tree()) == {"a.py"}


def test_single_change_can_be_erased(desk: Desk) -> None:
    """The words of a single change can be erased by the number of its event."""
    desk.turn("one", a__py="1\n")
    change = desk.room.changes()[0]
    desk.engine.forget_acts(desk.thread.id, [change.id.seq], actor="user")
    assert desk.room.changes() == []
    assert desk.engine.verify().ok


def test_dropped_snapshots_leave_no_contents(desk: Desk) -> None:
    """Looking starts anew, and a rewind reports the missing snapshots."""
    desk.turn("one", a__py="xyzzy\n")
    desk.room.forget_snapshots()
    kept = [p for p in desk.home.rglob("*") if p.is_file() and b"xyzzy" in p.read_bytes()]
    assert kept == []
    assert desk.room.changes() != []
    with pytest.raises(NotFound, match="no longer available"):
        desk.room.rewind(1)
    desk.turn("two", b__py="1")
    desk.room.rewind(2)
    assert set(desk.tree()) == {"a.py"}


def test_fork_has_the_changes_up_to_its_message(desk: Desk) -> None:
    """And none of the later changes of its parent."""
    desk.turn("one", a__py="1")
    desk.turn("two", b__py="2")
    last_of_one = desk.thread.turn(1).messages[-1].id
    early, late = desk.thread.fork(last_of_one), desk.thread.fork()
    for fork, paths in ((early, ["a.py"]), (late, ["b.py", "a.py"])):
        room = Workroom(fork, desk.root, keeper=desk.room.keeper, home=desk.home)
        assert [c.files[0].path for c in room.changes()] == paths


def test_changes_survive_export_and_import(desk: Desk, tmp_path: Path) -> None:
    """A native file includes them, with rewinds; the other store verifies and lists the same."""
    desk.turn("one", a__py="1")
    desk.turn("two", b__py="2")
    desk.room.rewind(2)
    target = tmp_path / "out.jsonl"
    desk.engine.export([desk.thread.id], "native", str(target))
    with backscroll.open(tmp_path / "other.db") as other:
        other.import_path(target)
        copy = other.thread(desk.thread.id)
        assert [m.text for m in copy] == desk.words()
        there = Workroom(copy, desk.root, keeper=desk.room.keeper, home=desk.home).changes()
        assert there == desk.room.changes()
        assert other.verify().ok
        copy.undo()
        assert "two" in [m.text for m in copy]


def test_ignored_files_are_not_changes(desk: Desk) -> None:
    """A new or removed ignore rule adds or deletes nothing."""
    desk.write(".gitignore", "*.log\n")
    desk.write("big.log", "noise")
    desk.write("data.csv", "1,2")
    desk.room.look()
    desk.write("big.log", "more noise")
    assert desk.room.auto_detect_code_changes() == []
    desk.says("ignore the data")
    done = desk.edit(".gitignore", "*.log\n*.csv\n")
    assert done is not None
    assert [f.path for f in done.files] == [".gitignore"]
    assert (desk.root / "data.csv").exists()


def test_unusual_file_names_are_recorded(desk: Desk) -> None:
    """Chinese names, spaces, quotes and tabs round-trip through the log."""
    names = ["文档/说明书.md", "with space.txt", "quote'\".txt", "tab\there"]
    desk.room.look()
    for name in names:
        desk.write(name, "内容\n")
    (found,) = desk.room.auto_detect_code_changes()
    assert {f.path for f in found.files} == set(names)
    assert "+内容" in found.diff


def test_change_description_uses_the_language_of_the_thread(desk: Desk) -> None:
    """A Chinese thread gets Chinese descriptions."""
    desk.thread.describe(language="zh")
    desk.turn("写一个函数", a__py="def 问候():\n    return 1\n")
    assert any("\u4e00" <= c <= "\u9fff" for c in desk.room.changes()[0].description.replace("问候", ""))


def test_change_description_uses_the_language_of_the_request(desk: Desk) -> None:
    """A thread of which no language is known: the last question decides."""
    desk.turn("请写一个问候函数，谢谢", a__py="def hello():\n    return 1\n")
    assert any("\u4e00" <= c <= "\u9fff" for c in desk.room.changes()[0].description)
    desk.turn("Please make it return two instead", a__py="def hello():\n    return 2\n")
    assert desk.room.changes()[0].description.isascii() or "−" in desk.room.changes()[0].description


def test_long_diffs_are_cut_in_the_log(desk: Desk) -> None:
    """A very long diff is shortened and marked as such."""
    desk.room.look()
    desk.write("long.txt", "".join(f"line {n}\n" for n in range(30_000)))
    (found,) = desk.room.auto_detect_code_changes()
    assert len(found.diff) < 45_000
    assert found.files[0].added == 30_000


def test_workroom_refuses_a_missing_folder(desk: Desk) -> None:
    """With a hint."""
    with pytest.raises(InvalidInput):
        Workroom(desk.thread, desk.root / "nowhere", home=desk.home)


def test_workroom_uses_the_folder_of_the_thread(desk: Desk) -> None:
    """`thread.workroom()` takes the folder from the metadata; the shorthand of the notes detects changes."""
    desk.thread.workroom().look()
    desk.write("a.txt", "1")
    assert [f.path for c in desk.thread.auto_detect_code_changes() for f in c.files] == ["a.txt"]


def test_repository_of_the_user_is_never_changed(tmp_path: Path) -> None:
    """Looking and going back leave HEAD, index and settings of the user's own repository as they are."""
    desk = Desk(tmp_path)
    git(desk.root, "init", "-q")
    desk.write("a.py", "1\n")
    git(desk.root, "add", ".")
    git(desk.root, "commit", "-qm", "first")
    desk.write("staged.py", "s\n")
    git(desk.root, "add", "staged.py")
    before = {p: p.read_bytes() for p in (desk.root / ".git").rglob("*") if p.is_file()}
    desk.turn("one", a__py="2\n")
    desk.room.rewind(1)
    after = {p: p.read_bytes() for p in (desk.root / ".git").rglob("*") if p.is_file()}
    assert before == after
    desk.close()


def test_unreadable_workspace_note_is_ignored(desk: Desk) -> None:
    """A note that is unreadable, or names a missing snapshot, is replaced."""
    desk.turn("one", a__py="1")
    desk.engine.store.write(lambda tx: tx.set_meta(f"workspace {desk.room.place}", "{"))
    assert desk.room.auto_detect_code_changes() == []
    desk.write("b", "2")
    assert len(desk.room.auto_detect_code_changes()) == 1


def test_change_id_is_its_event(desk: Desk) -> None:
    """The id of a change is the name of its event in the log."""
    desk.turn("one", a__py="1")
    change = desk.room.changes()[0]
    assert change.id == Ref(desk.thread.id, change.id.seq)
    assert next(iter(desk.thread.events(change.id.seq, change.id.seq))).kind is Kind.CODE_CHANGED
