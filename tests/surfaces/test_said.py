"""Messages of the rooms are shown in Chinese to Chinese readers."""

from __future__ import annotations

import string
from collections.abc import Iterator

import pytest

from backscroll.surfaces import i18n
from backscroll.surfaces.i18n.translation import say, translate_message
from tests.surfaces.spoken_words import sentences


@pytest.fixture(autouse=True)
def _in_chinese() -> Iterator[None]:
    i18n.use("zh")
    yield
    i18n.use("en")


def filled(template: str) -> str:
    """A message that the template could become."""
    pieces = template.split("{}")
    return "".join(piece + (f"⟦{n}⟧" if n < len(pieces) - 1 else "") for n, piece in enumerate(pieces))


def test_every_sentence_of_the_package_is_translated() -> None:
    """Errors, hints, problems, flaws and notes; what this lists belongs in zh.toml, section said."""
    missing = [
        f"{s.place}  {s.template.replace('{}', '{…}')}"
        for s in sentences()
        if translate_message(filled(s.template)) is None
    ]
    assert missing == []


def test_translations_keep_every_placeholder() -> None:
    """Every hole of a template is filled in the translation too."""
    for template, text in i18n.section("said", "zh").items():
        wanted = {n for _, n, _, _ in string.Formatter().parse(template) if n and n.isalpha() and len(n) == 1}
        assert {n for _, n, _, _ in string.Formatter().parse(text) if n and len(n) == 1} == wanted, template


def test_values_are_inserted_into_the_translation() -> None:
    """The translation contains the values of the message."""
    assert say("3f matches several threads: 3f2a, 3f9c") == "有几个对话都以 3f 开头：3f2a, 3f9c"


def test_values_that_are_sentences_are_translated_too() -> None:
    """A reason inside a message is recognised."""
    assert (
        say("chat.bin is not in a supported format: a binary file")
        == "chat.bin 不是可以读取的格式：二进制文件"
    )
    assert say("the disk is full: notes.db") == "磁盘已满：notes.db"


def test_message_with_its_hint_is_translated() -> None:
    """An error turned into text as a whole is recognised too."""
    assert say("the disk is full (check the path)") == "磁盘已满（请检查路径）"


def test_unknown_messages_are_shown_unchanged() -> None:
    """English is better than nothing."""
    assert say("the moon is made of cheese") == "the moon is made of cheese"


def test_english_is_not_translated() -> None:
    """Nothing is looked up for those who read English."""
    i18n.use("en")
    assert say("the disk is full") == "the disk is full"


def test_longest_template_wins() -> None:
    """A short template does not swallow what a longer one fits."""
    assert say("message 3f2a9c1e.4 has no alternative 7") == "消息 3f2a9c1e.4 没有备选 7"


def test_user_text_is_not_translated() -> None:
    """A file named like one of our phrases keeps its name."""
    assert say("no such file or folder: message 5") == "没有这个文件或文件夹：message 5"
