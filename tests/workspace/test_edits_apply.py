"""Edits are applied all or none, undone, and recovered after a crash."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import BackscrollError, Conflict, InvalidInput
from backscroll.workspace.edits import application as edits_apply
from backscroll.workspace.edits.edit import Edit, FileDeletion, Patch, TextReplacement, WholeFile
from backscroll.workspace.edits.edits import apply, parse_edits, plan, undo
from backscroll.workspace.edits.journal import recover
from backscroll.workspace.files.files import Files
from tests.house import tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    (folder / "b.txt").write_text("b\n")
    (folder / "c.sh").write_text("c\n")
    (folder / "c.sh").chmod(0o755)
    return folder


@pytest.fixture
def files(root: Path, tmp_path: Path) -> Files:
    return Files(root, journal=tmp_path / "journal")


EDITS: list[Edit] = [
    TextReplacement("a.txt", "two", "2"),
    FileDeletion("b.txt"),
    Patch("c.sh", to="sub/deep/c.sh"),
    WholeFile("新/文件.txt", "你好\n"),
]


def state(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its content and mode, and every folder."""
    return {
        path.relative_to(root).as_posix(): (
            path.read_bytes() if path.is_file() else b"",
            stat.S_IMODE(path.stat().st_mode),
        )
        for path in sorted(root.rglob("*"))
    }


def test_edits_are_applied_and_undone(files: Files, root: Path, tmp_path: Path) -> None:
    """Undo gives the very same tree: bytes, modes, folders; the journal is empty in between and after."""
    before = state(root)
    done = apply(plan(files, EDITS))
    assert {path for path, (data, _) in state(root).items() if data} == {
        "a.txt",
        "sub/deep/c.sh",
        "新/文件.txt",
    }
    assert (root / "a.txt").read_bytes() == b"one\r\n2\r\n"
    assert stat.S_IMODE((root / "sub/deep/c.sh").stat().st_mode) == 0o755
    assert done.folders == ("sub", "新", "sub/deep")
    assert list((tmp_path / "journal").iterdir()) == []
    undo(done)
    assert state(root) == before
    assert list((tmp_path / "journal").iterdir()) == []


def test_file_changed_meanwhile_stops_everything(files: Files, root: Path) -> None:
    """Manually, between plan and apply: nothing is written, and that change stays."""
    made = plan(files, EDITS)
    (root / "a.txt").write_text("by hand")
    (root / "新").mkdir()
    (root / "新/文件.txt").write_text("theirs")
    before = state(root)
    with pytest.raises(Conflict, match=r"since the edits were planned: a\.txt, 新/文件\.txt"):
        apply(made)
    assert state(root) == before


def test_undo_refuses_files_changed_since(files: Files, root: Path) -> None:
    """Their changes would be lost."""
    done = apply(plan(files, EDITS))
    (root / "a.txt").write_text("by hand")
    (root / "b.txt").write_text("a new one")
    before = state(root)
    with pytest.raises(Conflict, match=r"since the edits were made: a\.txt, b\.txt"):
        undo(done)
    assert state(root) == before


def test_undo_keeps_folders_with_other_files(files: Files, root: Path) -> None:
    """Only empty ones are removed."""
    done = apply(plan(files, EDITS))
    (root / "sub/mine.txt").write_text("mine")
    undo(done)
    assert (root / "sub/mine.txt").exists()
    assert not (root / "sub/deep").exists()


@pytest.mark.parametrize("fails_at", range(5))
@pytest.mark.parametrize(
    "error", [InvalidInput("the disk said no"), KeyboardInterrupt()], ids=["error", "interrupt"]
)
def test_failure_in_the_middle_restores_everything(
    files: Files,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fails_at: int,
    error: BaseException,
) -> None:
    """For any file, and for an interrupt too."""
    before, real, number = state(root), edits_apply._one, 0

    def one(*arguments: object) -> None:
        nonlocal number
        if number == fails_at:
            raise error
        number += 1
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(edits_apply, "_one", one)
    with pytest.raises(type(error)):
        apply(plan(files, EDITS))
    assert state(root) == before
    assert list((tmp_path / "journal").iterdir()) == []


