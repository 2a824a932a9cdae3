"""The live lines: redrawn in place, removed without remains, never in the way of printed text."""

from __future__ import annotations

from rich.text import Text

from backscroll.surfaces.chat.screen.live_area import LiveArea, wraps_again
from tests.surfaces.chat.drawn import Glass, printed, recorder


def test_printed_text_appears_above_the_live_lines() -> None:
    """They stay at the bottom, whatever is printed meanwhile."""
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
    """A line that is too long takes one row, also in wide characters."""
    glass = Glass(columns=20)
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("很长" * 20), Text("x" * 50)]):
        region._draw()
        assert len(glass.rows()) == 2
        assert all(len(row) <= 19 for row in glass.rows())


def test_live_lines_never_exceed_the_screen() -> None:
    """A block taller than the screen shows its end, and is removed whole."""
    glass = Glass(lines=10)
    region = LiveArea(glass.console)
    region.print("before")
    with region.drawing(lambda: [Text(f"line {n}") for n in range(50)]):
        region._draw()
        region._draw()
        assert glass.rows()[-1] == "line 49"
    assert glass.everything() == "before"


def test_narrower_window_leaves_no_remains() -> None:
    """Lines that the terminal wrapped when it was made narrower are removed too."""
    glass = Glass(columns=60)
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("a" * 50)]):
        region._draw()
        drawn = region._drawn
        glass.screen.resize(12, 30)
        assert region._erasing().startswith("\r\x1b[1A")  # two rows by now
        region._drawn = drawn[:0]


def test_terminals_that_cut_lines_are_recognised() -> None:
    """Moving up by wrapped lines would remove what was printed before."""
    assert wraps_again({"TERM": "xterm-256color"})
    assert wraps_again({"TERM": "screen-256color", "TMUX": "/run/tmux,1,0"})
    assert wraps_again({})
    for old in ({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}, {"TERM": "linux"}, {"TERM": "screen"}):
        assert not wraps_again(old)


def test_nothing_is_drawn_during_a_question() -> None:
    glass = Glass()
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("moving")]):
        region._draw()
        with region.pause_drawing():
            region.touch()
            region.print("asked")
            assert glass.rows() == ["asked"]
        assert glass.rows() == ["asked", "moving"]


def test_cursor_is_restored() -> None:
    glass = Glass()
    region = LiveArea(glass.console)
    with region.drawing(lambda: [Text("moving")]):
        assert glass.screen.cursor.hidden
        with region.pause_drawing():
            assert not glass.screen.cursor.hidden
    assert not glass.screen.cursor.hidden


def test_no_live_lines_without_a_terminal() -> None:
    """A pipe gets only permanent output, without control sequences."""
    console = recorder()
    region = LiveArea(console)
    with region.drawing(lambda: [Text("moving")]):
        region.print("said")
        region.touch()
    assert printed(console) == "said\n"
