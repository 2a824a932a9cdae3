"""Runs a command line, and turns every outcome into messages and an exit code.

The outermost boundary: errors that the user can act on are reported in one or two lines; an internal error is
reported as a bug, with a traceback only for BACKSCROLL_DEBUG=1. Refuses: knowing any command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import takewhile

import click

from backscroll.errors import BackscrollError
from backscroll.surfaces.cli.error_report import report
from backscroll.surfaces.cli.group import program
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t

INTERRUPTED = 130
BROKEN_PIPE = 141


def run(arguments: Sequence[str], session: CliSession | None = None) -> int:
    """Run one command line; return the exit code."""
    session = session or CliSession()
    try:
        return _run(list(arguments), session)
    except BrokenPipeError:
        return closed_pipe()
    except (KeyboardInterrupt, click.Abort):
        return _report_interrupt()
    except (BackscrollError, click.ClickException) as error:
        return _report(error, session, arguments)
    except Exception as error:  # noqa: BLE001 - the outermost boundary
        return _report(error, session, arguments)


def _run(arguments: list[str], session: CliSession) -> int:
    whole = program()
    if "_BACKSCROLL_COMPLETE" in os.environ:
        whole.main(arguments, "backscroll", "_BACKSCROLL_COMPLETE", obj=session)
    try:
        with whole.make_context("backscroll", arguments, obj=session) as ctx:
            whole.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    return session.exit_code


def _report(error: Exception, session: CliSession, arguments: Sequence[str]) -> int:
    if os.environ.get("BACKSCROLL_DEBUG") and not isinstance(error, click.ClickException):
        import traceback

        traceback.print_exception(error)
    # If the options could not be parsed, the session does not know about `--json` yet.
    options = takewhile(lambda argument: argument != "--", arguments)
    return report(error, as_json=session.as_json or not {"--json", "--jsonl"}.isdisjoint(options))


def _report_interrupt() -> int:
    sys.stdout.flush()
    sys.stderr.write(f"\n{t('cli.interrupted')}\n")
    return INTERRUPTED


def closed_pipe() -> int:
    """Handle a closed output pipe: exit quietly, and keep the interpreter from complaining."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.close(silence)
    return BROKEN_PIPE