def test_failed_restore_stays_in_the_journal(
    files: Files, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported, and the next recovery finishes it."""
    before = state(root)
    real = Files.write

    def write(self: Files, path: str, content: bytes, **options: object) -> object:
        if path.startswith("新") or content == b"one\r\ntwo\r\n":
            raise InvalidInput("the disk said no")
        return real(self, path, content, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Files, "write", write)
        with pytest.raises(BackscrollError, match=r"could not be reverted: a\.txt: the disk said no"):
            apply(plan(files, EDITS))
    assert len(list((tmp_path / "journal").iterdir())) == 1
    assert recover(files) == ["edits that were broken off are undone: a.txt"]
    assert state(root) == before


CRASHING = """
import os, sys
from pathlib import Path
from backscroll.workspace.edits.edits import apply, plan, FileDeletion, Patch, TextReplacement, WholeFile
from backscroll.workspace.edits.journal import recover
from backscroll.workspace.files.files import Files

left = int(sys.argv[3])

def dying(name):
    real = getattr(os, name)
    def call(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return real(*arguments, **options)
    setattr(os, name, call)

for name in ("open", "write", "fsync", "rename", "link", "unlink", "mkdir", "fchmod", "close"):
    dying(name)
files = Files(Path(sys.argv[1]), journal=Path(sys.argv[2]))
planned = plan(files, [
    TextReplacement("a.txt", "two", "2"), FileDeletion("b.txt"), Patch("c.sh", to="sub/deep/c.sh"), WholeFile("新/文件.txt", "你好\\n"),
])
left = int(sys.argv[3])
apply(planned)
"""


@pytest.mark.crash
def test_kill_at_any_operation_is_recovered(root: Path, tmp_path: Path) -> None:
    """Everything is as before, or everything as after; no leftovers."""
    before = state(root)
    script, journal = tmp_path / "crash.py", tmp_path / "journal"
    script.write_text(CRASHING)
    kept, outcomes, at = tmp_path / "kept", list[bool](), 0
    shutil.copytree(root, kept)
    while True:
        done = subprocess.run(
            [sys.executable, str(script), str(root), str(journal), str(at)],
            cwd=tree.ROOT,
            check=False,
            capture_output=True,
        )
        files = Files(root, journal=journal)
        recover(files)
        now = state(root)
        finished = "新/文件.txt" in now
        assert now == before or {path for path, (data, _) in now.items() if data} == {
            "a.txt",
            "sub/deep/c.sh",
            "新/文件.txt",
        }, at
        assert list(journal.glob("*")) == []
        outcomes.append(finished)
        if done.returncode == 0:
            assert finished
            break
        assert done.returncode == 9, done.stderr.decode()
        shutil.rmtree(root)
        shutil.copytree(kept, root)
        at += 4 if at < 60 else 9  # every operation would take minutes; all kinds of them are met
    assert outcomes == sorted(outcomes)
    assert outcomes.count(False) > 10


def test_recovery_keeps_files_changed_since(
    files: Files, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are named; the rest is restored."""
    monkeypatch.setattr(edits_apply, "_roll_back", lambda *_: None)  # as if the process had died
    monkeypatch.setattr(Files, "delete", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        apply(plan(files, EDITS))
    monkeypatch.undo()
    (root / "新/文件.txt").write_text("worked on")
    assert recover(files) == [
        "edits that were broken off are undone: a.txt, sub/deep/c.sh",
        "interrupted edits whose files were modified since: 新/文件.txt",
    ]
    assert (root / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert (root / "新/文件.txt").read_text() == "worked on"
    assert not (root / "sub").exists()
    assert recover(files) == []


def test_running_edits_of_another_process_are_left_alone(files: Files, root: Path, tmp_path: Path) -> None:
    """Its journal is locked."""
    (tmp_path / "journal").mkdir()
    entry = {
        "format": 1,
        "root": "",
        "folders": [],
        "steps": [{"path": b"a.txt".hex(), "before": "b2xk", "after": files.hash("a.txt"), "mode": None}],
    }
    path = tmp_path / "journal/1234.json"
    path.write_text(json.dumps(entry))
    before = state(root)
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert recover(files) == []
        assert state(root) == before
    assert recover(files) == ["edits that were broken off are undone: a.txt"]
    assert (root / "a.txt").read_text() == "old"


def test_journal_is_outside_and_private(root: Path) -> None:
    """By default in the user's own folder, one per workspace."""
    files = Files(root)
    assert not files.journal.is_relative_to(root)
    done = apply(plan(files, EDITS))
    assert stat.S_IMODE(files.journal.stat().st_mode) == 0o700
    assert Files(root.parent).journal != files.journal
    undo(done)


def test_unwritable_journal_stops_everything(root: Path, tmp_path: Path) -> None:
    """Nothing is begun without it."""
    (tmp_path / "blocked").write_text("a file where a folder should be")
    before = state(root)
    with pytest.raises(BackscrollError):
        apply(plan(Files(root, journal=tmp_path / "blocked/journal"), EDITS))
    assert state(root) == before


# -- properties ---------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "目录/c", "目录/d", "x/y/z", "a/b", "-rf", "$(x)"])
LINES = st.lists(st.sampled_from(["one", "two", "  three", "", "四"]), max_size=6)
TEXTS = st.tuples(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans()).map(
    lambda t: t[1].join(t[0]) + (t[1] if t[2] else "")
)
EDIT = st.one_of(
    st.builds(WholeFile, NAMES, TEXTS),
    st.builds(FileDeletion, NAMES),
    st.builds(
        TextReplacement,
        NAMES,
        st.sampled_from(["one", "two\n", "three", "四"]),
        TEXTS,
        replace_all=st.booleans(),
    ),
    st.builds(Patch, NAMES, to=NAMES),
)


def _grown(root: Path, tree_of: dict[str, str]) -> None:
    root.mkdir(exist_ok=True)
    for name, text in tree_of.items():
        place = root / name
        if place.exists() or any(above.is_file() for above in place.parents):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())


@given(st.dictionaries(NAMES, TEXTS, max_size=5), st.lists(EDIT, min_size=1, max_size=5))
def test_apply_then_undo_is_nothing_and_failure_changes_nothing(
    tree_of: dict[str, str], edits: list[Edit]
) -> None:
    """For any tree and any edits: what was planned comes true to the byte, undo gives the tree back, an error leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        _grown(root, tree_of)
        files = Files(root, journal=Path(folder, "journal"))
        before = state(root)
        try:
            made = plan(files, edits)
            done = apply(made)
        except BackscrollError:
            assert state(root) == before
            return
        for change in made.changes:
            there = root / change.path
            assert (there.read_bytes() if there.is_file() else None) == change.after
        shown = done.diff
        undo(done)
        assert state(root) == before
        # What the preview shows does the same, where it is of one form alone.
        if all(
            change.action == "changed" and b"\r" not in (change.before or b"") + (change.after or b"")
            for change in made.changes
        ):
            apply(plan(files, parse_edits(shown)))
            assert all((root / c.path).read_bytes() == c.after for c in made.changes)


@given(
    st.dictionaries(NAMES, TEXTS, min_size=1, max_size=5),
    st.lists(EDIT, min_size=1, max_size=5),
    st.integers(0, 12),
)
def test_a_failing_disk_changes_nothing(tree_of: dict[str, str], edits: list[Edit], left: int) -> None:
    """For any tree and edits, whichever rename or link fails: the tree is as before."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        root = Path(folder, "root")
        _grown(root, tree_of)
        files = Files(root, journal=Path(folder, "journal"))
        before = state(root)
        try:
            made = plan(files, edits)
        except BackscrollError:
            return
        calls, failed = left, False
        for name in ("rename", "link", "unlink"):
            real = getattr(os, name)

            def call(*arguments: object, real: object = real, **options: object) -> object:
                nonlocal calls, failed
                calls -= 1
                if calls == 0 and not failed:
                    failed = True
                    raise OSError(28, "No space left on device")
                return real(*arguments, **options)  # type: ignore[operator]

            patch.setattr(os, name, call)
        try:
            apply(made)
            assert [c for c in made.changes if (root / c.path).is_file() != (c.after is not None)] == []
        except BackscrollError:
            patch.undo()
            assert state(root) == before
            assert recover(files) == []
            assert state(root) == before
            assert list(files.journal.iterdir()) == []
