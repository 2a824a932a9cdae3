"""The rules of the wires have Chinese texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backscroll.engine.exchange.validation import rules
from backscroll.surfaces import i18n
from backscroll.surfaces.i18n.translation import translate_message


@pytest.fixture(autouse=True)
def _in_chinese() -> Iterator[None]:
    i18n.use("zh")
    yield
    i18n.use("en")


def test_every_rule_is_translated() -> None:
    """Title, explanation and hint; they are in a table, which the search for sentences does not read."""
    missing = [
        (rule.id, text)
        for rule in rules().values()
        for text in (rule.title, rule.explanation, rule.hint)
        if translate_message(text) is None
    ]
    assert missing == []
