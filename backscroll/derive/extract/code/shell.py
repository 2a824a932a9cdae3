"""Shell commands for the coding rules: packages installed and removed, files deleted and moved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from backscroll.derive.extract.code.words import words
from backscroll.vocab.values.pattern import late

_PIECES = late(r"&&|\|\||;|\n|(?<!\|)\|(?!\|)")
_SPEC = late(
    r"(?P<name>@[A-Za-z0-9][\w.-]*/[\w.-]+|[A-Za-z][\w.-]*(?:/[\w.-]+)*)(?:\[[\w,\s-]*\])?(?:(?:==|>=|<=|~=|!=|@|=)\^?~?(?P<version>[\w.*+-]+))?[\w.,<>=!~^*+-]*"
)
_PATHLIKE = late(r"^(?:[.~/]|https?:|git\+|file:)|\.(?:whl|gz|zip|txt|toml|tgz)$")
_HEREDOC = late(r"<<-?\s*['\"]?(\w+)['\"]?")
_WORD = late(r"'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]+")
_LONGEST = 20_000
_FEW = 12
_WORDS = 120  # characters of a word that may name a package


@dataclass(frozen=True, slots=True)
class Package:
    """A package named in a command."""

    name: str
    version: str
    removed: bool


def pieces(command: str) -> list[list[str]]:
    """Return the simple commands of a line, each as words; here-documents are left out."""
    text = command[:_LONGEST]
    heredoc = _HEREDOC.search(text)
    if heredoc:
        text = text[: heredoc.start()]
    out: list[list[str]] = []
    for piece in _PIECES.split(text):
        found = [w.strip("'\"") for w in _WORD.findall(piece)]
        while found and (
            re.fullmatch(r"\w+=\S*", found[0]) or found[0] in ("sudo", "time", "env", "then", "do")
        ):
            found = found[1:]
        if found:
            out.append(found)
    return out


@cache
def _phrases(key: str) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted((tuple(p.split()) for p in words("commands", key)), key=lambda p: (-len(p), p)))


def packages_of(command: str) -> list[Package]:
    """Return packages that a command installs or removes."""
    out: list[Package] = []
    for said in pieces(command):
        for key in ("install", "remove"):
            phrase = next((p for p in _phrases(key) if tuple(said[: len(p)]) == p), None)
            if phrase is not None:
                out += _parse_packages(said[len(phrase) :], removed=key == "remove")
                break
    return out[:_FEW]


def _parse_packages(arguments: list[str], *, removed: bool) -> Iterator[Package]:
    skip = False
    for word in arguments:
        if skip or word.startswith(("-", ">", "<", "2>", "$")):
            skip = not skip and (word in words("commands", "valued") or word.endswith("-url"))
            continue
        found = None if len(word) > _WORDS or _PATHLIKE.search(word) else _SPEC.fullmatch(word)
        if found:
            yield Package(found["name"], found["version"] or "", removed)


def is_telling(command: str) -> bool:
    """Return True for commands whose outcome shows the state of the project."""
    first = command.split(" ")
    return first[0] in words("commands", "telling") or " ".join(first[:2]) in words("commands", "telling")


def files_of(command: str) -> Iterator[tuple[str, str, str]]:
    """Yield files that a command touches: the operation, the path, and the destination of a move."""
    for said in pieces(command):
        program, rest = said[0].rsplit("/", 1)[-1], said[1:]
        if program == "git" and rest[:1] in (["rm"], ["mv"]):
            program, rest = rest[0], rest[1:]
        paths = [w for w in rest if not w.startswith("-") and _is_file(w)]
        if program == "rm":
            yield from (("deleted", path, "") for path in paths[:_FEW])
        elif program == "mv" and len([w for w in rest if not w.startswith("-")]) == 2 and len(paths) == 2:
            yield "moved", paths[0], paths[1]
        elif program == "touch":
            yield from (("created", path, "") for path in paths[:_FEW])
        elif program == "sed" and any(w.startswith("-i") for w in rest) and paths:
            yield "edited", paths[-1], ""


def _is_file(word: str) -> bool:
    """Return True for a path with an extension and without wildcards."""
    return bool(re.search(r"[\w)]\.[A-Za-z0-9]{1,8}$", word)) and not re.search(r"[*?$`{}<>|]|/dev/", word)
