"""Both languages are complete and agree."""

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


def test_both_languages_have_the_same_keys() -> None:
    """A missing text would be an error at run time."""
    assert sorted(texts("en")) == sorted(texts("zh"))


def test_both_languages_have_the_same_placeholders() -> None:
    """A translation must not drop a number or a name, or use an unknown one."""
    english, chinese = texts("en"), texts("zh")
    with_holes = {k for k in english if not k.startswith("help.")}
    assert {k for k in with_holes if holes(english[k]) != holes(chinese[k])} == set()


def test_chinese_texts_are_translated() -> None:
    """Sentences of the English file were not copied."""
    english, chinese = texts("en"), texts("zh")
    copied = [k for k, v in english.items() if " " in v and v == chinese[k] and not k.endswith(".examples")]
    assert copied == []


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_sections_parse_like_the_whole_file(language: i18n.Language) -> None:
    """Parsing a single section gives what parsing everything gives."""
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


def test_every_text_is_used() -> None:
    """Each key is requested somewhere, or belongs to a family that is."""
    modules = [path for path in tree.modules() if "surfaces" in path.parts]
    source = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    spelt = set(re.findall(r"[\"']([a-z_]+\.[a-z0-9_]+)[\"']", source))
    asked = spelt | {f"{key}.{form}" for key in spelt for form in ("one", "other")}
    assert {key for key in texts("en") if key not in asked and not key.startswith(BY_NAME)} == set()


def test_every_event_has_a_name() -> None:
    """In both languages."""
    for language in i18n.LANGUAGES:
        assert set(i18n.section("events", language)) == {str(kind) for kind in Kind}


def test_every_command_is_in_one_section() -> None:
    """Commands and the list of sections agree."""
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
def test_every_parameter_has_help(language: i18n.Language) -> None:
    """Every option and argument of every command."""
    i18n.use(language)
    missing = [
        f"{command.name}.{param.name}"
        for command in commands()
        for param in command.params
        if not (i18n.find(f"help.{command.name}.{param.name}") or i18n.find(f"help.shared.{param.name}"))
    ]
    assert missing == []
    assert [c.name for c in commands() if not i18n.find(f"help.{c.name}.about")] == []


def test_help_texts_belong_to_existing_parameters() -> None:
    """The text of a removed parameter goes too."""
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


def test_overview_lists_the_existing_global_options() -> None:
    """It is written without the declarations and must not drift from them."""
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
def test_language_names_are_resolved(name: str, language: str | None) -> None:
    """Locale names and tags are understood, other languages are not guessed."""
    assert i18n.find_language(name) == language


def test_locale_is_the_last_resort() -> None:
    """LC_ALL wins over LC_MESSAGES, which wins over LANG; other languages give English."""
    assert i18n.by_locale({"LANG": "zh_CN.UTF-8"}) == "zh"
    assert i18n.by_locale({"LC_ALL": "en_US", "LANG": "zh_CN"}) == "en"
    assert i18n.by_locale({"LC_MESSAGES": "zh_TW", "LANG": "en"}) == "zh"
    assert i18n.by_locale({"LANG": "de_DE"}) == "en"
    assert i18n.by_locale({}) == "en"


def test_language_option_is_found_anywhere() -> None:
    """`--lang` counts anywhere except after `--`, where everything is text."""
    assert i18n.asked_for(["show", "x", "--lang", "zh"]) == "zh"
    assert i18n.asked_for(["--lang=zh", "show"]) == "zh"
    assert i18n.asked_for(["append", "--", "--lang", "zh"]) is None
    assert i18n.asked_for(["--lang"]) is None


def test_missing_text_is_an_error() -> None:
    """Tests notice a missing key, not users."""
    with pytest.raises(LookupError):
        i18n.t("cli.no_such_text")
