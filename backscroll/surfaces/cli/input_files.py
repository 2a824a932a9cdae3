"""Which files a path stands for: itself, or, for a folder that is not a conversation of its own, the conversations inside."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.errors import FormatError
from backscroll.surfaces.i18n import t

if TYPE_CHECKING:
    from backscroll.engine.exchange.imports import ImportReport

_SUFFIXES = {".jsonl", ".json", ".md", ".txt"}
_SKIPPED = {"node_modules", "__pycache__", ".git", ".venv", "venv"}


def taken_in(
    path: str, take: Callable[[str], list[ImportReport]], skipped: list[str]
) -> Iterator[ImportReport]:
    """Import a path; the formats determine whether a folder is a conversation by itself."""
    place = Path(path).expanduser()
    if not place.is_dir():
        yield from take(path)
        return
    reports = _try_import(place, take)
    if reports is not None:
        yield from reports
        return
    before = len(skipped)
    found = False
    for inner in _inside(place, take, skipped):
        found = True
        yield inner
    if not found:
        del skipped[before:]
        raise FormatError(t("importing.empty_folder", path=path), hint=t("importing.empty_folder_hint"))


def _try_import(place: Path, take: Callable[[str], list[ImportReport]]) -> list[ImportReport] | None:
    try:
        return take(str(place))
    except FormatError:
        return None


def _inside(
    folder: Path, take: Callable[[str], list[ImportReport]], skipped: list[str]
) -> Iterator[ImportReport]:
    """Import conversations below a folder, in order; unknown files are left alone and named."""
    for here, folders, files in os.walk(folder):
        kept: list[str] = []
        for name in sorted(set(folders) - _SKIPPED):
            reports = _try_import(Path(here) / name, take)
            if reports is None:
                kept.append(name)
            else:
                yield from reports
        folders[:] = kept
        for name in sorted(files):
            path = Path(here) / name
            if path.suffix.lower() not in _SUFFIXES:
                continue
            reports = _try_import(path, take)
            if reports is None:
                skipped.append(str(path))
            else:
                yield from reports
