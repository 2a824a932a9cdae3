"""Protected paths: files that always require approval, to read and to write.

Owns which they are (`approval_protected.toml` on top of `workspace/protected.toml`, and our own store and settings), comparing
paths with them as they are written and as they are on disk (links followed), finding them in the words of a command, and in what a
search would go through. Refuses: deciding (`agent/approval/approval`), refusing them to the tools for files
(`workspace/files/guard`).
"""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from posixpath import join, normpath

from backscroll.config import config_file, default_store, permissions_file
from backscroll.workspace.files.guard import Guard, GuardPattern, compile_patterns, escape_path, fold_name

#: Where a word may hold a path behind something else: `--file=.env`, `HEAD:.env`, `@.env`, `if=.env`.
_PIECES = re.compile(r"[=:,@;|&<>()\s\"']+")
_SHORT = re.compile(r"-[A-Za-z](?=.)")
_WILD = re.compile(r"[*?\[]")
_BRACKETS = re.compile(r"\[[^/\[\]]*\]")
_MOST_NAMES = 5_000  # names that a wildcard may expand to
_MOST_FILES = 200_000  # entries that a search may cover before it counts as unknown
_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class CommandAssessment:
    """What is known about a command: that it is read-only, or which protected path it touches; or neither."""

    looks: bool
    protected: str = ""


class UnclearPath(Exception):
    """Raised if a word or a search cannot be resolved; the user is then asked."""


