"""Configured MCP servers: the tables `[mcp.NAME]` of the configuration file.

Owns `McpServer`, and reading and checking the tables. A server is a program (`command`, `args`, `env`) or an address (`url`, `headers`).
`${NAME}` in a value is taken from the environment, so that keys need not be in the file. Refuses: starting anything
(`agent/mcp/client`).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from backscroll.config import mcp_table
from backscroll.errors import InvalidInput, MissingExtra

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_KNOWN = ("command", "args", "env", "cwd", "url", "headers", "seconds", "tools", "off")


def _none() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class McpServer:
    """One MCP server."""

    name: str
    command: str = ""  # a program, connected by its standard input and output
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=_none, repr=False)  # besides PATH, HOME and the like
    cwd: str = ""  # where the program is started; empty: in the folder of the agent
    url: str = ""  # … or an address, connected by streamable HTTP
    headers: Mapping[str, str] = field(default_factory=_none, repr=False)
    seconds: float = 60.0  # that starting it, or one call, may take
    tools: tuple[str, ...] = ()  # only these; empty: all of them


def usable_servers() -> tuple[list[McpServer], list[str]]:
    """Return the valid servers of the configuration file, in its order, and what is wrong with each of the others.

    Servers that are `off` are left out.
    """
    found: list[McpServer] = []
    problems: list[str] = []
    for name, table in mcp_table().items():
        try:
            server = server_of(name, table)
        except InvalidInput as error:
            problems.append(str(error))
            continue
        if server is not None:
            found.append(server)
    return found, problems


def server_of(name: str, table: Any) -> McpServer | None:
    """Check one table; None if the server is off."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"[mcp.{name}]: not a name", hint="use up to 32 letters, digits, _ and -")
    if not isinstance(table, Mapping):
        raise InvalidInput(f"mcp.{name} is not a table", hint="write one table for each program: [mcp.NAME]")
    given = cast("Mapping[str, Any]", table)
    for key in given:
        if key not in _KNOWN:
            raise InvalidInput(f"[mcp.{name}]: unknown entry {key!r}", hint=f"known: {', '.join(_KNOWN)}")
    if given.get("off") is True:
        return None
    command, url = _text(name, given, "command"), _text(name, given, "url")
    if bool(command) == bool(url):
        raise InvalidInput(
            f"[mcp.{name}] needs a command or a url, and not both",
            hint='write command = "program", or url = "https://…"',
        )
    if url and not url.startswith(("http://", "https://")):
        raise InvalidInput(f"[mcp.{name}]: {url!r} is not an address", hint='write url = "https://…"')
    seconds = given.get("seconds", 60.0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        raise InvalidInput(f"[mcp.{name}]: seconds is not a number above 0")
    return McpServer(
        name,
        command,
        _texts(name, given, "args"),
        _table(name, given, "env"),
        _text(name, given, "cwd"),
        url,
        _table(name, given, "headers"),
        float(seconds),
        _texts(name, given, "tools"),
    )


def _text(name: str, given: Mapping[str, Any], key: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise InvalidInput(f"[mcp.{name}]: {key} is not a text")
    return _fill_variables(name, value)


def _texts(name: str, given: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = given.get(key, [])
    if not isinstance(values, list) or not all(isinstance(v, str) for v in cast("list[Any]", values)):
        raise InvalidInput(f"[mcp.{name}]: {key} is not a list of texts")
    return tuple(_fill_variables(name, value) for value in cast("list[str]", values))


def _table(name: str, given: Mapping[str, Any], key: str) -> Mapping[str, str]:
    values = given.get(key, {})
    if not isinstance(values, Mapping):
        raise InvalidInput(f"[mcp.{name}]: {key} is not a table")
    return {str(k): _fill_variables(name, str(v)) for k, v in cast("Mapping[Any, Any]", values).items()}


def _fill_variables(name: str, text: str) -> str:
    """Replace `${NAME}` with the variable of that name."""

    def value(found: re.Match[str]) -> str:
        known = os.environ.get(found[1])
        if known is None:
            raise InvalidInput(
                f"[mcp.{name}]: the variable {found[1]} is not set",
                hint="set it, or take it out of the table",
            )
        return known

    return _VARIABLE.sub(value, text)


def check_installed() -> None:
    """Raise `MissingExtra` without the package `mcp`; keep its log off the screen, where Python prints warnings without a handler."""
    from importlib.util import find_spec

    for name in ("mcp", "asyncio"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())

    if find_spec("mcp") is None:
        raise MissingExtra(
            "the package mcp is not installed: tools of MCP servers need it",
            hint="pip install 'backscroll[mcp]'",
        )
