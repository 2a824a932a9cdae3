"""Lock the user's index as git does, and change it at a few paths only.

Owns temporary indexes and the lock. Git's own way: the new index is written into `index.lock`, which becomes `index` when the
commit is made; another git that finds the lock waits or gives up, and a kill leaves the old index. Refuses: contents.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from backscroll.errors import Conflict
from backscroll.workspace.files.open_flags import CLOEXEC
from backscroll.workspace.git.merge import Blob
from backscroll.workspace.git.repository import Repository

_WAIT = 5.0
_AGAIN = 0.05


@dataclass(slots=True)
class IndexLock:
    """The user's index, locked. Without `publish` it stays unchanged."""

    repository: Repository
    published: bool = False

    @property
    def _lock(self) -> Path:
        return self.repository.git_dir / "index.lock"

    def __enter__(self) -> Self:
        end = time.monotonic() + _WAIT
        while True:
            try:
                os.close(os.open(self._lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC, 0o644))
            except FileExistsError as error:
                if time.monotonic() >= end:
                    raise Conflict(
                        "another git process is using the repository",
                        hint=f"wait for it; if none is running, delete {self._lock}",
                    ) from error
                time.sleep(_AGAIN)
            except OSError as error:
                raise Conflict(
                    f"your repository cannot be written: {error.strerror}", hint="is it read-only?"
                ) from error
            else:
                return self

    def fill(self, index: Path) -> None:
        """Put the new index where the lock is."""
        with index.open("rb") as source, self._lock.open("wb") as out:
            shutil.copyfileobj(source, out)
            out.flush()
            os.fsync(out.fileno())

    def publish(self) -> None:
        """Replace the index with the new one."""
        self._lock.replace(self.repository.git_dir / "index")
        self.published = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.published:
            self._lock.unlink(missing_ok=True)


@contextlib.contextmanager
def build_index(repository: Repository, commit: str, files: Mapping[str, Blob | None]) -> Generator[Path]:
    """Build a temporary index of a commit with these files changed."""
    with _temporary(repository) as index:
        repository.git("read-tree", commit or "--empty", index=index)
        _update(repository, index, files)
        yield index


@contextlib.contextmanager
def changed_index(repository: Repository, files: Mapping[str, Blob | None]) -> Generator[Path]:
    """Copy the user's index with only these files changed."""
    with _temporary(repository) as index:
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(repository.git_dir / "index", index)
        _update(repository, index, files)
        # Refresh unchanged files in the index; otherwise every later status reads them again.
        repository.git("update-index", "-q", "--refresh", index=index, check=False)
        yield index


def _update(repository: Repository, index: Path, files: Mapping[str, Blob | None]) -> None:
    gone = [f"0 {repository.nothing}\t{path}" for path, blob in files.items() if blob is None]
    there = [f"{blob.mode} {blob.name}\t{path}" for path, blob in files.items() if blob is not None]
    # Removals first: a file may be replaced by a folder of its name.
    lines = b"".join(os.fsencode(line) + b"\0" for line in [*gone, *there])
    repository.git("update-index", "-z", "--index-info", stdin=lines, index=index)


@contextlib.contextmanager
def _temporary(repository: Repository) -> Generator[Path]:
    path = repository.git_dir / f"backscroll-index-{os.getpid()}-{time.monotonic_ns()}"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        path.with_name(path.name + ".lock").unlink(missing_ok=True)
