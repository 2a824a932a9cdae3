"""Read CHARX cards: a zip archive with `card.json`; its pictures are not read.

Nothing is extracted, so names of paths in the archive mean nothing; archives inside it are not opened; what is unpacked is
counted while it is unpacked. Pure.
"""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO

from backscroll.errors import FormatError

SIGNATURE = b"PK\x03\x04"
CARD = "card.json"
LARGEST_CARD = 32_000_000
_MOST = 20_000  # files in an archive
_HINT = "export the character again as CHARX or PNG"


def card_in_charx(data: bytes, name: str) -> bytes:
    """Return the bytes of the card in an archive."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return _card(archive, name)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, LookupError) as error:
        raise FormatError(f"the archive {name} is damaged: {error}", hint=_HINT) from error
    except (NotImplementedError, RuntimeError) as error:
        raise FormatError(f"the archive {name} cannot be unpacked: {error}", hint=_HINT) from error


def _card(archive: zipfile.ZipFile, name: str) -> bytes:
    if len(archive.filelist) > _MOST:
        raise FormatError(f"the archive {name} holds more than {_MOST:,} files", hint=_HINT)
    found = next((info for info in archive.filelist if info.filename == CARD), None)
    if found is None:
        raise FormatError(
            f"the archive {name} holds no {CARD}",
            hint="a CHARX archive has its card at the top; for other archives, unpack them and name the folder",
        )
    if found.flag_bits & 1:
        raise FormatError(f"the card in {name} is encrypted", hint="export it without a password")
    with archive.open(found) as file:
        card = file.read(LARGEST_CARD + 1)
    if len(card) > LARGEST_CARD:
        raise FormatError(
            f"the card in {name} is larger than {LARGEST_CARD:,} bytes when it is unpacked", hint=_HINT
        )
    return card
