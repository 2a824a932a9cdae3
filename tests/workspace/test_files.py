"""Reading and writing inside a folder."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
import unicodedata
from pathlib import Path

import pytest

from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.workspace.files.files import Files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def files(root: Path) -> Files:
    return Files(root)


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_file_is_written_with_its_folders(files: Files, root: Path) -> None:
    """They are created, and named; nothing is left beside the file."""
    written = files.write("src/包/主程序.py", "print('你好')\n")
    assert (root / "src/包/主程序.py").read_bytes() == "print('你好')\n".encode()
    assert written.created
    assert written.made == ("src", "src/包")
    assert written.hash == files.hash("src/包/主程序.py") == sha("print('你好')\n".encode())
    assert names(root / "src/包") == ["主程序.py"]


def test_paths_are_normalised(files: Files, root: Path) -> None:
    """Dots, doubled slashes, absolute paths inside and links inside lead to one name."""
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/c.txt").write_text("c")
    (root / "link").symlink_to("a/b")
    (root / "file").symlink_to("link/c.txt")
    (root / "whole").symlink_to(root / "a")
    for path in (
        "a/b/c.txt",
        "./a//b/./c.txt",
        "a/../a/b/c.txt",
        "link/c.txt",
        "file",
        "whole/b/c.txt",
        str(root / "a/b/c.txt"),
    ):
        assert files.resolve(path) == "a/b/c.txt", path
    assert files.resolve(".") == files.resolve("a/..") == "."
    assert files.resolve("not/yet/there.txt") == "not/yet/there.txt"
    assert files.resolve("link/new.txt") == "a/b/new.txt"


def test_root_may_be_a_link(root: Path, tmp_path: Path) -> None:
    """Absolute paths are accepted under the given name of the folder and under its real one."""
    (tmp_path / "alias").symlink_to(root)
    files = Files(tmp_path / "alias")
    files.write(str(tmp_path / "alias" / "a.txt"), "1")
    assert files.resolve(str(root / "a.txt")) == "a.txt"


def test_missing_root_is_named(tmp_path: Path) -> None:
    """No folder, no files."""
    with pytest.raises(NotFound, match="no such folder"):
        Files(tmp_path / "nowhere")


def test_line_ranges_are_read(files: Files) -> None:
    """With numbers; a negative start counts from the end."""
    files.write("a.txt", "".join(f"line {n}\n" for n in range(1, 13)))
    some = files.read_text("a.txt", 9, 11)
    assert (some.text, some.first, some.last, some.lines) == ("line 9\nline 10\nline 11\n", 9, 11, 12)
    assert some.numbered == " 9 | line 9\n10 | line 10\n11 | line 11"
    assert files.read_text("a.txt", -2).text == "line 11\nline 12\n"
    assert files.read_text("a.txt", 12, 99).text == "line 12\n"
    past = files.read_text("a.txt", 50)
    assert (past.text, past.numbered, past.lines) == ("", "", 12)
    for first, last in ((0, None), (1, 0), (3, -1)):
        with pytest.raises(InvalidInput, match="counted from 1"):
            files.read_text("a.txt", first, last)


@pytest.mark.parametrize(
    ("text", "lines"), [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\u2028b\x0cc", 1)]
)
def test_lines_are_counted(files: Files, text: str, lines: int) -> None:
    """Only line feeds and carriage returns end lines."""
    files.write("a.txt", text)
    read = files.read_text("a.txt")
    assert (read.lines, read.text) == (lines, text)
    assert len(read.numbered.split("\n")) == max(lines, 1)


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\rb\r", "x\ny\n", b"x\ry\r"),
        (b"a\r\nb\n", "x\ny\r\n", b"x\ny\r\n"),
        (codecs.BOM_UTF8 + b"a\n", "x\n", codecs.BOM_UTF8 + b"x\n"),
        (codecs.BOM_UTF8 + b"a\n", "\ufeffx\n", codecs.BOM_UTF8 + b"x\n"),
        ("\ufeffa\r\n".encode("utf-16-le"), "你\n", "\ufeff你\r\n".encode("utf-16-le")),
        ("国标编码的文件\n".encode("gb18030"), "再见\n", "再见\n".encode("gb18030")),
        (b"\x00\x01\x02", "text\n", b"text\n"),
    ],
)
def test_written_text_keeps_the_format_of_the_file(
    files: Files, root: Path, before: bytes, text: str, after: bytes
) -> None:
    """Line ends, byte order mark and encoding."""
    (root / "a.txt").write_bytes(before)
    files.write("a.txt", text)
    assert (root / "a.txt").read_bytes() == after


def test_bytes_are_written_unchanged(files: Files, root: Path) -> None:
    """Nothing is converted."""
    (root / "a.bin").write_bytes(b"a\r\n")
    files.write("a.bin", b"\0\n")
    assert (root / "a.bin").read_bytes() == b"\0\n" == files.read_bytes("a.bin")


def test_read_text_has_its_format(files: Files, root: Path) -> None:
    """Encoding and line ends are reported; text has plain newlines."""
    (root / "a.txt").write_bytes("第一行：国标编码\r\n第二行\r\n".encode("gb18030"))
    read = files.read_text("a.txt")
    assert (read.text, read.encoding, read.newline, read.guessed) == (
        "第一行：国标编码\n第二行\n",
        "gb18030",
        "\r\n",
        True,
    )


def test_mode_is_kept(files: Files, root: Path) -> None:
    """An executable stays one; a new file follows the umask; a given mode is set."""
    (root / "run.sh").write_text("echo\n")
    (root / "run.sh").chmod(0o750)
    files.write("run.sh", "echo 2\n")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750
    assert files.read_text("run.sh").executable
    files.write("new.sh", "echo\n", mode=0o755)
    assert stat.S_IMODE((root / "new.sh").stat().st_mode) == 0o755
    os.umask(mask := os.umask(0))
    files.write("plain", "")
    assert stat.S_IMODE((root / "plain").stat().st_mode) == 0o666 & ~mask


def test_expected_content_is_checked(files: Files, root: Path) -> None:
    """A write based on an outdated read fails and changes nothing."""
    files.write("a.txt", "1", expected="")
    with pytest.raises(Conflict, match="already exists"):
        files.write("a.txt", "2", expected="")
    seen = files.hash("a.txt")
    (root / "a.txt").write_text("by hand")
    with pytest.raises(Conflict, match="was changed since it was read"):
        files.write("a.txt", "2", expected=seen)
    with pytest.raises(Conflict):
        files.delete("a.txt", expected=seen)
    (root / "a.txt").unlink()
    with pytest.raises(Conflict, match="is gone"):
        files.write("a.txt", "2", expected=seen)
    assert names(root) == []


def test_read_only_file_is_left_alone(files: Files, root: Path) -> None:
    """Renaming over it would work, but its owner does not want that."""
    (root / "a.txt").write_text("1")
    (root / "a.txt").chmod(0o444)
    with pytest.raises(InvalidInput, match="read-only"):
        files.write("a.txt", "2")
    with pytest.raises(InvalidInput, match="read-only"):
        files.delete("a.txt")
    assert (root / "a.txt").read_text() == "1"


def test_other_hard_link_keeps_the_old_content(files: Files, root: Path, tmp_path: Path) -> None:
    """A write never reaches another file through a second name."""
    (tmp_path / "outside").write_text("old")
    os.link(tmp_path / "outside", root / "inside")
    files.write("inside", "new")
    assert (tmp_path / "outside").read_text() == "old"
    assert (root / "inside").read_text() == "new"


def test_writing_through_a_link_keeps_the_link(files: Files, root: Path) -> None:
    """Its target is written, even if it does not exist yet."""
    (root / "a.txt").write_text("1")
    (root / "link").symlink_to("a.txt")
    (root / "dangling").symlink_to("sub/new.txt")
    assert files.write("link", "2").path == "a.txt"
    assert files.write("dangling", "3").path == "sub/new.txt"
    assert (root / "link").is_symlink()
    assert (root / "dangling").is_symlink()
    assert ((root / "a.txt").read_text(), (root / "sub/new.txt").read_text()) == ("2", "3")


def test_files_and_links_can_be_deleted(files: Files, root: Path) -> None:
    """No folders, nothing that does not exist."""
    files.write("d/a.txt", "1")
    (root / "link").symlink_to("d/a.txt")
    files.delete("link")
    assert not (root / "link").is_symlink()
    assert (root / "d/a.txt").exists()
    files.delete("d/a.txt")
    with pytest.raises(NotFound):
        files.delete("d/a.txt")
    with pytest.raises(InvalidInput, match="is a folder"):
        files.delete("d")


def test_files_can_be_renamed(files: Files, root: Path) -> None:
    """To a free name only; folders are created."""
    files.write("a.txt", "1")
    files.write("b.txt", "2")
    with pytest.raises(Conflict, match="already exists"):
        files.rename("a.txt", "b.txt")
    with pytest.raises(InvalidInput, match="protected"):
        files.rename("a.txt", ".git/hooks/post-commit")
    with pytest.raises(NotFound):
        files.rename("c.txt", "x/d.txt")
    assert not (root / "x").exists()
    assert files.rename("a.txt", "新/名.txt").path == "新/名.txt"
    assert (root / "新/名.txt").read_text() == "1"
    with pytest.raises(InvalidInput, match="is a folder"):
        files.rename("新", "old")


def test_kinds_are_reported(files: Files, root: Path) -> None:
    """File, folder, link, special file, or nothing."""
    files.write("d/a.txt", "1")
    (root / "link").symlink_to("d")
    os.mkfifo(root / "pipe")
    assert [files.kind(p) for p in ("d/a.txt", "d", "link", "pipe", "no", "no/no")] == [
        "file",
        "folder",
        "link",
        "special",
        "",
        "",
    ]
    assert files.exists("d")
    assert not files.exists("no/no")
    assert files.hash("no") == ""


def test_names_in_another_normal_form_are_found(files: Files, root: Path) -> None:
    """A model writes é as one character; the disk may have it as two. New names are composed."""
    two = unicodedata.normalize("NFD", "café")
    (root / two).mkdir()
    (root / two / f"{two}.txt").write_text("old")
    files.write("café/café.txt", "new")
    assert (root / two / f"{two}.txt").read_text() == "new"
    assert names(root) == [two]
    files.write(f"{two}2.txt", "x")
    assert unicodedata.normalize("NFC", f"{two}2.txt") in names(root)


def test_names_that_are_not_utf8_are_kept(files: Files, root: Path) -> None:
    """Bytes that are no UTF-8 come and go as they are."""
    name = os.fsdecode(b"caf\xe9.txt")
    (root / name).write_text("1")
    assert files.read_text(name).text == "1"
    files.write(name, "2")
    assert [os.fsencode(name) for name in names(root)] == [b"caf\xe9.txt"]
    with pytest.raises(NotFound, match=r"no such file: x\\udce9"):
        files.read_text("x\udce9")


def test_huge_files_are_read_in_parts(root: Path) -> None:
    """Any lines of it, not the whole; writes are limited too."""
    files = Files(root, largest=10_000)
    whole = "".join(f"line {n}\n" for n in range(1, 20_001))
    (root / "big.log").write_text(whole)
    with pytest.raises(InvalidInput, match=r"big.log is too large: \d+ bytes, at most 10000") as refused:
        files.read_text("big.log")
    assert "first, last" in refused.value.hint
    part = files.read_text("big.log", 15_000, 15_001)
    assert (part.text, part.lines, part.first, part.last) == (
        "line 15000\nline 15001\n",
        20_000,
        15_000,
        15_001,
    )
    assert part.hash == sha(whole.encode())
    with pytest.raises(InvalidInput, match="too large"):
        files.read_text("big.log", 2)
    with pytest.raises(InvalidInput, match="too large"):
        files.read_text("big.log", -5)
    with pytest.raises(InvalidInput, match="too large"):
        files.write("new/huge.txt", "x" * 10_001)
    assert not (root / "new").exists()
    with pytest.raises(InvalidInput, match="too large"):
        files.read_bytes("big.log")


def test_huge_binary_file_is_refused(root: Path) -> None:
    """Also if only some lines are requested."""
    (root / "big.bin").write_bytes(b"\0\1\2\n" * 5000)
    with pytest.raises(InvalidInput, match="is not text"):
        Files(root, largest=1000).read_text("big.bin", 1, 2)


def test_huge_file_of_wide_characters_is_refused(root: Path) -> None:
    """Its lines cannot be found by single bytes; half characters are not shown."""
    (root / "wide.txt").write_bytes("\ufeff一\n二\n".encode("utf-16-le") * 500)
    with pytest.raises(InvalidInput, match="too large"):
        Files(root, largest=1000).read_text("wide.txt", 1, 2)


def test_binary_is_refused_with_its_size(files: Files, root: Path) -> None:
    """A picture is no text."""
    (root / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    with pytest.raises(InvalidInput, match=r"a.png is not text \(10 bytes\)"):
        files.read_text("a.png")


def test_other_folders_can_be_allowed(root: Path, tmp_path: Path) -> None:
    """Absolute paths in them, and links to them; nothing beside them, and no protected files in them."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "beside").mkdir()
    files = Files(root, allowed_outside=[tmp_path / "shared"])
    (root / "link").symlink_to(tmp_path / "shared")
    assert files.write(str(tmp_path / "shared/a.txt"), "1").path == str(tmp_path / "shared/a.txt")
    assert files.read_text("link/a.txt").text == "1"
    for path in (tmp_path / "beside/a.txt", tmp_path / "shared/../beside/a.txt", tmp_path / "shared/.env"):
        with pytest.raises(InvalidInput):
            files.write(str(path), "2")
    assert names(tmp_path / "beside") == []


def test_empty_folder_can_be_removed(files: Files, root: Path) -> None:
    """Only an empty one."""
    files.write("a/b/c.txt", "")
    assert not files.remove_folder("a/b")
    files.delete("a/b/c.txt")
    assert files.remove_folder("a/b")
    assert names(root) == ["a"]
