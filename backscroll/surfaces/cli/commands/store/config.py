"""`config`: settings and where they come from, changing them in the file; providers and their keys (`provider_settings`, `key_settings`)."""

from __future__ import annotations

from typing import Any

import click

from backscroll.config import config_file, explain_settings, format_setting_name
from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, option
from backscroll.surfaces.cli.families.key_settings import key_action
from backscroll.surfaces.cli.families.settings_file import change_setting
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.words.done import report_result

_ACTIONS = ("show", "set", "unset", "path", "provider", "key")


@command(
    "config",
    click.Argument(
        ["action"], metavar="[set|unset|path|provider|key]", type=click.Choice(_ACTIONS), default="show"
    ),
    click.Argument(["name"], metavar="[NAME]", required=False),
    click.Argument(["value"], metavar="[VALUE]", required=False),
    option("--preset", metavar="PRESET"),
    option("--kind", metavar="KIND"),
    option("--base-url", metavar="URL"),
    option("--model", metavar="MODEL"),
    option("--key-env", metavar="VARIABLE"),
)
def config_command(
    session: CliSession, action: str, name: str | None, value: str | None, **given: str | None
) -> None:
    """Show or change settings, providers, and their keys."""
    about = {key: text for key, text in given.items() if text is not None}
    if about and (action, name) != ("provider", "add"):
        raise InvalidInput(t("configuring.wrong_use"), hint=t("configuring.wrong_use_hint"))
    if action == "provider":
        # start-up: loaded when the command runs
        from backscroll.surfaces.cli.families.provider_settings import provider_action

        provider_action(session, name or "list", value, about)
        return
    if action == "key":
        key_action(session, name or "list", value)
        return
    wants = {"show": 0, "path": 0, "unset": 1, "set": 2}[action]
    if sum(given is not None for given in (name, value)) != wants:
        raise InvalidInput(t("configuring.wrong_use"), hint=t("configuring.wrong_use_hint"))
    if action == "path":
        report_result(session.screen, {"path": str(config_file())}, str(config_file()))
    elif action == "show":
        _show(session)
    else:
        change_setting(session, name or "", value)


def _show(session: CliSession) -> None:
    screen = session.screen
    found = explain_settings(session.arguments)
    if session.as_json:
        screen.json(
            {
                "file": str(config_file()),
                "settings": {
                    format_setting_name(s.name): {"value": s.value, "source": s.source} for s in found
                },
            }
        )
        return
    columns = [
        Column(t("columns.setting"), style="strong"),
        Column(t("columns.value"), shrinks=True),
        Column(t("columns.source"), style="dim"),
        Column(t("columns.meaning"), shrinks=True, style="dim"),
    ]
    rows = [
        (
            format_setting_name(s.name),
            _format_value(s.value),
            t(f"configuring.from_{s.source}"),
            t(f"settings.{s.name}"),
        )
        for s in found
    ]
    screen.lines(table(screen, columns, rows))
    screen.line()
    screen.line(screen.style(t("configuring.file", path=one_line(str(config_file()))), "dim"))


def _format_value(value: Any) -> str:
    return "–" if value == "" else f"{value:g}" if isinstance(value, float) else str(value)
