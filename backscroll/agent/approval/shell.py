"""Parsing a command line as a shell would, where the result is certain.

Owns a small, strict lexer: a line is either a list of simple commands, each a list of plain words, or in `doubt`. In doubt is
everything that could run or write something that is not visible as a plain word: substitution, redirection into a file, assignments,
subshells, several lines, escapes, commands that run other commands. Wrappers that only run another command (`timeout 30 make`,
`bash -lc "make"`) are removed. Patterns of rules never cover a line in doubt. Refuses: deciding (`agent/approval/approval`),
running (`agent/commands/commands`), the folder a command runs in (`agent/approval/folders`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from posixpath import basename
from typing import cast

from backscroll.agent.approval.wrappers import line_of_shell, match_wrapper
from backscroll.vocab.part import Json

_DEEPEST = 4  # nested shells
#: A redirection that writes no file: to /dev/null, or into the other stream.
_TO_NOWHERE = re.compile(r">(?:&[12]|[ \t]*/dev/null)(?=[ \t;|]|&&|$)")
_SEPARATOR = re.compile(r"&&|\|\||;|\|")
#: Characters with a special meaning outside quotes, and inside double quotes.
_MEANING = frozenset("$`\\(){}&")
_MEANING_QUOTED = frozenset("$`")
#: Input redirection: the operator, and blanks up to the file name.
_FROM_FILE = re.compile(r"<[ \t]*(?=[^\s<>&;|()])")
_COMPLETED = frozenset("*?[")  # expanded to file names
_NAME = re.compile(r"[\w./+@%,:-]+")
_BETWEEN = re.compile(r"[\s;|&<>(){}`$\"'=\\]+")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One simple command: its words without quotes; `open` are the positions of those that the shell expands to file names."""

    words: tuple[str, ...]
    open: frozenset[int] = frozenset()
    joined: str = ""  # the operator before it: `&&`, `||`, `;`, `|`; empty: the first
    inputs: tuple[str, ...] = ()  # files on its standard input; open ones are in doubt
    through: tuple[str, ...] = ()  # wrappers that were removed, outermost first
    doubt: str = ""  # why it may run something other than its words say
    opaque: bool = False  # a wrapper gives it other rights or other words than shown

    @property
    def name(self) -> str:
        """The command name without its folder."""
        return basename(self.words[0])


@dataclass(frozen=True, slots=True)
class InnerShell:
    """`sh -c "…"`: a nested shell among the commands of a line."""

    joined: str
    inside: tuple[SimpleCommand | InnerShell, ...]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A parsed command line. With `doubt` (the reason in one word), more may run than it contains."""

    inside: tuple[SimpleCommand | InnerShell, ...]
    doubt: str = ""
    whole: bool = True  # all commands are known, even if one of them is in doubt

    @property
    def commands(self) -> tuple[SimpleCommand, ...]:
        """All simple commands in order, including those of nested shells."""
        return tuple(_flat(self.inside))


def _flat(inside: Sequence[SimpleCommand | InnerShell]) -> Iterator[SimpleCommand]:
    for each in inside:
        if isinstance(each, SimpleCommand):
            yield each
        else:
            yield from _flat(each.inside)


class _UnclearLine(Exception):
    """Raised if the line cannot be parsed with certainty; its text is the reason in one word."""


class _ShellLexer:
    """Splits a line into words, one character at a time."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self.commands: list[SimpleCommand] = []
        self._words: list[str] = []
        self._open: set[int] = set()
        self._word: str | None = None  # None: between words; an empty word came from quotes
        self._bare = True  # no part of the word was quoted
        self._joined = ""
        self._inputs: list[str] = []
        self._is_input = False  # the current word names an input file

    def read(self) -> tuple[SimpleCommand, ...]:
        while self.at < len(self.line):
            self._step(self.line[self.at])
        self._end_command("")
        return tuple(self.commands)

    def _step(self, char: str) -> None:
        if char in " \t":
            self._end_word()
            self.at += 1
        elif char in "'\"":
            self._read_quoted(char)
        elif char == ">":
            self._redirection()
        elif char == "<":
            self._input()
        elif separator := _SEPARATOR.match(self.line, self.at):
            self._end_command(separator[0])
            self.at = separator.end()
        elif char in _MEANING or (char == "#" and self._word is None):
            raise _UnclearLine({"$": "substitution", "`": "substitution"}.get(char, "syntax"))
        else:
            if char in _COMPLETED or (char == "~" and self._word is None):
                if self._is_input:
                    raise _UnclearLine("redirection")
                self._open.add(len(self._words))
            self._word = (self._word or "") + char
            self.at += 1

    def _read_quoted(self, mark: str) -> None:
        inside, end = _single(self.line, self.at) if mark == "'" else _double(self.line, self.at)
        self._word, self._bare = (self._word or "") + inside, False
        self.at = end

    def _input(self) -> None:
        """Handle `< file`; here-documents, descriptor copies and every other use of `<` are in doubt."""
        found = _FROM_FILE.match(self.line, self.at)
        if (
            found is None
            or self._is_input
            or (self._word is not None and self._bare and self._word.isdigit())
        ):
            raise _UnclearLine("redirection")
        self._end_word()
        self._is_input = True
        self.at = found.end()

    def _redirection(self) -> None:
        found = _TO_NOWHERE.match(self.line, self.at)
        if found is None:
            raise _UnclearLine("redirection")
        if self._is_input:
            raise _UnclearLine("redirection")
        if self._word in ("1", "2") and self._bare:
            self._word = None  # a descriptor number, not a word
        self._end_word()
        self.at = found.end()

    def _end_word(self) -> None:
        if self._word is not None:
            (self._inputs if self._is_input else self._words).append(self._word)
        self._word, self._bare, self._is_input = None, True, False

    def _end_command(self, separator: str) -> None:
        self._end_word()
        if not self._words:
            raise _UnclearLine("syntax")
        made = SimpleCommand(tuple(self._words), frozenset(self._open), self._joined, tuple(self._inputs))
        self.commands.append(made)
        self._words, self._open, self._inputs, self._joined = [], set(), [], separator


