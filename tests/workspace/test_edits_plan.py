"""Plans: every file as it would be, or every reason against it."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, Conflict, InvalidInput, NotFound
from backscroll.workspace.edits.edit import Edit, FileDeletion, Hunk, Patch, TextReplacement, WholeFile
from backscroll.workspace.edits.plan import plan
from backscroll.workspace.files.files import Files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    (folder / "b.txt").write_text("one\ntwo\nthree\n")
    return folder


@pytest.fixture
def files(root: Path) -> Files:
    return Files(root)


def after(files: Files, *edits: Edit) -> bytes | None:
    (change,) = plan(files, list(edits)).changes
    return change.after


def test_plan_shows_the_result(files: Files, root: Path) -> None:
    """The diff, the paths, the lines; the disk is unchanged."""
    made = plan(
        files,
        [
            TextReplacement("a.py", "return 1", "return 10"),
            WholeFile("新.txt", "你好\n"),
            FileDeletion("b.txt"),
        ],
    )
    assert made.paths == ("a.py", "b.txt", "新.txt")
    assert [c.action for c in made.changes] == ["changed", "deleted", "added"]
    assert (made.added, made.removed) == (2, 4)
    assert made.diff.split("\n")[:6] == [
        "--- a/a.py",
        "+++ b/a.py",
        "@@ -1,5 +1,5 @@",
        " def f():",
        "-    return 1",
        "+    return 10",
    ]
    assert "--- a/b.txt\n+++ /dev/null\n" in made.diff
    assert "--- /dev/null\n+++ b/新.txt\n" in made.diff
    assert sorted(p.name for p in root.iterdir()) == ["a.py", "b.txt"]


def test_several_edits_of_a_file_match_its_current_text(files: Files) -> None:
    """In any order, also if one adds or removes lines."""
    edits = [
        TextReplacement("b.txt", "three", "3\n4"),
        TextReplacement("./b.txt", "one\n", ""),
        TextReplacement("b.txt", "two", "2"),
    ]
    assert after(files, *edits) == b"2\n3\n4\n"


@pytest.mark.parametrize(
    ("before", "edit", "wanted"),
    [
        (b"a\r\nb\r\nc\r\n", TextReplacement("x", "b\n", "1\n2\n"), b"a\r\n1\r\n2\r\nc\r\n"),
        (b"a\r\nb", TextReplacement("x", "b", "b\nc"), b"a\r\nb\r\nc"),
        (b"a\r\nb\nc\r\nd\n", TextReplacement("x", "b", "1\n2"), b"a\r\n1\n2\nc\r\nd\n"),
        (b"a\r\nb\nc\r\nd\n", TextReplacement("x", "c", "1\n2"), b"a\r\nb\n1\r\n2\r\nd\n"),
        (b"a\rb\r", TextReplacement("x", "b", "1\n2"), b"a\r1\r2\r"),
        (b"a\rb\nc\n", TextReplacement("x", "c", "1\n2"), b"a\rb\n1\n2\n"),
        (codecs.BOM_UTF8 + b"a\n", TextReplacement("x", "a", "b"), codecs.BOM_UTF8 + b"b\n"),
        (
            "\ufeff一\r\n".encode("utf-16-be"),
            TextReplacement("x", "一", "二"),
            "\ufeff二\r\n".encode("utf-16-be"),
        ),
        (
            "国标编码的文件\n".encode("gb18030"),
            TextReplacement("x", "国标", "中国"),
            "中国编码的文件\n".encode("gb18030"),
        ),
        (b"a\r\n", WholeFile("x", "b\nc\n"), b"b\r\nc\r\n"),
        (codecs.BOM_UTF8 + b"a", WholeFile("x", "b\n"), codecs.BOM_UTF8 + b"b\n"),
        (b"", TextReplacement("x", "", "new\n", by_lines=True), b"new\n"),
    ],
)
def test_line_ends_and_encodings_are_kept(
    root: Path, files: Files, before: bytes, edit: Edit, wanted: bytes
) -> None:
    """Unchanged lines keep their bytes; new ones look like those around them."""
    (root / "x").write_bytes(before)
    assert after(files, edit) == wanted


def test_empty_search_creates_a_file(files: Files) -> None:
    """A block with nothing to look for, for a missing file."""
    assert after(files, TextReplacement("new.txt", "", "text\n", by_lines=True)) == b"text\n"
    with pytest.raises(InvalidInput, match="is empty"):
        plan(files, [TextReplacement("b.txt", "", "text\n", by_lines=True)])


@pytest.mark.parametrize(
    ("edits", "kind", "said"),
    [
        ([], InvalidInput, "there are no edits"),
        ([TextReplacement("a.py", "return", "x")], InvalidInput, "2 times"),
        (
            [TextReplacement("a.py", "return 1", "x"), TextReplacement("a.py", "1\n\n", "y")],
            InvalidInput,
            "edits 1 and 2 overlap at line 2",
        ),
        (
            [TextReplacement("a.py", "return 1", "x"), TextReplacement("a.py", "return 1", "y")],
            InvalidInput,
            "overlap",
        ),
        (
            [WholeFile("a.py", "x = 1\n"), TextReplacement("a.py", "x", "y")],
            InvalidInput,
            "as a whole and edited",
        ),
        (
            [TextReplacement("a.py", "1", "3"), WholeFile("a.py", "x = 1\n")],
            InvalidInput,
            "as a whole and edited",
        ),
        (
            [FileDeletion("b.txt"), TextReplacement("b.txt", "one", "1")],
            InvalidInput,
            "as a whole and edited",
        ),
        ([WholeFile("b.txt", "one\ntwo\nthree\n")], InvalidInput, "change nothing"),
        ([WholeFile("b.txt", "x", new=True)], Conflict, "already exists"),
        ([FileDeletion("c.txt")], NotFound, "no such file: c.txt"),
        ([TextReplacement("c.txt", "a", "b")], NotFound, "no such file: c.txt"),
        ([WholeFile("n", "x"), WholeFile("n/m", "y")], InvalidInput, "n would be both a file and a folder"),
        ([WholeFile("b.txt/m", "y")], InvalidInput, "b.txt is not a folder"),
        ([WholeFile(".git/hooks/pre-commit", "y")], InvalidInput, "protected"),
        ([WholeFile("../x", "y")], InvalidInput, "leads out"),
        ([WholeFile("x\ny", "y")], InvalidInput, "control characters"),
        ([WholeFile("x", "\ud800")], InvalidInput, "lone surrogate"),
        ([WholeFile("big.txt", "x" * 20_000_000)], InvalidInput, "would have 20000000 bytes"),
        ([Patch("b.txt", (Hunk(("two",), ("2",), 2),), to="a.py")], Conflict, "a.py already exists"),
    ],
)
def test_impossible_edits_are_refused(
    files: Files, root: Path, edits: list[Edit], kind: type[BackscrollError], said: str
) -> None:
    """The reason, a hint, and nothing written."""
    before = {p.name: p.read_bytes() for p in root.iterdir()}
    with pytest.raises(kind, match=said) as refused:
        plan(files, edits)
    assert refused.value.hint
    assert {p.name: p.read_bytes() for p in root.iterdir()} == before


def test_all_reasons_are_given_at_once(files: Files) -> None:
    """So that one answer can fix them all."""
    edits = [
        TextReplacement("a.py", "nope", "x"),
        TextReplacement("b.txt", "two", "2"),
        TextReplacement("c.txt", "a", "b"),
        WholeFile("/etc/x", ""),
    ]
    with pytest.raises(InvalidInput) as refused:
        plan(files, edits)
    said = refused.value.message
    assert said.startswith("3 of 4 edits cannot be applied, so none was:\n")
    assert "a.py (edit 1): the text was not found in the file" in said
    assert "no such file: c.txt" in said
    assert "/etc/x lies outside the workspace" in said
    assert "b.txt" not in said


def test_edit_cannot_build_on_an_earlier_one(files: Files) -> None:
    """Such edits must be one; the hint says so."""
    with pytest.raises(InvalidInput) as refused:
        plan(
            files,
            [TextReplacement("b.txt", "two", "2 and more"), TextReplacement("b.txt", "and more", "and less")],
        )
    assert refused.value.hint == "it exists only after an earlier edit: merge the two edits"


def test_syntax_is_checked(files: Files, root: Path) -> None:
    """A file that parsed must still parse; a broken one only causes a warning, as does everything on request."""
    with pytest.raises(InvalidInput, match=r"a\.py: the file would no longer parse: Python, line 1"):
        plan(files, [TextReplacement("a.py", "def f():", "def f(:")])
    with pytest.raises(InvalidInput, match="no longer parse: JSON"):
        plan(files, [WholeFile("new.json", "{")])
    (root / "broken.py").write_text("def f(:\n  old\n")
    assert (
        plan(files, [TextReplacement("broken.py", "old", "new")])
        .notes[0]
        .startswith("broken.py: the file does not parse: Python")
    )
    assert plan(files, [TextReplacement("a.py", "def f():", "def f(:")], syntax="warn").notes


@pytest.mark.parametrize(
    "line",
    [
        "# ... existing code ...",
        "    // ... rest of the code unchanged ...",
        "<!-- ... existing content ... -->",
        "/* … 其余代码保持不变 … */",
        "# ……省略……",
        "// ...existing code...",
    ],
)
def test_omitted_code_is_refused(files: Files, line: str) -> None:
    """A model's shorthand would delete the rest of the file."""
    with pytest.raises(InvalidInput, match="elides code"):
        plan(files, [WholeFile("b.txt", f"one\n{line}\n")])
    with pytest.raises(InvalidInput, match="elides code"):
        plan(files, [TextReplacement("b.txt", "two\n", f"2\n{line}\n", by_lines=True)])


