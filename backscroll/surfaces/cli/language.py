"""Which language a run speaks: `--lang`, else BACKSCROLL_LANGUAGE or the settings file, else the locale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backscroll.errors import InvalidInput
from backscroll.surfaces.i18n import LANGUAGES, Language, asked_for, by_locale, known, t


def chosen(arguments: Sequence[str], environ: Mapping[str, str]) -> Language:
    """The language to speak, decided before anything is parsed. What is wrong with a choice is said later, in it."""
    for name in (asked_for(arguments), environ.get("BACKSCROLL_LANGUAGE")):
        if name and (language := known(name)):
            return language
    from backscroll.config import load

    try:
        named = load().language
    except InvalidInput:
        named = ""  # the command that needs the settings will say what is wrong with them
    return known(named) or by_locale(environ)


def checked(name: str) -> str:
    """The name of a language, or a clear error; empty means: by the locale."""
    if name and known(name) is None:
        raise InvalidInput(
            t("cli.unknown_language", name=name), hint=t("cli.known_languages", names=", ".join(LANGUAGES))
        )
    return name
