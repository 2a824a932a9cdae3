"""Lines of tool calls: a path is shown once, shell commands show their output, in both languages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backscroll.agent.events import Called, Calling
from backscroll.surfaces import i18n
from backscroll.surfaces.chat.screen.tool_lines import FoldedLines, call_line, render_output


@pytest.fixture
def chinese() -> Iterator[None]:
    i18n.use("zh")
    yield
    i18n.use("en")


def test_outcome_does_not_repeat_the_path() -> None:
    """A path in the outcome is shown once; another one stays."""
    edited = Called("1", "edit_file", "changed a/b.py (+4 −1)", "…")
    assert (
        call_line(edited, "edit: a/b.py (+4 −1)", 1, 100).plain
        == "● edit_file  ✓ changed a/b.py (+4 −1)  [1]"
    )
    ran = Called("2", "run_command", "exit code 0, 3 lines", "…")
    assert "git status" in call_line(ran, "run: git status", 2, 100).plain


def test_outcomes_are_shown_in_chinese(chinese: None) -> None:
    """Each built-in tool's report has a Chinese line."""
    for english, said in (
        ("added hello.py (+2 −0)", "新建了 hello.py（+2 −0）"),
        ("exit code 1, 12 lines", "退出码 1，12 行"),
        ("a.py: 10 lines", "a.py：10 行"),
        ("1/2 done; now: 写", "完成 1/2；正在做：写"),
        ("no such file: x.txt (look with list_files)", "没有这个文件：x.txt（请用 list_files 查看）"),
    ):
        assert said in call_line(Called("1", "some_tool", english, ""), "", 1, 120).plain


def test_shell_command_shows_its_output() -> None:
    """All of little, the end of much, and no exit code, which the folded line has."""
    folds = FoldedLines()
    call = Calling("1", "run_command", "run: seq 3", {"command": "seq 3"})
    short = folds.fold_call(
        Called("1", "run_command", "exit code 0, 3 lines", "1\n2\n3\nexit code 0"), call, 80
    )
    assert [line.plain for line in render_output(short)] == ["  1", "  2", "  3"]
    many = "\n".join(str(n) for n in range(500))
    long = folds.fold_call(Called("1", "run_command", "exit code 0, 500 lines", many), call, 80)
    shown = [line.plain for line in render_output(long)]
    assert "/unfold 2" in shown[0]
    assert shown[-1] == "  499"
    assert len(shown) < 100
