"""Texts for the user, in English and in Simplified Chinese.

Owns which language is in use, and the texts beside this file (`en.toml`, `zh.toml`: the same keys in both). A file is cut
at its sections, and only the sections that are requested are parsed: TOML is slow to read and a help page needs little
of it. Refuses: formatting for a screen, and errors raised elsewhere (`i18n/translation.py` translates those).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

Language: TypeAlias = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
Texts: TypeAlias = dict[str, Any]

_HEADER = re.compile(r"^\[([A-Za-z0-9_-]+)", re.MULTILINE)
_spoken: Language = "en"


def use(language: Language) -> None:
    """Use this language from now on."""
    global _spoken
    _spoken = language


def get_language() -> Language:
    """Return the language in use."""
    return _spoken


def find_language(name: str) -> Language | None:
    """Return the language for a name such as `zh_CN.UTF-8`, `zh-Hans` or `en`; None if it is not supported."""
    short = re.split(r"[-_.@]", name.strip().lower(), maxsplit=1)[0]
    return next((language for language in LANGUAGES if language == short), None)


def by_locale(environ: Mapping[str, str]) -> Language:
    """Return the language of the locale; English if it is not supported."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            return find_language(environ[name]) or "en"
    return "en"


def asked_for(arguments: Sequence[str]) -> str | None:
    """Return the value of `--lang` on a command line, wherever it is: help is written before options are parsed."""
    found: str | None = None
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--lang" and index + 1 < len(arguments):
            found = arguments[index + 1]
        elif argument.startswith("--lang="):
            found = argument.partition("=")[2]
    return found


def section(name: str, language: Language | None = None) -> Texts:
    """Return all texts of one top-level section, as the file has them."""
    return _section(language or _spoken, name)


def find(key: str) -> str | None:
    """Return the text of a dotted key, or None if there is none."""
    first, *rest = key.split(".")
    value: Any = section(first)
    for part in rest:
        if not isinstance(value, dict):
            return None
        value = cast("Texts", value).get(part)
    return value if isinstance(value, str) else None


def t(key: str, /, **facts: object) -> str:
    """Return the text of a dotted key, with the facts filled in."""
    text = find(key)
    if text is None:
        raise LookupError(f"no text {key} in {_spoken}.toml")
    return text.format_map(facts) if facts else text


def count(key: str, n: int, /, **facts: object) -> str:
    """Return a text that depends on a number: `one` or `other` under the key."""
    return t(f"{key}.{'one' if n == 1 else 'other'}", n=n, **facts)


@cache
def _pieces(language: Language) -> dict[str, str]:
    """Return the file cut at its top-level sections, unparsed."""
    text = Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8")
    marks = [(match.start(), match[1]) for match in _HEADER.finditer(text)]
    ends = [start for start, _ in marks[1:]] + [len(text)]
    out: dict[str, str] = {}
    for (start, name), end in zip(marks, ends, strict=True):
        out[name] = out.get(name, "") + text[start:end]
    return out


@cache
def _section(language: Language, name: str) -> Texts:
    return tomllib.loads(_pieces(language).get(name, "")).get(name, {})
