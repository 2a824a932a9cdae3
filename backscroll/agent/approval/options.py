"""Options, values and arguments of a command.

Owns comparing options with a table of known ones (`approval_looking.toml`, `approval_git.toml`). An option that is not in
the table, or is abbreviated, makes the command unreadable: then it counts as unknown. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from backscroll.vocab.part import Json

_NUMBER = re.compile(r"-\d+")


@dataclass(slots=True)
class CommandOptions:
    """The options and arguments of a command."""

    options: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # with their values
    others: list[str] = field(default_factory=list[str])  # the rest, in order
    divided: int = -1  # how many arguments come before `--`; negative: there is no `--`

    def has(self, *names: str) -> bool:
        """Return True if one of these options was given."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        """Return the values given to these options."""
        return [value for name, value in self.options if name in names]


def told_apart(table: Mapping[str, Json], words: Sequence[str]) -> CommandOptions | None:
    """Split the words after a command's name into options and arguments; None if an option is unknown."""
    out, left = CommandOptions(), list(words)
    while left:
        word = left.pop(0)
        if out.divided >= 0 or not word.startswith("-") or word == "-":
            out.others.append(word)
        elif word == "--":
            out.divided = len(out.others)
        elif word in _list(table, "exact") or (table.get("number") and _NUMBER.fullmatch(word)):
            out.options.append((word, ""))
        elif word.startswith("--"):
            if not _long(table, word, left, out):
                return None
        elif not _short(table, word[1:], left, out):
            return None
    return out


def _long(table: Mapping[str, Json], word: str, left: list[str], out: CommandOptions) -> bool:
    name, mark, value = word.partition("=")
    if mark:
        out.options.append((name, value))
        return name in _list(table, "long_valued")
    if word in _list(table, "long"):
        out.options.append((word, ""))
        return True
    if word in _list(table, "long_valued") and left:
        out.options.append((word, left.pop(0)))
        return True
    return False


def _short(table: Mapping[str, Json], letters: str, left: list[str], out: CommandOptions) -> bool:
    flags, valued = str(table.get("flags", "")), str(table.get("valued", ""))
    for place, letter in enumerate(letters):
        rest = letters[place + 1 :]
        if letter in flags:
            out.options.append((f"-{letter}", ""))
        elif letter in valued:
            if not rest and (not left or letter in str(table.get("sticky", ""))):
                return False
            out.options.append((f"-{letter}", rest or left.pop(0)))
            return True
        else:
            return False
    return bool(letters)


def _list(table: Mapping[str, Json], name: str) -> list[str]:
    return cast("list[str]", table.get(name, []))
