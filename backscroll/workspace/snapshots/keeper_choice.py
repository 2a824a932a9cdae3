"""Choose the snapshot keeper of a folder, and the files that count.

Owns `snapshots_for` (git if it is installed, else hashes), the patterns of `keeping.toml`, and the ignored and tracked files
of the user's own repository, which is only read.
"""

from __future__ import annotations

import functools
import os
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import resources
from pathlib import Path

from backscroll.errors import InvalidInput
from backscroll.workspace.files.guard import Guard
from backscroll.workspace.files.patterns import IgnoreRules, rules_of
from backscroll.workspace.git.git import GitFailed, git_found, git_version, run_git
from backscroll.workspace.snapshots.hash_store import HashKeeper
from backscroll.workspace.snapshots.home import KeeperHome, home_of
from backscroll.workspace.snapshots.scan import (
    Contents,
    FileSelection,
    FolderScanner,
    ignore_files_above,
    no_paths,
    rules_in,
)
from backscroll.workspace.snapshots.shadow import GitKeeper
from backscroll.workspace.snapshots.snapshots import Snapshots


def snapshots_for(
    root: str | Path,
    home: str | Path,
    *,
    key_files: str = "",
    largest: int = 2_000_000,
    left_out: Sequence[str | Path] = (),
    git: bool | None = None,
) -> Snapshots:
    """Return the keeper of snapshots of a folder, in a folder of its own below `home`.

    `key_files`: patterns of the files that count, with spaces between; empty: all that git would keep. `largest`: maximum
    size in bytes of files whose content is kept. `left_out`: files and folders that are Backscroll's own and never counted
    (the store). `git`: False selects the keeper without git, None uses git if it is found.
    """
    folder = Path(root).resolve()
    if not folder.is_dir():
        raise InvalidInput(f"not a folder: {root}", hint="check the path", path=str(root))
    if folder == Path(folder.anchor):
        raise InvalidInput(
            f"no snapshots are kept of a whole disk: {folder}",
            hint="work in a folder of your own; rewind needs snapshots",
        )
    place = home_of(folder, Path(home).resolve())
    use_git = git_found() if git is None else git
    repository = _repository(folder) if use_git else None
    counting = FileSelection(
        ignored=rules_of(_table()["ignored"]["patterns"]),
        secret=_secret(Guard(folder)),
        key_files=rules_of(key_files.split()),
        secret_version=_secret_version(),
        above=_above(folder, repository),
        left_out=_inside(folder, [place.parent, *left_out]),
    )
    forced: Callable[[], Iterable[str]] = _TrackedFiles(folder, repository).paths if repository else no_paths

    def make_looker(contents: Contents, salt: bytes) -> FolderScanner:
        return FolderScanner(folder, counting, contents, salt, largest, forced)

    if use_git:
        return GitKeeper(KeeperHome(place, folder, "git"), make_looker)
    kept = KeeperHome(place, folder, "hashes")
    version = git_version()
    if git is None:
        kept.notes.append(
            "git is not installed here; files are watched by their hashes"
            if version is None
            else f"git {version[0]}.{version[1]} is too old; files are watched by their hashes"
        )
    return HashKeeper(kept, make_looker)


@functools.cache
def _table() -> dict[str, dict[str, list[str]]]:
    text = resources.files("backscroll.workspace").joinpath("keeping.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _secret(guard: Guard) -> Callable[[str], bool]:
    """Return True for files that tools may not read: their content is not kept either."""
    return lambda path: bool(guard.why(path))


@functools.cache
def _secret_version() -> str:
    return sha256(resources.files("backscroll.workspace").joinpath("protected.toml").read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class _UserRepository:
    """The user's repository around a folder, as far as ignoring is concerned."""

    top: Path
    index: Path
    exclude: Path
    everywhere: Path | None  # the ignore file for all repositories of this user


def _repository(root: Path) -> _UserRepository | None:
    try:
        ran = run_git(
            ["rev-parse", "--show-toplevel", "--git-path", "index", "--git-path", "info/exclude"],
            cwd=root,
            sealed=False,
            check=False,
        )
        lines = ran.text.split("\n")
        if ran.code or len(lines) != 3:
            return None
        named = run_git(
            ["config", "--type=path", "--get", "core.excludesFile"], cwd=root, sealed=False, check=False
        )
    except GitFailed:
        return None
    top, index, exclude = (root / line for line in lines)
    return _UserRepository(
        top, index, exclude, Path(named.text) if named.code == 0 and named.text else _usual()
    )


def _usual() -> Path | None:
    """Return the default path of the user's global ignore file."""
    home = os.environ.get("XDG_CONFIG_HOME") or (
        str(Path(os.environ["HOME"]) / ".config") if os.environ.get("HOME") else ""
    )
    return Path(home) / "git" / "ignore" if home else None


def _above(root: Path, repository: _UserRepository | None) -> tuple[tuple[str, IgnoreRules], ...]:
    """Return rules from elsewhere that apply in the folder, the weakest first."""
    if repository is None:
        exclude = rules_in(root / ".git" / "info" / "exclude")
        top = _top_without_git(root)
        above = ignore_files_above(root, top) if top is not None else []
        return tuple([("^", exclude)] * bool(exclude) + above)
    way = "^" if repository.top == root else "^" + root.relative_to(repository.top).as_posix() + "/"
    files = [path for path in (repository.everywhere, repository.exclude) if path is not None]
    found = [(way, rules) for path in files if (rules := rules_in(path))]
    return (*found, *ignore_files_above(root, repository.top))


def _top_without_git(root: Path) -> Path | None:
    """Return the top of a repository, seen from its `.git` alone."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)


def _inside(root: Path, paths: Iterable[str | Path]) -> frozenset[str]:
    """Return those of the paths that lie inside the folder, as paths in it."""
    found: set[str] = set()
    for path in paths:
        whole = Path(path).resolve()
        if root in whole.parents:
            found.add(whole.relative_to(root).as_posix())
    return frozenset(found)


@dataclass(slots=True)
class _TrackedFiles:
    """Files that the user's git tracks although a rule ignores them: they count. Asked again when the index changed."""

    root: Path
    repository: _UserRepository
    known: tuple[tuple[int, int] | None, frozenset[str]] = field(default=(None, frozenset()))

    def paths(self) -> frozenset[str]:
        try:
            found = self.repository.index.stat()
        except OSError:
            return frozenset()
        stamp = (found.st_mtime_ns, found.st_size)
        if self.known[0] != stamp:
            self.known = (stamp, self._ask())
        return self.known[1]

    def _ask(self) -> frozenset[str]:
        ours = [f"--exclude={pattern}" for pattern in _table()["ignored"]["patterns"]]
        try:
            out = run_git(
                ["ls-files", "-z", "-c", "-i", "--exclude-standard", *ours], cwd=self.root, sealed=False
            ).out
        except GitFailed:
            return frozenset()
        return frozenset(os.fsdecode(path) for path in out.split(b"\0") if path)
