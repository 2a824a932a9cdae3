"""Going back to before a turn: files and conversation together, and forward again, whatever others did meanwhile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.folder.rewind_journal import journal_of
from backscroll.engine.folder.workroom import Workroom
from backscroll.errors import Conflict, InvalidInput, NotFound, StoreError
from backscroll.vocab.event import Kind
from tests.engine.workrooms import Desk, git


@pytest.fixture(params=[True, False], ids=["git", "hashes"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(tmp_path, git=request.param)
    yield made
    made.close()


def test_rewind_restores_files_and_conversation(desk: Desk) -> None:
    """To the state before turn 2; redo reverts the rewind."""
    desk.write("kept.txt", "always\n")
    desk.turn("one", a__py="1\n")
    then, said = desk.tree(), desk.words()
    desk.turn("two", a__py="2\n", b__py="new\n")
    desk.says("three")
    desk.tool((desk.root / "kept.txt").unlink, tool="run_command")
    now, later = desk.tree(), desk.words()
    done = desk.room.rewind(2)
    assert (desk.tree(), desk.words()) == (then, said)
    assert done.done
    assert {(f.path, f.action) for f in done.files} == {
        ("a.py", "changed"), ("b.py", "deleted"), ("kept.txt", "added"),
    }  # fmt: skip
    assert [m.text for m in done.messages] == later[len(said) :]
    back = desk.room.redo()
    assert (desk.tree(), desk.words()) == (now, later)
    assert back.redone
    assert desk.engine.verify().ok


def test_dry_run_of_a_rewind_changes_nothing(desk: Desk) -> None:
    """The preview names files, diff and messages; tree, conversation and log stay."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="2\n")
    before = (desk.tree(), desk.words(), desk.thread.head)
    told = desk.room.rewind(1, dry_run=True)
    assert not told.done
    assert [(f.path, f.action) for f in told.files] == [("a.py", "deleted")]
    assert "-2" in told.diff
    assert len(told.messages) == len(desk.words())
    assert (desk.tree(), desk.words(), desk.thread.head) == before
    desk.room.rewind(1)
    assert [(f.path, f.action) for f in desk.room.redo(dry_run=True).files] == [("a.py", "added")]
    assert desk.tree() == {}


def test_rewind_of_files_or_conversation_alone(desk: Desk) -> None:
    """The other half is unchanged; redo reverts what was done."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="2\n")
    words, tree = desk.words(), desk.tree()
    desk.room.rewind(2, "files")
    assert (desk.read("a.py"), desk.words()) == ("1\n", words)
    desk.room.redo()
    assert (desk.tree(), desk.words()) == (tree, words)
    desk.room.rewind(2, "conversation")
    assert (desk.tree(), len(desk.words())) == (tree, 4)
    desk.room.redo()
    assert (desk.tree(), desk.words()) == (tree, words)
    with pytest.raises(NotFound):
        desk.room.redo()


def test_undo_after_a_rewind_restores_messages_and_redo_the_files(desk: Desk) -> None:
    """One stroke of the log: `undo` returns every message at once; the files can follow."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="2\n")
    words = desk.words()
    desk.room.rewind(1)
    assert desk.words() == []
    desk.thread.undo()
    assert desk.words() == words
    assert desk.tree() == {}
    assert desk.room.redo().what == "files"
    assert desk.read("a.py") == "2\n"
    with pytest.raises(NotFound):
        desk.room.redo()


