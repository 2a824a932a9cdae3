"""How the events of a run are drawn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backscroll.agent.events import (
    Asked,
    Began,
    Called,
    Calling,
    Finished,
    Forming,
    Happening,
    Noted,
    Output,
    RunStep,
    RunUsage,
    Said,
    Thought,
)
from backscroll.agent.person import Preview, Proposal
from backscroll.surfaces import i18n
from backscroll.surfaces.chat.screen.live_area import LiveArea
from backscroll.surfaces.chat.screen.player import Player
from backscroll.surfaces.chat.screen.status import StatusFigures, update_totals
from backscroll.surfaces.chat.screen.tool_lines import FoldedLines
from backscroll.vocab.ids import Ref
from tests.surfaces.chat.drawn import Glass, printed, recorder

MESSAGE = Ref("a" * 32, 3)


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    yield
    i18n.use("en")


def played(*happenings: Happening, width: int = 80) -> str:
    console = recorder(width)
    Player(LiveArea(console), FoldedLines(), StatusFigures()).play(happenings)
    return printed(console)


def test_blocks_are_separated_by_one_blank_line() -> None:
    shown = played(Said("# A\n\nfirst\n\n"), Said("- x\n- y\n\nlast"), Finished("answered", "…"))
    assert shown == "A\n\nfirst\n\n • x\n • y\n\nlast\n"


def test_thinking_is_folded_and_calls_are_lines() -> None:
    """Call lines follow each other; a blank line separates them from text."""
    shown = played(
        Thought("Hm.\n"),
        Said("I look.\n"),
        RunStep(1, MESSAGE, "I look.", 2),
        Calling("c1", "run_command", "run: git status", {"command": "git status"}),
        Output("c1", "clean\n"),
        Called("c1", "run_command", "1 line", "clean\n"),
        Called("c2", "write_file", "", "no", is_error=True, refused="not now"),
        Said("Done."),
        Finished("answered", "Done."),
    )
    assert shown == (
        "◇ thought for 1 second  [1]\n\nI look.\n\n"
        "● run_command git status  ✓ 1 line  [2]\n● write_file  ✗ refused: not now  [3]\n\nDone.\n"
    )


def test_refused_call_shows_what_was_proposed() -> None:
    """It never began."""
    proposal = Proposal("c1", "run_command", "command", {"command": "rm x"}, Preview("run: rm x"))
    console = recorder()
    player = Player(LiveArea(console), FoldedLines(), StatusFigures(), proposed={"c1": proposal})
    player.play([Called("c1", "run_command", "refused", "…", refused="")])
    assert "● run_command rm x  ✗ refused" in printed(console)


def test_unstreamed_answer_is_shown_at_the_end() -> None:
    assert "whole answer" in played(Finished("answered", "The whole answer."))
    assert played(Said("Once."), Finished("answered", "Once.")).count("Once.") == 1


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("stopped", "Stopped"),
        ("limit", "limit"),
        ("completed", "completed"),
        ("incomplete", "not done"),
        ("asked", "asked a question"),
        ("silent", "empty reply"),
        ("cut", "output limit"),
        ("repeated", "same call"),
    ],
)
def test_every_end_is_reported(end: str, words: str) -> None:
    assert words in played(Finished(end))  # pyright: ignore[reportArgumentType]


def test_failure_is_shown_with_its_hint() -> None:
    shown = played(Finished("failed", error="no key", hint="set one"))
    assert "error: no key" in shown
    assert "set one" in shown


def test_cut_stream_starts_again() -> None:
    """The open block does not stay on the screen as if it had been an answer."""
    shown = played(
        Said("Half a sen"),
        Noted("again", "the connection was cut"),
        Said("The whole sentence."),
        Finished("answered"),
    )
    assert "Half a sen" not in shown
    assert "retrying: the connection was cut" in shown
    assert "The whole sentence." in shown


def test_run_without_an_end_loses_nothing() -> None:
    assert "half" in played(Said("half"))


def test_compaction_and_recall_are_reported() -> None:
    shown = played(Began(MESSAGE, resumed=True), Asked(1, 10, 100, "m", compacted="it pays", recalled=2))
    assert "compacted: it pays" in shown
    assert "2 earlier details" in shown


def test_status_line_follows_the_run() -> None:
    """Context use after every prompt, totals of the thread after every step."""
    sums = RunUsage(1000, 500, 20, 1_000_000, 1)
    glass = Glass(columns=100)
    player = Player(
        LiveArea(glass.console), FoldedLines(), StatusFigures(), lambda figures: update_totals(figures, sums)
    )
    player.take(Asked(1, 400, 1000, "gpt"))
    player.take(RunStep(1, MESSAGE, "", 0))
    line = player.lines()[-1].plain
    assert "gpt · context 400/1.0k 40% · ↑1.0k ↓20 · 50% cached · $0.001" in line
    assert "Ctrl-C to stop" in line
    player.stopping = True
    assert "stopping" in player.lines()[-1].plain


def test_tokens_and_cost_follow_the_stream() -> None:
    """Marked as an estimate while streaming, updated at most twice a second, exact afterwards."""
    sums = [RunUsage(1000, 0, 20, 1_000_000, 1), RunUsage(1400, 0, 120, 2_000_000, 2)]
    glass, now, asked_for = Glass(columns=120), [10.0], []

    def owed(sent: int, cached: int, received: int) -> int:
        asked_for.append((sent, cached, received))
        return received * 10_000

    player = Player(
        LiveArea(glass.console),
        FoldedLines(),
        update_totals(StatusFigures(model="gpt"), sums[0]),
        lambda figures: update_totals(figures, sums[1]),
        clock=lambda: now[0],
        owed=owed,
    )
    player.take(Asked(1, 400, 1000, "gpt", expected_cached=300))
    assert "~↑1.4k ~↓20 · 21% cached · ~$0.001" in player.lines()[-1].plain
    player.take(Said("word " * 80))
    assert "~↓20 " in player.lines()[-1].plain, "too soon for another look"
    now[0] += 1
    assert "~↑1.4k ~↓120 · 21% cached · ~$0.002" in player.lines()[-1].plain
    player.lines()
    assert asked_for == [(400, 300, 0), (400, 300, 100)]
    player.take(Noted("again", "cut"))
    player.take(Thought("潮" * 40))
    player.take(Forming(0, "write_file", "x" * 40))
    now[0] += 1
    assert "~↓60 " in player.lines()[-1].plain
    player.take(RunStep(1, MESSAGE, "", 0))
    assert " · ↑1.4k ↓120 · $0.002" in player.lines()[-1].plain
    assert player.figures.under_way is None


def test_unknown_price_is_not_estimated() -> None:
    player = Player(LiveArea(Glass(columns=120).console), FoldedLines(), StatusFigures(model="gpt"))
    player.take(Asked(1, 400, 1000, "gpt"))
    assert "~↑400 ~↓0 · $?" in player.lines()[-1].plain
    player = Player(LiveArea(Glass(columns=120).console), FoldedLines(), StatusFigures(offline=True))
    player.take(Asked(1, 400, 1000, ""))
    assert "~" not in player.lines()[-1].plain


def test_live_lines_show_the_current_work() -> None:
    """Thinking, the open block, a call being written, and a running one with its last lines."""
    glass = Glass(columns=60, lines=30)
    player = Player(LiveArea(glass.console), FoldedLines(), StatusFigures())
    player.take(Thought("deep thoughts"))
    assert any("deep thoughts" in line.plain for line in player.lines())
    player.take(Said("An open **blo"))
    assert any("An open" in line.plain for line in player.lines())
    player.take(Forming(0, "write_file", '{"path": "a.py"'))
    assert any('write_file {"path"' in line.plain for line in player.lines())
    player.take(Calling("c", "run_command", "make", {}))
    player.take(Output("c", "".join(f"line {n}\n" for n in range(50)) + "10%\r20%"))
    shown = [line.plain for line in player.lines()]
    assert [line for line in shown if "│" in line][-1] == "  │ 20%"
    assert len([line for line in shown if "│" in line]) == 5
    assert not any("10%" in line for line in shown)


def test_long_answer_scrolls_and_stays_whole() -> None:
    """Taller than the screen, in pieces, on a narrow screen: every line once, in order."""
    text = "\n".join(f"{n}. item number {n}" for n in range(1, 80)) + "\n\n" + "word 中文 " * 300 + "\n\n"
    text += "```python\n" + "\n".join(f"x{n} = {n}" for n in range(150)) + "\n```\n\nThe end."
    glass = Glass(columns=50, lines=14)
    happenings = [Said(text[n : n + 7]) for n in range(0, len(text), 7)]
    Player(LiveArea(glass.console), FoldedLines(), StatusFigures()).play(
        [*happenings, Finished("answered", text)]
    )
    shown = glass.everything()
    assert [line.split("item number ")[1] for line in shown.split("\n") if "item number" in line] == [
        str(n) for n in range(1, 80)
    ]
    assert [line.strip() for line in shown.split("\n") if " = " in line] == [
        f"x{n} = {n}" for n in range(150)
    ]
    assert shown.count("word") == 300
    assert shown.count("中文") == 300
    assert shown.endswith("The end.")


def test_names_and_results_cannot_control_the_terminal() -> None:
    evil = "\x1b[2J\x07\u202e"
    shown = played(
        Calling("c", "tool", f"run: {evil}", {}),
        Called("c", "tool", evil, evil),
        Noted("change", evil),
        Finished("failed", error=evil, hint=evil),
    )
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_run_is_shown_in_chinese() -> None:
    i18n.use("zh")
    shown = played(Thought("嗯"), Said("好的。"), Finished("stopped"))
    assert "思考了 1 秒" in shown
    assert "已停止" in shown
