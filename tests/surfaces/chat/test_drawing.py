"""The live lines: drawn again in their place, taken away without a trace, never in the way of what is printed."""

from __future__ import annotations

from rich.text import Text

from backscroll.surfaces.chat.screen.live_area import LiveArea, wraps_again
from tests.surfaces.chat.drawn import Glass, printed, recorder


def test_what_is_printed_stands_above_what_moves() -> None:
    """Live lines stay at the lower end, whatever is printed meanwhile."""
    glass = Glass()
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("moving"), Text("status")]):
        region.print("first")
        region.touch()
        region.print("second")
        region._draw()
        assert glass.rows() == ["first", "second", "moving", "status"]
    assert glass.rows() == ["first", "second"]


def test_live_lines_are_cut_not_wrapped() -> None:
    """A line that is too long, in wide characters too, takes one row."""
    glass = Glass(columns=20)
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("很长" * 20), Text("x" * 50)]):
        region._draw()
        assert len(glass.rows()) == 2
        assert all(len(row) <= 19 for row in glass.rows())


def test_no_more_lines_than_the_screen_has() -> None:
    """A block that is taller than the screen shows its end, and is still taken away whole."""
    glass = Glass(lines=10)
    region = LiveArea(glass.console)
    region.print("before")
    with region.drawing(lambda: [Text(f"line {n}") for n in range(50)]):
        region._draw()
        region._draw()
        assert glass.rows()[-1] == "line 49"
    assert glass.everything() == "before"


def test_a_narrower_window_leaves_no_rests() -> None:
    """What a terminal wrapped when it was made narrower is taken away too."""
    glass = Glass(columns=60)
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("a" * 50)]):
        region._draw()
        drawn = region._drawn
        glass.screen.resize(12, 30)
        assert region._erasing().startswith("\r\x1b[1A")  # two rows by now
        region._drawn = drawn[:0]


def test_terminals_that_cut_lines_off_are_known() -> None:
    """Where lines are cut off, not wrapped, going up by wrapped lines would take away what was printed before."""
    assert wraps_again({"TERM": "xterm-256color"})
    assert wraps_again({"TERM": "screen-256color", "TMUX": "/run/tmux,1,0"})
    assert wraps_again({})
    for old in ({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}, {"TERM": "linux"}, {"TERM": "screen"}):
        assert not wraps_again(old)


def test_during_a_question_nothing_is_drawn() -> None:
    glass = Glass()
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("moving")]):
        region._draw()
        with region.pause_drawing():
            region.touch()
            region.print("asked")
            assert glass.rows() == ["asked"]
        assert glass.rows() == ["asked", "moving"]


def test_the_cursor_is_there_again_afterwards() -> None:
    glass = Glass()
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("moving")]):
        assert glass.screen.cursor.hidden
        with region.pause_drawing():
            assert not glass.screen.cursor.hidden
    assert not glass.screen.cursor.hidden


def test_without_a_terminal_there_are_no_live_lines() -> None:
    """In a pipe only what is printed for good arrives, without any control sequence."""
    console = recorder()
    region = LiveArea(console)
    with region.drawing(lambda: [Text("moving")]):
        region.print("said")
        region.touch()
    assert printed(console) == "said\n"
