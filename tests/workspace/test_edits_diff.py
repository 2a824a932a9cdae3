"""Unified diffs: read, located in the file by their content, and created."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import BackscrollError, Conflict, FormatError, InvalidInput, NotFound
from backscroll.workspace.edits.edit import Hunk, Patch, WholeFile
from backscroll.workspace.edits.edits import apply, parse_edits, plan
from backscroll.workspace.files.files import Files

TEXT = "".join(f"line {n}\n" for n in range(1, 31))


def patched(root: Path, before: str | bytes, diff: str) -> str:
    """What a diff makes of a file called a.txt."""
    data = before.encode() if isinstance(before, str) else before
    (root / "a.txt").write_bytes(data)
    apply(plan(Files(root), parse_edits(diff, path="a.txt")))
    return (root / "a.txt").read_bytes().decode()


def test_diff_is_read() -> None:
    """Names without git's prefixes, hunks with their lines."""
    diff = "--- a/x.py\t2024-01-01\n+++ b/x.py\t2024-01-02\n@@ -3,3 +3,3 @@ def f():\n a\n-b\n+c\n d\n"
    assert parse_edits(diff) == [Patch("x.py", (Hunk(("a", "b", "d"), ("a", "c", "d"), 3, near="def f():"),))]


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("--- a/a.py\n+++ b/a.py\n", ("a.py", "")),
        ("--- a.py\n+++ a.py\n", ("a.py", "")),
        ("--- a/a.py\n+++ a/a.py\n", ("a/a.py", "")),
        ("--- i/a.py\n+++ w/a.py\n", ("a.py", "")),
        (
            "diff --git a/my file.py b/my file.py\nindex 1..2 100644\n--- a/my file.py\n+++ b/my file.py\n",
            ("my file.py", ""),
        ),
        (
            'diff --git "a/\\344\\270\\255.py" "b/\\344\\270\\255.py"\n--- "a/\\344\\270\\255.py"\n+++ "b/\\344\\270\\255.py"\n',
            ("中.py", ""),
        ),
        ('--- "a/q\\"\\\\t\\t.py"\n+++ "b/q\\"\\\\t\\t.py"\n', ('q"\\t\t.py', "")),
        (
            "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n",
            ("x", "y"),
        ),
    ],
)
def test_file_names_are_read(header: str, wanted: tuple[str, str]) -> None:
    """As git and others write them."""
    (patch,) = parse_edits(f"{header}@@ -1 +1 @@\n-a\n+b\n")
    assert isinstance(patch, Patch)
    assert (patch.path, patch.to) == wanted


def test_several_files_with_text_between_are_read(tmp_path: Path) -> None:
    """New, changed, deleted and renamed files in one text."""
    (tmp_path / "b.txt").write_text("1\n2\n")
    (tmp_path / "c.txt").write_text("gone\n")
    (tmp_path / "d.txt").write_text("moved\n")
    text = """First:
```diff
diff --git a/new.sh b/new.sh
new file mode 100755
index 0000000..1111111
--- /dev/null
+++ b/new.sh
@@ -0,0 +1,2 @@
+#!/bin/sh
+echo
```
Then:
```diff
--- a/b.txt
+++ b/b.txt
@@ -1,2 +1,2 @@
 1
-2
+two
diff --git a/c.txt b/c.txt
deleted file mode 100644
--- a/c.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/d.txt b/e/d.txt
similarity index 100%
rename from d.txt
rename to e/d.txt
```
"""
    made = plan(Files(tmp_path), parse_edits(text))
    assert [(c.path, c.action) for c in made.changes] == [
        ("b.txt", "changed"),
        ("c.txt", "deleted"),
        ("d.txt", "deleted"),
        ("e/d.txt", "renamed"),
        ("new.sh", "added"),
    ]
    assert "rename from d.txt\nrename to e/d.txt\n" in made.diff
    apply(made)
    assert sorted(
        p.relative_to(tmp_path).as_posix()
        for p in tmp_path.rglob("*.*")
        if p.is_file() and "home" not in p.parts
    ) == [
        "b.txt",
        "e/d.txt",
        "new.sh",
    ]
    assert stat.S_IMODE((tmp_path / "new.sh").stat().st_mode) & 0o100