def test_undo_after_a_redo_reverts_only_the_redo(desk: Desk) -> None:
    """Undo goes through strokes in their order, also when another change came between."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="2\n")
    words = desk.words()
    desk.room.rewind(2)
    desk.thread.rename("Renamed meanwhile")
    desk.room.redo()
    assert desk.words() == words
    desk.thread.undo()
    assert len(desk.words()) == 4
    assert desk.thread.info.title == "Renamed meanwhile"


def test_several_rewinds_are_redone_one_by_one(desk: Desk) -> None:
    """The last one first, then the one before it."""
    trees = []
    for n in range(1, 4):
        trees.append((desk.tree(), desk.words()))
        desk.turn(f"turn {n}", a__py=f"{n}\n")
    last = (desk.tree(), desk.words())
    desk.room.rewind(3)
    desk.room.rewind(1)
    assert (desk.tree(), desk.words()) == trees[0]
    desk.room.redo()
    assert (desk.tree(), desk.words()) == trees[2]
    desk.room.redo()
    assert (desk.tree(), desk.words()) == last


def test_rewind_refuses_to_overwrite_changes_of_a_person(desk: Desk) -> None:
    """The error names the files; a forced rewind keeps their contents in a snapshot."""
    desk.turn("one", a__py="1\n", b__py="1\n")
    desk.write("a.py", "mine\n")
    with pytest.raises(Conflict, match=r"a\.py") as refused:
        desk.room.rewind(1)
    assert refused.value.facts["files"] == ["a.py"]
    assert desk.read("a.py") == "mine\n"
    assert desk.words() != []
    desk.room.rewind(1, force=True)
    assert desk.tree() == {}
    change = next(c for c in desk.room.changes() if c.cause.by == "person")
    assert desk.room.keeper.read(change.after, "a.py") == b"mine\n"
    desk.room.redo()
    assert desk.read("a.py") == "mine\n"


def test_rewind_refuses_to_lose_a_persons_change_below_the_agents(desk: Desk) -> None:
    """The agent wrote over a file that a person had changed in the same turn: going back would lose the person's words."""
    desk.turn("one", a__py="1\n")
    desk.says("two")
    desk.edit("a.py", "2\n")
    desk.write("a.py", "2\nmine\n")
    desk.edit("a.py", "2\nmine\n3\n")
    with pytest.raises(Conflict):
        desk.room.rewind(2)
    desk.room.rewind(2, force=True)
    assert desk.read("a.py") == "1\n"


def test_rewind_keeps_changes_before_the_turn(desk: Desk) -> None:
    """Manual edits before the turn stay, whether recorded before or after its message."""
    desk.turn("one", a__py="1\n")
    desk.write("mine.txt", "by hand\n")
    desk.thread.append("user", "two")
    desk.room.look()
    desk.edit("a.py", "2\n")
    desk.room.rewind(2)
    assert desk.tree() == {"a.py": b"1\n", "mine.txt": b"by hand\n"}


def test_rewind_leaves_other_files_alone(desk: Desk) -> None:
    """Changes to files that the turns did not touch are neither a conflict nor reverted."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="2\n")
    other = desk.beside()
    other.turn("theirs", c__py="c\n")
    desk.room.rewind(2)
    assert desk.tree() == {"a.py": b"1\n", "c.py": b"c\n"}
    assert other.words() != []


def test_rewind_refuses_to_overwrite_another_threads_changes(desk: Desk) -> None:
    """What another conversation wrote into our file since would be lost: refused."""
    desk.turn("one", a__py="1\n")
    other = desk.beside()
    other.turn("theirs", a__py="1\ntheirs\n")
    with pytest.raises(Conflict):
        desk.room.rewind(1)
    assert desk.read("a.py") == "1\ntheirs\n"


def test_new_turns_after_a_rewind_prevent_redo(desk: Desk) -> None:
    """New turns reuse the numbers; redo is refused because the conversation continued."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="2\n")
    desk.room.rewind(2)
    tree, words = desk.tree(), desk.words()
    desk.turn("another two", a__py="two\n")
    with pytest.raises(Conflict):
        desk.room.redo()
    assert desk.read("a.py") == "two\n"
    desk.room.rewind(2)
    assert (desk.tree(), desk.words()) == (tree, words)
    desk.room.rewind(1)
    assert (desk.tree(), desk.words()) == ({}, [])


def test_redo_refuses_to_overwrite_new_changes(desk: Desk) -> None:
    """Files changed since the rewind stop the redo unless it is forced."""
    desk.turn("one", a__py="1\n")
    desk.room.rewind(1, "files")
    desk.write("a.py", "since\n")
    with pytest.raises(Conflict):
        desk.room.redo()
    desk.room.redo(force=True)
    assert desk.read("a.py") == "1\n"


