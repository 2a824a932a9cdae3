"""A prompt as a picture: the bar is correct, the lines fit, both languages line up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.engine.prompts.builder import compare
from backscroll.surfaces import i18n
from backscroll.surfaces.screen.cells import width
from backscroll.surfaces.screen.screen import Screen
from backscroll.surfaces.words import picture
from tests.surfaces.prompts import MONEY, item, prompt, receipt

SECTIONS = list(picture.LETTERS)


@pytest.fixture(autouse=True)
def _language() -> Iterator[None]:
    yield
    i18n.use("en")


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("COLUMNS", "80")
    return Screen()


class Coloured(Screen):
    """A screen that shows colours, without a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.coloured = True


def drawn(screen: Screen, language: i18n.Language, words: str = "hello") -> list[str]:
    i18n.use(language)
    made = prompt(words, money=MONEY, left_out=3, messages=7, recall="2 details recalled", repairs=("V1",))
    return [
        *picture.summary(screen, made.receipt),
        *picture.facts(screen, made.receipt),
        *picture.items(screen, made),
        *picture.difference(screen, compare(receipt([item(mark="x")]), made.receipt)),
    ]


def test_bar_lengths_are_proportional(screen: Screen) -> None:
    """A quarter of the budget is a quarter of the bar; the free part is shown as free."""
    line = picture.bar(screen, {"history": 250, "recent": 500}, 1000)
    assert line == "h" * 18 + "r" * 36 + "." * 18


def test_small_sections_are_visible(screen: Screen) -> None:
    """A section of one token has a cell of its own, and a full bar is no longer than others."""
    line = picture.bar(screen, {"system": 1, "recent": 999_998, "reserve": 1}, 1_000_000)
    assert (line.count("s"), line.count("·"), len(line)) == (1, 1, 72)
    assert "." not in line


def test_free_token_is_visible(screen: Screen) -> None:
    """A bar is full only if nothing is left."""
    assert "." in picture.bar(screen, {"recent": 999_999}, 1_000_000)
    assert "." not in picture.bar(screen, {"recent": 1_000_000}, 1_000_000)


def test_overfull_bar_keeps_its_length(screen: Screen) -> None:
    """Even if the sections are larger than the budget."""
    assert len(picture.bar(screen, {"recent": 5000, "reserve": 250}, 1000)) == 72


@given(
    st.lists(
        st.tuples(st.sampled_from(SECTIONS), st.integers(0, 10**7)),
        min_size=1,
        max_size=len(SECTIONS),
        unique_by=lambda pair: pair[0],
    ),
    st.integers(1, 10**7),
)
def test_every_bar_has_one_length_and_shows_every_section(pairs: list[tuple[str, int]], budget: int) -> None:
    """Whatever the numbers, the bar fills its line, and every section that is there is in it, in order."""
    sections = dict(pairs)
    line = picture.bar(Screen(), sections, budget)
    assert len(line) == 72
    shown = [picture.LETTERS[name] for name, tokens in sections.items() if tokens]
    assert list(dict.fromkeys(line.rstrip("."))) == shown


def test_larger_section_is_never_shorter(screen: Screen) -> None:
    line = picture.bar(screen, {"history": 400, "recent": 300, "operations": 200, "reserve": 100}, 1000)
    lengths = [line.count(letter) for letter in "hro·"]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("language", i18n.LANGUAGES)
@pytest.mark.parametrize("words", ["hello " * 60, "你好，世界。" * 60, "e\u0301\u200d🙂" * 80])
def test_lines_fit_the_terminal(screen: Screen, language: i18n.Language, words: str) -> None:
    """In both languages and any script: 80 cells."""
    assert [line for line in drawn(screen, language, words) if width(line) > 80] == []


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_columns_line_up(screen: Screen, language: i18n.Language) -> None:
    """The handle of every message starts in the same cell, whatever the names of roles and levels."""
    i18n.use(language)
    lines = list(picture.items(screen, prompt("你好")))[1:]
    assert len({width(line[: line.index("[bs:")]) for line in lines}) == 1


def test_every_item_is_described(screen: Screen) -> None:
    """Section, role, tokens, resolution, handle, reason, first words; cached items are marked."""
    header, first, *_, last = picture.items(screen, prompt("Fix the tides"))
    assert header.split() == ["role", "tokens", "level", "handle", "why"]
    assert first.split() == [
        "s", "system", "100", "≡", "verbatim", "[bs:1]", "system", "·", "Fix", "the", "tides",
    ]  # fmt: skip
    assert "≡" not in last
    assert "kept · ← Fix the tides" in last


def test_wide_terminal_names_the_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    header, first, *_ = picture.items(Screen(), prompt())
    assert header.split()[0] == "section"
    assert first.split()[:2] == ["s", "system"]


def test_figures_add_up(screen: Screen) -> None:
    """The tokens of the sections and of what belongs to no message are the total."""
    made = receipt([item(tokens=100), item("system", 20)], tokens=128, tools=30)
    lines = list(picture.summary(screen, made))[3:]
    assert sum(int(line.split()[-2].replace(",", "")) for line in lines) == made.total
    assert [line.split()[1] for line in lines] == ["tools", "system", "recent", "margin", "answer"]


def test_chinese_output_has_no_english(screen: Screen) -> None:
    """Names of sections, levels, reasons, sentences, rules."""
    lines = "\n".join(drawn(screen, "zh", "你好"))
    for known in ("openai-chat", "o200k", "token", "uncrop", "V1", "Read", "[bs:"):
        lines = lines.replace(known, "")
    assert [word for word in lines.split() if len(word) > 1 and word.isascii() and word.isalpha()] == []


def test_message_text_cannot_control_the_terminal(screen: Screen) -> None:
    assert "\x1b" not in "\n".join(drawn(screen, "en", "a\x1b[2Jb\ud800\u202e"))


def test_colours_replace_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """With colours the bar is made of blocks, one colour per section; the width stays."""
    monkeypatch.setenv("COLUMNS", "80")
    screen = Coloured()
    line = picture.bar(screen, {"history": 250, "recent": 500}, 1000)
    assert line.count("█") == 54
    colours = {screen.style("x", f"section_{name}") for name in SECTIONS}
    assert len(colours) == len(SECTIONS)


def test_difference_lists_what_was_removed_and_added(screen: Screen) -> None:
    """Equal items are counted, others listed with a mark; a first prompt has none in common."""
    old = receipt([item(mark="a", tokens=7), item(mark="b", handle="[bs:4]")])
    new = receipt([item(mark="a", tokens=7), item("operations", mark="c", handle="[bs:5]")])
    same, gone, came = picture.difference(screen, compare(old, new))
    assert same == "the first 1 messages (7 tokens) are the same as last time"
    assert gone.startswith("- recent · [bs:4]")
    assert came.startswith("+ operations · [bs:5]")
    assert "the beginning differs" in next(picture.difference(screen, compare(receipt([]), new)))
    assert list(picture.difference(screen, compare(new, new)))[-1] == "no other changes"


def test_empty_prompt_is_reported(screen: Screen) -> None:
    empty = receipt([], tokens=8)
    assert "Nothing to send" in next(picture.facts(screen, empty))


def test_warnings_come_last_and_are_translated(screen: Screen) -> None:
    i18n.use("zh")
    made = receipt([item()], warnings=("the context window is nearly full",))
    assert list(picture.facts(screen, made))[-1] == "上下文窗口快满了"
