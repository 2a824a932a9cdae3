"""Restoring files to a snapshot: the plan, the restore, and being killed in the middle."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.errors import Conflict, FormatError, InvalidInput, NotFound
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
from backscroll.workspace.snapshots.restore import execute, plan_restore, recover
from backscroll.workspace.snapshots.restore_journal import close_journal, contents_of, read_journal
from backscroll.workspace.snapshots.snapshots import Snapshots
from tests import programs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(params=["git", "hashes"])
def keeper(request: pytest.FixtureRequest, root: Path, tmp_path: Path) -> Snapshots:
    return snapshots_for(root, tmp_path / "kept", git=request.param == "git", largest=10_000)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journals" / "one.json"


def write(root: Path, path: str, content: str | bytes) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def tree(root: Path) -> dict[str, tuple[str, bytes]]:
    """Everything in a folder: files with content and the right to run them, links, and empty folders."""
    found: dict[str, tuple[str, bytes]] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            found[name] = ("exec" if path.stat().st_mode & 0o100 else "file", path.read_bytes())
        elif not any(path.iterdir()):
            found[name] = ("empty folder", b"")
    return found


def build(root: Path) -> None:
    """One of everything that can be brought back."""
    write(root, "edited.txt", "before\r\n")
    write(root, "deleted/deep/file.txt", "gone\n")
    write(root, "中文/文件.md", "# 标题\n")
    write(root, "tool.sh", "#!/bin/sh\n").chmod(0o755)
    write(root, "file-then-folder", "a file\n")
    write(root, "folder-then-file/inside.txt", "in a folder\n")
    write(root, "Case.txt", "upper\n")
    write(root, "mode.sh", "x\n")
    write(root, "link-then-file", "plain\n")
    (root / "link").symlink_to("edited.txt")
    (root / "folder-link").symlink_to("deleted")


def change(root: Path) -> None:
    """Everything becomes something else."""
    write(root, "edited.txt", "after\n")
    (root / "deleted/deep/file.txt").unlink()
    (root / "deleted/deep").rmdir()
    (root / "deleted").rmdir()
    (root / "中文/文件.md").rename(root / "中文/改名.md")
    (root / "tool.sh").unlink()
    (root / "file-then-folder").unlink()
    write(root, "file-then-folder/now/inside.txt", "x\n")
    (root / "folder-then-file/inside.txt").unlink()
    (root / "folder-then-file").rmdir()
    write(root, "folder-then-file", "a file now\n")
    (root / "Case.txt").rename(root / "case.txt")
    (root / "mode.sh").chmod(0o755)
    (root / "link-then-file").unlink()
    (root / "link-then-file").symlink_to("tool.sh")
    (root / "link").unlink()
    (root / "link").symlink_to("elsewhere")
    (root / "folder-link").unlink()
    write(root, "folder-link/real.txt", "no link any more\n")
    write(root, "brand/new/file.txt", "new\n")


def test_everything_is_restored(keeper: Snapshots, root: Path, journal: Path) -> None:
    """Contents, links, modes, folders that were files and files that were folders; and back again."""
    build(root)
    before, name = tree(root), keeper.take()
    change(root)
    after, later = tree(root), keeper.take()
    plan = plan_restore(keeper, name)
    assert plan.unsaved == plan.foreign == plan.impossible == ()
    assert tree(root) == after  # a plan does nothing
    done = execute(plan, journal)
    assert done.left == ()
    assert tree(root) == before
    assert keeper.take() == name
    assert not journal.exists()
    assert not contents_of(journal).exists()
    assert plan_restore(keeper, name).steps == ()
    execute(plan_restore(keeper, later), journal)
    assert tree(root) == after


def test_plan_lists_the_changes(keeper: Snapshots, root: Path) -> None:
    """Which files are written, restored, deleted."""
    write(root, "a.txt", "1")
    write(root, "b.txt", "1")
    name = keeper.take()
    write(root, "a.txt", "2")
    (root / "b.txt").unlink()
    write(root, "c.txt", "1")
    keeper.take()
    plan = plan_restore(keeper, name)
    assert (plan.written, plan.created, plan.deleted) == (("a.txt",), ("b.txt",), ("c.txt",))
    assert plan_restore(keeper, name, foreign=["c.txt", "zzz"]).foreign == ("c.txt",)


def test_restore_can_be_limited_to_paths(keeper: Snapshots, root: Path, journal: Path) -> None:
    """Files and folders that are named; the others stay."""
    for path in ("a.txt", "dir/b.txt", "dir/c.txt", "dirt.txt"):
        write(root, path, "1")
    name = keeper.take()
    for path in ("a.txt", "dir/b.txt", "dir/c.txt", "dirt.txt"):
        write(root, path, "2")
    execute(plan_restore(keeper, name, paths=["dir/"]), journal)
    assert [(root / p).read_text() for p in ("a.txt", "dir/b.txt", "dir/c.txt", "dirt.txt")] == list("2112")


def test_content_in_no_snapshot_is_named(keeper: Snapshots, root: Path) -> None:
    """It would be lost. Content stored somewhere is not named, whoever wrote it."""
    write(root, "a.txt", "1")
    write(root, "b.txt", "1")
    name = keeper.take()
    write(root, "a.txt", "2")
    write(root, "b.txt", "2, kept")
    keeper.take()
    write(root, "a.txt", "3, nowhere kept")
    write(root, "fresh.txt", "typed a second ago")
    assert plan_restore(keeper, name).unsaved == ("a.txt", "fresh.txt")
    keeper.take()
    assert plan_restore(keeper, name).unsaved == ()


def test_large_and_secret_files_are_not_restored(keeper: Snapshots, root: Path, journal: Path) -> None:
    """They were not stored and stay as they are; deleting one is named as a loss."""
    write(root, "big.bin", b"a" * 20_000)
    write(root, ".env", "A=1")
    write(root, "same.bin", b"s" * 20_000)
    name = keeper.take()
    write(root, "big.bin", b"b" * 20_000)
    write(root, ".env", "A=2")
    write(root, "new.bin", b"c" * 20_000)
    keeper.take()
    plan = plan_restore(keeper, name)
    assert [(left.path, left.why) for left in plan.impossible] == [
        (".env", "its content is secret and was not kept"),
        ("big.bin", "its content was too large to keep"),
    ]
    assert plan.unsaved == plan.deleted == ("new.bin",)
    execute(plan, journal)
    assert (root / ".env").read_text() == "A=2"
    assert (root / "big.bin").read_bytes() == b"b" * 20_000
    assert not (root / "new.bin").exists()


def test_ignored_files_are_never_touched(keeper: Snapshots, root: Path, journal: Path) -> None:
    """Not even if they are in the way of a folder, or in a folder that is to be removed."""
    write(root, ".gitignore", "*.log\nbuild/\n")
    write(root, "src/a.py", "1")
    write(root, "folder", "was a file")
    name = keeper.take()
    (root / "folder").unlink()
    write(root, "folder/new.py", "x")
    write(root, "folder/debug.log", "ignored, and precious")
    write(root, "build/out", "ignored")
    write(root, "other/x.py", "x")
    write(root, "other/y.log", "ignored too")
    keeper.take()
    plan = plan_restore(keeper, name)
    assert [(left.path, left.why) for left in plan.impossible] == [
        ("folder", "in the way, and not in any snapshot: folder/debug.log")
    ]
    assert set(plan.deleted) == {"folder/new.py", "other/x.py"}
    execute(plan, journal)
    assert (root / "folder/debug.log").read_text() == "ignored, and precious"
    assert (root / "build/out").exists()
    assert (root / "other/y.log").exists()
    assert not (root / "other/x.py").exists()


def test_newly_ignored_file_is_restored(keeper: Snapshots, root: Path, journal: Path) -> None:
    """It is in the snapshot; its current content would be lost, and is named."""
    write(root, "a.txt", "old")
    write(root, "same.txt", "same")
    name = keeper.take()
    write(root, ".gitignore", "*.txt\n")
    write(root, "a.txt", "newer, and ignored")
    plan = plan_restore(keeper, name)
    assert plan.unsaved == (".gitignore", "a.txt")
    assert "same.txt" not in plan.created
    execute(plan, journal)
    assert tree(root) == {"a.txt": ("file", b"old"), "same.txt": ("file", b"same")}


def test_folder_changed_since_the_plan_stops_everything(keeper: Snapshots, root: Path, journal: Path) -> None:
    """Nothing is done at all."""
    write(root, "a.txt", "1")
    write(root, "b.txt", "1")
    name = keeper.take()
    write(root, "a.txt", "2")
    write(root, "b.txt", "2")
    plan = plan_restore(keeper, name)
    write(root, "b.txt", "3")
    with pytest.raises(Conflict, match=r"b\.txt was modified since the plan was made"):
        execute(plan, journal)
    assert (root / "a.txt").read_text() == "2"
    assert not journal.exists()
    assert not contents_of(journal).exists()
    (root / "b.txt").unlink()
    plan = plan_restore(keeper, name)
    write(root, "b.txt", "came back by itself")
    with pytest.raises(Conflict):
        execute(plan, journal)


def test_swapped_link_leads_nowhere(keeper: Snapshots, root: Path, journal: Path, tmp_path: Path) -> None:
    """A folder becomes a link to outside between plan and restore: nothing there is written or deleted."""
    outside = tmp_path / "outside"
    write(outside, "a.txt", "theirs")
    write(root, "dir/a.txt", "1")
    write(root, "z.txt", "1")
    name = keeper.take()
    write(root, "dir/a.txt", "2")
    write(root, "z.txt", "2")
    plan = plan_restore(keeper, name)

    def swap(what: str) -> None:
        if what == "journal":
            (root / "dir/a.txt").unlink()
            (root / "dir").rmdir()
            (root / "dir").symlink_to(outside)

    done = execute(plan, journal, step=swap)
    assert tree(outside) == {"a.txt": ("file", b"theirs")}
    assert [left.path for left in done.left] == ["dir/a.txt"]
    assert (root / "z.txt").read_text() == "1"


def test_plan_with_paths_outside_is_refused(keeper: Snapshots, root: Path, journal: Path) -> None:
    """A tampered snapshot can reach neither outside the folder nor into `.git`."""
    from backscroll.workspace.files.safe_paths import check_path

    for path in ("../x", "/etc/passwd", "a/../b", ".git/config", "sub/.GIT/hooks/x", "a//b", "", "a\0b"):
        with pytest.raises(InvalidInput):
            check_path(path)


def test_unknown_snapshot_is_not_found(keeper: Snapshots) -> None:
    with pytest.raises(NotFound):
        plan_restore(keeper, "0" * 40)


def test_unwritable_file_is_skipped_and_named(
    keeper: Snapshots, root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are still restored."""
    write(root, "a.txt", "1")
    write(root, "b.txt", "1")
    name = keeper.take()
    write(root, "a.txt", "2")
    write(root, "b.txt", "2")
    real = os.rename

    def rename(source: str, target: str, **more: int) -> None:
        if target == "a.txt":
            raise PermissionError(13, "Permission denied")
        real(source, target, **more)

    monkeypatch.setattr(os, "rename", rename)
    done = execute(plan_restore(keeper, name), journal)
    assert [(left.path, left.why) for left in done.left] == [("a.txt", "Permission denied")]
    assert (root / "b.txt").read_text() == "1"


