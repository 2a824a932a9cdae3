"""Git commands that only read, and the files they would show.

Owns the subcommands and options (`approval_git.toml`), the settings with which a repository makes git run programs when it only
reads, and asking git itself, in isolation, which files a patch would show: `git diff` is fine until it includes a `.env`. Where any of
that cannot be determined, the user is asked. Refuses: other commands (`agent/approval/readonly_commands`).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from posixpath import join, normpath
from typing import cast

from backscroll.agent.approval.options import CommandOptions, told_apart
from backscroll.agent.approval.protected_paths import CommandAssessment, ProtectedPaths
from backscroll.errors import BackscrollError
from backscroll.vocab.part import Json
from backscroll.workspace.git.git import run_git

_SECONDS = 5.0
_QUIET = ("--no-pager", "-P", "--no-optional-locks")
#: Options that replace the contents in a log or a diff by a summary.
_BRIEF = (
    "--stat",
    "--numstat",
    "--shortstat",
    "--name-only",
    "--name-status",
    "--summary",
    "-s",
    "--no-patch",
    "--compact-summary",
    "--dirstat",
    "--raw",
    "--quiet",
)
_SHOWING = (
    "-p",
    "-u",
    "--patch",
    "-U",
    "--unified",
    "--patch-with-stat",
    "--word-diff",
    "--color-words",
    "--function-context",
    "--binary",
    "-R",
    "--full-index",
)
_RANGE = re.compile(r"\.\.\.?")
_LINK = b"160000 "


def glance_at_git(
    words: Sequence[str], opened: frozenset[int], folder: str, protected: ProtectedPaths
) -> CommandAssessment | None:
    """Return what a git command does in a folder; None if that cannot be determined."""
    rest = list(words[1:])
    while rest and rest[0] in _QUIET:
        rest.pop(0)
    if rest == ["--version"]:
        return CommandAssessment(True)
    table, taken = _subcommand(rest)
    told = None if table is None else told_apart(table, rest[taken:])
    if table is None or told is None or protected.root is None or opened & {0, 1}:
        return None
    if why := protected.in_words(rest[taken:], folder) if table["what"] != "search" else "":
        return CommandAssessment(False, why)
    try:
        looked = _CommandRepository(protected, folder)
        if not looked.is_plain():
            return None
        shown = looked.find_exposed_file(table, told, rest[0])
    except (BackscrollError, OSError, ValueError):
        return None
    if shown is None:
        return None
    return CommandAssessment(not shown, shown)


def _subcommand(rest: Sequence[str]) -> tuple[Mapping[str, Json] | None, int]:
    """Return the table of a subcommand, and how many words its name takes."""
    for taken in (2, 1):
        found = _tables().get(" ".join(rest[:taken])) if len(rest) >= taken else None
        if isinstance(found, dict):
            return cast("Mapping[str, Json]", found), taken
    return None, 0


class _CommandRepository:
    """The repository that a git command would find from a folder."""

    def __init__(self, protected: ProtectedPaths, folder: str) -> None:
        assert protected.root is not None
        self.protected = protected
        self.folder = folder
        self.root = protected.root
        self.place = protected.root / folder

    def ask(self, *arguments: str, check: bool = True) -> bytes:
        """Return git's answer, without any settings and running nothing; pathspecs mean what they mean to the command."""
        return run_git(
            arguments,
            cwd=self.place,
            seconds=_SECONDS,
            check=check,
            hooks=arguments[0] == "rev-parse",
            environment={"GIT_LITERAL_PATHSPECS": "0"},
        ).out

    def is_plain(self) -> bool:
        """Return True if reading runs no program chosen by the repository: settings, hooks, modules, variables."""
        allowed = set(cast("list[str]", _tables()["variables"]))
        if any(n.startswith("GIT_") and n not in allowed for n in os.environ) or not self.place.is_dir():
            return False
        settings = self.ask("config", "--list", "--local", "--includes", "-z") + self.ask(
            "config", "--list", "--worktree", "--includes", "-z", check=False
        )
        for record in settings.split(b"\0"):
            name, _, value = os.fsdecode(record).partition("\n")
            if _programs().fullmatch(name) and not (name == "core.fsmonitor" and value in ("false", "")):
                return False
        top = Path(os.fsdecode(self.ask("rev-parse", "--show-toplevel").rstrip(b"\n")))
        hook = Path(os.fsdecode(self.ask("rev-parse", "--git-path", "hooks/post-index-change").rstrip(b"\n")))
        if not top.is_relative_to(self.root) and not self.root.is_relative_to(top):
            return False
        return not (self.place / hook).exists() and _LINK not in self.ask(
            "ls-files", "-s", "--full-name", "-z", str(top)
        )

    # -- which files are shown -------------------------------------------------------------------------------

    def find_exposed_file(
        self, table: Mapping[str, Json], told: CommandOptions, subcommand: str
    ) -> str | None:
        """Return the protected file that would be shown; empty if there is none; None if that cannot be determined."""
        what = str(table["what"])
        if any("%G" in value for value in told.values("--format", "--pretty")):
            return None  # a signature is checked by a program
        if what == "none":
            return None if told.others else ""
        if what == "list":
            lists = cast("list[str]", table["lists"])
            return "" if not told.others or told.has(*lists) else None
        if what == "revisions":
            return ""
        if what == "names":
            return "" if self._inside(told.others) else None
        if what == "search":
            return self._find_in_grep(told)
        if what == "lines":
            return self._lines(told)
        if what == "patch_of" and any(":" in word for word in told.others):
            return self._files_of(told)
        return self._patch(table, told, subcommand)

    def _patch(self, table: Mapping[str, Json], told: CommandOptions, subcommand: str) -> str | None:
        what = str(table["what"])
        revisions, paths = self._sides(told)
        if revisions is None or not self._inside(paths):
            return None
        brief = told.has(*_BRIEF) if what != "log" else True
        if brief and not told.has(*_SHOWING):
            return ""
        selects = cast("list[str]", table.get("selects", []))
        chosen = [
            f"{name}={value}" if value and name.startswith("--") else f"{name}{value}"
            for name, value in told.options
            if name in selects
        ]
        chosen += [name for name, _ in told.options if re.fullmatch(r"-\d+", name)]
        also = [] if subcommand == "diff" else ["--format=", "-m"]
        names = self.ask(
            subcommand,
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=all",
            *also,
            *chosen,
            *revisions,
            "--",
            *paths,
        )
        return self._find_hidden(names)

    def _sides(self, told: CommandOptions) -> tuple[list[str] | None, list[str]]:
        """Return the commits and the paths among the words; None for the commits if a word may be something else."""
        before = told.others if told.divided < 0 else told.others[: told.divided]
        paths = [] if told.divided < 0 else told.others[told.divided :]
        revisions: list[str] = []
        for word in before:
            if told.divided < 0 and os.path.lexists(self.protected.whole(word, self.folder)):
                paths.append(word)
            elif told.divided < 0 and paths:
                return None, []  # a word after a path that is not itself a path
            elif all(self._is_commit(side) for side in _RANGE.split(word) if side):
                revisions.append(word)
            else:
                return None, []
        return revisions, paths

    def _is_commit(self, name: str) -> bool:
        """Return True if a name is a commit; the name of a blob would show its content without a path."""
        if name.startswith(("-", ":")) or ":" in name or re.search(r"\^[@!{-]", name):
            return False
        return bool(
            self.ask(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", check=False
            )
        ) and self._is_no_blob(name)

    def _is_no_blob(self, name: str) -> bool:
        return self.ask("cat-file", "-t", name, check=False).strip() in (b"commit", b"tag")

    def _files_of(self, told: CommandOptions) -> str | None:
        """Check `git show HEAD:src/a.py`: files as they were, named one by one."""
        for word in told.others:
            revision, _, path = word.partition(":")
            if not revision or not path or not self._is_commit(revision) or path.startswith("/"):
                return None
            for base in ("", self.folder):  # relative to the top, or with ./ in front to this folder
                if why := self.protected.why(normpath(join(base, path))):
                    return f"{path}: {why}"
        return ""

    def _lines(self, told: CommandOptions) -> str | None:
        *revisions, path = told.others or [""]
        if not path or not self._inside([path]) or not all(map(self._is_commit, revisions)):
            return None
        return ""

    def _find_in_grep(self, told: CommandOptions) -> str | None:
        """Check `git grep`: tracked files, only as they are now."""
        paths = told.others if told.has("-e") else told.others[1:]
        if not self._inside(paths) or (not told.others and not told.has("-e")):
            return None
        if not all(os.path.lexists(self.protected.whole(path, self.folder)) for path in paths):
            return None
        if why := self.protected.in_words(paths, self.folder):
            return why
        return self._find_hidden(self.ask("ls-files", "-z", "--full-name", "--", *paths))

    def _find_hidden(self, names: bytes) -> str | None:
        """Return the first of some names, relative to the repository's top, that must not be shown."""
        top = os.fsdecode(self.ask("rev-parse", "--show-toplevel").rstrip(b"\n"))
        for name in {os.fsdecode(each.strip(b"\n")) for each in names.split(b"\0")} - {""}:
            path = Path(normpath(join(top, name)))
            if not path.is_relative_to(self.root):
                return None
            told = path.relative_to(self.root).as_posix()
            if self.protected.is_hidden(told):
                return f"{told}: {self.protected.why(told)}"
        return ""

    def _inside(self, paths: Sequence[str]) -> bool:
        """Return False for paths that lead out, and for pathspecs with a special meaning."""
        return all(not path.startswith(":") and self.protected.is_inside(path, self.folder) for path in paths)


@cache
def _programs() -> re.Pattern[str]:
    return re.compile(
        "|".join(f"(?:{text})" for text in cast("list[str]", _tables()["programs"])), re.IGNORECASE
    )


@cache
def _tables() -> dict[str, Json]:
    return tomllib.loads((files("backscroll.agent") / "approval_git.toml").read_text(encoding="utf-8"))
