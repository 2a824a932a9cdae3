"""The language of a conversation, detected from its letters."""

from __future__ import annotations

import pytest

from backscroll.formats.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("我们需要一个对话管理系统，能够自动跟踪每次对话的上下文。", "zh"),
        ("请修复 src/main.py 里的 TypeError: unsupported operand type(s) for +: 'int' and 'str'", "zh"),
        ("Please fix the bug in the parser, and then run all of the tests again.", "en"),
        ("She looked at the sign, which said 出口, and went on to the left.", "en"),
        ("これはテストです。よろしくお願いします。", ""),
        ("안녕하세요 세계", ""),
        ("Der Hund lief über die Straße und bellte laut.", ""),
        ("12345 +-*/ 67", ""),
        ("", ""),
    ],
)
def test_language_is_detected_if_clear(text: str, language: str) -> None:
    """Chinese with names in English is Chinese; other languages and no words are left open."""
    assert language_of(text) == language
