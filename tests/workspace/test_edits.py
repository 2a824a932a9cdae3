"""Whole files in fenced blocks, patches, and the call that applies them all."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import BackscrollError, FormatError, InvalidInput
from backscroll.workspace.edits.edit import FileDeletion, Hunk, Patch, WholeFile
from backscroll.workspace.edits.edits import apply_code_changes, parse_edits, undo
from backscroll.workspace.files.files import Files


@pytest.mark.parametrize(
    "opening",
    [
        "src/a.py\n```python\n",
        "`src/a.py`:\n\n```python\n",
        "**File: src/a.py**\n~~~\n",
        "```python src/a.py\n",
        "```python:src/a.py\n",
        '```python title="src/a.py"\n',
        "```src/a.py\n",
        "```python\n# file: src/a.py\n",
        "```ts\n// filepath: src/a.py\n",
        "```html\n<!-- file: src/a.py -->\n",
    ],
)
def test_fenced_file_has_a_name(opening: str) -> None:
    """Before the fence, after its opening, or in a first comment that says so."""
    closing = "~~~" if "~~~" in opening else "```"
    assert parse_edits(f"Here:\n\n{opening}x = 1\n{closing}\nDone.\n") == [WholeFile("src/a.py", "x = 1\n")]


@pytest.mark.parametrize(
    "text",
    [
        "Run this:\n```sh\nrm -rf build\n```\n",
        "Run `build.sh` like this:\n```sh\n./build.sh\n```\n",
        "In src/a.py you will find:\n```python\nx = 1\n```\n",
        "```python\n# a comment about a.py\nx = 1\n```\n",
        "No code at all.",
        "```\nunclosed",
        "",
    ],
)
def test_examples_are_no_edits(text: str) -> None:
    """A block without a clear name is only shown."""
    assert parse_edits(text) == []


def test_markdown_may_contain_blocks() -> None:
    """Blocks with a language inside a Markdown file do not end it, nor do shorter marks."""
    inner = "# Title\n\n```sh\nmake\n```\n\nend\n"
    assert parse_edits(f"README.md\n```markdown\n{inner}```\n") == [WholeFile("README.md", inner)]
    assert parse_edits(f"notes.txt\n````\n{inner}````\n") == [WholeFile("notes.txt", inner)]


def test_unclosed_block_is_refused() -> None:
    """It may have been cut: nothing of it is written."""
    with pytest.raises(FormatError, match=r"a\.py at line 2 has no end"):
        parse_edits("a.py\n```python\nx = 1\n")


PATCH = """*** Begin Patch
*** Add File: new.txt
+one
+two
*** Update File: a.py
*** Move to: b.py
@@ def f():
-    return 1
+    return 2
@@
 def g():
+    # more
     return 3
*** Delete File: old.txt
*** End Patch
"""


def test_patches_without_line_numbers_are_read() -> None:
    """Files that are added, changed, moved and deleted."""
    assert parse_edits(PATCH) == [
        WholeFile("new.txt", "one\ntwo\n", new=True),
        Patch(
            "a.py",
            (
                Hunk(("    return 1",), ("    return 2",), numbered=False, near="def f():"),
                Hunk(
                    ("def g():", "    return 3"), ("def g():", "    # more", "    return 3"), numbered=False
                ),
            ),
            to="b.py",
        ),
        FileDeletion("old.txt"),
    ]
    with pytest.raises(FormatError, match="has no end"):
        parse_edits(PATCH.replace("*** End Patch\n", ""))
    with pytest.raises(FormatError, match="no file at line 2"):
        parse_edits("*** Begin Patch\n+x\n*** End Patch\n")


def test_every_form_in_one_reply(tmp_path: Path) -> None:
    """Applied, and undone."""
    (tmp_path / "a.py").write_bytes(b"def f():\r\n    return 1\r\n\r\ndef g():\r\n    return 3\r\n")
    (tmp_path / "old.txt").write_text("old\n")
    (tmp_path / "c.txt").write_text("one\ntwo\nthree\n")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    reply = f"Let us begin.\n\n{PATCH}\nc.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n\n新/文件.md\n```\n你好\n```\n"
    done = apply_code_changes(tmp_path, reply)
    assert done.paths == ("a.py", "b.py", "c.txt", "new.txt", "old.txt", "新/文件.md")
    assert (
        tmp_path / "b.py"
    ).read_bytes() == b"def f():\r\n    return 2\r\n\r\ndef g():\r\n    # more\r\n    return 3\r\n"
    assert (tmp_path / "c.txt").read_text() == "one\n2\nthree\n"
    assert (tmp_path / "新/文件.md").read_text() == "你好\n"
    assert not (tmp_path / "a.py").exists()
    assert not (tmp_path / "old.txt").exists()
    undo(done)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before
    assert not (tmp_path / "新").exists()


def test_text_without_edits_is_refused(tmp_path: Path) -> None:
    """The error lists the forms that are understood."""
    with pytest.raises(InvalidInput, match="holds no edits") as refused:
        apply_code_changes(str(tmp_path), "I would change nothing.")
    assert "unified diffs" in refused.value.hint


def test_edits_stay_inside_the_folder(tmp_path: Path) -> None:
    """Paths from a model are checked like any other."""
    root = tmp_path / "root"
    root.mkdir()
    for name in ("../x.txt", "/etc/x.txt", ".git/hooks/pre-commit", "~/x.txt"):
        with pytest.raises(InvalidInput):
            apply_code_changes(Files(root), f"{name}\n```\nx\n```\n")
    assert list(root.iterdir()) == []
    assert not (tmp_path / "x.txt").exists()


LINES = st.sampled_from(
    [
        "```", "```py", "````", "~~~", "a.py", "`b c.md`", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "--- a/x", "+++ b/x",
        "@@ -1,2 +1 @@", "@@", "@@ -0,0 +1 @@", "-x", "+y", " z", "", "\\ No newline at end of file", "diff --git a/x b/x", "rename from x",
        "rename to y", "new file mode 100755", "*** Begin Patch", "*** Update File: q", "*** Add File: r", "*** End Patch", "词", "\ud800", "/dev/null",
        "--- /dev/null", "+++ /dev/null", 'diff --git "a/\\344\\270" "b/x"', "Binary files a and b differ",
    ]
)  # fmt: skip


@given(st.lists(LINES, max_size=25))
def test_any_text_can_be_read(lines: list[str]) -> None:
    """Whatever stands there: edits, or an error of ours; never a crash."""
    with contextlib.suppress(BackscrollError):
        assert all(edit.path for edit in parse_edits("\n".join(lines)))