@pytest.mark.parametrize(
    "head",
    [
        "@@ -10,3 +10,3 @@",
        "@@ -7,3 +7,3 @@",
        "@@ -1,99 +1,99 @@",
        "@@ -1,1 +1,1 @@",
        "@@ @@",
        "@@",
        "@@ ... @@",
        "@@ -10,3 +10,3 @@ def x():",
    ],
)
def test_wrong_line_numbers_are_corrected(tmp_path: Path, head: str) -> None:
    """If a hunk fits in one place only, its numbers do not matter."""
    diff = f"--- a.txt\n+++ a.txt\n{head}\n line 10\n-line 11\n+eleven\n line 12\n"
    assert patched(tmp_path, TEXT, diff) == TEXT.replace("line 11\n", "eleven\n")


def test_right_line_number_decides_between_equal_places(tmp_path: Path) -> None:
    """Exactly there a hunk fits even if other places would too; elsewhere its place must be unique."""
    text = "a\nx\nb\n" * 3
    assert (
        patched(tmp_path, text, "--- a.txt\n+++ a.txt\n@@ -4,3 +4,3 @@\n a\n-x\n+y\n b\n")
        == "a\nx\nb\na\ny\nb\na\nx\nb\n"
    )
    with pytest.raises(InvalidInput, match="fits in 3 places: lines 1, 4, 7"):
        patched(tmp_path, text, "--- a.txt\n+++ a.txt\n@@ -5,3 +5,3 @@\n a\n-x\n+y\n b\n")


def test_later_hunks_follow_the_shift_of_the_first(tmp_path: Path) -> None:
    """It decides between equal places."""
    text = "unique\n" + "a\nx\nb\n" * 3
    diff = "--- a.txt\n+++ a.txt\n@@ -11,1 +11,1 @@\n-unique\n+one\n@@ -15,3 +15,3 @@\n a\n-x\n+y\n b\n"
    assert patched(tmp_path, text, diff) == "one\na\nx\nb\na\ny\nb\na\nx\nb\n"


def test_lines_without_their_leading_space_are_read(tmp_path: Path) -> None:
    """Empty context lines without the space, and a text line that lost its own."""
    text = "a\n\nb\n\nc\n"
    assert (
        patched(tmp_path, text, "--- a.txt\n+++ a.txt\n@@ -1,5 +1,5 @@\n a\n\n-b\n+B\n\n c\n")
        == "a\n\nB\n\nc\n"
    )
    assert patched(tmp_path, text, "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\na\n\n-b\n+B\n") == "a\n\nB\n\nc\n"


def test_empty_lines_after_a_diff_are_not_part_of_it(tmp_path: Path) -> None:
    """Nor is what follows them."""
    diff = "--- a.txt\n+++ a.txt\n@@ -1,9 +1,9 @@\n-a\n+A\n\n\nThat is all.\n"
    assert patched(tmp_path, "a\nb\n", diff) == "A\nb\n"
    assert patched(tmp_path, "a\nb\n", diff.replace(",9", "")) == "A\nb\n"
    assert (
        patched(tmp_path, "a\nb\n", "--- a.txt\n+++ a.txt\n@@\n-a\n+A\n\n\nThat is all.\n- a list\n")
        == "A\nb\n"
    )
    assert patched(tmp_path, "a\nb\n", "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a\n+A\n-- \n2.39.5\n") == "A\nb\n"


@pytest.mark.parametrize(
    ("before", "diff", "after"),
    [
        (
            "a\nb",
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
            "a\nc",
        ),
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        ("a\nb", "@@ -1,2 +1,3 @@\n+0\n a\n b\n\\ No newline at end of file\n", "0\na\nb"),
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc"),
        ("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", "a\r\nx\r\nb\r\n"),
        ("a\n", "@@ -1,0 +2,1 @@\n+b\n", "a\nb\n"),
        ("a", "@@ -1,0 +2,1 @@\n+b\n", "a\nb"),
        ("a\nb\n", "@@ -0,0 +1 @@\n+0\n", "0\na\nb\n"),
        ("", "@@ -0,0 +1 @@\n+0\n", "0\n"),
        ("-- x\n", "@@ -1 +1 @@\n--- x\n+++ y\n", "++ y\n"),
    ],
)
def test_ends_of_files_are_handled(tmp_path: Path, before: str, diff: str, after: str) -> None:
    """With and without a newline, with CRLF, with no context around what is added."""
    assert patched(tmp_path, before, f"--- a.txt\n+++ a.txt\n{diff}") == after


