"""Hostile texts cost readers a bounded time, proved without a clock.

Three ways. No function of the rules is entered with a run longer than `derive/extract/runs` allows: what a pattern costs is at most the length
of the text times that. And the work that Python itself does (calls and steps of generators) grows with the text, not with its
square; for readers that hold what they found, every line of Python counts, because a loop that compares all with all need not call
anything. How long it takes is measured by `python -m bench hostile`.
"""

from __future__ import annotations

import re
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll.derive.essence.essentials import Essential, EssentialKind
from backscroll.derive.essence.reader import findings
from backscroll.derive.essence.sentences import LONGEST, LONGEST_CODE, sentences
from backscroll.derive.extract.runs import LONGEST_RUN, break_long_runs
from backscroll.derive.summaries.composition import distinct
from backscroll.derive.summaries.gist import let_go
from backscroll.vocab.ids import Ref
from bench.hostile import FAMILIES, READERS, THREAD, read, said, text_of

if TYPE_CHECKING:
    from _typeshed import TraceFunction

_RUN = re.compile(rf"[^\s。！？；，、：…]{{{LONGEST_RUN + 1}}}")
#: Functions that get a text as it came in and hand it on parted, or cut it by themselves.
DOORS = {"cleaned_text", "understand", "find_times", "folded"}


@given(st.text(max_size=200), st.integers(1, 40), st.text(max_size=30))
def test_a_text_without_long_runs_stays_as_it_is(piece: str, times: int, end: str) -> None:
    """What people write passes untouched; the rest has no long run, and every sign that is not white space is still there."""
    text = piece * times + end
    made = break_long_runs(text)
    assert not _RUN.search(made)
    assert "".join(made.split()) == "".join(text.split())
    if not re.search(rf"[^\s。！？；，、：…]{{{LONGEST_RUN}}}|\s{{{LONGEST_RUN}}}", text):
        assert made is text


@pytest.mark.parametrize("family", FAMILIES)
def test_sentences_are_bounded_in_length(family: str) -> None:
    """Sentences, items and blocks of code have a longest length, and together they are the whole text."""
    text = text_of(family, 30_000)
    pieces = sentences(text)
    assert all(len(p.text) <= (LONGEST_CODE if p.shape == "code" else LONGEST) for p in pieces)
    assert "".join("".join(p.text.split()) for p in pieces) == "".join(text.split())
    assert not _RUN.search(break_long_runs(text))


@contextmanager
def _watched(found: dict[str, int]) -> Iterator[None]:
    """Note the longest run that a rule of extraction or of questions is entered with."""
    home = f"{backscroll.__path__[0]}/"
    rules = tuple(
        f"{home}{name}"
        for name in (
            "derive/extract/en/",
            "derive/extract/zh/",
            "derive/extract/code/",
            "derive/extract/assertions",
            "recall/question/analysis",
            "recall/question/times",
        )
    )

    def look(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name in DOORS or not code.co_filename.startswith(rules):
            return
        for name in code.co_varnames[: code.co_argcount]:
            value = frame.f_locals.get(name)
            if isinstance(value, str) and len(value) > LONGEST_RUN and _RUN.search(value):
                found[f"{code.co_filename.removeprefix(home)}:{code.co_name}({name})"] = len(value)

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


LONG_RUNS = [
    "a.b.",
    "aaaa",
    "AB",
    "a_b_",
    "a-b-",
    "1-",
    "hex",
    "base64",
    "((((",
    "/a/a",
    "@a",
    "他说他说",
    "小明和",
    "...",
    '"\\"',
    "address",
    "joined emoji",
]


@pytest.mark.parametrize("reader", ["assertions of a user", "assertions of an answer", "question", "times"])
@pytest.mark.parametrize("family", LONG_RUNS)
def test_extraction_rules_never_see_a_long_run(reader: str, family: str) -> None:
    """Every extraction function receives text with long runs broken up."""
    found: dict[str, int] = {}
    with _watched(found):
        read(reader, text_of(family, 6_000))
    assert not found


def test_watcher_detects_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without the parting at the doors it does."""
    monkeypatch.setattr("backscroll.derive.extract.speech.break_long_runs", lambda text: text)
    found: dict[str, int] = {}
    with _watched(found):
        read("assertions of a user", text_of("a.b.", 6_000))
    assert found


def _steps(reader: str, text: str) -> int:
    """How many calls (of Python and of C) and steps of generators a reader makes."""
    count = 0

    def look(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(look)
    try:
        read(reader, text)
    finally:
        sys.setprofile(None)
    return count


#: Steps that a reader takes at the most for texts of a middling length: old and new lines are compared in order, short
#: descriptions of a world are read in full.
BOUNDED = {"digest of an edit": 100_000, "world": 150_000}
#: A family for each way in which texts go on and on; `bench/hostile` has them all.
TYPICAL = ["a.b.", "aaaa", "a a a", "Aa Aa", "a-b-", "((((", "“", "/a/a", "- [ ]", "boxes", "rows", "lines CRLF", "spaces", "...", "。", "**a", "他说他说", "小明和", "who is the",
           "said Tom", "e.g. A", "never use a,", "Error:", "trace", "a: b"]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_regex_steps_grow_linearly(reader: str) -> None:
    """Four times the text takes about four times the steps, for every family; quadratic would be sixteen times."""
    for family in TYPICAL:
        read(reader, text_of(family, 2_400))  # patterns are compiled when a text first needs them
        small = _steps(reader, text_of(family, 600))
        large = _steps(reader, text_of(family, 2_400))
        assert large <= 6 * small + BOUNDED.get(reader, 1_000), f"{family!r}: {small} steps, then {large}"


def _lines(reader: str, text: str) -> int:
    """How many lines of the package a reader goes through, each turn of a loop counted."""
    home = backscroll.__path__[0]
    count = 0

    def look(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
        nonlocal count
        count += event == "line"
        return look if frame.f_code.co_filename.startswith(home) else None

    before = sys.gettrace()
    sys.settrace(look)
    try:
        read(reader, text)
    finally:
        sys.settrace(before)
    return count


#: Readers that hold what they found and compare it with what comes later.
HOLDING = ["cues of sentences", "findings of a user", "findings of a result", "importance", "gist"]
#: What makes them hold more and more; the three in front grew with the square of the text.
HELD = ["待办", "lists of to-dos", "to-dos and done", "boxes and ticks", "decisions", "failures and fixes", "questions", "paths", "diff", "a: b", "lines CRLF"]  # fmt: skip


@pytest.mark.parametrize("reader", HOLDING)
def test_python_lines_grow_linearly(reader: str) -> None:
    """Four times the text executes about four times the lines of Python, for every collecting reader."""
    read(reader, "Warm up, 他说。")
    for family in HELD:
        small, large = (_fresh_lines(reader, text_of(family, size)) for size in (2_500, 10_000))
        assert large <= 5.5 * small + 2_000, f"{family!r}: {small} lines, then {large}"


def _fresh_lines(reader: str, text: str) -> int:
    let_go()  # what is remembered would cost nothing
    return _lines(reader, text)


def test_very_long_path_is_treated_as_data() -> None:
    """Base64 looks like a path; indexing every suffix of 20,000 letters took 40 MB."""
    found = findings([said(text_of("base64", 20_000)), said("See src/app.py.", 2)])
    assert [e.text for e in found.open] == ["src/app.py"]
    long = Essential(EssentialKind.PATH, text_of("/a/a", 20_000), Ref(THREAD, 1), Ref(THREAD, 1), "path", "p")
    tracemalloc.start()
    assert distinct([long]) == [long]
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
