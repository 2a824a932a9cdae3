"""Find the filters and hooks that a commit would run, and check that the user has approved them.

Owns reading them without running any, and comparable keys for them. A filter in the user's global settings is the user's own.
One in the repository's own settings, and every hook, may have been put there by an agent's command; the caller remembers
which existed before the agent ran (`engine/folder/commits`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from backscroll.errors import Conflict
from backscroll.workspace.git.git import GitFailed, run_git

HOOKS = ("pre-commit", "commit-msg", "post-commit")
_LARGEST_HOOK = 10_000_000
_SHOWN = 200  # characters of a command that an error shows


@dataclass(frozen=True, slots=True)
class GitProgram:
    """A program that git would run."""

    name: str  # `filter.x.clean`, or the name of a hook
    text: str  # the command, or the path of the hook
    key: str  # identifies the program and its content

    @property
    def driver(self) -> str:
        """The name of a filter in attributes."""
        return self.name.removeprefix("filter.").rpartition(".")[0] if self.name.startswith("filter.") else ""


def programs_of(folder: Path) -> list[GitProgram]:
    """Return the filters in the repository's own settings, and its hooks; none without a repository."""
    try:
        return [*_filters(folder), *_hooks(folder)]
    except GitFailed:
        return []


def _filters(folder: Path) -> Iterable[GitProgram]:
    found: dict[str, str] = {}
    # Older versions of git cannot show the origin of a setting, so each source is queried separately.
    for place in ("--local", "--worktree"):
        ran = run_git(
            ["config", place, "--includes", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$"],
            cwd=folder,
            sealed=False,
            check=False,
        )
        for record in ran.out.split(b"\0") if ran.code == 0 else ():
            name, _, text = os.fsdecode(record).partition("\n")
            if name and text:
                found[name] = text
    return [
        GitProgram(name, text, _key(name, text.encode("utf-8", "surrogateescape")))
        for name, text in sorted(found.items())
    ]


def _hooks(folder: Path) -> Iterable[GitProgram]:
    for name in HOOKS:
        ran = run_git(
            ["rev-parse", "--show-toplevel", "--git-path", f"hooks/{name}"],
            cwd=folder,
            sealed=False,
            hooks=True,
            check=False,
        )
        lines = ran.text.split("\n")
        if ran.code or len(lines) != 2:
            return
        script = folder / lines[1]
        try:
            with script.open("rb") as file:
                content = file.read(_LARGEST_HOOK)
        except OSError:
            continue
        if os.access(script, os.X_OK):
            yield GitProgram(name, str(script), _key(name, content))


def _key(name: str, content: bytes) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape") + b"\0" + content).hexdigest()[:32]


def find_untrusted(programs: Iterable[GitProgram], trusted: Collection[str] | None) -> list[GitProgram]:
    """Return the programs that the user has not seen; without a list all of them are trusted."""
    return [] if trusted is None else [program for program in programs if program.key not in trusted]


def switched_off(programs: Sequence[GitProgram]) -> list[str]:
    """Return the settings that disable these filters."""
    drivers = sorted({program.driver for program in programs if program.driver})
    return [
        f"filter.{driver}.{what}"
        for driver in drivers
        for what in ("clean=", "process=", "smudge=", "required=false")
    ]


def refuse(programs: Sequence[GitProgram], used: Collection[str], *, hooks: bool) -> None:
    """Raise if a commit would run one of these: a filter of a used driver, or a hook."""
    would = [p for p in programs if (p.driver in used if p.driver else hooks)]
    if would:
        named = "; ".join(
            f"{p.name} = {p.text[:_SHOWN]}" if p.driver else f"{p.name} ({p.text})" for p in would
        )
        raise Conflict(
            f"the commit would run programs that were set up in this repository since: {named}",
            hint="look at them; `backscroll commit --trust` runs them from now on",
            programs=[program.name for program in would],
        )
