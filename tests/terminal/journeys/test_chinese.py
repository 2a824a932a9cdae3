"""A whole journey in Chinese, at two widths; and a window that is resized."""

from __future__ import annotations

import pytest

from backscroll.surfaces.screen.cells import width
from tests.terminal.journeys.stage import BUSY, READY, Stage, call, command, wait_until
from tests.terminal.terminal import CTRL_C, CTRL_D, ENTER, Terminal

POEM = """# 潮汐

高潮在 **06:12**，低潮在 *12:30*，请带上`救生衣`，并且不要独自一人走到很远很远的沙洲上去。

1. 先看潮汐表，再决定什么时候出发，因为海水每天上涨两次、退去两次
2. 再看天气

| 港口 | 高潮 |
| --- | --- |
| 青岛 | 06:12 |
| 大连 | 07:40 |

```python
print("你好，世界")
```

完。"""


def fits(terminal: Terminal) -> None:
    """No line is wider than the window, and no half of a wide character stands alone."""
    for line in terminal.everything().splitlines():
        assert width(line) <= terminal.model.columns, line
        assert "\ufffd" not in line


@pytest.mark.parametrize(("columns", "environment"), [(80, {"LANG": "zh_CN.UTF-8"}), (50, {})])
def test_whole_session_in_chinese(stage: Stage, columns: int, environment: dict[str, str]) -> None:
    """By the system's locale or by --lang; wide characters keep their columns."""
    question = call("ask_followup_question", question="要写成什么颜色？", options=["红色", "蓝色"])
    stage.plays(
        {"text": POEM, "chunk": 3, "reasoning": "我先想一想潮汐的事情。"},
        {
            "text": "我来写。",
            "calls": [call("write_file", path="潮汐表.md", content="高潮：06:12\n低潮：12:30\n")],
        },
        {"calls": [question]},
        {"calls": [command("echo 危险 > 不要.txt")]},
        {"calls": [call("attempt_completion", result="**潮汐表**写好了。")]},
    )
    arguments = () if environment else ("--lang", "zh")
    terminal = stage.ready(*arguments, columns=columns, lines=45, **environment)
    terminal.wait_for("没有任务")
    terminal.enter("什么时候涨潮？")
    shown = terminal.wait_for("完。", READY)
    assert "• " not in shown.splitlines()[0]
    assert 'print("你好，世界")' in shown
    assert "**" not in shown
    fits(terminal)
    terminal.enter("把它写进文件")
    terminal.wait_for("write_file 想修改文件", "+高潮：06:12", "y 允许")
    terminal.type("ｙ")  # as an input method types it
    terminal.wait_for("要写成什么颜色？", "1. 红色")
    terminal.type("2")
    terminal.wait_for("› 蓝色", "$ echo 危险 > 不要.txt", "y 允许")
    terminal.type("否")
    terminal.wait_for("为什么")
    terminal.type("太危险了" + ENTER)
    terminal.wait_for("潮汐表写好了。", "完成了吗？")
    terminal.type("是")
    terminal.wait_for("任务已完成", READY)
    assert not (stage.folder / "不要.txt").exists()
    assert (stage.folder / "潮汐表.md").read_text(encoding="utf-8") == "高潮：06:12\n低潮：12:30\n"
    assert "太危险了" in stage.words(4)
    fits(terminal)
    terminal.enter("/花费")
    terminal.wait_for("gpt-4o-mini", READY)
    terminal.enter("/上下文")
    terminal.wait_for(READY)
    fits(terminal)
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0


def test_window_can_be_resized_during_an_answer(stage: Stage) -> None:
    """Narrower and wider again: no remains of the status line, and later output fits the new width."""
    go, paused = stage.outside / "go", stage.outside / "paused"
    late = (
        "Then a long sentence that has to be wrapped because the window is narrow by now, 很长很长的一句话。"
    )
    stage.plays(
        {
            "text": f"First paragraph.\n\nSecond paragraph with a few more words.\n\n{late}",
            "chunk": 30,
            "wait_for_file": str(go),
            "wait_after": 2,
            "touch": str(paused),
        }
    )
    terminal = stage.ready(columns=90, lines=30)
    terminal.enter("hello")
    wait_until(paused.exists)
    terminal.wait_for("First paragraph.", BUSY)
    terminal.resize(50, 30)
    go.touch()
    shown = terminal.wait_for("narrow by now", "句话。", READY, gone=BUSY)
    assert shown.count("First paragraph.") == shown.count("Second parag") == 1
    assert BUSY not in terminal.everything()
    terminal.resize(80, 30)
    terminal.type("still here")
    terminal.wait_for("› still here", READY)
    terminal.type(CTRL_C)
    terminal.wait_for(READY, gone="still here")
