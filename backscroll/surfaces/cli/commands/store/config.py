"""`config`: what is set, where it comes from, and setting it in the file; services with models and their keys (`provider_settings`, `key_settings`)."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from backscroll.config import YAML, Settings, config_file, explain_settings, flat, format_setting_name, load
from backscroll.errors import InvalidInput, StoreError
from backscroll.regular_files import read_text
from backscroll.surfaces.cli.command import command, option
from backscroll.surfaces.cli.language import check_language
from backscroll.surfaces.cli.screen.plain import one_line
from backscroll.surfaces.cli.screen.table import Column, table
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.cli.words.done import report_result
from backscroll.surfaces.i18n import t

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
    """Show or change settings, services with models, and their keys."""
    about = {key: text for key, text in given.items() if text is not None}
    if about and (action, name) != ("provider", "add"):
        raise InvalidInput(t("configuring.wrong_use"), hint=t("configuring.wrong_use_hint"))
    if action == "provider":
        from backscroll.surfaces.cli.families.provider_settings import provider_action

        provider_action(session, name or "list", value, about)
        return
    if action == "key":
        from backscroll.surfaces.cli.families.key_settings import key_action

        key_action(session, name or "list", value)
        return
    wants = {"show": 0, "path": 0, "unset": 1, "set": 2}[action]
    if sum(given is not None for given in (name, value)) != wants:
        raise InvalidInput(t("configuring.wrong_use"), hint=t("configuring.wrong_use_hint"))
    if action == "path":
        report_result(session, {"path": str(config_file())}, str(config_file()))
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


def change_setting(session: CliSession, name: str, value: str | None) -> None:
    """Set a setting in the file, or take it out of it."""
    known = [field.name for field in fields(Settings)]
    name = flat(name)
    if name not in known:
        names = ", ".join(map(format_setting_name, known))
        raise InvalidInput(t("configuring.unknown", name=name), hint=t("configuring.known", names=names))
    path = config_file()
    line = None
    if value is not None:
        typed: Any = getattr(load({name: value}), name)
        if name == "language":
            check_language(str(typed))
        line = (
            f"{name}: {json.dumps(typed, ensure_ascii=False)}"
            if path.suffix in YAML
            else f"{name} = {_toml(typed)}"
        )
    try:
        _rewrite(path, name, line)
    except OSError as error:
        raise StoreError(t("configuring.cannot_write", path=path, what=error.strerror)) from error
    key = "configuring.unset" if line is None else "configuring.set"
    report_result(
        session, {"file": str(path), "name": name, "value": value}, t(key, name=name, value=value, path=path)
    )


def _toml(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    escaped = "".join(
        f"\\u{ord(c):04x}" if ord(c) < 0x20 or ord(c) == 0x7F else f"\\{c}" if c in '"\\' else c
        for c in str(value)
    )
    return f'"{escaped}"'


def _rewrite(path: Path, name: str, line: str | None) -> None:
    """Change one line of the file and keep the others, comments included; the whole file or nothing is written."""
    text = read_text(path) if path.exists() else ""
    explain_settings()  # says what is wrong with a file that does not parse
    found = text.splitlines()
    if path.suffix in YAML:
        found = [old for old in found if not re.match(rf"{re.escape(name)}\s*:", old)]
        _write(path, [*found, *([] if line is None else [line])])
        return
    # Settings stand before the first table; what has the same name in the table of a provider is not a setting.
    ours = next((n for n, old in enumerate(found) if re.match(r"\s*\[", old)), len(found))
    kept = [old for old in found[:ours] if not re.match(rf"\s*{re.escape(name)}\s*=", old)]
    _write(path, [*kept, *([] if line is None else [line]), *found[ours:]])


def _write(path: Path, lines: Sequence[str]) -> None:
    """Write the file, as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(f"{text}\n" for text in lines))
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