def _single(line: str, at: int) -> tuple[str, int]:
    """Return the text in single quotes, and where they end."""
    end = line.find("'", at + 1)
    if end < 0:
        raise _UnclearLine("quotes")
    return line[at + 1 : end], end + 1


def _double(line: str, at: int) -> tuple[str, int]:
    """Return the same for double quotes: a backslash escapes four characters, and is literal before all others."""
    out, at = "", at + 1
    while at < len(line):
        char = line[at]
        if char == '"':
            return out, at + 1
        if char in _MEANING_QUOTED:
            raise _UnclearLine("substitution")
        if char == "\\":
            if at + 1 == len(line):
                break
            following = line[at + 1]
            out += following if following in '$`"\\' else char + following
            at += 2
        else:
            out += char
            at += 1
    raise _UnclearLine("quotes")


def read(line: str) -> CommandLine:
    """Parse a line into simple commands with wrappers removed, or into doubt."""
    return _read(line, (), (), 0)


def _read(line: str, through: tuple[str, ...], inputs: tuple[str, ...], depth: int) -> CommandLine:
    line = line.strip(" \t\n")
    if any(not (c == "\t" or c.isprintable()) for c in line):
        return CommandLine(
            (), "characters", whole=False
        )  # line ends, control characters, blanks that a shell does not treat as blanks
    try:
        written = _ShellLexer(line).read()
    except _UnclearLine as doubt:
        return CommandLine((), str(doubt), whole=False)
    inside: list[SimpleCommand | InnerShell] = []
    doubts: list[str] = []
    whole = True
    for each in written:
        bare = _unwrap_command(replace(each, through=through, inputs=(*inputs, *each.inputs)))
        inner = None if bare.opaque or bare.open or depth >= _DEEPEST else line_of_shell(bare.words)
        if inner is None:
            bare = replace(bare, doubt="carrier" if bare.opaque else _doubtful(bare))
            inside.append(bare)
            doubts.append(bare.doubt)
        else:
            found = _read(inner, (*bare.through, bare.name), bare.inputs, depth + 1)
            inside.append(InnerShell(bare.joined, found.inside))
            doubts.append(found.doubt)
            whole = whole and found.whole
    return CommandLine(tuple(inside), next(filter(None, doubts), ""), whole)


def _unwrap_command(command: SimpleCommand) -> SimpleCommand:
    """Return a command without its wrappers."""
    for _ in range(_DEEPEST):
        found = match_wrapper(command.words)
        if found is None or not command.open.isdisjoint(range(found[0])):
            break
        taken, name, opaque = found
        command = replace(
            command,
            words=command.words[taken:],
            open=frozenset(place - taken for place in command.open),
            through=(*command.through, name),
            opaque=command.opaque or opaque,
        )
    return command


def _doubtful(command: SimpleCommand) -> str:
    """Return why a command of plain words may still run something else; empty if it does not."""
    first = command.words[0]
    if 0 in command.open or not _NAME.fullmatch(first):
        return "assignment" if "=" in first else "name"
    if first in _names("reserved"):
        return "syntax"
    if command.name in _names("carriers"):
        asks_only = command.words[0] == "command" and command.words[1:2] in (("-v",), ("-V",))
        return "" if asks_only else "carrier"
    if any(_has_inner_command(table, command.words) for table in _carrying(command.name)):
        return "carrier"
    return ""


def _has_inner_command(table: Mapping[str, Json], words: Sequence[str]) -> bool:
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


def scan_words(line: str) -> list[tuple[str, ...]]:
    """Return every run of words in a line, up to its end, however it is written: a refused command might hide in a doubtful one."""
    words = [word for word in _BETWEEN.split(line) if word]
    return [(basename(words[n]) or words[n], *words[n + 1 :]) for n in range(len(words))]


# -- tables ------------------------------------------------------------------------------------------------------


@cache
def _tables() -> dict[str, Json]:
    return tomllib.loads((files("backscroll.agent") / "approval.toml").read_text(encoding="utf-8"))


@cache
def _names(table: str) -> frozenset[str]:
    return frozenset(cast("list[str]", _tables()[table]))


def _carrying(name: str) -> list[Mapping[str, Json]]:
    return [
        table for table in cast("list[Mapping[str, Json]]", _tables()["carrying"]) if name in table["names"]
    ]