def test_forced_rewind_does_not_block_later_rewinds(desk: Desk) -> None:
    """Changes lost to a forced rewind are no longer a conflict."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="2\n")
    desk.write("a.py", "mine\n")
    desk.room.rewind(2, force=True)
    desk.turn("again", a__py="3\n")
    desk.room.rewind(1)
    assert desk.tree() == {}


def test_rewind_to_a_missing_turn_is_refused(desk: Desk) -> None:
    """Missing turn numbers and unknown halves are refused before anything happens."""
    desk.turn("one", a__py="1\n")
    for turn in (0, -1):
        with pytest.raises(InvalidInput):
            desk.room.rewind(turn)
    with pytest.raises(NotFound):
        desk.room.rewind(2)
    with pytest.raises(InvalidInput):
        desk.room.rewind(1, "everything")  # pyright: ignore[reportArgumentType]
    assert desk.read("a.py") == "1\n"


def test_rewind_of_a_turn_without_file_changes(desk: Desk) -> None:
    """Where no file changed since, only the words leave."""
    desk.turn("one", a__py="1\n")
    desk.turn("just talk")
    done = desk.room.rewind(2)
    assert (done.files, len(done.messages)) == ((), 2)
    assert desk.read("a.py") == "1\n"
    assert desk.room.rewind(1, "files").files != ()


def test_rewind_leaves_files_too_large_for_snapshots(tmp_path: Path) -> None:
    """Such a file is reported and never removed."""
    from backscroll.workspace.snapshots.keeper_choice import snapshots_for

    desk = Desk(tmp_path)
    keeper = snapshots_for(desk.root, desk.home, largest=100)
    desk.room = Workroom(desk.thread, desk.root, keeper=keeper, home=desk.home)
    desk.turn("one", big__bin="x" * 1000, small__txt="s")
    done = desk.room.rewind(1)
    assert done.lost == ("big.bin",)
    assert set(desk.tree()) == {"big.bin"}
    assert desk.room.auto_detect_code_changes() == []
    desk.close()


def test_rewind_restores_links_modes_folders_and_line_endings(tmp_path: Path) -> None:
    """Symbolic links, the executable bit, CRLF bytes, a file that became a folder: all as they were."""
    desk = Desk(tmp_path)
    desk.write("run.sh", "#!/bin/sh\r\n")
    (desk.root / "link").symlink_to("run.sh")
    desk.write("thing", "file\n")
    desk.says("one")
    then = desk.tree()

    def mess() -> None:
        (desk.root / "run.sh").chmod(0o755)
        desk.write("run.sh", "#!/bin/sh\n")
        (desk.root / "link").unlink()
        (desk.root / "link").symlink_to("/etc/passwd")
        (desk.root / "thing").unlink()
        desk.write("thing/inside.txt", "folder\n")

    desk.tool(mess, tool="run_command")
    now = desk.tree()
    desk.room.rewind(1)
    assert desk.tree() == then
    assert not os.access(desk.root / "run.sh", os.X_OK)
    desk.room.redo()
    assert desk.tree() == now
    assert os.access(desk.root / "run.sh", os.X_OK)
    desk.close()


def test_rewind_in_a_complex_repository(tmp_path: Path) -> None:
    """Renames, edits by shell commands, untracked and ignored files, Chinese names, a submodule: rewound and back again."""
    desk = Desk(tmp_path)
    sub = tmp_path / "sub"
    sub.mkdir()
    git(sub, "init", "-q")
    (sub / "lib.c").write_text("int x;\n")
    git(sub, "add", ".")
    git(sub, "commit", "-qm", "sub")
    git(desk.root, "init", "-q")
    git(desk.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(sub), "模块")
    desk.write(".gitignore", "build/\n")
    desk.write("源码/主程序.py", "一\n二\n三\n四\n")
    desk.write("build/out.o", "ignored\n")
    git(desk.root, "add", ".")
    git(desk.root, "commit", "-qm", "first")
    desk.write("untracked.txt", "u\r\n")
    desk.says("重构")
    then, said = desk.tree(), desk.words()

    def shell() -> None:
        git(desk.root, "mv", "源码/主程序.py", "源码/入口.py")
        desk.write("源码/入口.py", "一\n二\n三\n四\n五\n")
        desk.write("untracked.txt", "u\n")
        desk.write("模块/lib.c", "int y;\n")

    change = desk.tool(shell, tool="run_command")
    assert change is not None
    moved = next(f for f in change.files if f.action == "renamed")
    assert (moved.old_path, moved.path) == ("源码/主程序.py", "源码/入口.py")
    desk.write("build/out.o", "built again\n")
    now = desk.tree()
    desk.room.rewind(1)
    assert desk.tree() == {**then, "build/out.o": b"built again\n"}
    assert desk.words() == said[:0]
    desk.room.redo()
    assert desk.tree() == now
    desk.close()


def test_rewind_keeps_previously_ignored_files(tmp_path: Path) -> None:
    """A rule that the agent took out shows files that were always there: going back does not delete them."""
    desk = Desk(tmp_path)
    desk.write(".gitignore", "data/\n")
    desk.write("data/mine.csv", "1,2\n")
    for place in (desk.root / ".gitignore", desk.root / "data" / "mine.csv"):
        os.utime(place, (1, 1))
    desk.room.look()
    _age(desk)
    desk.says("track the data")
    desk.edit(".gitignore", "\n")
    desk.room.rewind(1)
    assert desk.tree() == {".gitignore": b"data/\n", "data/mine.csv": b"1,2\n"}
    desk.room.redo()
    assert set(desk.tree()) == {".gitignore", "data/mine.csv"}
    desk.close()


def _age(desk: Desk) -> None:
    """As if the last look had come long after the files were made."""
    import json
    import time

    key = f"workspace {desk.room.place}"

    def work(tx: object) -> None:
        data = json.loads(tx.meta(key))  # type: ignore[attr-defined]
        tx.set_meta(key, json.dumps({**data, "at": time.time() + 60}))  # type: ignore[attr-defined]

    desk.engine.store.write(work)


def test_rewind_in_a_fork_leaves_the_parent(desk: Desk) -> None:
    """A fork can go back to a turn that it shares; its parent's conversation stays as it is."""
    desk.turn("one", a__py="1\n")
    desk.turn("two", a__py="2\n")
    fork = desk.thread.fork()
    room = Workroom(fork, desk.root, keeper=desk.room.keeper, home=desk.home)
    words = desk.words()
    room.rewind(2)
    assert desk.read("a.py") == "1\n"
    assert len(list(fork)) == 4
    assert desk.words() == words
    assert desk.engine.verify().ok
    room.redo()
    assert desk.read("a.py") == "2\n"


