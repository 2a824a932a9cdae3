"""The small parts of the chat: lines of calls, diffs, the bars, pasting, history, hints."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from backscroll.agent.events import Called, Calling, RunUsage
from backscroll.errors import NotFound
from backscroll.surfaces import i18n
from backscroll.surfaces.chat.input.clipboard import clipboard_image, interpret_paste, mention
from backscroll.surfaces.chat.input.history_file import FolderHistory, history_path
from backscroll.surfaces.chat.input.message import Attachments
from backscroll.surfaces.chat.screen.diffs import count_changes as counted_lines
from backscroll.surfaces.chat.screen.diffs import diff_lines
from backscroll.surfaces.chat.screen.first_minute import HINTS, FirstMinute
from backscroll.surfaces.chat.screen.invisible_characters import reveal_invisible
from backscroll.surfaces.chat.screen.markdown_look import as_texts, block_lines, wrap_text
from backscroll.surfaces.chat.screen.status import StatusFigures, short, status_line, update_totals
from backscroll.surfaces.chat.screen.taskbar import task_line
from backscroll.surfaces.chat.screen.tool_lines import FoldedLines, render_unfolded
from backscroll.surfaces.screen.cells import width
from backscroll.surfaces.screen.plain import safe
from backscroll.vocab.change import Cause, CodeChange
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Task, TaskState
from tests.surfaces.chat.drawn import recorder

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n"
EVENT = Ref("b" * 32, 5)


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    yield
    i18n.use("en")


# -- calls and diffs ---------------------------------------------------------------------------------------------


def test_call_unfolds_to_arguments_result_and_diff() -> None:
    change = CodeChange(EVENT, "", "edited", (), Cause("tool"), diff=DIFF)
    folds = FoldedLines()
    begun = Calling("c", "edit_file", "edit: x.py", {"path": "x.py", "text": "two\nlines"})
    fold = folds.fold_call(Called("c", "edit_file", "changed", "ok\nfine", change=change), begun, 80)
    assert fold.line.plain == "● edit_file x.py  ✓ changed  [1]"
    shown = "\n".join(line.plain for line in render_unfolded(fold) if isinstance(line, Text))
    assert "path: x.py" in shown
    assert "text:\n  two\n  lines" in shown
    assert "ok\n  fine" in shown
    assert "-old\n+new" in shown
    assert folds.get() is fold
    assert folds.get(1) is fold
    assert folds.get(2) is None


def test_folds_are_found_by_number_and_old_ones_dropped() -> None:
    folds = FoldedLines()
    for _ in range(600):
        folds.fold_thought("x", 1)
    assert len(folds) == 500
    assert folds.get(1) is None
    assert folds.get(600) is not None


def test_folds_are_bounded_in_memory() -> None:
    """Large results push older ones out; the newest stays whatever its size."""
    folds = FoldedLines()
    for _ in range(5):
        folds.fold_thought("x" * 9_000_000, 1)
    assert len(folds) == 2
    folds.fold_thought("x" * 30_000_000, 1)
    assert len(folds) == 1


@given(st.text(max_size=60), st.integers(20, 120))
def test_a_line_of_a_call_fits_its_room(words: str, room: int) -> None:
    """Whatever a tool says about itself, the line takes one row; a tool without words counts its lines."""
    done = Called("c", "run_command", words, words)
    line = FoldedLines().fold_call(done, Calling("c", "run_command", words, {}), room).line
    assert "\n" not in line.plain
    assert width(line.plain) <= max(room, 45)
    assert "\x1b" not in line.plain


def test_diffs_are_coloured_bounded_and_safe() -> None:
    lines = diff_lines(DIFF)
    assert [str(line.style) for line in lines] == ["bold", "bold", "cyan", "red", "green", ""]
    assert counted_lines(DIFF) == (1, 1)
    long = "+x\n" * 100
    assert diff_lines(long)[-1].plain == "… 70 more lines"
    assert len(diff_lines(long, None)) == 100
    assert diff_lines("+\x1b[2J")[0].plain == "+␛[2J"
    assert diff_lines("") == []
    git = "diff --git a/x.py b/x.py\nnew file mode 100755\nindex 0000000..3651461\n" + DIFF
    assert [line.plain for line in diff_lines(git)] == ["new file mode 100755", *DIFF.splitlines()]
    binary = "diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ"
    assert [line.plain for line in diff_lines(binary)] == binary.splitlines()


def test_invisible_characters_are_shown() -> None:
    """A command with a direction mark or a zero-width character reads as what it is."""
    assert reveal_invisible("rm \u202e\u200bfile\u2066") == "rm <U+202E><U+200B>file<U+2066>"
    assert reveal_invisible("普通 text é") == "普通 text é"


# -- markdown ----------------------------------------------------------------------------------------------------


@given(st.text(alphabet="ab 中，。（）\n*`_#|-", max_size=200), st.integers(8, 40))
def test_blocks_fit_their_room_and_lose_no_word(text: str, room: int) -> None:
    """No line is wider than the room (tables aside, which have their own least widths), and no character is lost."""
    lines = as_texts(block_lines(recorder(room), safe(text), room))
    if "|" not in text:
        assert all(width(line.plain) <= room for line in lines)
        shown = "".join(line.plain for line in lines)
        assert [c for c in shown if c in "ab中"] == [c for c in text if c in "ab中"]


def test_lines_break_between_chinese_characters_with_their_styles() -> None:
    text = Text("前面的文字，后面的文字。")
    text.stylize("bold", 6, 9)
    lines = wrap_text(text, 12)
    assert [line.plain for line in lines] == ["前面的文字，", "后面的文字。"]
    assert lines[1].spans[0].style == "bold"


def test_link_addresses_are_written_out() -> None:
    """Link text cannot hide the target."""
    lines = as_texts(block_lines(recorder(), "[my bank](https://evil.example/x)", 80))
    assert "https://evil.example/x" in lines[0].plain


# -- bars --------------------------------------------------------------------------------------------------------


FIGURES = StatusFigures(
    41_234, 128_000, 1_234_567, 900_000, 12_345, 123_400_000, 9, "gpt-4o-mini", "openai", works=2
)


@pytest.mark.parametrize("language", i18n.LANGUAGES)
@pytest.mark.parametrize("room", [100, 79, 59, 39, 25])
def test_status_line_degrades(room: int, language: i18n.Language) -> None:
    """It always fits, and context use and cost stay to the end."""
    i18n.use(language)
    line = status_line(FIGURES, room)
    assert width(line) <= room
    assert "32%" in line
    assert "$0.123" in line


def test_status_line_shows_everything_where_there_is_room() -> None:
    line = status_line(FIGURES, 200)
    assert line == (
        "gpt-4o-mini · openai · context 41k/128k 32% · ↑1.2M ↓12k · 73% cached · $0.123 · 2 background jobs"
    )


def test_status_line_without_a_model_or_a_price() -> None:
    assert status_line(StatusFigures(offline=True), 80) == "offline"
    assert (
        status_line(update_totals(StatusFigures(model="m"), RunUsage(5, 0, 5, None, 1)), 80)
        == "m · ↑5 ↓5 · $?"
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (9949, "9.9k"), (10_000, "10k"), (2_500_000, "2.5M")],
)
def test_numbers_are_abbreviated(number: int, said: str) -> None:
    assert short(number) == said


def a_task(title: str, state: TaskState = TaskState.IN_PROGRESS) -> Task:
    return Task("5", EVENT, title, state, "b" * 32, None, None, "")


@pytest.mark.parametrize("room", [100, 60, 40, 20])
def test_task_bar_degrades(room: int) -> None:
    """The title is cut only after the keys are gone; nothing is ever wider than the room."""
    for task in (None, a_task("Short"), a_task("很长的标题" * 12)):
        assert width(task_line(task, room)) <= room
    assert "F3 complete" in task_line(a_task("Short"), 100)
    assert "Short" in task_line(a_task("Short"), 30)


# -- pasting -----------------------------------------------------------------------------------------------------


def test_dropped_picture_is_attached(tmp_path: Path) -> None:
    """As terminals pass it: plain, quoted, escaped, as a URL; with a space in its name."""
    picture = tmp_path / "my map.png"
    picture.write_bytes(b"\x89PNG")
    spelt = [
        str(picture),
        f"'{picture}'",
        str(picture).replace(" ", "\\ "),
        f"file://{str(picture).replace(' ', '%20')}",
    ]
    for data in spelt:
        assert interpret_paste(f"{data}\n", tmp_path).images == (picture,), data
        assert interpret_paste(data, tmp_path).text == ""


def test_dropped_file_is_mentioned(tmp_path: Path) -> None:
    file, spaced = tmp_path / "a.py", tmp_path / "b c.py"
    file.touch()
    spaced.touch()
    found = interpret_paste(f"'{file}' '{spaced}'", tmp_path)
    assert found.text == '@a.py @"b c.py" '
    assert mention(file, tmp_path / "elsewhere") == f"@{file}"


@pytest.mark.parametrize(
    "text",
    [
        "/no/such/file.png",
        "see /etc/hosts for more",
        "plain words",
        "/",
        "'unbalanced",
        "",
        "a\r\nb",
        "file://host/x.png",
    ],
)
def test_pasted_text_stays_text(text: str, tmp_path: Path) -> None:
    """If it only looks like a path, or has more than a path."""
    found = interpret_paste(text, tmp_path)
    assert found.text == text.replace("\r\n", "\n")
    assert found.images == ()


def test_picture_is_attached_while_its_mark_is_in_the_line() -> None:
    waiting = Attachments()
    first, second = waiting.add(Path("/x/a.png")), waiting.add(Path("/x/b.png"))
    assert first == "[#1 a.png]"
    assert waiting.find_pictures(f"look at {second}") == [Path("/x/b.png")]
    assert waiting.find_pictures(f"look at {first}") == []


def test_only_our_own_copies_are_removed(tmp_path: Path) -> None:
    """We saved the picture from the clipboard; a dropped one is the user's."""
    ours, theirs = tmp_path / "ours.png", tmp_path / "theirs.png"
    ours.touch()
    theirs.touch()
    waiting = Attachments()
    waiting.add(ours, own=True)
    waiting.add(theirs)
    waiting.clean()
    assert not ours.exists()
    assert theirs.exists()