def test_fenced_diff_without_a_header_is_read(tmp_path: Path) -> None:
    """The name is before the block, as for any other."""
    (tmp_path / "b.txt").write_text("1\n2\n")
    edits = parse_edits("b.txt\n```diff\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n```\nand\nc.txt\n```\nx\n```\n")
    assert [type(edit) for edit in edits] == [Patch, WholeFile]
    apply(plan(Files(tmp_path), edits))
    assert (tmp_path / "b.txt").read_text() == "1\n3\n"


@pytest.mark.parametrize(
    ("diff", "kind", "said"),
    [
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nowhere\n+x\n", InvalidInput, "was not found in the file"),
        ("--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-a\n+x\n", NotFound, "no such file: b.txt"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", Conflict, "already exists"),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", InvalidInput, "contains more than the diff"),
        ("diff --git a/a.txt b/a.txt\nBinary files a/a.txt and b/a.txt differ\n", FormatError, "binary"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", FormatError, "names no file"),
        (
            "--- a/a.txt\n+++ b/a.txt\n@@ -9,0 +9,1 @@\n+x\n",
            InvalidInput,
            "inserts after line 9, and the file has 2",
        ),
        (
            "diff --git a/a.txt b/c.txt\nrename from a.txt\nrename to c.txt\n",
            Conflict,
            "c.txt already exists",
        ),
        ("--- a/../a.txt\n+++ b/../a.txt\n@@ -1 +1 @@\n-a\n+b\n", InvalidInput, "leads out"),
    ],
)
def test_hunks_that_do_not_fit_are_refused(
    tmp_path: Path, diff: str, kind: type[BackscrollError], said: str
) -> None:
    """Each with its reason, and nothing is changed."""
    (tmp_path / "a.txt").write_text("a\nb\n")
    (tmp_path / "c.txt").write_text("c\n")
    with pytest.raises(kind, match=said):
        plan(Files(tmp_path), parse_edits(diff))
    assert (tmp_path / "a.txt").read_text() == "a\nb\n"


words = st.sampled_from(
    ["a", "b", "", "  c", "文", "--- x", "+++ y", "@@ -1 +1 @@", "\\ odd", "-", "+", "diff --git a/x b/x"]
)
texts = st.tuples(st.lists(words, max_size=12), st.booleans()).map(
    lambda t: "\n".join(t[0]) + ("\n" if t[1] and t[0] else "")
)


@given(texts, texts)
def test_a_preview_is_a_diff_that_does_the_same(before: str, after: str) -> None:
    """What a plan shows can be read back, and makes of the old file the new one to the byte."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "a.txt").write_bytes(before.encode())
        files = Files(root, journal=root / "journal")
        try:
            shown = plan(files, [WholeFile("a.txt", after)]).diff
        except InvalidInput:
            assert before == after
            return
        apply(plan(files, parse_edits(shown)))
        assert (root / "a.txt").read_bytes() == after.encode()


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to make diffs")
@settings(max_examples=15)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=3), st.integers(0, 3))
def test_what_git_writes_is_understood(pairs: list[tuple[str, str]], around: int) -> None:
    """Diffs of git itself, with as many lines around as one likes, odd names included."""
    names = ["a.txt", "目录/文 件.txt", 'q"uote.txt'][: len(pairs)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for side in ("old", "new"):
            for name, pair in zip(names, pairs, strict=True):
                (root / side / name).parent.mkdir(parents=True, exist_ok=True)
                (root / side / name).write_bytes(pair[side == "new"].encode())
        done = subprocess.run(
            ["git", "diff", "--no-index", "--no-prefix", f"-U{around}", "old", "new"],
            cwd=root, capture_output=True, check=False, env={"PATH": os.environ["PATH"], "HOME": folder},
        )  # fmt: skip
        text = done.stdout.decode().replace("old/", "a/").replace("new/", "b/")
        if edits := parse_edits(text):
            apply(plan(Files(root / "old", journal=root / "journal"), edits))
        for name, (_, after) in zip(names, pairs, strict=True):
            assert (root / "old" / name).read_bytes() == after.encode()
