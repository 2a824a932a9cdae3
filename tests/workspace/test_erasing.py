"""Erasing a file from the snapshots: nothing of it is left, and everything else can be restored."""

from __future__ import annotations

import errno
import hashlib
import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backscroll.errors import StoreError
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
from backscroll.workspace.snapshots.restore import execute, plan_restore
from backscroll.workspace.snapshots.shadow_objects import Objects
from backscroll.workspace.snapshots.snapshots import Snapshots
from tests import programs

Open = Callable[[], Snapshots]
SECRET = b"hunter2-" + bytes(range(33, 127))
KINDS = pytest.mark.parametrize("with_git", [True, False], ids=["git", "hashes"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(params=["git", "hashes"])
def keeping(request: pytest.FixtureRequest, root: Path, tmp_path: Path) -> Open:
    return lambda: snapshots_for(root, tmp_path / "kept", git=request.param == "git", largest=10_000)


def write(root: Path, path: str, content: bytes | str) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def _pieces(file: Path) -> Iterator[bytes]:
    """The bytes of a file, as they are and with every compressed stream in it unpacked."""
    data = file.read_bytes()
    yield data
    starts = [n for n in range(len(data)) if data[n] == 0x78] if file.suffix == ".pack" else [0]
    for start in starts:
        try:
            yield zlib.decompressobj().decompress(data[start:])
        except zlib.error:
            continue


def found_in(home: Path, *needles: bytes) -> list[str]:
    """The files of a keeper in which any of these bytes stand, plain or compressed."""
    return [
        str(file.relative_to(home))
        for file in sorted(home.rglob("*"))
        if file.is_file() and any(needle in piece for piece in _pieces(file) for needle in needles)
    ]


def names_of(keeper: Snapshots, *contents: bytes) -> list[bytes]:
    """Hashes of contents as they may stand in a file: in letters, or as bytes."""
    names = [keeper.name(content) for content in contents]
    return [*(name.encode() for name in names), *(bytes.fromhex(name) for name in names)]


def story(keeper: Snapshots, root: Path) -> list[str]:
    """Some snapshots of a folder in which a password comes, is copied, changes and goes."""
    taken: list[str] = []
    write(root, "a.py", "one\n")
    write(root, "empty", "")
    write(root, "deep/er/conf.py", "user = 'ann'\n")
    taken.append(keeper.take())
    write(root, "deep/er/conf.py", b"password = " + SECRET)
    write(root, "alone/only.txt", b"password = " + SECRET)
    taken.append(keeper.take())
    write(root, "deep/er/conf.py", b"password = 2" + SECRET)
    write(root, "a.py", "one\ntwo\n")
    taken.append(keeper.take())
    write(root, "deep/er/conf.py", "")
    (root / "alone/only.txt").unlink()
    write(root, "中文.md", "# 字\n")
    taken.append(keeper.take())
    return taken


def test_erased_content_is_gone_and_the_rest_is_kept(keeping: Open, root: Path, tmp_path: Path) -> None:
    """Loose or packed, by content and by hash; every other file of every snapshot is kept byte for byte."""
    keeper = keeping()
    taken = story(keeper, root)
    keeper.tidy()
    write(root, "a.py", "three\n")
    taken.append(keeper.take())
    rest = {
        (name, path): keeper.read(name, path)
        for name in taken
        for path in keeper.files(name)
        if path not in {"deep/er/conf.py", "alone/only.txt"}
    }
    hashes = names_of(keeper, b"password = " + SECRET, b"password = 2" + SECRET, b"user = 'ann'\n")
    home = tmp_path / "kept"
    assert found_in(home, SECRET)
    held = keeper.find_held(["deep/er/conf.py"])
    assert (held.versions, held.snapshots, held.shared, held.present) == (
        3,
        3,
        ("alone/only.txt",),
        ("deep/er/conf.py",),
    )
    assert keeper.erase(held.names, ["deep/er/conf.py"]) == 3
    assert not found_in(home, SECRET, b"user = 'ann'", *hashes)
    for reader in (keeper, keeping()):
        assert {at: reader.read(*at) for at in rest} == rest
        assert [reader.read(name, "deep/er/conf.py") for name in taken] == [None, None, None, b"", b""]
        assert reader.entries(taken[1])["alone/only.txt"].why == "erased"
        assert reader.find_held(["deep/er/conf.py"]).versions == 0
        told = [(c.action, c.path, c.kept) for c in reader.compare(taken[1], taken[2])]
        assert told == [("changed", "a.py", True), ("changed", "deep/er/conf.py", False)]
        assert "deep/er/conf.py was erased" in reader.diff(taken[1], taken[2])
    if keeper.keeper == "git":
        checked = subprocess.run(
            ["git", "fsck", "--full", "--strict", "--connectivity-only"],
            cwd=next(home.glob("*/git")),
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stderr


def test_restore_names_erased_files_and_restores_the_rest(keeping: Open, root: Path, tmp_path: Path) -> None:
    """The plan says why a file stays as it is."""
    keeper = keeping()
    taken = story(keeper, root)
    keeper.erase(keeper.find_held(["deep/er/conf.py"]).names)
    plan = plan_restore(keeper, taken[1])
    assert {left.path: left.why for left in plan.impossible} == {
        "deep/er/conf.py": "its content was erased",
        "alone/only.txt": "its content was erased",
    }
    execute(plan, tmp_path / "journal")
    assert (root / "a.py").read_text() == "one\n"
    assert (root / "deep/er/conf.py").read_bytes() == b""
    assert not (root / "中文.md").exists()


def test_existing_file_is_stored_again_only_when_it_changes(
    keeping: Open, root: Path, tmp_path: Path
) -> None:
    """The next look does not store the password again, sees no false change, and later edits are kept."""
    keeper = keeping()
    place = write(root, "conf.py", SECRET)
    write(root, "b.py", "b\n")
    first = keeper.take()
    keeper.erase(keeper.find_held(["conf.py"]).names, ["conf.py"])
    second = keeping().take()
    assert keeper.take() == second != first
    assert keeper.compare(first, second) == []
    place.chmod(0o600)
    assert keeper.compare(first, keeper.take()) == []
    assert not found_in(tmp_path / "kept", SECRET)
    write(root, "conf.py", "clean\n")
    third = keeper.take()
    assert keeper.read(third, "conf.py") == b"clean\n"
    write(root, "conf.py", SECRET)
    fourth = keeper.take()
    assert keeper.read(fourth, "conf.py") == SECRET
    assert keeper.read(first, "conf.py") is None
    assert fourth != first


def test_open_keeper_does_not_bring_erased_content_back(keeping: Open, root: Path, tmp_path: Path) -> None:
    """It remembers the content and must not build a snapshot on it."""
    keeper, other = keeping(), keeping()
    taken = story(keeper, root)
    assert other.take() == taken[-1]
    assert other.read(taken[1], "deep/er/conf.py") == b"password = " + SECRET
    write(root, "again.txt", SECRET)
    other.take()
    keeper.erase({*keeper.find_held(["deep/er/conf.py"]).names, keeper.name(SECRET)})
    assert other.read(taken[1], "deep/er/conf.py") is None
    assert other.read(taken[1], "a.py") == b"one\n"
    write(root, "a.py", "four\n")
    last = other.take()
    assert keeper.read(last, "a.py") == b"four\n"
    assert keeper.read(last, "again.txt") is None
    assert not found_in(tmp_path / "kept", SECRET)


def test_hashes_are_erased_too(keeping: Open, root: Path, tmp_path: Path) -> None:
    """The hash of a large file could prove that someone had it."""
    keeper = keeping()
    large = SECRET * 200
    write(root, "big.bin", large)
    write(root, "other.bin", large + b"2")
    first = keeper.take()
    hashes = names_of(keeper, large)
    assert found_in(tmp_path / "kept", *hashes)
    held = keeper.find_held(["big.bin"])
    assert (held.versions, held.names) == (1, frozenset())
    keeper.erase(held.names, ["big.bin"])
    assert not found_in(tmp_path / "kept", *hashes)
    assert keeper.entries(first)["big.bin"].why == "erased"
    assert keeper.entries(first)["other.bin"].why == "large"
    assert keeper.compare(first, keeper.take()) == []


def test_erasing_twice_works(keeping: Open, root: Path, tmp_path: Path) -> None:
    """A rewritten snapshot can be rewritten again."""
    keeper = keeping()
    taken = story(keeper, root)
    keeper.erase(keeper.find_held(["deep/er/conf.py"]).names)
    held = keeper.find_held(["a.py"])
    keeper.erase(held.names, ["a.py"])
    assert [keeper.entries(name)["a.py"].why for name in taken] == ["erased"] * 4
    assert keeper.entries(taken[1])["deep/er/conf.py"].why == "erased"
    assert keeper.read(taken[3], "中文.md") == "# 字\n".encode()
    assert not found_in(tmp_path / "kept", SECRET, b"one\ntwo")


def test_quarantined_content_is_erased_too(root: Path, tmp_path: Path) -> None:
    """It cannot be read, but may contain the password."""
    keeper = snapshots_for(root, tmp_path / "kept", git=True)
    write(root, "conf.py", SECRET)
    keeper.take()
    (next((tmp_path / "kept").glob("*/git")) / "HEAD").unlink()
    keeper = snapshots_for(root, tmp_path / "kept", git=True)
    keeper.take()
    keeper.erase(keeper.find_held(["conf.py"]).names)
    assert not found_in(tmp_path / "kept", SECRET)


def test_full_disk_is_reported_and_erasing_finished_later(
    keeping: Open, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal was written, the rest was not: the next start does it."""
    keeper = keeping()
    taken = story(keeper, root)
    held = keeper.find_held(["deep/er/conf.py"])

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("backscroll.workspace.snapshots.keeper.write_spared", full)
        with pytest.raises(StoreError, match="No space left"):
            keeper.erase(held.names)
        with pytest.raises(StoreError, match="No space left"):
            keeping()
    assert keeping().read(taken[2], "a.py") == b"one\ntwo\n"
    assert not found_in(tmp_path / "kept", SECRET)


KILLED = """
import os, sys
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
root, home, with_git, at = sys.argv[1:]
left = int(at)
def tick(_):
    global left
    if left == 0:
        os._exit(9)
    left -= 1
keeper = snapshots_for(root, home, git=with_git == "True", largest=10_000)
keeper.erase(keeper.find_held(["deep/er/conf.py"]).names, ["deep/er/conf.py"], tick)
"""


@KINDS
def test_kill_at_any_operation_is_recovered(root: Path, tmp_path: Path, with_git: bool) -> None:
    """The next start finishes it: nothing is left, and the rest is there."""
    home = tmp_path / "kept"

    def opened() -> Snapshots:
        return snapshots_for(root, home, git=with_git, largest=10_000)

    for at in range(40):
        for folder in home.glob("*"):
            subprocess.run(["rm", "-rf", str(folder)], check=True)
        keeper = opened()
        taken = story(keeper, root)
        if at % 2:
            keeper.tidy()
        rest = keeper.read(taken[2], "a.py"), keeper.read(taken[3], "中文.md")
        ran = programs.run(
            [sys.executable, "-c", KILLED, str(root), str(home), str(with_git), str(at)],
            check=False,
            capture_output=True,
            text=True,
        )
        assert ran.returncode in (0, 9), ran.stderr
        begun = bool(list(home.glob("*/*.erasing.json")))
        again = opened()
        assert not list(home.glob("*/*.erasing.json"))
        if begun or ran.returncode == 0:
            assert not found_in(home, SECRET), at
            assert again.read(taken[1], "deep/er/conf.py") is None
        else:
            assert again.read(taken[1], "deep/er/conf.py") == b"password = " + SECRET
        assert (again.read(taken[2], "a.py"), again.read(taken[3], "中文.md")) == rest
        assert again.has(again.take())
        if ran.returncode == 0:
            break
    else:
        pytest.fail("it never came to its end")


def test_snapshots_of_earlier_versions_are_read_and_erased_too(root: Path, tmp_path: Path) -> None:
    """Their names had no seal, in either keeper."""
    write(root, "a.py", "one\n")
    write(root, "conf.py", SECRET)
    shadow = snapshots_for(root, tmp_path / "kept", git=True)
    hashed = snapshots_for(root, tmp_path / "kept", git=False)
    shadow.take()
    hashed.take()
    home = next((tmp_path / "kept").glob("*/git"))
    objects = Objects(home)
    files = {name: (b"100644", objects.name((root / name).read_bytes())) for name in ("a.py", "conf.py")}
    inner = {"files": (b"40000", objects.put_tree(files)), "unkept": (b"40000", objects.put_tree({}))}
    old_tree = objects.put_tree(inner)
    (home / "refs/snapshots" / old_tree).write_text(f"{old_tree}\n")
    contents = {name: (root / name).read_bytes() for name in ("a.py", "conf.py")}
    listed = [[name, hashed.name(data), "file", len(data), ""] for name, data in contents.items()]
    document = json.dumps(listed, separators=(",", ":")).encode()
    old_list = hashlib.sha256(document).hexdigest()
    (home.parent / "hashes/snapshots" / old_list).write_bytes(zlib.compress(document))
    for keeper, name in ((shadow, old_tree), (hashed, old_list)):
        assert keeper.read(name, "conf.py") == SECRET
        assert keeper.compare(name, keeper.take()) == []
        keeper.erase(keeper.find_held(["conf.py"]).names)
        assert (keeper.read(name, "conf.py"), keeper.read(name, "a.py")) == (None, b"one\n")
    assert not found_in(tmp_path / "kept", SECRET)
