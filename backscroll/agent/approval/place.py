"""The place a rule applies to: a folder, inside or outside the sandbox.

`run_command(make test *)` applies to the working folder itself; `in web: npm test *` to a folder in it (`in web/**:` to all below,
`in **:` to any); `sandboxed: npm *` applies only inside a sandbox, and `outside: git push *` lets a command leave it. Owns how
that is written in front of a pattern, and comparing it. An allow rule is narrow: without a place it means the working folder, and
never outside of a sandbox. A deny rule is wide: without a place it means everywhere. Refuses: the patterns themselves
(`agent/approval/rules`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import normalize

from backscroll.agent.approval.wildcards import fits_parts
from backscroll.errors import InvalidInput

EXACTLY = "="
#: `in` is a reserved word of the shell: no command line begins with it.
_FRONT = re.compile(
    r"(?:(?P<held>sandboxed|outside)(?P<both> in (?P<there>\"[^\"]*\"|'[^']*'|[^:]+))?"
    r"|in (?P<folder>\"[^\"]*\"|'[^']*'|[^:]+)):(?:\s+(?P<rest>.*))?",
    re.DOTALL,
)
_WILD = frozenset("*?")


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """Where a command runs, or where a rule applies."""

    held: str = ""  # sandboxed, outside; empty: there is no sandbox, or the rule says nothing about it
    folder: str = "."  # of a rule: a pattern; relative to the working folder
    said: bool = False  # of a rule: it names a folder

    def allows(self, at: CommandPlace) -> bool:
        """Return True if an allow rule applies at a place."""
        holds = {
            "": at.held != "outside",
            "sandboxed": at.held == "sandboxed",
            "outside": at.held != "sandboxed",
        }
        return holds[self.held] and fits_folder(self.folder, at.folder)

    def catches(self, at: CommandPlace) -> bool:
        """Return True if a deny (or ask) rule applies at a place."""
        holds = {"": True, "sandboxed": at.held == "sandboxed", "outside": at.held != "sandboxed"}
        return holds[self.held] and (
            not self.said or fits_folder(self.folder.casefold(), at.folder.casefold())
        )

    @property
    def can_be_written(self) -> bool:
        """False for a folder whose name a pattern cannot express."""
        return not (_WILD & set(self.folder)) and not ('"' in self.folder and "'" in self.folder)


@lru_cache(maxsize=1024)
def where_of(pattern: str) -> tuple[CommandPlace, str]:
    """Split a pattern into its place and the rest."""
    found = _FRONT.fullmatch(pattern.strip())
    if found is None:
        return CommandPlace(), pattern
    folder = found["folder"] or found["there"]
    rest = (found["rest"] or "").strip()
    if folder is None:
        return CommandPlace(found["held"] or ""), rest
    named = folder.strip()
    if len(named) > 1 and named[0] == named[-1] and named[0] in "'\"":
        named = named[1:-1]
    return CommandPlace(found["held"] or "", _calm(named), said=True), rest


def render_pattern(where: CommandPlace, pattern: str) -> str:
    """Return a pattern with its place in front, as `where_of` reads it."""
    if where.folder == "." and not where.said:
        return f"{where.held}: {pattern}" if where.held else pattern
    if not where.said and not where.can_be_written:
        raise InvalidInput(
            f"no rule can name the folder {where.folder!r}", hint="allow it this once, or rename the folder"
        )
    folder = where.folder
    if re.search(r"[\s:'\"]", folder):
        folder = f'"{folder}"' if '"' not in folder else f"'{folder}'"
    return f"{f'{where.held} ' if where.held else ''}in {folder}: {pattern}"


def _calm(folder: str) -> str:
    return normalize("NFC", folder).strip("/").removeprefix("./") or "."


def fits_folder(pattern: str, folder: str) -> bool:
    """Compare a folder part by part, as file paths are compared; `web/**` is `web` and all below it, `**` is everything."""
    parts = [] if folder == "." else folder.split("/")
    return fits_parts([] if pattern == "." else pattern.split("/"), parts)
