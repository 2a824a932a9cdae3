"""The prompt as a page: self-contained, harmless, the same facts as the receipt, in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.surfaces import i18n
from backscroll.surfaces.pages.context import page
from tests.surfaces.prompts import MONEY, prompt

HOSTILE = "</pre></details></td><script>alert(1)</script><img src=x onerror=alert(1)> \"' & ]]> -->"
_ALONE = {"meta", "br", "img", "link", "input", "hr"}


class Reader(HTMLParser):
    """Reads a page as a browser would, and keeps what matters."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.shown: dict[str, list[str]] = {}
        self.crossed: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _ALONE:
            self.open.append(tag)
            self.shown.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.shown[tag][-1] += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.crossed == []
    assert reader.open == []
    return reader


@pytest.fixture(autouse=True)
def _language() -> Iterator[None]:
    yield
    i18n.use("en")


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_page_is_self_contained(language: i18n.Language) -> None:
    """No script, loads nothing, well formed, in the current language."""
    i18n.use(language)
    text = page(prompt(), "Tides")
    reader = read(text)
    assert not {"script", "link", "iframe", "object", "img"} & set(reader.tags)
    assert not re.search(r"https?://|url\(|@import", text)
    assert ("lang", "zh-CN" if language == "zh" else "en") in reader.attributes
    assert ("charset", "utf-8") in reader.attributes
    assert reader.shown["h1"] == ["Prompt of Tides" if language == "en" else "“Tides”的提示"]


def test_hostile_text_stays_text() -> None:
    """Markup in a title or a message is shown whole, and none of it becomes a tag."""
    reader = read(page(prompt(HOSTILE), HOSTILE))
    assert not {"script", "img"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert HOSTILE in reader.shown["h1"][0]
    assert [HOSTILE in words for words in reader.shown["pre"]] == [True, True, False, True]
    assert "</pre></details>" in reader.shown["pre"][2]  # as JSON, with its quotes escaped


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_words_give_a_sound_page(words: str, title: str) -> None:
    """Whatever is said, the page is well formed and can be written as UTF-8."""
    text = page(prompt(words), title)
    text.encode()
    assert len(read(text).shown["pre"]) == 4


def test_odd_characters_are_replaced() -> None:
    """Lone surrogates, control characters and direction overrides become signs."""
    text = page(prompt("a\ud800b\x00c\u202ed\x1b"), "t\ud800")
    text.encode()
    assert "<U+D800>" in read(text).shown["pre"][0]
    assert not {"\x00", "\u202e", "\x1b"} & set(text)


def test_page_shows_the_whole_receipt() -> None:
    """Every section with its tokens, every message with resolution, handle and reason, the warnings."""
    made = prompt(
        "hello",
        money=MONEY,
        repairs=("V1",),
        compaction={"reason": "must", "before": 2000, "after": 900},
        warnings=("the context window is full",),
    )
    reader = read(page(made, "Tides"))
    rows = reader.shown["tr"][1:]
    assert len(rows) == len(made.receipt.items)
    for row, item in zip(rows, made.receipt.items, strict=True):
        assert item.handle in row
        assert item.level in row
        assert f"{item.tokens:,}" in row
    said = "\n".join(reader.shown["li"])
    for words in ("system 100", "answer 250", "$0.0010", "every call has", "2,000 → 900", "window is full"):
        assert words in said


def test_bar_is_in_proportion() -> None:
    """The widths are the shares of the budget."""
    made = prompt(budget=4000)
    widths = [float(w) for w in re.findall(r"width:([0-9.]+)%", page(made, "t"))]
    assert widths == [2.5, 17.5, 5.0, 6.25]


def test_long_results_are_whole() -> None:
    """The page has what is sent, not an excerpt."""
    words = "\n".join(f"line {n}" for n in range(3000))
    assert words in read(page(prompt(words), "t")).shown["pre"][1]


def test_same_prompt_gives_the_same_page() -> None:
    assert page(prompt("你好"), "t") == page(prompt("你好"), "t")
