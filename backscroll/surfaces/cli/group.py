"""The program as a whole. A command is loaded when it is called, not before; `catalogue` knows where it lives."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

import click

from backscroll.surfaces.cli import help_page
from backscroll.surfaces.cli.catalogue import MODULES, RENAMED, SECTIONS
from backscroll.surfaces.cli.command import global_options, help_option, session_of
from backscroll.surfaces.i18n import t


def _module_of(command: str) -> ModuleType:
    where = MODULES[command]
    return import_module(
        where if where.startswith("backscroll.") else f"backscroll.surfaces.cli.commands.{where}"
    )


class CommandTree(click.Group):
    """All commands, loaded on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return every name, in the order of the help page."""
        return [name for names in SECTIONS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Load the command that is called."""
        cmd_name = RENAMED.get(cmd_name, cmd_name)
        if cmd_name not in MODULES:
            return None
        found = getattr(_module_of(cmd_name), cmd_name.replace("-", "_") + "_command")
        assert isinstance(found, click.Command)
        return found

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002 - click's signature
        """Return the option `-h` and `--help`."""
        return help_option()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the help page without loading any command."""
        formatter.write(help_page.of_program())


def version() -> str:
    """Return the line that `--version` prints."""
    # start-up: only for `--version`
    import backscroll

    return f"backscroll {backscroll.__version__}"


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(version())
        ctx.exit()


def _begin(*, version: bool = False) -> None:  # noqa: ARG001 - handled by its callback
    """Run the default without a command: the chat, or an overview if there is no terminal."""
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is not None:
        return
    session = session_of(ctx)
    if sys.stdin.isatty() and sys.stdout.isatty() and not session.as_json:
        _module_of("chat").chat(session)
    else:
        # start-up: for calls without a command
        from backscroll.surfaces.cli.families.overview import overview

        overview(session)


def program() -> CommandTree:
    """Build the program, for every run anew, because its texts depend on the language."""
    asked = click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version)
    return CommandTree(
        "backscroll",
        callback=_begin,
        invoke_without_command=True,
        params=[*global_options(), asked],
        subcommand_metavar=t("cli.command_metavar"),
    )
