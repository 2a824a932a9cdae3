"""Protected files: version control data, Backscroll's own files, and keys.

Owns the patterns (`protected.toml`, and those of the caller) and matching paths against them, in any case or look-alike
spelling. No disk access (`files` checks the given path and the resolved one).
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from backscroll.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class GuardPattern:
    """Consecutive names in a path, and the reason for their protection."""

    parts: tuple[re.Pattern[str], ...]
    why: str
    anchored: bool = False  # only at the top of the folder

    def fits(self, parts: Sequence[str]) -> bool:
        """Return True if this pattern protects the path or a folder above it."""
        last = len(parts) - len(self.parts)
        starts = range(min(last, 0) + 1) if self.anchored else range(last + 1)
        return any(
            all(p.match(parts[at + n]) for n, p in enumerate(self.parts)) for at in starts if last >= at
        )


class Guard:
    """The protected files of one folder.

    `protected` adds to the usual ones: patterns as in `protected.toml`, with `./` in front for the top of the folder only, or
    whole paths (of a store, of a folder of snapshots), which protect what lies there, inside, and beside it with `-` added.
    """

    def __init__(self, root: Path, protected: Sequence[str] = ()) -> None:
        usual, self._harmless = _load_patterns()
        own = [p for given in protected if (p := _own(root, given)) is not None]
        self._patterns = (*own, *usual)
        self._exact = len(own)  # the first ones have no exceptions
        # Most names match no pattern: one check suffices.
        self._any = re.compile("|".join(f"(?:{p.parts[0].pattern})" for p in self._patterns), re.DOTALL)

    def why(self, path: str) -> str:
        """Return why a path (inside the folder, or a whole one) is protected; empty if it is not."""
        parts = [fold_name(part) for part in path.split("/") if part not in ("", ".")]
        if not any(self._any.match(part) for part in parts):
            return ""
        for n, pattern in enumerate(self._patterns):
            if pattern.fits(parts) and (n < self._exact or not self._is_harmless(pattern, parts)):
                return pattern.why
        return ""

    def is_suspect(self, name: str) -> bool:
        """Return False if a folded name occurs in no protected path."""
        return bool(self._any.match(name))

    def check(self, path: str) -> None:
        """Raise `InvalidInput` for a protected path."""
        if reason := self.why(path):
            raise InvalidInput(
                f"{escape_path(path)} is protected: {reason}",
                hint="tools cannot read or write it; open it in an editor",
                path=path,
            )

    def _is_harmless(self, pattern: GuardPattern, parts: Sequence[str]) -> bool:
        """Return True if the last name looks protected only to this pattern, and is known not to be."""
        return any(h.match(parts[-1]) for h in self._harmless) and not pattern.fits(parts[:-1])


@lru_cache(maxsize=4096)
def fold_name(name: str) -> str:
    """Fold a name like lenient file systems: no case, no invisible characters, no trailing dots or spaces."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    visible = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", visible.split("::")[0].rstrip(" .") or visible)


def escape_path(path: str) -> str:
    """Escape a path for display: terminal control characters and bytes that are not text."""
    return "".join(
        c if c.isprintable() and not "\ud800" <= c <= "\udfff" else c.encode("unicode_escape").decode("ascii")
        for c in path
    )


def _own(root: Path, given: str) -> GuardPattern | None:
    if not given.startswith("/"):
        anchored = given.startswith("./")
        parts = [part for part in given.split("/") if part not in ("", ".", "**")]
        return GuardPattern(compile_patterns(parts), "it was named as protected", anchored) if parts else None
    place = Path(given)
    if place.is_relative_to(root) and place != root:
        place = place.relative_to(root)
    parts = [re.escape(fold_name(part)) for part in place.parts if part != "/"]
    if not parts:
        return None
    whole = (*(f"{part}$" for part in parts[:-1]), f"{parts[-1]}(-.*)?$")
    return GuardPattern(
        tuple(re.compile(part, re.DOTALL) for part in whole), "it belongs to Backscroll", True
    )


def compile_patterns(parts: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Return names with `*` and `?`, ready to be compared with folded ones."""
    return tuple(re.compile(translate(fold_name(part))) for part in parts)


@lru_cache(maxsize=1)
def _load_patterns() -> tuple[tuple[GuardPattern, ...], tuple[re.Pattern[str], ...]]:
    text = files("backscroll.workspace").joinpath("protected.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    harmless = compile_patterns(data.pop("harmless")["names"])
    patterns = tuple(
        GuardPattern(compile_patterns(name.split("/")), str(group["why"]))
        for group in data.values()
        for name in group["names"]
    )
    return patterns, harmless
