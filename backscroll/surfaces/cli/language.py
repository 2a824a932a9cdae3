"""The language of a run: `--lang`, else BACKSCROLL_LANGUAGE or the settings file, else the locale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backscroll.errors import InvalidInput
from backscroll.places import config_file
from backscroll.surfaces.i18n import LANGUAGES, Language, asked_for, by_locale, find_language, t


def choose_language(arguments: Sequence[str], environ: Mapping[str, str]) -> Language:
    """Return the language to use, chosen before anything is parsed. An invalid choice is reported later, in it."""
    for name in (asked_for(arguments), environ.get("BACKSCROLL_LANGUAGE")):
        if name and (language := find_language(name)):
            return language
    try:
        named = _language_in_file()
    except InvalidInput:
        named = ""  # the command that needs the settings will report what is wrong with them
    return find_language(named) or by_locale(environ)


def _language_in_file() -> str:
    """Return the language in the settings file. Without a file nothing more is loaded: help is instant."""
    if not config_file().exists():
        return ""
    # start-up: not needed for the help page if there is no such file
    from backscroll.config import load

    return load().language


def check_language(name: str) -> str:
    """Return the name of a language, or raise an error; empty means: by the locale."""
    if name and find_language(name) is None:
        raise InvalidInput(
            t("cli.unknown_language", name=name), hint=t("cli.known_languages", names=", ".join(LANGUAGES))
        )
    return name
