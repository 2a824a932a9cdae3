"""Resolve a path one folder at a time, so that it cannot leave its root.

Owns opening each folder relative to the one before, without letting the system follow links (links are read and followed
here, within the same bounds): a link swapped in between check and use has no effect. Reading and writing: `files`.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from backscroll.errors import BackscrollError, Conflict, InvalidInput, NotFound
from backscroll.workspace.files.guard import Guard, escape_path
from backscroll.workspace.files.open_flags import CLOEXEC, DIRECTORY, NOFOLLOW

_FOLDER = os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC
_LINKS = 40  # links on the way to one file; more are a cycle
_DEEPEST = 200  # nested folders, all of them open during a walk
_LONGEST = 4096  # bytes of a path
_STAY = "only files inside the workspace can be touched; give a path relative to it"


@dataclass(frozen=True, slots=True)
class OpenPath:
    """A resolved path: a name in an open folder. Valid while its `with` block runs."""

    folder: int  # descriptor of the folder
    name: str  # name in it; empty: the folder itself
    path: str  # normalized: relative to the root, or absolute in an allowed folder elsewhere
    status: os.stat_result | None  # None: nothing exists at this name
    made: tuple[str, ...] = ()  # folders created on the way

    @property
    def kind(self) -> str:
        """`file`, `folder`, `link`, `special`, or empty if nothing exists."""
        return kind_of(self.status)


def kind_of(status: os.stat_result | None) -> str:
    """Return the kind of file of a status."""
    if status is None:
        return ""
    if stat.S_ISREG(status.st_mode):
        return "file"
    if stat.S_ISDIR(status.st_mode):
        return "folder"
    return "link" if stat.S_ISLNK(status.st_mode) else "special"


class Walker:
    """Finds files under a root and in allowed folders elsewhere."""

    def __init__(self, root: Path, guard: Guard, outside: Sequence[Path] = ()) -> None:
        self.guard = guard
        # The folder as named and as resolved: an agent may write either.
        self._roots: dict[Path, Path] = {root.absolute(): root.resolve(), root.resolve(): root.resolve()}
        for folder in outside:
            self._roots.setdefault(folder.absolute(), folder.resolve())
            self._roots.setdefault(folder.resolve(), folder.resolve())
        self.root = root.resolve()

    @contextmanager
    def at(self, path: str | Path, *, follow: bool = True, make: bool = False) -> Generator[OpenPath]:
        """Open the place of a path. `follow`: also follow a link as the last part. `make`: create missing folders."""
        asked = os.fspath(path)
        _check_text(asked)
        self.guard.check(self.relative(asked))
        with ExitStack() as opened, translate_errors(asked):
            walk = _PathWalk(self, asked, opened, follow=follow, make=make)
            try:
                yield walk.go()
            except BaseException:
                walk.unmake()
                raise

    def relative(self, path: str) -> str:
        """Return an absolute path inside the root as relative to it; others unchanged."""
        if not path.startswith("/"):
            return path
        for named, real in self._roots.items():
            if real == self.root and Path(path).is_relative_to(named):
                return Path(path).relative_to(named).as_posix()
        return path

    def start(self, path: str) -> tuple[Path, list[str]]:
        """Return the root of a path, and the names below it."""
        if not path.startswith("/"):
            return self.root, path.split("/")
        best = max(
            (named for named in self._roots if Path(path).is_relative_to(named)),
            key=lambda named: len(named.parts),
            default=None,
        )
        if best is None:
            raise InvalidInput(f"{escape_path(path)} lies outside the workspace", hint=_STAY, path=path)
        return self._roots[best], list(Path(path).relative_to(best).parts)


class _PathWalk:
    """One walk: a stack of open folders, and the remaining names."""

    def __init__(self, walker: Walker, asked: str, opened: ExitStack, *, follow: bool, make: bool) -> None:
        self.walker, self.asked, self.opened, self.follow, self.make = walker, asked, opened, follow, make
        self.links = 0
        self.made: list[tuple[int, str, str]] = []  # where, name, path
        base, self.names = walker.start(asked)
        self._begin(base)

    def _begin(self, base: Path) -> None:
        self.base = base
        self.pile: list[tuple[int, str]] = [(self._open(str(base), None), "")]

    def _open(self, name: str, folder: int | None) -> int:
        # The root itself may be reached through links of its owner; it was resolved before.
        opened = os.open(name, _FOLDER, dir_fd=folder)
        self.opened.callback(os.close, opened)
        return opened

    def go(self) -> OpenPath:
        """Follow every name in turn."""
        while self.names:
            name = self.names.pop(0)
            if name in ("", "."):
                continue
            if name == "..":
                self._up()
                continue
            spot = self._take(name)
            if spot is not None:
                return spot
        folder, _ = self.pile[-1]
        return self._spot(folder, "", os.fstat(folder))

    def unmake(self) -> None:
        """Remove the folders created for an operation that failed."""
        for folder, name, _ in reversed(self.made):
            with suppress(OSError):  # not empty any more: it stays
                os.rmdir(name, dir_fd=folder)

    def _up(self) -> None:
        if len(self.pile) == 1:
            raise InvalidInput(
                f"{escape_path(self.asked)} leads out of the workspace", hint=_STAY, path=self.asked
            )
        self.pile.pop()

    def _take(self, name: str) -> OpenPath | None:
        """Process one name: enter a folder, replace a link by its target; the last name is the result."""
        if len(self.pile) > _DEEPEST:
            raise InvalidInput(f"the path is more than {_DEEPEST} folders deep", hint="give a shorter one")
        folder = self.pile[-1][0]
        name, status = _find_entry(folder, name)
        last = not any(part not in ("", ".") for part in self.names)
        if status is None:
            if last:
                return self._missing(folder, name)
            return self._enter_new(folder, name)
        if stat.S_ISLNK(status.st_mode) and (self.follow or not last):
            self._link(folder, name)
            return None
        if stat.S_ISDIR(status.st_mode):
            self.pile.append((self._open(name, folder), name))
            return None
        if not last or (self.names and self.asked.endswith("/")):
            here = self._path(name)
            raise InvalidInput(
                f"{escape_path(here)} is not a folder", hint="look with list_files", path=self.asked
            )
        return self._spot(folder, name, status)

    def _link(self, folder: int, name: str) -> None:
        self.links += 1
        if self.links > _LINKS:
            raise InvalidInput(
                f"{escape_path(self.asked)} is a link that leads in a circle", hint="name the file itself"
            )
        target = os.readlink(name, dir_fd=folder)
        if target.startswith("/"):
            try:
                base, names = self.walker.start(target)
            except InvalidInput:
                self._leads_out(name, target)
            self._begin(base)
            self.names = [*names, *self.names]
            return
        # A relative link must not leave the root: `_up` would report that, but not that a link caused it.
        depth = len(self.pile) - 1
        for part in target.split("/"):
            depth += -1 if part == ".." else part not in ("", ".")
            if depth < 0:
                self._leads_out(name, target)
        self.names = [*target.split("/"), *self.names]

    def _leads_out(self, name: str, target: str) -> NoReturn:
        raise InvalidInput(
            f"{escape_path(self._path(name))} is a link that leads out of the workspace, to {escape_path(target)}",
            hint=_STAY,
            path=self.asked,
        )

    def _missing(self, folder: int, name: str) -> OpenPath:
        return self._spot(folder, unicodedata.normalize("NFC", name), None)

    def _enter_new(self, folder: int, name: str) -> OpenPath | None:
        name = unicodedata.normalize("NFC", name)
        if ".." in self.names:
            raise InvalidInput(
                f"{escape_path(self.asked)} goes through a folder that is not there",
                hint="write the path without ..",
            )
        if not self.make:
            rest = "/".join([name, *(part for part in self.names if part not in ("", "."))])
            path = self._path(rest)
            self.walker.guard.check(path)
            return OpenPath(folder, "", path, None)
        if not self.made:  # warn only once
            self.walker.guard.check(self._path("/".join([name, *self.names])))
        check_name(name)
        try:
            os.mkdir(name, dir_fd=folder)
            self.made.append((folder, name, self._path(name)))
        except FileExistsError:
            pass  # another process was faster; opening it shows whether it is a folder
        self.pile.append((self._open(name, folder), name))
        return None

    def _spot(self, folder: int, name: str, status: os.stat_result | None) -> OpenPath:
        path = self._path(name) if name else self._path()
        self.walker.guard.check(path)
        return OpenPath(folder, name, path, status, tuple(path for _, _, path in self.made))

    def _path(self, *more: str) -> str:
        inside = "/".join([*(name for _, name in self.pile[1:]), *more])
        if self.base == self.walker.root:
            return inside or "."
        return f"{self.base.as_posix()}/{inside}".rstrip("/")


def _find_entry(folder: int, name: str) -> tuple[str, os.stat_result | None]:
    """Return the entry of a name, which may be stored in another Unicode normal form."""
    try:
        return name, os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        if name.isascii():
            return name, None
    wanted = unicodedata.normalize("NFC", name)
    alike = [entry for entry in os.listdir(folder) if unicodedata.normalize("NFC", entry) == wanted]
    if len(alike) != 1:
        return name, None
    return alike[0], os.lstat(alike[0], dir_fd=folder)


def _check_text(path: str) -> None:
    if not path or path.isspace():
        raise InvalidInput("the path is empty", hint="give a path relative to the workspace")
    if "\0" in path:
        raise InvalidInput(f"{escape_path(path)} holds a NUL character", hint="give the path without it")
    if path == "~" or path.startswith("~/"):
        raise InvalidInput(f"{escape_path(path)} lies outside the workspace", hint=_STAY, path=path)
    try:
        if len(os.fsencode(path)) > _LONGEST or path.count("/") > _DEEPEST * 2:
            raise InvalidInput(
                f"the path is longer than {_LONGEST} bytes, or too deep", hint="give a shorter one"
            )
    except UnicodeEncodeError:
        raise InvalidInput(
            f"{escape_path(path)} contains a lone surrogate and cannot be encoded",
            hint="write the whole character",
        ) from None


def check_name(name: str) -> None:
    """Reject new names that would confuse a terminal or line-based output; existing ones can be used."""
    if any(ord(c) < 0x20 or ord(c) == 0x7F or "\x80" <= c <= "\x9f" for c in name):
        raise InvalidInput(
            f"a new file may not have control characters in its name: {escape_path(name)}",
            hint="leave them out",
        )


def check_new(spot: OpenPath) -> None:
    """Raise if a new file must not have this name."""
    if spot.status is None:
        check_name(spot.name)


_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the disk is read-only",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EISDIR: "it is a folder",
    errno.ENOTEMPTY: "the folder is not empty",
    errno.EMFILE: "too many files are open",
    errno.ETXTBSY: "it is being executed",
}
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EIO}


@contextmanager
def translate_errors(path: str) -> Generator[None]:
    """Turn errors of the operating system into our errors."""
    try:
        yield
    except OSError as error:
        code = error.errno or 0
        if code == errno.ENOENT:
            raise NotFound(
                f"no such file: {escape_path(path)}", hint="look with list_files", path=path
            ) from error
        if code in (errno.ELOOP, errno.ENOTDIR, errno.EEXIST, errno.ESTALE):
            # The path has changed since it was checked.
            raise Conflict(
                f"{escape_path(path)} was modified by another process at the same time",
                hint="nothing was written; read it again",
                path=path,
            ) from error
        why = _REASONS.get(code) or (os.strerror(code) if code else str(error))
        kind = BackscrollError if code in _PASSING else InvalidInput
        raise kind(
            f"{escape_path(path)}: {why}",
            hint="nothing was changed; look at its permissions and the disk",
            path=path,
        ) from error
