"""Help pages, drawn in the language in use and wrapped for it. Standard library and click only: help must be instant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from backscroll.surfaces.cli.cells import padded, width, wrap
from backscroll.surfaces.i18n import find, section, t

_WIDEST_TERM = 26
_GLOBAL = ("store", "actor", "lang", "as_json", "help", "version")


def of_command(command: click.Command, ctx: click.Context, room: int) -> str:
    """The page of one command."""
    name = command.name or ""
    out = [*_usage(ctx, command), ""]
    out += _indented(t(f"help.{name}.about"), room)
    out += _parameters(name, command, ctx, room)
    if examples := find(f"help.{name}.examples"):
        out += ["", t("cli.examples_title"), *(f"  {line}" for line in examples.strip().splitlines())]
    return "\n".join(out) + "\n"


def of_group(
    command: click.Command, ctx: click.Context, room: int, sections: Mapping[str, Sequence[str]]
) -> str:
    """The page of the whole program: commands by what they are for, then options and exit codes."""
    shorts = section("commands")
    out = [*_usage(ctx, command), "", *_indented(t("cli.about"), room)]
    for title, names in sections.items():
        rows = [(name, str(shorts[name])) for name in names]
        out += ["", t(f"cli.section_{title}"), *_definitions(rows, room, 16)]
    out += ["", t("cli.options_title"), *_definitions(_rows("", command, ctx, _GLOBAL), room)]
    codes = [(code, t(f"exit_codes.{code}")) for code in section("exit_codes")]
    out += ["", t("cli.exit_codes_title"), *_definitions(codes, room)]
    out += ["", *_indented(t("cli.help_end"), room)]
    return "\n".join(out) + "\n"


def _usage(ctx: click.Context, command: click.Command) -> list[str]:
    pieces = [p for p in command.collect_usage_pieces(ctx) if p != "[OPTIONS]"]
    line = " ".join([t("cli.usage"), ctx.command_path, *pieces, t("cli.options_metavar")])
    return [line]


def _parameters(name: str, command: click.Command, ctx: click.Context, room: int) -> Iterator[str]:
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    if arguments:
        rows = [(_metavar(p), _help_of(name, p.name or "")) for p in arguments]
        yield from ("", t("cli.arguments_title"), *_definitions(rows, room))
    own = [p.name or "" for p in command.params if isinstance(p, click.Option) and p.name not in _GLOBAL]
    if own:
        yield from ("", t("cli.options_title"), *_definitions(_rows(name, command, ctx, own), room))
    rows = _rows(name, command, ctx, _GLOBAL)
    yield from ("", t("cli.global_title"), *_definitions(rows, room))


def _metavar(argument: click.Argument) -> str:
    return argument.metavar or (argument.name or "").upper()


def _rows(
    name: str, command: click.Command, ctx: click.Context, wanted: Iterable[str]
) -> list[tuple[str, str]]:
    options = {p.name: p for p in command.get_params(ctx) if isinstance(p, click.Option)}
    return [_row(name, options[key], ctx) for key in wanted if key in options]


def _row(name: str, option: click.Option, ctx: click.Context) -> tuple[str, str]:
    term = ", ".join(sorted(option.opts, key=len))
    if not option.is_flag:
        term += f" {option.make_metavar(ctx)}"
    text = _help_of(name, option.name or "")
    shown: Any = option.default
    if option.show_default and shown is not None:
        text += t("cli.default", value=shown)
    return term, text


def _help_of(command: str, parameter: str) -> str:
    """What a parameter means: said for this command, or for all that have it."""
    return find(f"help.{command}.{parameter}") or t(f"help.shared.{parameter}")


def _definitions(rows: Sequence[tuple[str, str]], room: int, column: int | None = None) -> Iterator[str]:
    """Terms on the left, their meaning on the right; a term that is too wide gets a line of its own."""
    left = column or min(_WIDEST_TERM, max((width(term) for term, _ in rows), default=0)) + 2
    for term, meaning in rows:
        lines = list(wrap(meaning, room - left - 4))
        if width(term) > left - 2:
            yield f"  {term}"
            lines = ["", *lines]
            yield from (f"  {' ' * left}{line}" for line in lines[1:])
            continue
        yield f"  {padded(term, left)}{lines[0]}".rstrip()
        yield from (f"  {' ' * left}{line}" for line in lines[1:])


def _indented(text: str, room: int) -> Iterator[str]:
    for line in wrap(text.strip(), room - 4):
        yield f"  {line}".rstrip()
