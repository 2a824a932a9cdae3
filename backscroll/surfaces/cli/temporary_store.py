"""A separate store in a temporary folder, for operations that must not touch the user's."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.surfaces.cli.session import CliSession

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine


def session_apart(store: Path) -> CliSession:
    """Return a session on such a store, which neither pages nor saves dialogues elsewhere."""
    return CliSession(store=str(store), storage_dir="", use_pager=False)


@contextlib.contextmanager
def engine_apart() -> Generator[Engine]:
    """Open an empty store that is deleted afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="backscroll-") as folder,
        session_apart(Path(folder) / "apart.db").engine(make=True) as engine,
    ):
        yield engine