def test_missing_clipboard_program_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With what to install; if there is a program but no picture, that is said."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    with pytest.raises(NotFound) as missing:
        clipboard_image()
    assert "xclip" in (missing.value.hint or "")
    program = tmp_path / "xclip"
    program.write_text("#!/bin/sh\nprintf 'no picture'\n")
    program.chmod(0o755)
    with pytest.raises(NotFound, match="no image"):
        clipboard_image()
    program.write_text("#!/bin/sh\nprintf '\\211PNG...'\n")
    kept = clipboard_image()
    assert kept.read_bytes() == b"\x89PNG..."
    kept.unlink()


# -- what was typed before ---------------------------------------------------------------------------------------


def test_history_is_private_and_per_folder(tmp_path: Path) -> None:
    path = history_path(tmp_path / "one")
    assert path != history_path(tmp_path / "two")
    history = FolderHistory(path)
    for text in ("first", "second\nline", "second\nline", "odd \ud800 中文", "  "):
        history.store_string(text)
    assert list(FolderHistory(path).load_history_strings()) == ["odd \ud800 中文", "second\nline", "first"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_damaged_history_loses_only_damaged_lines(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    path.write_bytes(b'"good"\n\xff\xfe{\n"cut\n12\n"last"\n')
    assert list(FolderHistory(path).load_history_strings()) == ["last", "good"]
    FolderHistory(tmp_path / "no" / "such" / "x.jsonl").store_string("made")
    assert (tmp_path / "no" / "such" / "x.jsonl").exists()


def test_history_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    history = FolderHistory(path)
    for n in range(60):
        history.store_string(f"{n} " + "x" * 19_000)
    assert path.stat().st_size < 900_000
    assert next(iter(history.load_history_strings())).startswith("59 ")
    history.store_string("y" * 130_000)
    assert next(iter(history.load_history_strings())).startswith("59 ")


def test_unwritable_history_does_not_end_the_chat(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    history = FolderHistory(tmp_path / "file" / "typed.jsonl")
    history.store_string("text")
    assert list(history.load_history_strings()) == []
    assert (tmp_path / "file").read_text() == "in the way"


# -- the first minute --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_hints_are_shown_once_and_only_to_new_users(language: i18n.Language) -> None:
    i18n.use(language)
    guide = FirstMinute(new=True)
    assert len(guide.welcome(offline=True)) == 2
    hints = [guide.after_turn() for _ in range(len(HINTS) + 2)]
    assert all(hints[: len(HINTS)])
    assert len(set(hints[: len(HINTS)])) == len(HINTS)
    assert hints[len(HINTS) :] == ["", ""]
    known = FirstMinute(new=False)
    assert known.welcome(offline=False) == []
    assert known.after_turn() == ""
