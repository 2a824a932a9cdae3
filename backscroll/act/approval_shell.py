"""Reading a command line as a shell would, as far as that can be done with certainty.

Owns a small, strict lexer: a line is either a list of simple commands, each a list of plain words, or it is in `doubt`.
In doubt is whatever could run or write something that does not stand there as a plain word: substitution, redirection into a
file, assignments, subshells, several lines, escapes, commands that run other commands. Patterns of rules never cover a line in
doubt. Refuses: deciding (`act/approval`), running (`act/commands`). Before: nothing. After: `act/approval_rules`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from posixpath import basename
from typing import cast

from backscroll.vocab.part import Json

#: A redirection that writes no file: to nowhere, or into the other output.
_TO_NOWHERE = re.compile(r">(?:&[12]|[ \t]*/dev/null)(?=[ \t;|]|&&|$)")
_SEPARATOR = re.compile(r"&&|\|\||;|\|")
#: What means more than itself outside quotes, and what inside double quotes.
_MEANING = frozenset("$`\\(){}<&")
_MEANING_QUOTED = frozenset("$`\\")
_COMPLETED = frozenset("*?[")  # to names of files
_NAME = re.compile(r"[\w./+@%,:-]+")
_BETWEEN = re.compile(r"[\s;|&<>(){}`$\"'=\\]+")


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its words without quotes; `open` are the places of those that the shell turns into file names."""

    words: tuple[str, ...]
    open: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """The command without its folder."""
        return basename(self.words[0])


@dataclass(frozen=True, slots=True)
class Line:
    """A command line. With `doubt` (one word for why), `commands` is not all that would run."""

    commands: tuple[Simple, ...]
    doubt: str = ""


class _Doubt(Exception):
    """The line cannot be read with certainty; says why in a word."""


