"""Rendering errors for users and programs: one line on what went wrong, one on what to do; or the same as JSON."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass

import click

from backscroll.errors import BackscrollError
from backscroll.surfaces.i18n import t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import safe, safe_json
from backscroll.surfaces.screen.screen import Screen


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """The texts and facts reported about an error."""

    kind: str
    message: str
    hint: str
    exit_code: int


def report(error: Exception, *, as_json: bool) -> int:
    """Print the error to standard error and return the exit code."""
    said = describe_error(error)
    if as_json:
        body = {"kind": said.kind, "message": said.message, "hint": said.hint}
        sys.stdout.flush()
        sys.stderr.write(safe_json(json.dumps({"error": body}, ensure_ascii=False)) + "\n")
        return said.exit_code
    screen = Screen()
    screen.remark(t("cli.error", message=safe(said.message)), "bad")
    if said.hint:
        screen.remark(t("cli.hint", hint=safe(said.hint)))
    return said.exit_code


def describe_error(error: Exception) -> ErrorReport:
    """Describe an error in the language of the user."""
    if isinstance(error, BackscrollError):
        return ErrorReport(kind_of(error), say(error.message), say(error.hint), error.exit_code)
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx is not None else "backscroll"
        return ErrorReport("usage", say(error.format_message()), t("cli.try_help", command=path), 2)
    if isinstance(error, click.ClickException):
        return ErrorReport("usage", say(error.format_message()), "", error.exit_code)
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return ErrorReport("system", f"{name}{say(error.strerror)}", "", 1)
    return ErrorReport(
        "fault", t("cli.fault", what=f"{type(error).__name__}: {error}"), t("cli.fault_hint"), 1
    )


def kind_of(error: BackscrollError) -> str:
    """Return the stable name of an error class: `NotFound` is `not_found`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()
