"""Cutting texts into sentences, items, rows and blocks of code, and what sentences are about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.essence.cues import box_text, ids_in, lower_aligned, mark_sentences, paths_in
from backscroll.derive.essence.sentences import LONGEST, rough_count, sentences

ANY = st.text(
    st.one_of(st.sampled_from(" \n\t.!?。！？；,，:：-*#|`~1a中\u2028\ud800\x00”』)"), st.characters()),
    max_size=400,
)


def texts(text: str) -> list[str]:
    return [s.text for s in sentences(text)]


@given(ANY)
def test_nothing_is_lost_and_nothing_is_said_twice(text: str) -> None:
    """Pieces are in order, do not overlap, and leave only white space between them."""
    at = 0
    for piece in sentences(text):
        assert not text[at : piece.start].strip()
        assert piece.text == text[piece.start : piece.end]
        assert piece.text.strip() == piece.text != ""
        at = piece.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("It works. Or does it? Yes!", ["It works.", "Or does it?", "Yes!"]),
        ("See e.g. Fig. 3 of Dr. Smith. Done.", ["See e.g. Fig. 3 of Dr. Smith.", "Done."]),
        ("Version 1.2.3 is out. 4.5 is next.", ["Version 1.2.3 is out.", "4.5 is next."]),
        ("先看日志。再改代码！可以吗？好", ["先看日志。", "再改代码！", "可以吗？", "好"]),
        ("他说：“不行。”然后走了。", ["他说：“不行。”", "然后走了。"]),
        ("用 Redis 吧。It expires keys. 好的！", ["用 Redis 吧。", "It expires keys.", "好的！"]),
        ("open https://a.b/c?d=e!f now", ["open https://a.b/c?d=e!f now"]),
        ("First line\nsecond line", ["First line", "second line"]),
    ],
)
def test_sentence_boundaries(text: str, cut: list[str]) -> None:
    assert texts(text) == cut


def test_wrapped_line_is_one_sentence() -> None:
    """A long line followed by a lower-case letter continues on the next line."""
    text = "The store keeps every revision of every message so that\nnothing is ever lost. Next."
    assert texts(text) == [
        "The store keeps every revision of every message so that\nnothing is ever lost.",
        "Next.",
    ]


def test_code_lists_and_tables_stay_whole() -> None:
    text = "Do this:\n```python\nx = 1. \n\ny = 2\n```\n- one. Two.\n  and more\n1. three\n| a | b |\n# Title"
    assert [(s.shape, s.text) for s in sentences(text)] == [
        ("prose", "Do this:"),
        ("code", "```python\nx = 1. \n\ny = 2\n```"),
        ("item", "- one. Two.\n  and more"),
        ("item", "1. three"),
        ("row", "| a | b |"),
        ("heading", "# Title"),
    ]


def test_unclosed_fence_extends_to_the_end() -> None:
    assert [s.shape for s in sentences("a\n```\nb. C.\n")] == ["prose", "code"]


def test_code_without_a_fence_is_recognised() -> None:
    """Numbered listings, traces and statements are not sentences of a speaker."""
    text = '1526:                ) from error\n    at com.acme.Main.run(Main.java:3)\nFile "a.py", line 3\nreturn x;'
    assert {s.shape for s in sentences(text)} == {"code"}


def test_text_without_full_stops_is_cut() -> None:
    """A megabyte without a full stop does not become one sentence."""
    pieces = sentences("word, " * 2000)
    assert all(len(p.text) <= LONGEST for p in pieces)
    assert "".join(p.text.replace(" ", "") for p in pieces) == "word," * 2000
    assert all(len(p.text) <= LONGEST for p in sentences("字" * 5000))


@given(st.text(max_size=200))
def test_the_rough_count_is_never_zero_and_grows_with_the_text(text: str) -> None:
    assert 0 < rough_count(text) <= rough_count(text + "more words")


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Let's use SQLite because it needs no server.", "decision"),
        ("我们决定用 PostgreSQL，因为要支持多进程。", "decision"),
        ("Let's use SQLite because it needs no server.", "reason"),
        ("Never push to main.", "constraint"),
        ("Please don't touch the tests.", "constraint"),
        ("不要修改数据库结构！", "constraint"),
        ("一定要兼容旧版本。", "constraint"),
        ("We still need to write the docs.", "todo"),
        ("TODO: rename it", "todo"),
        ("下一步：写测试。", "todo"),
        ("还需要更新文档。", "todo"),
        ("It fails with a timeout.", "error"),
        ("启动时报错了。", "error"),
        ("It works now.", "success"),
        ("测试全部通过。", "success"),
        ("Why is that?", "question"),
        ("这是为什么呢", "question"),
        ("- [ ] write tests", "box"),
        ("- [x] write tests", "ticked"),
        ("I’d like the window seat.", "preference"),
    ],
)
def test_cues_are_found(text: str, cue: str) -> None:
    assert cue in mark_sentences(text)[0].cues


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("I never liked fish, and you know.", "constraint"),
        ("Error handling is in errors.py", "error"),
        ("There must be some mistake.", "constraint"),
        ("别的都好。", "constraint"),
        ("The notebook is new.", "error"),
        ("```\nmust never fail\n```", "constraint"),
    ],
)
def test_similar_words_are_not_cues(text: str, cue: str) -> None:
    assert all(cue not in piece.cues for piece in mark_sentences(text))


@given(ANY)
def test_any_text_can_be_marked(text: str) -> None:
    """Odd characters break nothing, and the sentences are the same as without marks."""
    assert [m.sentence for m in mark_sentences(text)] == sentences(text)
    assert len(lower_aligned(text)) == len(text)


def test_paths_and_ids_are_found_in_both_languages() -> None:
    assert paths_in("改一下 src/app.py 和 ./run.sh，不要动 C:\\tools\\x.exe；and/or 2024/05/06 1/2") == [
        "src/app.py",
        "./run.sh",
        "C:\\tools\\x.exe",
    ]
    assert paths_in("see https://a.b/c/d.html and </command-name>") == []
    text = "Ticket OPS-12, commit 4cf328c3, user mia_li_3668, order #W12345, mail a@b.co, flight HAT067, 订单 20240506。"
    assert ids_in(text) == ["OPS-12", "4cf328c3", "mia_li_3668", "#W12345", "a@b.co", "HAT067", "20240506"]


def test_long_run_is_scanned_for_ids_in_linear_time() -> None:
    """Scanning for an address at every sign would take quadratic time here."""
    assert ids_in("的" * 300_000 + " a@b.org") == ["a@b.org"]


def test_box_text() -> None:
    assert box_text("- [ ] write tests ") == "write tests"
    assert box_text("no box") == "no box"