class _Reading:
    """A line on its way into words; one character is looked at at a time."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self.commands: list[Simple] = []
        self._words: list[str] = []
        self._open: set[int] = set()
        self._word: str | None = None  # None: between words; an empty one came in quotes
        self._bare = True  # nothing of the word stood in quotes

    def read(self) -> tuple[Simple, ...]:
        while self.at < len(self.line):
            self._step(self.line[self.at])
        self._end_command()
        return tuple(self.commands)

    def _step(self, char: str) -> None:
        if char in " \t":
            self._end_word()
            self.at += 1
        elif char in "'\"":
            self._quoted(char)
        elif char == ">":
            self._redirection()
        elif separator := _SEPARATOR.match(self.line, self.at):
            self._end_command()
            self.at = separator.end()
        elif char in _MEANING or (char == "#" and self._word is None):
            raise _Doubt({"$": "substitution", "`": "substitution", "<": "redirection"}.get(char, "syntax"))
        else:
            if char in _COMPLETED or (char == "~" and self._word is None):
                self._open.add(len(self._words))
            self._word = (self._word or "") + char
            self.at += 1

    def _quoted(self, mark: str) -> None:
        end = self.line.find(mark, self.at + 1)
        if end < 0:
            raise _Doubt("quotes")
        inside = self.line[self.at + 1 : end]
        if mark == '"' and not _MEANING_QUOTED.isdisjoint(inside):
            raise _Doubt("substitution")
        self._word, self._bare = (self._word or "") + inside, False
        self.at = end + 1

    def _redirection(self) -> None:
        found = _TO_NOWHERE.match(self.line, self.at)
        if found is None:
            raise _Doubt("redirection")
        if self._word in ("1", "2") and self._bare:
            self._word = None  # the number of an output, no word
        self._end_word()
        self.at = found.end()

    def _end_word(self) -> None:
        if self._word is not None:
            self._words.append(self._word)
        self._word, self._bare = None, True

    def _end_command(self) -> None:
        self._end_word()
        if not self._words:
            raise _Doubt("syntax")
        self.commands.append(Simple(tuple(self._words), frozenset(self._open)))
        self._words, self._open = [], set()


def read(line: str) -> Line:
    """The simple commands of a line, or doubt."""
    line = line.strip(" \t\n")
    if any(not (c == "\t" or c.isprintable()) for c in line):
        return Line((), "characters")  # line ends, control characters, blanks that are none to a shell
    try:
        commands = _Reading(line).read()
    except _Doubt as doubt:
        return Line((), str(doubt))
    for command in commands:
        if doubt := _doubtful(command):
            return Line(commands, doubt)
    return Line(commands)


def _doubtful(command: Simple) -> str:
    """Why a command of plain words may still run something else; empty where it does not."""
    first = command.words[0]
    if 0 in command.open or not _NAME.fullmatch(first):
        return "assignment" if "=" in first else "name"
    if first in _names("reserved"):
        return "syntax"
    if command.name in _names("carriers"):
        return "carrier"
    if any(_carried(table, command.words) for table in _carrying(command.name)):
        return "carrier"
    return ""


def _carried(table: Mapping[str, Json], words: Sequence[str]) -> bool:
    first = cast("list[str]", table.get("first", []))
    rest = list(words[1:])
    if first:
        while rest and rest[0] in first:
            rest.pop(0)
        if rest and rest[0].startswith("-"):
            return True
    if any(word in cast("list[str]", table.get("named", [])) for word in _plain(rest)[:1]):
        return True
    letters, fixed = str(table.get("letters", "")), cast("list[str]", table.get("words", []))
    if table.get("bundled") and rest and not rest[0].startswith("-"):
        rest[0] = f"-{rest[0]}"
    if table.get("assigning") and any("=" in word for word in _plain(rest)):
        return True
    return any(_is_option(word, fixed, letters) for word in rest)


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _is_option(word: str, fixed: Sequence[str], letters: str) -> bool:
    given = word.partition("=")[0]
    if given in fixed or word in fixed:
        return True
    if given.startswith("--"):
        return len(given) > 2 and any(full.startswith(given) for full in fixed)
    return word.startswith("-") and any(letter in word[1:] for letter in letters)


def scanned(line: str) -> list[tuple[str, ...]]:
    """Every run of words in a line, however it is written, up to its end: where a refused command might hide in a doubtful one."""
    words = [word for word in _BETWEEN.split(line) if word]
    return [(basename(words[n]) or words[n], *words[n + 1 :]) for n in range(len(words))]


# -- what only looks ---------------------------------------------------------------------------------------------


def harmless(command: Simple) -> bool:
    """True for a command that only looks, inside the folder it runs in, as far as its words tell."""
    for table in cast("list[Mapping[str, Json]]", _tables()["harmless"]):
        words = cast("list[str]", table["words"])
        if list(command.words[: len(words)]) == words:
            return _only_looks(table, command, len(words))
    return False


def _only_looks(table: Mapping[str, Json], command: Simple, taken: int) -> bool:
    options, needs = cast("list[str]", table.get("options", [])), cast("list[str]", table.get("needs", []))
    if needs and not any(word in needs for word in command.words):
        return False
    for place, word in enumerate(command.words[taken:], taken):
        if word.startswith("-"):
            if word not in options:
                return False
        elif table.get("bare") or _leads_out(word) or (place in command.open and word[:1] in "*?[~"):
            return False
    return True


def _leads_out(word: str) -> bool:
    """True for an argument that may name something outside the folder, or inside what is protected."""
    parts = word.replace(":", "/").split("/")
    return word.startswith(("/", "~")) or ".." in parts or ".git" in parts or "=" in word


# -- suggesting --------------------------------------------------------------------------------------------------


def suggested(line: str) -> str:
    """A pattern that covers a line and others like it: `git status *`; empty: nothing but the line itself should be covered."""
    found = read(line)
    if found.doubt:
        return ""
    patterns = [_pattern(command) for command in found.commands]
    return " && ".join(dict.fromkeys(patterns)) if all(patterns) else ""


def _pattern(command: Simple) -> str:
    depths, exactly = cast("dict[str, int]", _tables()["suggest"]), _tables()["exactly"]
    words = command.words
    two = " ".join(words[:2])
    depth = depths.get(two) or depths.get(words[0], 1)
    if two in exactly["subcommands"] or (words[0] in exactly["names"] and two not in depths):
        return ""
    kept = words[:depth]
    if (
        len(kept) < depth
        or any(not _NAME.fullmatch(word) for word in kept)
        or not command.open.isdisjoint(range(depth))
    ):
        return ""
    if any(word.startswith("-") for word in kept[1:]) and two not in depths:
        return ""
    return " ".join([*kept, "*"])


# -- tables ------------------------------------------------------------------------------------------------------


@cache
def _tables() -> dict[str, Json]:
    return tomllib.loads((files("backscroll.act") / "approval.toml").read_text(encoding="utf-8"))


@cache
def _names(table: str) -> frozenset[str]:
    return frozenset(cast("list[str]", _tables()[table]))


def _carrying(name: str) -> list[Mapping[str, Json]]:
    return [
        table for table in cast("list[Mapping[str, Json]]", _tables()["carrying"]) if name in table["names"]
    ]