def test_rewind_is_recorded_as_one_stroke(desk: Desk) -> None:
    """Nothing is dropped from the log: the deletions and the rewind are one stroke, and the files' part names the rewind."""
    desk.turn("one", a__py="1\n")
    head = desk.thread.head
    desk.room.rewind(1)
    events = list(desk.thread.events(head + 1))
    kinds = [e.kind for e in events]
    assert kinds == [Kind.CODE_CHANGED, *[Kind.DELETED] * 4, Kind.REWOUND]
    assert len({e.head["group"] for e in events[1:]}) == 1
    assert events[0].head["rewind"] == events[-1].head["rewind"]
    assert desk.room.changes()[0].cause.by == "rewind"
    assert desk.room.changes()[-1].turn is None


def test_message_during_a_rewind_cancels_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are restored, and no message is deleted."""
    from backscroll.workspace.snapshots import restore

    desk.turn("one", a__py="1\n")
    really = restore.execute

    def interrupted(*args: object, **more: object) -> object:
        done = really(*args, **more)  # type: ignore[arg-type]
        desk.thread.append("user", "wait!")
        return done

    monkeypatch.setattr(restore, "execute", interrupted)
    with pytest.raises(Conflict):
        desk.room.rewind(1)
    assert desk.read("a.py") == "1\n"
    assert desk.words()[-1] == "wait!"
    assert not journal_of(desk.room).exists()


def test_rewind_without_snapshots_is_reported(desk: Desk) -> None:
    """The conversation alone can still be rewound."""
    desk.turn("one", a__py="1\n")
    shutil.rmtree(desk.home)
    desk.room = desk.opened()
    with pytest.raises(NotFound):
        desk.room.rewind(1)
    desk.room.rewind(1, "conversation")
    assert desk.words() == []
    assert desk.read("a.py") == "1\n"


def cut_off(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewind that ends, as by a crash, when the files are back and the log has not been told."""
    from backscroll.engine.folder import rewind_journal as rewinding_journal

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rewinding_journal, "write_stroke", crash)
        with pytest.raises(KeyboardInterrupt):
            desk.room.rewind(1)


