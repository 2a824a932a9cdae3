"""Both languages say everything, and say the same things."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from string import Formatter
from typing import Any

import click
import pytest

from backscroll.surfaces import i18n
from backscroll.surfaces.cli.catalogue import MODULES, SECTIONS
from backscroll.surfaces.cli.command import GLOBAL
from backscroll.surfaces.cli.family import CommandFamily
from backscroll.surfaces.cli.group import program
from backscroll.surfaces.cli.help_page import GLOBAL_ROWS, VERSION_ROW
from backscroll.vocab.event import Kind
from tests.house import tree

I18N = tree.PACKAGE / "surfaces" / "i18n"
ONLY_IN_TRANSLATIONS = {"said"}


def whole(language: str) -> dict[str, Any]:
    return tomllib.loads((I18N / f"{language}.toml").read_text(encoding="utf-8"))


def flat(texts: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in texts.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def texts(language: str) -> dict[str, str]:
    found = whole(language)
    return dict(flat({k: v for k, v in found.items() if k not in ONLY_IN_TRANSLATIONS}))


def holes(text: str) -> set[str]:
    return {name.split("!")[0] for _, name, _, _ in Formatter().parse(text) if name}


@pytest.fixture(autouse=True)
def _language() -> Iterator[None]:
    yield
    i18n.use("en")


def test_the_same_keys_in_both() -> None:
    """A text that exists in one language only would be an error at run time in the other."""
    assert sorted(texts("en")) == sorted(texts("zh"))


def test_the_same_facts_in_both() -> None:
    """A translation that forgets a number or a name, or asks for one that nobody gives, is wrong."""
    english, chinese = texts("en"), texts("zh")
    with_holes = {k for k in english if not k.startswith("help.")}
    assert {k for k in with_holes if holes(english[k]) != holes(chinese[k])} == set()


def test_chinese_is_chinese() -> None:
    """Sentences of the English file were translated, not copied."""
    english, chinese = texts("en"), texts("zh")
    copied = [k for k, v in english.items() if " " in v and v == chinese[k] and not k.endswith(".examples")]
    assert copied == []


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_sections_are_parsed_as_the_whole_file_is(language: i18n.Language) -> None:
    """Cutting a file at its sections and parsing one gives what parsing everything gives."""
    assert {name: i18n.section(name, language) for name in whole(language)} == whole(language)


#: Sections and families whose keys are put together at run time.
BY_NAME = (
    "help.",
    "commands.",
    "exit_codes.",
    "counts.",
    "events.",
    "operations.",
    "settings.",
    "stats.",
    "checks.",
)
BY_NAME += ("roles.", "differences.", "overview.to_", "marking.", "configuring.from_", "cli.section_")
BY_NAME += ("sections.", "levels.", "reasons.", "context.because_")
BY_NAME += ("changes.", "acts.", "graph_page.")
BY_NAME += ("graph_changes.", "graph_conflicts.", "graph_questions.", "graph_ranks.", "turn_states.")
BY_NAME += ("task_states.", "task_verdicts.", "task_done.", "task_links.", "task_seems.", "task_kinds.")
BY_NAME += ("boundary_reasons.",)
BY_NAME += ("memory_kinds.", "memory_makers.", "memory_acts.")
BY_NAME += ("chat.wants_", "chat.ended_", "chat.span_", "chat.first_", "chat.noted_", "chat.left_")
BY_NAME += ("cost.by_", "cost.no_", "cost.limit_", "purposes.")
BY_NAME += ("slash_", "lore.")
BY_NAME += ("run_notes.", "run_ends.", "permissions.then_", "permissions.mode_")


def test_no_text_is_unused() -> None:
    """Every key is asked for somewhere, or belongs to a family that is."""
    modules = [path for path in tree.modules() if "surfaces" in path.parts]
    source = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    spelt = set(re.findall(r"[\"']([a-z_]+\.[a-z0-9_]+)[\"']", source))
    asked = spelt | {f"{key}.{form}" for key in spelt for form in ("one", "other")}
    assert {key for key in texts("en") if key not in asked and not key.startswith(BY_NAME)} == set()


def test_every_event_has_a_name() -> None:
    """The log can be read in both languages."""
    for language in i18n.LANGUAGES:
        assert set(i18n.section("events", language)) == {str(kind) for kind in Kind}


def test_every_command_is_in_one_section_and_has_a_home() -> None:
    """What can be called is listed, and what is listed can be called."""
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(MODULES) == sorted(i18n.section("commands"))


def commands() -> list[click.Command]:
    whole_program = program()
    ctx = click.Context(whole_program)
    found = [whole_program.get_command(ctx, name) for name in whole_program.list_commands(ctx)]
    members = [
        c for command in found if isinstance(command, CommandFamily) for c in command.commands.values()
    ]
    return [command for command in (*found, *members) if command is not None]


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_parameter_is_explained(language: i18n.Language) -> None:
    """Help says what every option and argument of every command means."""
    i18n.use(language)
    missing = [
        f"{command.name}.{param.name}"
        for command in commands()
        for param in command.params
        if not (i18n.find(f"help.{command.name}.{param.name}") or i18n.find(f"help.shared.{param.name}"))
    ]
    assert missing == []
    assert [c.name for c in commands() if not i18n.find(f"help.{c.name}.about")] == []


def test_nothing_is_explained_that_does_not_exist() -> None:
    """A help text of a parameter that was removed goes too."""
    known = {c.name: {p.name for p in c.params} | {"about", "examples"} for c in commands()}
    for family in (c for c in commands() if isinstance(c, CommandFamily)):
        known[family.name] |= set(family.commands)
    stale = [
        f"{name}.{key}"
        for name, entries in i18n.section("help", "en").items()
        if name != "shared"
        for key in entries
        if key not in known[name]
    ]
    assert stale == []


def test_the_page_of_the_program_lists_the_global_options_there_are() -> None:
    """The quick page is written without the declarations: it must not drift from them."""
    declared = {param.name for param in program().params}
    assert {key for _, key in (*GLOBAL_ROWS, VERSION_ROW)} - {"help"} == declared
    assert set(GLOBAL) == declared - {"version"}


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("zh", "zh"),
        ("zh_CN.UTF-8", "zh"),
        ("zh-Hans", "zh"),
        ("en_GB", "en"),
        ("EN", "en"),
        ("fr_FR", None),
        ("", None),
    ],
)
def test_names_of_languages(name: str, language: str | None) -> None:
    """Locale names and tags are understood, other languages are not guessed at."""
    assert i18n.find_language(name) == language


def test_the_locale_is_the_last_resort() -> None:
    """LC_ALL wins over LC_MESSAGES, which wins over LANG; what we do not speak is English."""
    assert i18n.by_locale({"LANG": "zh_CN.UTF-8"}) == "zh"
    assert i18n.by_locale({"LC_ALL": "en_US", "LANG": "zh_CN"}) == "en"
    assert i18n.by_locale({"LC_MESSAGES": "zh_TW", "LANG": "en"}) == "zh"
    assert i18n.by_locale({"LANG": "de_DE"}) == "en"
    assert i18n.by_locale({}) == "en"


def test_the_language_is_found_anywhere_on_the_line() -> None:
    """`--lang` counts wherever it stands, except behind `--`, where everything is text."""
    assert i18n.asked_for(["show", "x", "--lang", "zh"]) == "zh"
    assert i18n.asked_for(["--lang=zh", "show"]) == "zh"
    assert i18n.asked_for(["append", "--", "--lang", "zh"]) is None
    assert i18n.asked_for(["--lang"]) is None


def test_a_missing_text_is_an_error() -> None:
    """A key that nobody wrote is noticed in tests, not shown to users."""
    with pytest.raises(LookupError):
        i18n.t("cli.no_such_text")
