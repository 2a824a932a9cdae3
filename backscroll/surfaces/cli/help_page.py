"""Help pages, written in the language in use and wrapped for it.

The page of the whole program needs no command and not even click, which takes longer to load than everything else here: that
page must be instant. Refuses: defining the syntax (`command` and `commands/` do).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from backscroll.surfaces.cli.catalogue import SECTIONS
from backscroll.surfaces.i18n import find, section, t
from backscroll.surfaces.screen.cells import pad_text, width, wrap

if TYPE_CHECKING:
    import click

_WIDEST_TERM = 26
#: The global options as typed, and the key of their text.
GLOBAL_ROWS = (
    ("--store FILE", "store"),
    ("--actor NAME", "actor"),
    ("--lang LANG", "lang"),
    ("--json", "as_json"),
    ("--jsonl", "as_lines"),
    ("-h, --help", "help"),
)
VERSION_ROW = ("--version", "version")
_GLOBAL = {key for _, key in (*GLOBAL_ROWS, VERSION_ROW)}


def of_program() -> str:
    """Return the page of the whole program: commands by purpose, then options and exit codes."""
    shorts, room = section("commands"), _room()
    typed = f"backscroll {t('cli.command_metavar')} {t('cli.options_metavar')}"
    out = [t("cli.usage", line=typed), ""]
    out += _indent_lines(t("cli.about"), room)
    for title, names in SECTIONS.items():
        rows = [(name, str(shorts[name])) for name in names]
        out += ["", t(f"cli.section_{title}"), *_definitions(rows, room, 16)]
    rows = [(term, t(f"help.shared.{key}")) for term, key in (*GLOBAL_ROWS, VERSION_ROW)]
    out += ["", t("cli.options_title"), *_definitions(rows, room)]
    codes = [(code, t(f"exit_codes.{code}")) for code in section("exit_codes")]
    out += ["", t("cli.exit_codes_title"), *_definitions(codes, room)]
    out += ["", *_indent_lines(t("cli.help_end"), room)]
    return "\n".join(out) + "\n"


def of_command(command: click.Command, ctx: click.Context, *, shared: bool = True) -> str:
    """Return the page of one command, with or without the global options."""
    name, room = command.name or "", _room()
    pieces = [piece for piece in command.collect_usage_pieces(ctx) if piece != "[OPTIONS]"]
    typed = " ".join([ctx.command_path, *pieces, t("cli.options_metavar")])
    out = [t("cli.usage", line=typed), ""]
    out += _indent_lines(t(f"help.{name}.about"), room)
    out += _parameters(name, command, ctx, room)
    if shared:
        rows = [(term, t(f"help.shared.{key}")) for term, key in GLOBAL_ROWS]
        out += ["", t("cli.global_title"), *_definitions(rows, room)]
    if examples := find(f"help.{name}.examples"):
        out += ["", t("cli.examples_title"), *(f"  {line}" for line in examples.strip().splitlines())]
    return "\n".join(out) + "\n"


def of_family(family: click.Group, ctx: click.Context, *, shared: bool = True) -> str:
    """Return the page of several commands under one name: a line about each."""
    name, room = family.name or "", _room()
    typed = f"{ctx.command_path} {t('cli.command_metavar')} {t('cli.options_metavar')}"
    out = [t("cli.usage", line=typed), "", *_indent_lines(t(f"help.{name}.about"), room)]
    rows = [(member, t(f"help.{name}.{member}")) for member in family.commands]
    out += ["", t("cli.commands_title"), *_definitions(rows, room)]
    if shared:
        rows = [(term, t(f"help.shared.{key}")) for term, key in GLOBAL_ROWS]
        out += ["", t("cli.global_title"), *_definitions(rows, room)]
    return "\n".join(out) + "\n"


def _room() -> int:
    """Return a comfortable line length, at most the terminal's width."""
    return max(40, min(_columns(), 100))


def _columns() -> int:
    """Return the terminal's width as `shutil.get_terminal_size` does; that module loads every compression module, and this page must be instant."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80 if sys.__stdout__ else 80
    except (OSError, ValueError):
        return 80


def _parameters(name: str, command: click.Command, ctx: click.Context, room: int) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    if arguments:
        rows = [(p.metavar or (p.name or "").upper(), _help_of(name, p.name or "")) for p in arguments]
        yield from ("", t("cli.arguments_title"), *_definitions(rows, room))
    rows = _rows(name, command.params, ctx)
    if rows:
        yield from ("", t("cli.options_title"), *_definitions(rows, room))


def _rows(name: str, params: Iterable[click.Parameter], ctx: click.Context) -> list[tuple[str, str]]:
    own = [p for p in params if p.param_type_name == "option" and p.name not in _GLOBAL]
    return [_row(name, option, ctx) for option in own]


def _row(name: str, option: Any, ctx: click.Context) -> tuple[str, str]:
    term = ", ".join(sorted(option.opts, key=len))
    if not option.is_flag:
        term += f" {option.make_metavar(ctx)}"
    text = _help_of(name, option.name)
    if option.show_default and option.default is not None:
        text += t("cli.default", value=option.default)
    return term, text


def _help_of(command: str, parameter: str) -> str:
    """Return the help of a parameter: for this command, or for all that have it."""
    return find(f"help.{command}.{parameter}") or t(f"help.shared.{parameter}")


def _definitions(rows: Sequence[tuple[str, str]], room: int, column: int | None = None) -> Iterator[str]:
    """Yield terms on the left, their meaning on the right; a term that is too wide gets a line of its own."""
    left = column or min(_WIDEST_TERM, max((width(term) for term, _ in rows), default=0)) + 2
    for term, meaning in rows:
        lines = list(wrap(meaning, room - left - 2))
        if width(term) > left - 2:
            yield f"  {term}"
            lines = ["", *lines]
            yield from (f"  {' ' * left}{line}" for line in lines[1:])
            continue
        yield f"  {pad_text(term, left)}{lines[0]}".rstrip()
        yield from (f"  {' ' * left}{line}" for line in lines[1:])


def _indent_lines(text: str, room: int) -> Iterator[str]:
    for line in wrap(text.strip(), room - 2):
        yield f"  {line}".rstrip()
