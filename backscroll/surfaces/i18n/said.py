"""Messages that other rooms raise or report in English, said in the language of the user.

The rooms know nothing of languages. Each of their messages has a template in `zh.toml`, section `said`: the English text
with `{names}` where facts go, and the translation with the same names. A message that no template fits is shown as it
is. `tests/surfaces/test_said.py` finds every message in the package and names those without a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from backscroll.surfaces.i18n import Language, section, spoken

_HOLE = re.compile(r"\{(\w+)\}")


def say(message: str) -> str:
    """A message of another room in the language in use."""
    language = spoken()
    if language == "en" or not message:
        return message
    return _translated(message, language) or message


def _translated(message: str, language: Language) -> str | None:
    exact = section("said", language).get(message)
    if isinstance(exact, str) and "{" not in message:
        return exact
    for pattern, text in _candidates(message, language):
        found = pattern.fullmatch(message)
        if found:
            facts = {name: say(value) for name, value in found.groupdict().items()}
            return text.format_map(facts)
    return None


def _candidates(message: str, language: Language) -> Iterator[tuple[re.Pattern[str], str]]:
    """Templates that may fit: most can be told apart by how they begin or end, without a regular expression."""
    for head, tail, pattern, text in _templates(language):
        if message.startswith(head) and message.endswith(tail):
            yield pattern, text


@cache
def _templates(language: Language) -> list[tuple[str, str, re.Pattern[str], str]]:
    """Every template with its fixed beginning and end; those with the most fixed text come first."""
    texts: dict[str, str] = section("said", language)
    out: list[tuple[str, str, re.Pattern[str], str]] = []
    for template in sorted(texts, key=lambda name: -len(_HOLE.sub("", name))):
        pieces = _HOLE.split(template)
        if len(pieces) > 1:
            out.append((pieces[0], pieces[-1], _pattern(pieces), texts[template]))
    return out


def _pattern(pieces: list[str]) -> re.Pattern[str]:
    """Fixed texts and names in turn; a name that comes again must stand for the same text."""
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
