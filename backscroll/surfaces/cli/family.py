"""A family of commands: `backscroll task start`, `backscroll task list` … under one name.

The texts of a member are under `help.<family>-<member>`, a line about each under `help.<family>.<member>`. Without a member
the help page of the family is shown. Refuses: doing anything; the members do.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from backscroll.surfaces.cli import help_page
from backscroll.surfaces.cli.catalogue import RENAMED
from backscroll.surfaces.cli.command import Command, global_options, help_option, session_of
from backscroll.surfaces.i18n import t


def _page() -> None:
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is not None:
        return
    session, family = session_of(ctx), ctx.command
    if session.as_json and isinstance(family, CommandFamily):
        texts = {member: t(f"help.{family.name}.{member}") for member in family.commands}
        session.screen.json({"command": family.name, "commands": texts})
    else:
        click.echo(ctx.get_help())


class CommandFamily(click.Group):
    """Several commands under one name; the family and its members accept the global options."""

    def __init__(self, name: str, members: Sequence[Command]) -> None:
        super().__init__(name, callback=_page, params=global_options(), invoke_without_command=True)
        for member in members:
            self.add_command(member, (member.name or "").removeprefix(f"{name}-"))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the members in the order in which they were given."""
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a member by its name, or by an old one."""
        known = RENAMED.get(f"{self.name} {cmd_name}", cmd_name)
        return super().get_command(ctx, known.removeprefix(f"{self.name} "))

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002 - click's signature
        """Return the option `-h` and `--help`."""
        return help_option()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help page in the language in use."""
        formatter.write(help_page.of_family(self, ctx))
