"""One frozen settings object. Precedence: argument > environment > file > default.

The file is TOML: `config.toml` in the user's configuration folder, or wherever `BACKSCROLL_CONFIG` points. Unknown names and
wrong types are refused with the name of the file and the setting, never ignored.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from backscroll.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    store: str = ""  # a file, or postgresql://…; empty: one file in the user's data folder
    tenant: str = "default"  # whose rows in a shared PostgreSQL
    actor: str = "user"  # who you are in the log
    language: str = ""  # en or zh; empty: by the locale
    patience: float = 60.0  # seconds to wait for other writers
    storage_dir: str = ""  # where dialogues are saved again after every call; empty: they are not


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting with where its value came from."""

    name: str
    value: Any
    source: str  # argument, environment, file, default


def config_file() -> Path:
    """The configuration file, whether or not it exists."""
    named = os.environ.get("BACKSCROLL_CONFIG")
    return Path(named).expanduser() if named else _folder("XDG_CONFIG_HOME", ".config") / "config.toml"


def default_store() -> Path:
    """The file that is used when nothing else is said."""
    return _folder("XDG_DATA_HOME", ".local/share") / "backscroll.db"


def _folder(variable: str, usual: str) -> Path:
    """Our folder where this system keeps such things."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "backscroll"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "backscroll"
    named = os.environ.get(variable, "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / usual) / "backscroll"


def explained(arguments: Mapping[str, Any] | None = None) -> list[Setting]:
    """Every setting, its value and where the value came from."""
    given = {k: v for k, v in (arguments or {}).items() if v is not None}
    path = config_file()
    from_file = _read(path)
    out: list[Setting] = []
    for field in fields(Settings):
        variable = os.environ.get(f"BACKSCROLL_{field.name.upper()}")
        if field.name in given:
            out.append(Setting(field.name, _typed(field.name, given[field.name], "argument"), "argument"))
        elif variable:
            out.append(Setting(field.name, _typed(field.name, variable, "environment"), "environment"))
        elif field.name in from_file:
            out.append(Setting(field.name, _typed(field.name, from_file[field.name], str(path)), "file"))
        else:
            out.append(Setting(field.name, field.default, "default"))
    return out


def load(arguments: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force."""
    return Settings(**{s.name: s.value for s in explained(arguments)})


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"cannot read the configuration {path}: {error}", hint="correct the file, or remove it"
        ) from error
    import tomllib  # only people who have a file pay for reading it

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            f"cannot read the configuration {path}: {error}", hint="correct the file, or remove it"
        ) from error
    known = {field.name for field in fields(Settings)}
    for name in data:
        if name not in known:
            raise InvalidInput(f"{path}: unknown setting {name!r}", hint=f"known: {', '.join(sorted(known))}")
    return data


def _typed(name: str, value: Any, source: str) -> Any:
    number = isinstance(getattr(Settings(), name), float)
    if number and not isinstance(value, bool):
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"setting {name} ({source}): {value!r} is not a number") from error
    if not number and isinstance(value, str | Path):
        return str(value)
    raise InvalidInput(f"setting {name} ({source}): {value!r} is not a {'number' if number else 'text'}")
