"""The tools that touch files: what they show before, what they do, what they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.agent.loop.calls import prepare, run
from backscroll.vocab.part import ToolCall
from tests.agent.workbench import Bench, bench

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 40


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        (made.root / "a.py").write_text("def f():\n    return 1\n\n\nx = f()\n", encoding="utf-8")
        (made.root / "文档").mkdir()
        (made.root / "文档" / "说明.md").write_text("# 标题\n港口\n", encoding="utf-8")
        yield made


# -- read_file ---------------------------------------------------------------------------------------------------


def test_read_file_numbers_lines(at: Bench) -> None:
    done = at.call("read_file", path="a.py")
    assert done.text.startswith("a.py, lines 1–5 of 5\n1 | def f():\n2 |     return 1")
    assert done.line == "a.py: 5 lines"
    assert at.call("read_file", path="a.py", first=2, last=2).text.endswith(
        "2 |     return 1\n[3 more lines: read on with first=3]"
    )
    assert "港口" in at.call("read_file", path="文档/说明.md").text


def test_read_file_pages_long_files(at: Bench) -> None:
    (at.root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    first = at.call("read_file", path="long.txt")
    assert "lines 1–2000 of 5000" in first.text
    assert first.text.endswith("[3,000 more lines: read on with first=2001]")
    last = at.call("read_file", path="long.txt", first=-2)
    assert last.text.endswith("4999 | line 4999\n5000 | line 5000")


def test_read_file_cuts_very_long_lines(at: Bench) -> None:
    (at.root / "min.js").write_text("x" * 50_000 + "\nend\n")
    text = at.call("read_file", path="min.js").text
    assert len(text) < 3000
    assert "characters of this line left out" in text
    assert "2 | end" in text


def test_read_file_returns_images_as_media(at: Bench) -> None:
    (at.root / "p.png").write_bytes(PNG)
    done = at.call("read_file", path="p.png")
    assert done.media[0].media_type == "image/png"
    assert done.media[0].data == PNG


@pytest.mark.parametrize(
    "path", ["missing.py", "../outside", "/etc/passwd", ".git/config", ".env", "文档", "a\x00b"]
)
def test_read_file_refuses_unreadable_and_secret_files(at: Bench, path: str) -> None:
    (at.root / ".git").mkdir()
    (at.root / ".git" / "config").write_text("[core]")
    (at.root / ".env").write_text("KEY=hunter2")
    done = at.call("read_file", path=path)
    assert done.is_error
    assert done.text.startswith("[read_file] ")
    assert "hunter2" not in done.text


def test_symlink_out_of_the_workspace_is_refused(at: Bench, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    (at.root / "link").symlink_to(tmp_path / "secret")
    (at.root / "folder").symlink_to(tmp_path)
    for path in ("link", "folder/secret"):
        done = at.call("read_file", path=path)
        assert done.is_error
        assert "hunter2" not in done.text
    assert at.call("write_file", path="link", content="x").is_error
    assert (tmp_path / "secret").read_text() == "hunter2"


def test_store_file_cannot_be_read_or_written(at: Bench, tmp_path: Path) -> None:
    """Even if the workspace contains it."""
    at.root = tmp_path
    for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
        assert at.call(tool, path="store.db", **more).is_error


# -- write, edit, patch ------------------------------------------------------------------------------------------


def test_write_file_is_previewed_then_done(at: Bench) -> None:
    seen = at.preview("write_file", path="new/b.py", content="y = 2\n")
    assert seen.line == "write: new/b.py (+1 −0)"
    assert "+y = 2" in seen.diff
    assert (seen.paths, seen.subject) == (("new/b.py",), "new/b.py")
    assert not (at.root / "new").exists()
    done = at.call("write_file", path="new/b.py", content="y = 2\n")
    assert not done.is_error
    assert (at.root / "new" / "b.py").read_text() == "y = 2\n"
    assert done.line == "added new/b.py (+1 −0)"


def test_edit_file_is_previewed_then_done(at: Bench) -> None:
    edits = [{"old": "return 1", "new": "return 2"}, {"old": "x = f()", "new": "print(f())"}]
    seen = at.preview("edit_file", path="a.py", edits=edits)
    assert seen.line == "edit: a.py (+2 −2)"
    assert "-    return 1" in seen.diff
    assert at.call("edit_file", path="a.py", edits=edits).line == "changed a.py (+2 −2)"
    assert (at.root / "a.py").read_text() == "def f():\n    return 2\n\n\nprint(f())\n"


def test_edit_file_applies_all_edits_or_none(at: Bench) -> None:
    before = (at.root / "a.py").read_text()
    done = at.call(
        "edit_file",
        path="a.py",
        edits=[{"old": "return 1", "new": "return 2"}, {"old": "nowhere", "new": ""}],
    )
    assert done.is_error
    assert done.text.startswith("[edit_file] ")
    assert (at.root / "a.py").read_text() == before


def test_edit_file_refuses_a_syntax_error(at: Bench) -> None:
    assert at.call("edit_file", path="a.py", edits=[{"old": "def f():", "new": "def f(:"}]).is_error


def test_edit_file_accepts_blocks_or_one_object(at: Bench) -> None:
    block = "<<<<<<< SEARCH\n    return 1\n=======\n    return 3\n>>>>>>> REPLACE\n"
    assert not at.call("edit_file", path="a.py", text=block).is_error
    assert "return 3" in (at.root / "a.py").read_text()
    one = '{"old": "return 3", "new": "return 4"}'
    assert not at.call("edit_file", path="a.py", edits=f"[{one}]").is_error
    assert at.call("edit_file", path="a.py").text.startswith("[edit_file] there are no edits")
    assert at.call("edit_file", path="a.py", text="nothing").is_error


def test_apply_patch_changes_several_files(at: Bench) -> None:
    patch = (
        "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 5\n"
        "--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+new\n"
    )
    seen = at.preview("apply_patch", text=patch)
    assert seen.paths == ("a.py", "c.txt")
    assert at.call("apply_patch", text=patch).line == "2 files (+2 −1)"
    assert (at.root / "c.txt").read_text() == "new\n"


def test_apply_patch_warns_about_deletions(at: Bench) -> None:
    patch = "diff --git a/a.py b/a.py\ndeleted file mode 100644\n--- a/a.py\n+++ /dev/null\n@@ -1,5 +0,0 @@\n-def f():\n-    return 1\n-\n-\n-x = f()\n"
    assert at.preview("apply_patch", text=patch).warnings == ("deletes a.py",)


def test_call_that_fails_its_preview_needs_no_approval(at: Bench) -> None:
    call = ToolCall("c", "edit_file", {"path": "a.py", "edits": [{"old": "nowhere", "new": ""}]})
    looked = prepare(at.toolbox, call, at.context())
    assert looked.failure is not None
    assert looked.failure.text.startswith("[edit_file] ")


def test_write_is_refused_if_the_file_changed_after_the_preview(at: Bench) -> None:
    """A file that changed between the question and the answer is not overwritten."""
    call = ToolCall("c", "write_file", {"path": "a.py", "content": "x = 1\n"})
    looked = prepare(at.toolbox, call, at.context())
    (at.root / "a.py").write_text("precious = True\n")
    done = run(looked, at.context())
    assert done.text.startswith("[write_file] the files changed since")
    assert (at.root / "a.py").read_text() == "precious = True\n"


def test_two_edits_of_one_file_in_one_reply_both_apply(at: Bench) -> None:
    """The first moves the lines of the second; what goes and what comes is the same."""
    calls = [
        ToolCall(
            "1",
            "edit_file",
            {"path": "a.py", "edits": [{"old": "def f():", "new": "# one\n# two\ndef f():"}]},
        ),
        ToolCall("2", "edit_file", {"path": "a.py", "edits": [{"old": "x = f()", "new": "y = f()"}]}),
    ]
    looked = [prepare(at.toolbox, each, at.context()) for each in calls]
    assert [run(each, at.context()).is_error for each in looked] == [False, False]
    assert (at.root / "a.py").read_text() == "# one\n# two\ndef f():\n    return 1\n\n\ny = f()\n"


# -- list and search ---------------------------------------------------------------------------------------------


def test_list_files(at: Bench) -> None:
    done = at.call("list_files")
    assert "a.py" in done.text
    assert "文档/说明.md" in done.text
    only = at.call("list_files", pattern="*.md")
    assert "a.py" not in only.text
    assert at.call("list_files", path="nowhere").is_error


def test_search_files(at: Bench) -> None:
    assert "a.py:2" in at.call("search_files", pattern=r"return \d").text
    assert "文档/说明.md:2" in at.call("search_files", pattern="港口", literal=True).text
    assert at.call("search_files", pattern="港口", glob="*.py").text.startswith("nothing found")
    assert at.call("search_files", pattern="(").is_error
    assert at.preview("search_files", pattern="x").line == "search: x in ."


def test_search_files_skips_possible_secrets(at: Bench) -> None:
    """Including settings of editors and agents; the result says so, and a file named explicitly is searched."""
    for path in (".env", ".cursor/mcp.json", ".vscode/settings.json", "AGENTS.md", "src/ok.txt"):
        (at.root / path).parent.mkdir(parents=True, exist_ok=True)
        (at.root / path).write_text("needle\n", encoding="utf-8")
    done = at.call("search_files", pattern="needle")
    assert sorted(line.split(":")[0] for line in done.text.splitlines() if "needle" in line) == [
        "AGENTS.md",
        "src/ok.txt",
    ]
    assert "2 protected files not searched" in done.text
    assert "needle" in at.call("search_files", pattern="needle", path=".cursor/mcp.json").text


def test_file_names_that_look_like_commands_are_not_run(at: Bench) -> None:
    """Names go to the system as they are: no tool ever writes one into a command line."""
    for name in ("$(touch evil)", "a; touch evil", "`touch evil`", "-rf", "x' || touch evil '", "a&b|c"):
        assert not at.call("write_file", path=name, content="safe\n").is_error
        assert "safe" in at.call("read_file", path=name).text
        assert not at.call("edit_file", path=name, edits=[{"old": "safe", "new": "still"}]).is_error
        assert at.preview("write_file", path=name, content="x\n").subject == name
    assert "-rf" in at.call("list_files").text
    assert at.call("search_files", pattern="still").line.startswith("6 lines")
    assert not (at.root / "evil").exists()