class ProtectedPaths:
    """Protected paths as seen from one working folder; without a folder, paths are only compared as written."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self._ours = _ours(root)
        self._guard = Guard(root or Path("/nowhere"), [str(path) for path in self._ours])

    # -- one path --------------------------------------------------------------------------------------------

    def why(self, path: str, folder: str = ".", *, hidden: bool = False) -> str:
        """Return why a path, relative to a folder, is protected: as it is written, or where it leads; empty if it is not.

        With `hidden`, only if its content may be secret.
        """
        reason = self._explain_by_name(path, hidden=hidden)
        if reason or self.root is None:
            return reason
        whole = real(self.whole(path, folder))
        inside = Path(whole).is_relative_to(self.root)
        told = os.path.relpath(whole, self.root) if inside else whole
        return self._explain_by_name(told, hidden=hidden) or self._of_ours(whole)

    def whole(self, path: str, folder: str = ".") -> str:
        """Return the absolute path, links not followed."""
        given = os.path.expanduser(path)  # noqa: PTH111 - a path with an unknown user name stays as it is
        return given if given.startswith("/") else join(str(self.root or "/nowhere"), folder, given)

    def is_inside(self, path: str, folder: str = ".") -> bool:
        """Return True if a path leads to a place inside the working folder."""
        return self.root is not None and Path(real(self.whole(path, folder))).is_relative_to(self.root)

    def _explain_by_name(self, path: str, *, hidden: bool = False) -> str:
        parts = [fold_name(part) for part in normpath(path).split("/") if part not in ("", ".", "..")]
        return self._guard.why("/".join(parts)) or _why(parts, hidden=hidden)

    def _of_ours(self, whole: str) -> str:
        return "it belongs to Backscroll" if any(Path(whole).is_relative_to(p) for p in self._ours) else ""

    def is_hidden(self, path: str) -> bool:
        """Return True for a file, relative to the working folder, whose content no search may show unasked."""
        parts = [fold_name(part) for part in path.split("/") if part not in ("", ".")]
        return bool(self._guard.why(path) or _why(parts, hidden=True))

    # -- words of a command ----------------------------------------------------------------------------------

    def in_words(self, words: Iterable[str], folder: str | None) -> str:
        """Return the first protected path that the words of a command may name, with the reason; empty if there is none."""
        for word in words:
            for piece in pieces(word):
                for path in self._expand_piece(piece, folder):
                    if why := self.why(path, folder or "."):
                        return f"{escape_path(path)}: {why}"
        return ""

    def _expand_piece(self, piece: str, folder: str | None) -> list[str]:
        if not _WILD.search(piece) or self.root is None or folder is None:
            return [piece]
        try:
            return [piece, *self.expand_wildcards(piece, folder)]
        except UnclearPath:
            return [piece]

    def expand_wildcards(self, word: str, folder: str) -> list[str]:
        """Return all names that a shell may expand a word with `*`, `?` or `[` to, and no fewer. Raises `UnclearPath`."""
        plain = _BRACKETS.sub("?", word)
        if "[" in plain or "]" in plain or self.root is None:
            raise UnclearPath
        whole = word.startswith("/")
        reached = [""] if not whole else ["/"]
        base = "" if whole else join(str(self.root), folder)
        for part in plain.strip("/").split("/"):
            reached = [made for at in reached for made in _matching(base, at, part)]
            if len(reached) > _MOST_NAMES:
                raise UnclearPath
        return reached

    # -- searching -------------------------------------------------------------------------------------------

    def in_search(
        self,
        path: str,
        folder: str,
        reaches: Callable[[str], bool] = lambda _: True,
        *,
        most: int = _MOST_FILES,
    ) -> str:
        """Return the first file below a path whose content a search must not show, among those it `reaches` (relative to the path).

        Raises `UnclearPath` if there is more than can be checked.
        """
        assert self.root is not None
        top = os.path.realpath(self.whole(path, folder))
        end, seen = time.monotonic() + _SECONDS, 0
        for at, folders, names in os.walk(top):
            folders.sort()
            seen += len(names)
            if seen > most or time.monotonic() > end:
                raise UnclearPath
            above = os.path.relpath(at, self.root)
            ours = self._of_ours(at)
            # Most folders contain nothing of interest and lie in none that is: one check per name is enough.
            suspect = names if ours or _is_suspect(above) else [name for name in names if _is_suspect(name)]
            for name in suspect:
                whole, told = join(at, name), normpath(join(above, name))
                if Path(whole).is_symlink() or not (ours or self.is_hidden(told)):
                    continue  # searches do not follow links that they find
                if reaches(os.path.relpath(whole, top)):
                    return f"{escape_path(told)}: {self.why(told) or ours}"
        return ""


def _ours(root: Path | None) -> list[Path]:
    """Return our store and settings, with their folders; if the user works in such a folder, only the files themselves."""
    places = [default_store().parent, permissions_file().parent]
    around = [path for path in places if root is not None and root.is_relative_to(real(str(path)))]
    kept = [path for path in places if path not in around]
    return [Path(real(str(path))) for path in (*kept, default_store(), permissions_file(), config_file())]


def real(path: str) -> str:
    """Return where a path leads, links followed; a path that the system rejects leads nowhere."""
    try:
        return os.path.realpath(path)
    except ValueError:  # a zero byte or a lone surrogate
        return "/nowhere"


def pieces(word: str) -> Iterator[str]:
    """Yield the parts of a word that may be paths."""
    yield word
    short = _SHORT.match(word)
    for text in (word, word[short.end() :]) if short else (word,):
        yield from (piece for piece in _PIECES.split(text) if piece and piece != word)


def _matching(base: str, at: str, part: str) -> list[str]:
    """Return what a part of a pattern expands to at one place reached so far; a leading dot must be written."""
    if not _WILD.search(part):
        return [f"{at}{part}" if not at or at.endswith("/") else f"{at}/{part}"]
    wanted = re.compile(
        "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in part), re.DOTALL
    )
    try:
        names = sorted(each.name for each in Path(join(base, at)).iterdir())
    except OSError:
        return []
    found = [
        n for n in (".", "..", *names) if wanted.fullmatch(n) and (not n.startswith(".") or part[0] == ".")
    ]
    return [f"{at}{n}" if not at or at.endswith("/") else f"{at}/{n}" for n in found]


@lru_cache(maxsize=65536)
def _is_suspect(path: str) -> bool:
    """Return True if some part of a path may be protected: fast, without false negatives."""
    guard, groups = Guard(Path("/nowhere")), _groups()[0]
    parts = [fold_name(part) for part in path.split("/") if part not in ("", ".")]
    firsts = [pattern.parts[0] for patterns, _, _ in groups for pattern in patterns]
    return any(guard.is_suspect(part) or any(first.match(part) for first in firsts) for part in parts)


def _why(parts: Sequence[str], *, hidden: bool = False) -> str:
    """Return why a path matches a protected pattern; with `hidden`, only patterns whose content may be secret."""
    groups, harmless = _groups()
    if not parts or any(each.match(parts[-1]) for each in harmless):
        return ""
    for patterns, why, secret in groups:
        if (secret or not hidden) and any(pattern.fits(parts) for pattern in patterns):
            return why
    return ""


@lru_cache(maxsize=1)
def _groups() -> tuple[tuple[tuple[tuple[GuardPattern, ...], str, bool], ...], tuple[re.Pattern[str], ...]]:
    text = files("backscroll.agent").joinpath("approval_protected.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    harmless = compile_patterns(data.pop("harmless")["names"])
    return tuple(
        (
            tuple(
                GuardPattern(compile_patterns(name.split("/")), str(group["why"])) for name in group["names"]
            ),
            str(group["why"]),
            bool(group.get("hidden")),
        )
        for group in data.values()
    ), harmless
