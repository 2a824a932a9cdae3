"""The program as a whole: which commands there are and where they live. A command is loaded when it is called, not before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

import click

from backscroll.surfaces.cli import help_page
from backscroll.surfaces.cli.command import global_options, help_option, session_of
from backscroll.surfaces.i18n import t

#: The commands by what they are for, in the order of the help page.
SECTIONS: Mapping[str, Sequence[str]] = {
    "read": ("threads", "show", "search", "log", "revisions", "diff"),
    "bring": ("import", "export", "sync", "new", "append"),
    "change": (
        "edit", "regenerate", "choose", "insert", "move", "delete", "restore", "hide", "unhide", "pin", "unpin",
        "undo", "redo", "fork", "rename", "tag", "untag",
    ),
    "keep": ("verify", "backup", "restore-backup", "forget", "stats", "doctor"),
    "more": ("config", "demo", "completion"),
}  # fmt: skip

_MODULES = {
    "threads": "threads",
    "show": "show",
    "search": "search",
    "log": "log",
    "revisions": "comparing",
    "diff": "comparing",
    "import": "importing",
    "export": "exporting",
    "sync": "syncing",
    "new": "writing",
    "append": "writing",
    "insert": "writing",
    "edit": "editing",
    "regenerate": "editing",
    "choose": "editing",
    "move": "marking",
    "delete": "marking",
    "restore": "marking",
    "hide": "marking",
    "unhide": "marking",
    "pin": "marking",
    "unpin": "marking",
    "undo": "undoing",
    "redo": "undoing",
    "fork": "describing",
    "rename": "describing",
    "tag": "describing",
    "untag": "describing",
    "verify": "checking",
    "stats": "checking",
    "doctor": "checking",
    "backup": "keeping",
    "restore-backup": "keeping",
    "forget": "forgetting",
    "config": "configuring",
    "demo": "demo",
    "completion": "completion",
}


class Program(click.Group):
    """All commands, none of them loaded."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every name, in the order of the help page."""
        return [name for names in SECTIONS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Load the one that is called."""
        where = _MODULES.get(cmd_name)
        if where is None:
            return None
        module = import_module(f"backscroll.surfaces.cli.commands.{where}")
        found = getattr(module, cmd_name.replace("-", "_") + "_command")
        assert isinstance(found, click.Command)
        return found

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002 - click's signature
        """`-h` and `--help`."""
        return help_option()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the page without loading any command."""
        formatter.write(help_page.of_group(self, ctx, formatter.width, SECTIONS))


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        import backscroll

        click.echo(f"backscroll {backscroll.__version__}")
        ctx.exit()


def _begin(*, version: bool = False) -> None:  # noqa: ARG001 - handled by its callback
    """Without a command: a friendly overview."""
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        from backscroll.surfaces.cli.overview import overview

        overview(session_of(ctx))


def program() -> Program:
    """The program, made anew for every run, because its texts depend on the language."""
    version = click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version)
    return Program(
        "backscroll",
        callback=_begin,
        invoke_without_command=True,
        params=[*global_options(), version],
        subcommand_metavar=t("cli.command_metavar"),
    )
