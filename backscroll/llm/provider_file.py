"""Add and remove services in the configuration file, leaving the rest of it untouched.

Owns adding and removing tables `[providers.NAME]`, and the presets (`presets.toml`). A TOML file keeps its comments, its order
and its line ends: text is inserted or removed, and written only if parsing the new text gives exactly the wanted result.
Where that is impossible (YAML, unusual table syntax) the error shows the lines to add by hand. Files are replaced atomically
and readable by their owner only. Keys are not stored.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from backscroll.config import PROVIDERS, YAML, config_file
from backscroll.errors import Conflict, InvalidInput, NotFound, StoreError
from backscroll.llm.providers import NONE, providers
from backscroll.regular_files import read_text
from backscroll.vocab.part import Json

_HEADER = re.compile(r"\s*\[.*\]\s*(#.*)?$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@cache
def presets() -> dict[str, dict[str, str]]:
    """Return common services by name: kind, address, a model, the variable of the key."""
    text = (files("backscroll.llm") / "presets.toml").read_text(encoding="utf-8")
    return cast("dict[str, dict[str, str]]", tomllib.loads(text))


def add_provider(name: str, entry: Mapping[str, Json], path: Path | None = None) -> Path:
    """Add a service to the configuration; return the file. The entry is checked first."""
    place = path or config_file()
    if not name.strip() or name != name.strip() or not name.isprintable() or name == NONE:
        raise InvalidInput(f"{name!r} cannot be the name of a provider", hint="use letters, digits, - and _")
    providers({name: entry})  # raises if it is invalid
    text, known = _read(place)
    if name in known:
        raise Conflict(
            f"there is a provider {name!r} already", hint=f"`backscroll config provider remove {name}` first"
        )
    lines = _render_provider(name, entry)
    if place.suffix in YAML:
        raise _by_hand(place, _as_yaml(name, entry))
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip() else end if text.endswith(("\n", "\r")) else end * 2
    fresh = f"{text}{gap}{end.join(lines)}{end}"
    _write(place, text, fresh, {**known, name: dict(entry)}, "\n".join(lines))
    return place


def remove_provider(name: str, path: Path | None = None) -> Path:
    """Remove a service from the configuration; return the file."""
    place = path or config_file()
    text, known = _read(place)
    if name not in known:
        raise NotFound(
            f"no provider {name!r} in {place}",
            hint=f"known: {', '.join(known)}" if known else "write a table [providers.NAME] into the file",
        )
    if place.suffix in YAML:
        raise _by_hand(place, f"providers.{name}", remove=True)
    lines = text.splitlines(keepends=True)
    first = next((n for n, line in enumerate(lines) if _opens(line) == (PROVIDERS, name)), None)
    if first is None:
        raise _by_hand(place, f"[{PROVIDERS}.{_key(name)}]", remove=True)
    last = next((n for n in range(first + 1, len(lines)) if _HEADER.match(lines[n])), len(lines))
    # Comments right before the next table belong to that one.
    while last < len(lines) and last > first + 1 and lines[last - 1].lstrip().startswith("#"):
        last -= 1
    fresh = "".join(lines[:first] + lines[last:])
    rest = {n: entry for n, entry in known.items() if n != name}
    _write(place, text, fresh, rest, f"[{PROVIDERS}.{_key(name)}]", remove=True)
    return place


# -- the file ------------------------------------------------------------------------------------------------------


def _read(path: Path) -> tuple[str, dict[str, Json]]:
    """Return the text of the file, and the services in it."""
    try:
        text = read_text(path, newline="")
    except FileNotFoundError:
        return "", {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"cannot read the configuration {path}: {error}", hint="correct the file, or remove it"
        ) from error
    if path.suffix in YAML:
        import yaml

        try:
            data: Json = yaml.safe_load(text) or {}
        except (yaml.YAMLError, RecursionError) as error:
            told = " ".join(str(error).split())
            raise InvalidInput(
                f"cannot read the configuration {path}: {told}", hint="correct the file, or remove it"
            ) from error
    else:
        data = _parse_toml(text, path)
    found: Json = cast("dict[str, Json]", data).get(PROVIDERS) if isinstance(data, dict) else None
    return text, cast("dict[str, Json]", found) if isinstance(found, dict) else {}


def _parse_toml(text: str, path: Path) -> dict[str, Json]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"cannot read the configuration {path}: {error}", hint="correct the file, or remove it"
        ) from error


def _write(
    path: Path, before: str, after: str, wanted: Mapping[str, Json], lines: str, *, remove: bool = False
) -> None:
    """Replace the file if the new text parses to exactly the wanted result."""
    old = _parse_toml(before, path)
    expected = {**old, PROVIDERS: dict(wanted)}
    try:
        found: Json = tomllib.loads(after.replace("\r\n", "\n"))
    except ValueError:
        found = None
    if found is None or {**found, PROVIDERS: found.get(PROVIDERS, {})} != expected:
        raise _by_hand(path, lines, remove=remove)
    real = path.resolve()  # a symlink stays a symlink
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(after)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(real)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(
            f"cannot write to {real.parent}: {error.strerror or error}", hint="check space and permissions"
        ) from error


def _by_hand(path: Path, lines: str, *, remove: bool = False) -> InvalidInput:
    if remove:
        return InvalidInput(f"{path} has to be changed by hand", hint=f"remove this from it: {lines}")
    return InvalidInput(f"{path} has to be changed by hand", hint=f"write this into it:\n{lines}")


# -- spelling ------------------------------------------------------------------------------------------------------


def _render_provider(name: str, entry: Mapping[str, Json]) -> list[str]:
    return [f"[{PROVIDERS}.{_key(name)}]", *(f"{key} = {_value(value)}" for key, value in entry.items())]


def _as_yaml(name: str, entry: Mapping[str, Json]) -> str:
    inner = [f"    {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join(["providers:", f"  {json.dumps(name, ensure_ascii=False)}:", *inner])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    escaped = "".join(
        f"\\u{ord(c):04x}" if ord(c) < 0x20 or ord(c) == 0x7F else f"\\{c}" if c in '"\\' else c
        for c in str(value)
    )
    return f'"{escaped}"'


def _opens(line: str) -> tuple[str, ...]:
    """Return the table that a line opens, as a key path; empty if it opens none."""
    if not _HEADER.match(line) or line.lstrip().startswith("[["):
        return ()
    try:
        data: Json = tomllib.loads(line.strip())
    except ValueError:
        return ()
    path: list[str] = []
    while isinstance(data, dict) and len(cast("dict[str, Json]", data)) == 1:
        key, data = next(iter(cast("dict[str, Json]", data).items()))
        path.append(key)
    return tuple(path)
