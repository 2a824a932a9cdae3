"""Commands that only read files inside the working folder, none of them protected.

Owns what the listed commands (`approval_looking.toml`) do with each of their words: an unlisted option, a file elsewhere, a
name that the shell may expand to something else, or a program in the folder itself makes it an ordinary command. All words of a
command decide, never the first alone. Refuses: git (`agent/approval/git`), the line (`agent/approval/shell`), deciding (`agent/approval/approval`).
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from backscroll.agent.approval.git import glance_at_git
from backscroll.agent.approval.options import CommandOptions, told_apart
from backscroll.agent.approval.protected_paths import CommandAssessment, ProtectedPaths, UnclearPath, real
from backscroll.agent.approval.shell import SimpleCommand
from backscroll.vocab.part import Json

_BUILTINS = frozenset({"echo", "printf", "pwd", "true", "false", "type", "command"})
#: Lines of a file that `sed` prints: `10,20p`, `5p`, `1p;7p`, `10,$p`.
_PAGES = re.compile(r"(?:\d+|\$)(?:,(?:\d+|\$))?p(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*")
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack"})
_IGNORING = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")


class ReadonlyCommands:
    """Recognises read-only commands in one working folder."""

    def __init__(self, protected: ProtectedPaths) -> None:
        self.protected = protected

    def glance(self, command: SimpleCommand, folder: str | None) -> CommandAssessment:
        """Return what a simple command does in a folder; None: the folder is unknown."""
        words = self._expand_words(command, folder)
        named = self._find_protected(command, words, folder)
        if folder is None or words is None or not self.protected.is_inside(".", folder):
            return CommandAssessment(False, named)
        if words[0] == "git":
            found = glance_at_git(words, command.open, folder, self.protected)
        else:
            found = self._look_up_command(words, folder)
        trusted = all(self._is_trusted(name) for name in (words[0], *command.through))
        if found is None or not trusted or command.opaque:
            return CommandAssessment(False, named or self._check_search_scope(words, folder))
        if found.protected:
            return found
        if why := self.protected.in_words(command.inputs, folder):
            return CommandAssessment(False, why)
        inside = all(self.protected.is_inside(path, folder) for path in command.inputs)
        return CommandAssessment(found.looks and inside)

    def _expand_words(self, command: SimpleCommand, folder: str | None) -> list[str] | None:
        """Return the words as the program receives them; None if that cannot be determined."""
        out: list[str] = []
        for place, word in enumerate(command.words):
            if place not in command.open:
                out.append(word)
                continue
            if word.startswith("~") or folder is None or place == 0:
                return None
            try:
                names = self.protected.expand_wildcards(word, folder)
            except UnclearPath:
                return None
            if not all(self.protected.is_inside(name, folder) for name in names):
                return None  # even the names of files elsewhere are not shown
            out += names or [word]
        return out

    def _find_protected(self, command: SimpleCommand, words: Sequence[str] | None, folder: str | None) -> str:
        """Return the protected path among the words, whatever the command does with it."""
        given = [*command.words[1:], *(words or ())[1:], *command.inputs]
        first = [command.words[0]] if "/" in command.words[0] else []
        return self.protected.in_words(dict.fromkeys([*first, *given]), folder)

    def _is_trusted(self, name: str) -> bool:
        """Return False if a program of this name is or may be in the working folder: an agent may have written it."""
        if name in _BUILTINS:
            return f"BASH_FUNC_{name}%%" not in os.environ
        path = os.environ.get("PATH", os.defpath)
        root = self.protected.root
        if root is None or any(not entry.startswith("/") for entry in path.split(os.pathsep)):
            return False
        found = shutil.which(name, path=path)
        places = [] if found is None else [Path(found), Path(real(found))]
        return f"BASH_FUNC_{name}%%" not in os.environ and not any(p.is_relative_to(root) for p in places)

    # -- listed commands -------------------------------------------------------------------------------------

    def _look_up_command(self, words: Sequence[str], folder: str) -> CommandAssessment | None:
        """Return what a listed command does; None if it, or one of its options, is not listed."""
        table = _table(words[0])
        if table is None:
            return None
        what = str(table["what"])
        if table.get("free"):
            return CommandAssessment(True)
        if what == "find":
            return self._find(table, words[1:], folder)
        told = told_apart(table, words[1:])
        if told is None or len(told.others) > int(cast("int", table.get("most", len(told.others)))):
            return None
        kinds: Mapping[str, Callable[[], CommandAssessment | None]] = {
            "files": lambda: self._files(told.others, folder, folders=bool(table.get("folders"))),
            "names": lambda: self._files(told.others, folder, folders=True, contents=False),
            "text": lambda: CommandAssessment(True),
            "none": lambda: None if told.others else CommandAssessment(True),
            "date": lambda: (
                CommandAssessment(True) if all(word.startswith("+") for word in told.others) else None
            ),
            "pages": lambda: self._pages(told, folder),
            "search": lambda: self._search(told, folder),
            "tree": lambda: self._tree(told, folder),
        }
        return kinds[what]()

    def _files(
        self, paths: Sequence[str], folder: str, *, folders: bool, contents: bool = True
    ) -> CommandAssessment | None:
        """Check files that are read, or only looked up: all must be inside, and none protected."""
        for path in paths:
            if path in ("-", "/dev/null"):
                continue
            if why := self.protected.why(path, folder, hidden=not contents):
                return CommandAssessment(False, f"{path}: {why}")
            if not self.protected.is_inside(path, folder):
                return None
            if not folders and Path(self.protected.whole(path, folder)).is_dir():
                return None
        return CommandAssessment(True)

    def _find(self, table: Mapping[str, Json], words: Sequence[str], folder: str) -> CommandAssessment | None:
        tests, valued = cast("list[str]", table["tests"]), cast("list[str]", table["valued_tests"])
        left, places = list(words), list[str]()
        while left and not left[0].startswith("-") and left[0] != "!":
            places.append(left.pop(0))
        while left:
            word = left.pop(0)
            if word in valued and left:
                left.pop(0)
            elif word not in tests:
                return None
        return self._files(places, folder, folders=True, contents=False)

    def _pages(self, told: CommandOptions, folder: str) -> CommandAssessment | None:
        if not told.has("-n") or not told.others or not _PAGES.fullmatch(told.others[0]):
            return None
        return self._files(told.others[1:], folder, folders=False)

    # -- searches --------------------------------------------------------------------------------------------

    def _search(self, told: CommandOptions, folder: str) -> CommandAssessment | None:
        """Check `grep`: of files, or with -r of everything below folders, hidden files too."""
        paths = told.others if told.has("-e", "--regexp") else told.others[1:]
        if not told.others and not told.has("-e", "--regexp"):
            return None
        if not told.has("-r", "--recursive"):
            return self._files(paths, folder, folders=True)
        include, exclude = told.values("--include"), told.values("--exclude")
        passed = told.values("--exclude-dir")

        def reaches(path: str) -> bool:
            *above, name = path.split("/")
            return not (
                (include and not any(fnmatchcase(name, glob) for glob in include))
                or (not include and any(fnmatchcase(name, glob) for glob in exclude))
                or any(fnmatchcase(part, glob) for part in above for glob in passed)
            )

        return self._below(paths or ["."], folder, reaches)

    def _tree(self, told: CommandOptions, folder: str) -> CommandAssessment | None:
        """Check `rg`: everything below folders except hidden and ignored files, unless an option includes them."""
        listing = told.has("--files", "--type-list")
        texts = listing or told.has("-e", "--regexp")
        if not texts and not told.others:
            return None
        paths = (told.others if texts else told.others[1:]) or ["."]
        if told.has("--files", "--type-list"):
            return self._files(paths, folder, folders=True)
        globs = told.values("-g", "--glob", "--iglob")
        chosen = [glob for glob in globs if not glob.startswith("!")]
        every = bool(told.values("-t", "--type")) or "RIPGREP_CONFIG_PATH" in os.environ or bool(chosen)

        def reaches(path: str) -> bool:
            if chosen and not any(_may_choose(glob, path) for glob in chosen):
                return False
            hidden = any(part.startswith(".") for part in path.split("/"))
            return every or not hidden or self._is_let_in(path, paths, folder)

        return self._below(paths, folder, reaches)

    def _below(
        self, paths: Sequence[str], folder: str, reaches: Callable[[str], bool]
    ) -> CommandAssessment | None:
        found = self._files(paths, folder, folders=True)
        if found is None or not found.looks:
            return found
        try:
            for path in paths:
                if path != "-" and (why := self.protected.in_search(path, folder, reaches)):
                    return CommandAssessment(False, why)
        except UnclearPath:
            return None
        return CommandAssessment(True)

    def _is_let_in(self, path: str, paths: Sequence[str], folder: str) -> bool:
        """Return True if an ignore file re-includes a hidden file (`!.env`), which `rg` obeys."""
        assert self.protected.root is not None
        parts = path.split("/")
        for top in paths:
            start = Path(real(self.protected.whole(top, folder)))
            places = [start.joinpath(*parts[:n]) for n in range(len(parts))]
            above = [p for p in start.parents if p.is_relative_to(self.protected.root)]
            for place in (*places, *above):
                for name in _IGNORING:
                    if any(
                        _may_choose(line[1:], path) for line in _lines(place / name) if line.startswith("!")
                    ):
                        return True
        return False

    def _check_search_scope(self, words: Sequence[str], folder: str) -> str:
        """Return the protected file that a search in an unparsed form would show: everything below the folders it names counts."""
        if words[0] not in _SEARCHERS:
            return ""
        if words[0].endswith("grep") and not any(_is_recursive(word) for word in words):
            return ""
        named = [w for w in words[1:] if Path(self.protected.whole(w, folder)).is_dir()] or ["."]
        try:
            found = (
                self.protected.in_search(path, folder)
                for path in named
                if self.protected.is_inside(path, folder)
            )
            return next((why for why in found if why), "")
        except UnclearPath:
            return ""


def _is_recursive(word: str) -> bool:
    return word in ("--recursive", "--dereference-recursive") or bool(re.match(r"-[A-Za-z]*[rR]", word))


def _may_choose(glob: str, path: str) -> bool:
    """Return True if a pattern of an ignore file may match a path: wide, by any of its parts."""
    wanted = [part for part in glob.strip().lstrip("!").strip("/").casefold().split("/") if part]
    parts = path.casefold().split("/")
    if any(set("{}[]\\") & set(part) for part in wanted):
        return True
    return not wanted or any(fnmatchcase(part, wanted[-1]) or fnmatchcase(part, wanted[0]) for part in parts)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


@cache
def _tables() -> dict[str, Json]:
    return tomllib.loads((files("backscroll.agent") / "approval_looking.toml").read_text(encoding="utf-8"))


def _table(name: str) -> Mapping[str, Json] | None:
    return cast("Mapping[str, Json] | None", _tables().get(name))