@pytest.mark.parametrize(
    "line", ["# ...", "print('...')", "def f(): ...", "# the existing code is fine", "and so on ..."]
)
def test_dots_alone_omit_nothing(files: Files, line: str) -> None:
    """Only a comment that says so counts, and only if it is new."""
    assert plan(files, [WholeFile("b.txt", f"one\n{line}\n")])


def test_existing_omission_comment_may_stay(files: Files, root: Path) -> None:
    """Files that contain such comments can be edited."""
    (root / "doc.txt").write_text("# ... existing code ...\nz\n")
    assert after(files, TextReplacement("doc.txt", "z", "y")) == b"# ... existing code ...\ny\n"


def test_links_are_followed_by_edits(files: Files, root: Path) -> None:
    """The file is edited, not the link; a link is neither renamed nor deleted."""
    (root / "link.txt").symlink_to("b.txt")
    assert plan(files, [TextReplacement("link.txt", "two", "2")]).paths == ("b.txt",)
    with pytest.raises(InvalidInput, match="overlap"):
        plan(files, [TextReplacement("link.txt", "two", "2"), TextReplacement("b.txt", "two", "zwei")])
    with pytest.raises(InvalidInput, match=r"link\.txt is a link"):
        plan(files, [FileDeletion("link.txt")])