def test_file_modes_are_kept(keeper: Snapshots, root: Path, journal: Path) -> None:
    """A private file stays private when its content is restored."""
    place = write(root, "private.txt", "1")
    place.chmod(0o600)
    name = keeper.take()
    place.write_text("2")
    execute(plan_restore(keeper, name), journal)
    assert place.read_text() == "1"
    assert place.stat().st_mode & 0o777 == 0o600


# --- being killed -------------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from pathlib import Path
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
from backscroll.workspace.snapshots.restore import execute, plan_restore, recover
root, home, target, journal, at, what = sys.argv[1:]
left = int(at)
def step(_):
    global left
    if left == 0:
        os._exit(9)
    left -= 1
if what == "execute":
    keeper = snapshots_for(root, home, largest=10_000)
    execute(plan_restore(keeper, target), Path(journal), facts={"turn": 3}, step=step)
else:
    recover(Path(journal), back=what == "back", step=step)
"""


def killed_at(n: int, root: Path, home: Path, target: str, journal: Path, what: str = "execute") -> bool:
    """Run it in a process that ends itself before its n-th operation. False: it came to its end."""
    ran = programs.run(
        [sys.executable, "-c", KILLED, str(root), str(home), target, str(journal), str(n), what],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode in {0, 9}, ran.stderr
    return ran.returncode == 9


def in_process(action: Callable[[Callable[[str], None]], object], at: int) -> bool:
    """The same without a process: an exception that nobody catches ends it there."""

    class Killed(BaseException):
        pass

    left = at

    def step(_: str) -> None:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1

    try:
        action(step)
    except Killed:
        return True
    return False


@pytest.mark.parametrize("back", [False, True])
def test_kill_at_every_operation_is_recovered(
    root: Path, tmp_path: Path, journal: Path, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the next start all files are as they should be, or all as they were; no leftovers."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no power cut here, and hundreds of rounds
    keeper = snapshots_for(root, tmp_path / "kept", largest=10_000)
    build(root)
    before, name = tree(root), keeper.take()
    change(root)
    after, later = tree(root), keeper.take()
    at = 0
    while True:
        plan = plan_restore(keeper, name)
        killed = in_process(lambda step, plan=plan: execute(plan, journal, facts={"turn": 3}, step=step), at)
        began = journal.exists()
        found = recover(journal, back=back)
        if began:
            assert found.outcome == ("rolled back" if back else "finished")
            assert found.left == ()
            assert found.facts == {"turn": 3}
            assert tree(root) == (after if back else before), at
        else:
            assert found.outcome == "nothing"
            assert tree(root) in (after, before), at
        assert not journal.exists()
        assert not contents_of(journal).exists()
        if not killed:
            break
        execute(plan_restore(keeper, later), journal)
        assert tree(root) == after
        at += 1
    assert at > 60


@pytest.mark.crash
@pytest.mark.parametrize("what", ["forth", "back"])
def test_repeated_kills_during_recovery_are_recovered(
    root: Path, tmp_path: Path, journal: Path, what: str
) -> None:
    """A real process, killed at every seventh operation; and its recovery killed as well."""
    home = tmp_path / "kept"
    keeper = snapshots_for(root, home, largest=10_000)
    build(root)
    before, name = tree(root), keeper.take()
    change(root)
    after, later = tree(root), keeper.take()
    at = 3
    while killed_at(at, root, home, name, journal):
        began = journal.exists()
        killed_at(at % 5 + 2, root, home, name, journal, what)
        recover(journal, back=what == "back")
        expected = {"forth": before, "back": after}[what] if began else after
        # Where the recovery that was killed had already ended all but the cleaning up, the outcome is the same.
        assert tree(root) == expected or (not began and tree(root) == before), at
        execute(plan_restore(keeper, later), journal)
        at += 7
    assert at > 40


def test_file_changed_after_the_crash_is_kept(root: Path, tmp_path: Path, journal: Path) -> None:
    """If it is neither old nor new, it stays, and is named."""
    keeper = snapshots_for(root, tmp_path / "kept")
    for path in ("a.txt", "b.txt", "c.txt"):
        write(root, path, "1")
    name = keeper.take()
    for path in ("a.txt", "b.txt", "c.txt"):
        write(root, path, "2")
    plan = plan_restore(keeper, name)
    ops: list[str] = []

    class Killed(BaseException):
        pass

    def step(what: str) -> None:
        ops.append(what)
        if what == "rename b.txt":
            raise Killed

    with pytest.raises(Killed):
        execute(plan, journal, step=step)
    write(root, "c.txt", "mine")
    found = recover(journal)
    assert [(left.path, left.why) for left in found.left] == [("c.txt", "it was changed since")]
    assert [(root / p).read_text() for p in ("a.txt", "b.txt", "c.txt")] == ["1", "1", "mine"]
    assert sorted(path.name for path in root.iterdir()) == ["a.txt", "b.txt", "c.txt"]


def test_journal_can_be_kept_until_the_caller_is_done(root: Path, tmp_path: Path, journal: Path) -> None:
    """So that files and conversation agree: undone if the log does not have it."""
    keeper = snapshots_for(root, tmp_path / "kept")
    write(root, "a.txt", "1")
    name = keeper.take()
    write(root, "a.txt", "2")
    execute(plan_restore(keeper, name), journal, facts={"id": "x"}, keep_journal=True)
    assert (root / "a.txt").read_text() == "1"
    found = read_journal(journal)
    assert found is not None
    assert found.facts == {"id": "x"}
    with pytest.raises(Conflict, match="not finished"):
        execute(plan_restore(keeper, name), journal)
    recover(journal, back=True, close=False)
    assert (root / "a.txt").read_text() == "2"
    recover(journal, close=False)
    assert (root / "a.txt").read_text() == "1"
    close_journal(journal)
    assert recover(journal).outcome == "nothing"


def test_unreadable_journal_is_reported_and_kept(journal: Path) -> None:
    """It may be all there is."""
    write(journal.parent, journal.name, '{"half": ')
    with pytest.raises(FormatError):
        recover(journal)
    assert journal.exists()


def test_journal_survives_a_missing_folder(root: Path, tmp_path: Path, journal: Path) -> None:
    """Until the folder is back."""
    keeper = snapshots_for(root, tmp_path / "kept")
    write(root, "a.txt", "1")
    name = keeper.take()
    write(root, "a.txt", "2")
    execute(plan_restore(keeper, name), journal, keep_journal=True)
    root.rename(tmp_path / "moved")
    with pytest.raises(NotFound, match="is gone"):
        recover(journal)
    (tmp_path / "moved").rename(root)
    assert recover(journal, back=True).outcome == "rolled back"
    assert (root / "a.txt").read_text() == "2"


NAMES = st.sampled_from(["a", "b", "a/x", "a/y/z", "b/x", "c", "C", "中/文", ".hidden/f"])
FILES = st.dictionaries(
    NAMES, st.sampled_from(["", "1\n", "2\r\n", "three", "LINK", "RUN"]), max_size=6
).filter(lambda files: not any(f"{one}/" == other[: len(one) + 1] for one in files for other in files))


def make(root: Path, files: dict[str, str]) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for path, content in files.items():
        if content == "LINK":
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).symlink_to("a")
        else:
            write(root, path, content).chmod(0o755 if content == "RUN" else 0o644)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILES, FILES, st.integers(0, 40), st.booleans())
def test_any_tree_comes_back_from_any_other(
    tmp_path_factory: pytest.TempPathFactory, one: dict[str, str], two: dict[str, str], at: int, back: bool
) -> None:
    """Killed anywhere or not, recovered forwards or backwards: it is one of the two trees, and the right one."""
    place = tmp_path_factory.mktemp("any")
    root = place / "r"
    root.mkdir()
    keeper = snapshots_for(root, place / "kept", git=False)
    make(root, one)
    first, name = tree(root), keeper.take()
    make(root, two)
    second = tree(root)
    keeper.take()
    plan = plan_restore(keeper, name)
    assert plan.impossible == ()
    in_process(lambda step: execute(plan, place / "j", step=step), at)
    if (place / "j").exists():
        recover(place / "j", back=back)
        assert tree(root) == (second if back else first)
    else:
        recover(place / "j")
        assert tree(root) in (first, second)
