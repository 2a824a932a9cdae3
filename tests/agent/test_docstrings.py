"""Docstrings of every usual style are read."""

from __future__ import annotations

import pytest

from backscroll.agent.docstrings import parse_docstring

GOOGLE = """Find a thing.

Use it often.

Args:
    name (str): What it is called,
        also over two lines.
    depth: How deep.

Returns:
    The thing.
"""
REST = """Find a thing.

Use it often.

:param str name: What it is called,
    also over two lines.
:param depth: How deep.
:type depth: int
"""
NUMPY = """Find a thing.

Use it often.

Parameters
----------
name : str
    What it is called,
    also over two lines.
depth : int, optional
    How deep.

Returns
-------
str
    The thing.
"""
CHINESE = """Find a thing.

Use it often.

参数：
    name：What it is called,
        also over two lines.
    depth：How deep.
"""


@pytest.mark.parametrize("text", [GOOGLE, REST, NUMPY, CHINESE], ids=["google", "rest", "numpy", "chinese"])
def test_parameters_are_found_in_every_style(text: str) -> None:
    told = parse_docstring(text)
    assert dict(told.parameters) == {
        "name": "What it is called, also over two lines.",
        "depth": "How deep.",
    }
    assert told.text.startswith("Find a thing.\n\nUse it often.")
    assert "How deep" not in told.text


def test_returns_section_stays_in_the_description() -> None:
    assert "The thing." in parse_docstring(GOOGLE).text
    assert "The thing." in parse_docstring(NUMPY).text


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_empty_docstring_has_no_text_or_parameters(text: str | None) -> None:
    assert parse_docstring(text).text == ""
    assert parse_docstring(text).parameters == {}
