"""`completion`: the script with which a shell completes commands, options and threads."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from backscroll.surfaces.cli.command import command
from backscroll.surfaces.cli.group import program
from backscroll.surfaces.cli.session import CliSession

_SHELLS = ("bash", "zsh", "fish")


@command("completion", click.Argument(["shell"], metavar="SHELL", type=click.Choice(_SHELLS)))
def completion_command(session: CliSession, shell: str) -> None:
    """Print the completion script."""
    found = get_completion_class(shell)
    assert found is not None
    script = found(program(), {}, "backscroll", "_BACKSCROLL_COMPLETE").source()
    if session.as_json:
        session.screen.json({"shell": shell, "script": script})
    else:
        session.screen.line(script)
