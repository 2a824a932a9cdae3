"""Attempts to leave the folder, and traps on the way: all are refused with a reason."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, Conflict, InvalidInput
from backscroll.workspace.files import replacement as putting
from backscroll.workspace.files.files import Files

SECRET = "secret of somebody else"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text(SECRET)
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def files(root: Path) -> Files:
    return Files(root)


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def every_way(files: Files, path: str) -> list[Callable[[], object]]:
    """Everything that could be done with a path."""
    return [
        lambda: files.read_text(path),
        lambda: files.read_bytes(path),
        lambda: files.hash(path),
        lambda: files.write(path, "owned"),
        lambda: files.delete(path),
        lambda: files.rename(path, "stolen.txt"),
        lambda: files.rename("mine.txt", path),
    ]


def escapes(root: Path) -> dict[str, str]:
    """Paths that lead out, and what is said."""
    out = root.parent / "outside"
    (root / "sub").mkdir()
    (root / "direct").symlink_to("../outside/secret.txt")
    (root / "whole").symlink_to(out / "secret.txt")
    (root / "folder").symlink_to(out)
    (root / "sub/up").symlink_to("../..")
    (root / "first").symlink_to("second")
    (root / "second").symlink_to("sub/up/outside")
    (root / "self").symlink_to("self")
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    (root / "proc").symlink_to("/proc/self/root")
    return {
        "../outside/secret.txt": "leads out of the workspace",
        "sub/../../outside/secret.txt": "leads out of the workspace",
        "./.././outside/secret.txt": "leads out of the workspace",
        "..": "leads out of the workspace",
        str(out / "secret.txt"): "lies outside the workspace",
        f"{root}/../outside/secret.txt": "leads out of the workspace",
        f"{root}-other/x": "lies outside the workspace",
        "/": "lies outside the workspace",
        "//etc/passwd": "lies outside the workspace",
        "/proc/self/environ": "lies outside the workspace",
        "/dev/stdin": "lies outside the workspace",
        "~/.bashrc": "lies outside the workspace",
        "folder/secret.txt": "is a link that leads out of the workspace",
        "folder/../outside/secret.txt": "is a link that leads out of the workspace",
        "sub/up/outside/secret.txt": "is a link that leads out of the workspace",
        "first/secret.txt": "is a link that leads out of the workspace",
        "proc/etc/passwd": "is a link that leads out of the workspace",
        "self/x": "leads in a circle",
        "ping/x": "leads in a circle",
        "a\0b": "NUL",
        "../outside/secret.txt\0.py": "NUL",
        "": "the path is empty",
        "  ": "the path is empty",
        "\ud800": "lone surrogate",
        ".git/config": "is protected",
        "sub/.GIT/hooks/x": "is protected",
        "mine.txt/../../outside": "is not a folder",
        "not-there/../../outside": "goes through a folder that is not there",
    }


def test_no_path_leads_outside(files: Files, root: Path) -> None:
    """Every attempt is refused with the reason, and nothing outside is read or changed."""
    (root / "mine.txt").write_text("mine")
    for path, reason in escapes(root).items():
        for attempt in every_way(files, path):
            with pytest.raises(BackscrollError) as refused:
                attempt()
            assert reason in refused.value.message, (path, refused.value.message)
            assert refused.value.hint
            assert SECRET not in str(refused.value)
    assert (root.parent / "outside/secret.txt").read_text() == SECRET
    assert names(root.parent / "outside") == ["secret.txt"]
    assert (root / "mine.txt").read_text() == "mine"


def test_links_that_lead_outside_are_not_followed(files: Files, root: Path) -> None:
    """As the last part of the path; only deleting the link itself is allowed."""
    escapes(root)
    for name in ("direct", "whole"):
        for attempt in every_way(files, name)[:4]:
            with pytest.raises(InvalidInput, match="is a link that leads out of the workspace, to "):
                attempt()
        files.delete(name)
    assert (root.parent / "outside/secret.txt").read_text() == SECRET


def test_link_to_protected_files_is_refused(files: Files, root: Path) -> None:
    """The resolved path counts, not only the requested one."""
    (root / ".git").mkdir()
    (root / ".git/config").write_text("[core]")
    (root / ".env").write_text("KEY=1")
    (root / "g").symlink_to(".git")
    (root / "readme.txt").symlink_to(".env")
    for path in ("g/config", "g/hooks/post-commit", "g", "readme.txt"):
        with pytest.raises(InvalidInput, match="is protected"):
            files.read_text(path)
        with pytest.raises(InvalidInput, match="is protected"):
            files.write(path, "x")
    assert names(root / ".git") == ["config"]


def test_special_files_are_never_opened(files: Files, root: Path) -> None:
    """A pipe without a writer would block forever; a device may act on being opened."""
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        with contextlib.chdir(root):  # the name of a socket may not be long
            door.bind("door")
        special = ["pipe", "door"]
        if os.geteuid() == 0:
            try:
                os.mknod(root / "null", 0o20666, os.makedev(1, 3))
                special.append("null")
            except PermissionError:
                pass  # a container without the right to make devices
        for name in special:
            for attempt in every_way(files, name)[:5]:
                with pytest.raises(InvalidInput, match="is not a regular file"):
                    attempt()
        assert names(root) == sorted(special)


@pytest.mark.parametrize(
    "name",
    [
        "-rf",
        "--help",
        "; rm -rf .",
        "$(touch owned)",
        "`touch owned`",
        "a|b",
        "a&b",
        "'q'",
        '"d"',
        "*",
        "?",
        "a b ",
        "#c",
        "~x",
        "C:\\x",
        "...",
    ],
)
def test_names_that_look_like_commands_are_only_names(files: Files, root: Path, name: str) -> None:
    """Nothing is run, nothing is expanded."""
    files.write(name, "content")
    assert files.read_text(name).text == "content"
    assert names(root) == [name]


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "\x1b[31mred", "a\tb", "a\x7f", "a\x9b31m"])
def test_names_that_trick_terminals_are_not_created(files: Files, root: Path, name: str) -> None:
    """They can be read if they exist, and are shown escaped."""
    for path in (name, f"{name}/inside.txt"):
        with pytest.raises(InvalidInput, match="control characters") as refused:
            files.write(path, "x")
        assert refused.value.message.isprintable()
    assert names(root) == []
    (root / name).write_text("there")
    assert files.read_text(name).text == "there"


def test_too_long_names_are_refused(files: Files, root: Path) -> None:
    """A clear error, and no folders are left behind."""
    for path in (
        "x" * 300,
        f"new/{'y' * 300}/z",
        "d/" * 3000 + "z",
        "d/" * 300 + "z",
        "../" * 3000,
        "字" * 100,
    ):
        with pytest.raises(InvalidInput, match=r"the name is too long|the path is"):
            files.write(path, "x")
    assert names(root) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EDQUOT, "the quota is used up"),
    ],
)
@pytest.mark.parametrize("call", ["write", "fsync", "link", "rename"])
def test_disk_error_leaves_everything_as_it_was(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str, call: str
) -> None:
    """At any step: the old content stays, no partial file and no folder is left."""
    (root / "old.txt").write_text("old")

    def fails(*args: object, **kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    path = "old.txt" if call == "rename" else "new/new.txt"
    with monkeypatch.context() as patch:
        patch.setattr(putting.os, call, fails)
        with pytest.raises(BackscrollError, match=said) as refused:
            files.write(path, "new")
        assert refused.value.hint
    if call == "fsync" and (root / "new").exists():
        pytest.fail("a folder was left")
    assert (root / "old.txt").read_text() == "old"
    assert names(root) == ["old.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_missing_permission_is_reported(files: Files, root: Path) -> None:
    """By reading and by writing."""
    (root / "locked").mkdir()
    (root / "locked").chmod(0o500)
    try:
        with pytest.raises(InvalidInput, match="permission denied"):
            files.write("locked/a.txt", "x")
    finally:
        (root / "locked").chmod(0o700)


def _swapping(root: Path, stop: threading.Event) -> None:
    """As fast as it can: a folder, a link out, a folder …"""
    for n in itertools.count():
        if stop.is_set():
            return
        kept = root / f"kept{n}"
        for step in (
            lambda kept=kept: (root / "place").rename(kept),
            lambda: (root / "place").symlink_to("../outside"),
            (root / "place").unlink,
            lambda kept=kept: kept.rename(root / "place"),
        ):
            with contextlib.suppress(OSError):  # a write made the folder in between
                step()


def test_swapped_link_leads_nowhere(files: Files, root: Path) -> None:
    """During reads and writes a folder is swapped for a link to outside: nothing there changes or is seen."""
    (root / "place").mkdir()
    (root / "place/secret.txt").write_text("mine")
    stop = threading.Event()
    swapper = threading.Thread(target=_swapping, args=(root, stop))
    swapper.start()
    done = refused = 0
    try:
        for n in range(10_000):
            if n >= 200 and done and refused:
                break  # it raced
            for path in ("place/secret.txt", f"place/{n}/new.txt"):
                try:
                    files.write(path, f"mine {n}")
                    done += 1
                except BackscrollError:
                    refused += 1
            try:
                assert SECRET not in files.read_text("place/secret.txt").text
            except BackscrollError:
                refused += 1
    finally:
        stop.set()
        swapper.join()
    assert names(root.parent / "outside") == ["secret.txt"]
    assert (root.parent / "outside/secret.txt").read_text() == SECRET
    assert done
    assert refused


def test_file_swapped_for_a_link_is_noticed(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between checking and renaming: the link's target stays as it is."""
    (root / "a.txt").write_text("old")
    (root / "other.txt").write_text("other")
    real = os.fsync
    swapped = False

    def swap(file: int) -> None:
        nonlocal swapped
        if not swapped:
            swapped = True
            (root / "a.txt").unlink()
            (root / "a.txt").symlink_to("other.txt")
        real(file)

    monkeypatch.setattr(putting.os, "fsync", swap)
    with pytest.raises(Conflict, match="another process at the same time"):
        files.write("a.txt", "new")
    assert (root / "other.txt").read_text() == "other"
    assert names(root) == ["a.txt", "other.txt"]