def test_modes_are_changed_and_kept(files: Files, root: Path) -> None:
    """A diff makes a file executable; a renamed file keeps its bits."""
    (root / "b.txt").chmod(0o640)
    (change,) = plan(files, [Patch("b.txt", executable=True)]).changes
    assert (change.mode, change.mode_before, change.after == change.before) == (0o750, 0o640, True)
    made = plan(files, [Patch("b.txt", (Hunk(("two",), ("2",), 2),), to="c/b.txt")])
    by_path = {c.path: c for c in made.changes}
    assert by_path["c/b.txt"].mode == 0o640
    assert (by_path["c/b.txt"].action, by_path["c/b.txt"].old_path) == ("renamed", "b.txt")
    assert (
        made.diff
        == "rename from b.txt\nrename to c/b.txt\n--- a/b.txt\n+++ b/c/b.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    )
    (copied,) = plan(files, [Patch("b.txt", to="copy.txt", copied=True)]).changes
    assert (copied.path, copied.action, copied.after) == ("copy.txt", "added", b"one\ntwo\nthree\n")


def test_binary_file_is_not_edited(files: Files, root: Path) -> None:
    """It can be replaced, deleted and renamed; the preview only names it."""
    (root / "x.bin").write_bytes(b"\0\1")
    with pytest.raises(InvalidInput, match=r"x\.bin is not text \(2 bytes\)"):
        plan(files, [TextReplacement("x.bin", "a", "b")])
    assert plan(files, [FileDeletion("x.bin")]).diff == "Binary files x.bin and /dev/null differ\n"
    assert plan(files, [WholeFile("x.bin", "now text\n")]).changes[0].after == b"now text\n"
    assert plan(files, [Patch("x.bin", to="y.bin")]).diff == "rename from x.bin\nrename to y.bin\n"


def test_special_files_are_refused(files: Files, root: Path) -> None:
    """A pipe cannot be edited."""
    os.mkfifo(root / "pipe")
    assert stat.S_ISFIFO((root / "pipe").stat().st_mode)
    with pytest.raises(InvalidInput, match="is not a regular file"):
        plan(files, [WholeFile("pipe", "x")])
