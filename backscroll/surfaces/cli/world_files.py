"""Files that describe a world, as a command names them: text, or the bytes of a character card."""

from __future__ import annotations

from pathlib import Path

from backscroll.errors import InvalidInput
from backscroll.regular_files import open_regular
from backscroll.surfaces.i18n import t

_BIGGEST = 128_000_001  # bytes; what is larger is refused by whoever reads it


def read_world_file(typed: str) -> bytes:
    """The bytes of a file."""
    try:
        with open_regular(Path(typed).expanduser()) as file:
            return file.read(_BIGGEST)
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(
            t("graph.cannot_read", path=typed, what=what), hint=t("graph.cannot_read_hint")
        ) from error