def test_file_that_appears_meanwhile_is_not_overwritten(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new name is taken only if it is free at that very moment."""
    real = os.lstat

    def late(name: str, *, dir_fd: int | None = None) -> os.stat_result:
        try:
            return real(name, dir_fd=dir_fd)
        finally:
            if name == "a.txt" and not (root / "a.txt").exists():
                looks.append(name)
                if len(looks) == 2:
                    (root / "a.txt").write_text("theirs")

    looks: list[str] = []
    monkeypatch.setattr(putting.os, "lstat", late)
    with pytest.raises(Conflict):
        files.write("a.txt", "mine")
    assert (root / "a.txt").read_text() == "theirs"


def test_no_descriptor_leaks(files: Files, root: Path) -> None:
    """After any number of refused and completed calls."""
    escapes(root)
    (root / "mine.txt").write_text("mine")
    before = open_files()
    for path in [*escapes_again(), "sub/a/b/c.txt", "mine.txt"]:
        for attempt in every_way(files, path):
            with contextlib.suppress(BackscrollError):
                attempt()
    assert open_files() == before


def open_files() -> int:
    """How many files this process has open; 0 where nobody can say."""
    place = Path("/proc/self/fd")
    return len(list(place.iterdir())) if place.exists() else 0


def escapes_again() -> list[str]:
    """The names of the paths alone."""
    return [
        "../x",
        "direct",
        "whole",
        "folder/x",
        "sub/up/x",
        "first/x",
        "self",
        "ping/x",
        "proc/x",
        "sub/../..",
    ]
