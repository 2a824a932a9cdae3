"""World description files: text, or the bytes of a character card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput
from backscroll.regular_files import open_regular
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.done import report_result

if TYPE_CHECKING:
    from backscroll.engine.knowledge.graph import ThreadGraph
    from backscroll.surfaces.cli.session import CliSession

_BIGGEST = 128_000_001  # bytes; the reader rejects larger files


def read_world_file(typed: str) -> bytes:
    """Read the bytes of a file."""
    try:
        with open_regular(Path(typed).expanduser()) as file:
            return file.read(_BIGGEST)
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(
            t("graph.cannot_read", path=typed, what=what), hint=t("graph.cannot_read_hint")
        ) from error


def change_world(
    session: CliSession, graph: ThreadGraph, file: str | None, name: str | None, drop: str | None
) -> bool:
    """Remove a world description, or add the one in a file; False if neither was requested."""
    if drop is not None:
        graph.drop_world(drop)
        report_result(session.screen, {"dropped": drop}, t("graph.world_dropped", name=one_line(drop)))
        return True
    if file is not None:
        called = name or Path(file).stem
        entries = graph.tell_world(called, read_world_file(file))
        document = {"name": called, "entries": len(entries)}
        report_result(session.screen, document, count("graph.world_told", len(entries)))
        return True
    return False
