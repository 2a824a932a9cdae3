"""Translating messages that other rooms raise or report in English.

The rooms know nothing of languages. Each of their messages has a template in `zh.toml`, section `said`: the English text
with `{names}` for facts, and the translation with the same names. A message that no template matches is shown as it
is. `tests/surfaces/test_said.py` finds every message in the package and names those without a template.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from backscroll.surfaces.i18n import Language, get_language, section

_HOLE = re.compile(r"\{(\w+)\}")
_HINTED = re.compile(r"(.+?) \((.+)\)", re.DOTALL)
#: A fact inside a message may be a sentence of ours too; it must be recognised by more than a word or two.
_SURE = 12


def say(message: str) -> str:
    """Return a message of another room in the language in use."""
    return message if get_language() == "en" or not message else translate_message(message) or message


def translate_message(message: str, *, least: int = 0) -> str | None:
    """Return the translation, or None if no template with so much fixed text matches."""
    language = get_language()
    exact = section("said", language).get(message)
    if isinstance(exact, str):
        return exact
    hinted = _with_known_hint(message)
    if hinted is not None:
        return hinted
    for template in _templates(language):
        if template.fixed < least:
            break
        if message.startswith(template.head) and message.endswith(template.tail):
            found = template.pattern.fullmatch(message)
            if found:
                facts = {name: _fact(value) for name, value in found.groupdict().items()}
                return template.text.format_map(facts)
    return _in_two(message)


def _fact(value: str) -> str:
    return translate_message(value, least=_SURE) or value


def _with_known_hint(message: str) -> str | None:
    """Translate a message that ends with a hint of ours in brackets, which the last fact of a template would swallow."""
    found = _HINTED.fullmatch(message)
    hint = section("said", get_language()).get(found[2]) if found else None
    head = translate_message(found[1]) if found and isinstance(hint, str) else None
    return None if head is None else f"{head}（{hint}）"


def _in_two(message: str) -> str | None:
    """Translate a sentence with a fact after a colon, where the rooms combine the two from a table; or with a hint after it."""
    head, colon, tail = message.partition(": ")
    known = translate_message(head) if colon else None
    if known is not None:
        return f"{known}：{_fact(tail)}"
    with_hint = _HINTED.fullmatch(message)
    known = translate_message(with_hint[1]) if with_hint else None
    return None if known is None or with_hint is None else f"{known}（{_fact(with_hint[2])}）"


@dataclass(frozen=True, slots=True)
class _Template:
    """An English template, its translation, and what tells it from others quickly."""

    head: str
    tail: str
    fixed: int  # characters outside the placeholders
    pattern: re.Pattern[str]
    text: str


@cache
def _templates(language: Language) -> list[_Template]:
    """Return every template; those with the most fixed text come first."""
    texts: dict[str, str] = section("said", language)
    out: list[_Template] = []
    for template, text in texts.items():
        pieces = _HOLE.split(template)
        if len(pieces) > 1:
            fixed = sum(map(len, pieces[::2]))
            out.append(_Template(pieces[0], pieces[-1], fixed, _pattern(pieces), text))
    return sorted(out, key=lambda t: -t.fixed)


def _pattern(pieces: list[str]) -> re.Pattern[str]:
    """Return a pattern of fixed texts and names in turn; a repeated name must stand for the same text."""
    seen: set[str] = set()
    out = ""
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            out += re.escape(piece)
        elif piece in seen:
            out += f"(?P={piece})"
        else:
            seen.add(piece)
            out += f"(?P<{piece}>.*?)"
    return re.compile(out, re.DOTALL)
