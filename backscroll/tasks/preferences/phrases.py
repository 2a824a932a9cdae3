"""The phrases by which users state preferences, and the subjects of preferences: tables, read once.

Owns the reading of `preferences_en.toml`, `preferences_zh.toml` and `preferences_matters.toml`. Not here: texts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple, cast

from backscroll.vocab.part import Json
from backscroll.vocab.values.pattern import late

HAN = late(r"[\u3400-\u9fff\uf900-\ufaff]")


class PreferencePattern(NamedTuple):
    """One way to state a preference."""

    aspect: str  # said, named, spoken, styled
    sign: int
    strength: float
    taste: bool  # what a person likes or is, rather than an instruction
    plain: bool  # about a person: words that name tools or styles elsewhere mean something else here
    describes: bool  # the same words may also describe an event
    pattern: re.Pattern[str]


class PreferencePhrases(NamedTuple):
    """The patterns of one language."""

    firm: re.Pattern[str]  # meant to last
    once: re.Pattern[str]  # meant for one case
    reported: re.Pattern[str]  # another person speaks from here on
    happens: re.Pattern[str]  # describes an event
    turns: re.Pattern[str]  # what comes before is small talk
    whole: re.Pattern[str]  # makes a whole sentence meant to last
    whole_strength: float
    lead_in: tuple[str, ...]
    not_these: tuple[str, ...]
    patterns: tuple[PreferencePattern, ...]


class PreferenceTopics(NamedTuple):
    """The subjects of preferences."""

    languages: Mapping[str, str]  # by name
    styles: Sequence[tuple[re.Pattern[str], str, str]]  # pattern, group, value
    opposites: Mapping[tuple[str, str], str]
    tools: Sequence[tuple[re.Pattern[str], str, str]]
    written: re.Pattern[str]  # things that are written: their language is not that of the answers


def _read(name: str) -> Mapping[str, Json]:
    raw = resources.files("backscroll.tasks").joinpath(name).read_text(encoding="utf-8")
    return cast("Mapping[str, Json]", tomllib.loads(raw))


@cache
def trigger(language: str) -> re.Pattern[str]:
    """Return the pattern of texts worth reading: most texts do not match and are skipped."""
    return re.compile(_read(f"preferences_{language}.toml")["trigger"])


@cache
def phrases(language: str) -> PreferencePhrases:
    """Return the phrases of a language."""
    data = _read(f"preferences_{language}.toml")
    patterns = tuple(
        PreferencePattern(
            aspect,
            int(row.get("sign", 1)),
            float(row["strength"]),
            bool(row.get("taste")),
            bool(row.get("plain")),
            bool(row.get("describes")),
            re.compile(pattern),
        )
        for aspect in ("named", "spoken", "styled", "said")
        for row in data[aspect]
        for pattern in row["patterns"]
    )
    # Longer lead-ins are removed first.
    lead_in = tuple(sorted(data["lead_in"], key=lambda word: (-len(word), word)))
    return PreferencePhrases(
        firm=re.compile(data["firm"]),
        once=re.compile(data["once"]),
        reported=re.compile(data["reported"]),
        happens=re.compile(data["happens"]),
        turns=re.compile(data["turns"]),
        whole=re.compile(data["whole"]["pattern"]),
        whole_strength=float(data["whole"]["strength"]),
        lead_in=lead_in,
        not_these=tuple(data["not_these"]),
        patterns=patterns,
    )


@cache
def matters() -> PreferenceTopics:
    """Return languages, styles and tools by their names."""
    data = _read("preferences_matters.toml")
    languages = {name: code for code, names in data["languages"].items() for name in names}
    styles = [
        (_compile_names(names), group, value)
        for group, values in data["styles"].items()
        for value, names in values.items()
    ]
    opposites: dict[tuple[str, str], str] = {}
    for group, values in data["styles"].items():
        one, other = values
        opposites[group, one], opposites[group, other] = other, one
    same = cast("Mapping[str, str]", data["same"])
    tools = [
        (_compile_names([name]), group, same.get(name, name))
        for group, names in data["tools"].items()
        for name in sorted(names, key=lambda n: (-len(n), n))
    ]
    return PreferenceTopics(languages, styles, opposites, tools, _compile_names(data["written"]["things"]))


def _compile_names(names: Sequence[str]) -> re.Pattern[str]:
    spelled = [
        re.escape(n) if HAN.search(n) else rf"(?<![\w./-]){re.escape(n)}(?![\w/-])"
        for n in sorted(names, key=lambda n: (-len(n), n))
    ]
    return re.compile("|".join(spelled))
