"""Answers at the output limit, calls that repeat and output without end, in a real terminal and in both languages."""

from __future__ import annotations

import pytest

from backscroll.vocab.part import ToolResult
from tests.terminal.journeys.stage import BUSY, READY, Stage, call, command
from tests.terminal.terminal import CTRL_D

LONG = " ".join(f"word{n}" for n in range(900))
WORDS = {
    "en": {"cut": "output limit reached", "pieces": "write in pieces", "end": "repeatedly", "same": "same call"},
    "zh": {"cut": "在输出上限处停下", "pieces": "分几次写", "end": "一再", "same": "同样的调用"},
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_cut_answer_is_continued_and_cut_call_reported(stage: Stage, language: str) -> None:
    """Text is continued, half a file is not written, and the same call for the third time ends the run."""
    words = WORDS[language]
    again = [{"calls": [call("list_files")]}] * 5
    stage.plays(
        {"text": LONG},
        {"text": "and that was the tide."},
        {"calls": [call("write_file", path="tide.md", content=LONG)]},
        {"text": "I write it in pieces then."},
        *again,
        max_output=800,
    )
    terminal = stage.ready("--lang", language, "--approve", "all", columns=100, lines=60)
    terminal.enter("tell me about the tide")
    shown = terminal.wait_for("and that was the tide.", READY)
    assert words["cut"] in terminal.everything()
    assert "word0 word1" in terminal.everything() or "word400" in shown
    assert [m.role for m in stage.record()][-3:] == ["user", "assistant", "assistant"]
    assert stage.asked()[-1]["body"]["messages"][-1]["role"] == "user"
    terminal.enter("write it down")
    terminal.wait_for("I write it in pieces then.", READY)
    assert words["pieces"] in terminal.everything()
    assert not (stage.folder / "tide.md").exists()
    assert "was not run" in stage.words()
    terminal.enter("look around")
    terminal.wait_for(words["same"], READY, gone=BUSY)
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_answer_that_is_always_cut_ends_with_a_message(stage: Stage, language: str) -> None:
    stage.plays(*[{"text": LONG}] * 6, max_output=100)
    terminal = stage.ready("--lang", language, columns=100, lines=60)
    terminal.enter("tell me everything")
    terminal.wait_for(WORDS[language]["end"], READY)
    assert len([m for m in stage.record() if m.role == "assistant"]) == 5
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_megabyte_of_output_leaves_room_in_the_prompt(stage: Stage, language: str) -> None:
    """The screen has a few lines, the log all, and the next request beginning, end, and a handle."""
    stage.plays(
        {"calls": [command("seq 1 200000")]},
        {"text": "They are two hundred thousand."},
        {"text": "Yes."},
    )
    terminal = stage.ready("--lang", language, "--approve", "all", columns=100, lines=50)
    terminal.enter("count")
    terminal.wait_for("They are two hundred thousand.", READY)
    results = [p for m in stage.record() for p in m.parts if isinstance(p, ToolResult)]
    text = str(getattr(results[0].content[0], "text", ""))
    assert len(text) > 1_288_000
    assert "\n150000\n" in text
    request = stage.words()
    assert len(request) < 70_000
    assert "\\n200000" in request
    assert "\\n150000\\n" not in request
    assert "[bs:" in request
    terminal.enter("sure?")
    terminal.wait_for("Yes.", READY)
    shown = [
        m["content"] for line in stage.asked()[1:] for m in line["body"]["messages"] if m["role"] == "tool"
    ]
    assert shown[0] == shown[1]
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0