def test_interrupted_rewind_is_finished_at_the_next_opening(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files were restored but the messages not yet deleted: opening the workroom completes it."""
    desk.turn("one", a__py="1\n")
    cut_off(desk, monkeypatch)
    assert (desk.tree(), len(desk.words())) == ({}, 4)
    room = desk.opened()
    assert room.recovered is not None
    assert (room.recovered.outcome, room.recovered.turn, room.recovered.left) == ("finished", 1, ())
    assert (desk.tree(), desk.words()) == ({}, [])
    assert room.auto_detect_code_changes() == []
    room.redo()
    assert (desk.read("a.py"), len(desk.words())) == ("1\n", 4)


def test_interrupted_rewind_is_rolled_back_after_new_messages(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new message stays, and the files are restored to their state before the rewind."""
    desk.turn("one", a__py="1\n")
    cut_off(desk, monkeypatch)
    desk.thread.append("user", "still here")
    words = desk.words()
    room = desk.opened()
    assert room.recovered is not None
    assert room.recovered.outcome == "rolled back"
    assert (desk.read("a.py"), desk.words()) == ("1\n", words)
    assert room.auto_detect_code_changes() == []


def test_recovery_of_a_rewind_keeps_later_changes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file written after the crash is kept, reported, and recorded as a manual edit."""
    desk.turn("one", a__py="1\n", b__py="1\n")
    cut_off(desk, monkeypatch)
    desk.write("a.py", "since the crash\n")
    room = desk.opened()
    assert room.recovered is not None
    assert (room.recovered.outcome, room.recovered.left) == ("finished", ("a.py",))
    assert desk.tree() == {"a.py": b"since the crash\n"}
    assert [f.path for c in room.auto_detect_code_changes() for f in c.files] == ["a.py"]


def test_another_thread_recovers_an_interrupted_rewind(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next workroom of the folder finishes it before detecting manual edits."""
    desk.turn("one", a__py="1\n")
    cut_off(desk, monkeypatch)
    other = desk.beside()
    assert other.room.recovered is not None
    assert desk.words() == []
    assert other.room.changes() == []


def test_open_workroom_recovers_an_interrupted_rewind(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look from a workroom opened earlier checks the journal first."""
    early = desk.opened()
    desk.turn("one", a__py="1\n")
    cut_off(desk, monkeypatch)
    assert early.auto_detect_code_changes() == []
    assert desk.words() == []


def test_doctor_names_interrupted_rewinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a workroom of the folder is opened again."""
    desk = Desk(tmp_path)
    desk.room = Workroom(desk.thread, desk.root)
    desk.turn("one", a__py="1\n")
    cut_off(desk, monkeypatch)
    assert [c.detail for c in desk.engine.doctor() if c.name == "rewinds"] == ["1 interrupted"]
    Workroom(desk.thread, desk.root)
    assert [c for c in desk.engine.doctor() if c.name == "rewinds"] == []
    desk.close()


def test_changes_blame_and_rewind_on_postgresql(tmp_path: Path, database_url: str) -> None:
    """Changes, blame, rewind and redo with the log in a PostgreSQL database."""
    with backscroll.open(database_url) as engine:
        desk = Desk(tmp_path, thread=engine.create("Work"))
        desk.turn("one", a__py="1\n")
        desk.turn("two", a__py="1\n2\n")
        assert [b.turn for b in desk.room.blame("a.py")] == [1, 2]
        desk.room.rewind(2)
        assert (desk.read("a.py"), len(desk.words())) == ("1\n", 4)
        desk.room.redo()
        assert (desk.read("a.py"), len(desk.words())) == ("1\n2\n", 8)
        assert engine.verify().ok


def test_unusable_snapshot_folder_is_an_error(tmp_path: Path) -> None:
    """The error is one of ours."""
    desk = Desk(tmp_path)
    (tmp_path / "file").write_text("no folder")
    room = Workroom(desk.thread, desk.root, home=tmp_path / "file")
    with pytest.raises(StoreError):
        room.look()
    desk.close()
