"""A family of commands: `backscroll task start`, `backscroll task list` … under one name.

The texts of a member are found under `help.<family>-<member>`, a line about each under `help.<family>.<member>`. Without a member
the page of the family is shown. Refuses: doing anything; the members do.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from backscroll.surfaces.cli.command import Command, global_options, help_option
from backscroll.surfaces.cli.screen import help_page


def _page() -> None:
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class Family(click.Group):
    """Several commands under one name; its members know the global options, and so does it."""

    def __init__(self, name: str, members: Sequence[Command]) -> None:
        super().__init__(name, callback=_page, params=global_options(), invoke_without_command=True)
        for member in members:
            self.add_command(member, (member.name or "").removeprefix(f"{name}-"))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The members in the order in which they were given."""
        return list(self.commands)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002 - click's signature
        """`-h` and `--help`."""
        return help_option()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the page in the language in use."""
        formatter.write(help_page.of_family(self, ctx))
