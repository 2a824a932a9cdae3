"""Changing one setting in the configuration file, leaving the rest as it is, comments included."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from backscroll.config import YAML, Settings, config_file, explain_settings, flat, format_setting_name, load
from backscroll.errors import InvalidInput, StoreError
from backscroll.regular_files import read_text
from backscroll.surfaces.cli.language import check_language
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.words.done import report_result


def change_setting(session: CliSession, name: str, value: str | None) -> None:
    """Set a setting in the file, or remove it."""
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
        session.screen,
        {"file": str(path), "name": name, "value": value},
        t(key, name=name, value=value, path=path),
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
    """Change one line of the file and keep the others, comments included; the write is atomic."""
    text = read_text(path) if path.exists() else ""
    explain_settings()  # the error says what is wrong with a file that does not parse
    found = text.splitlines()
    if path.suffix in YAML:
        found = [old for old in found if not re.match(rf"{re.escape(name)}\s*:", old)]
        _write(path, [*found, *([] if line is None else [line])])
        return
    # Settings come before the first table; a key of the same name in a provider's table is not a setting.
    ours = next((n for n, old in enumerate(found) if re.match(r"\s*\[", old)), len(found))
    kept = [old for old in found[:ours] if not re.match(rf"\s*{re.escape(name)}\s*=", old)]
    _write(path, [*kept, *([] if line is None else [line]), *found[ours:]])


def _write(path: Path, lines: Sequence[str]) -> None:
    """Write the file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(f"{text}\n" for text in lines))
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
