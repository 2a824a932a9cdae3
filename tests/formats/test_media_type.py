"""Kinds of files."""

from __future__ import annotations

import pytest

from backscroll.formats.sources.media_type import UNTOLD, media_type


@pytest.mark.parametrize(
    ("said", "name", "data", "expected"),
    [
        ("image/png", "x.jpg", b"%PDF", "image/png"),
        ("", "Photo.JPG", b"", "image/jpeg"),
        ("txt", "notes.md", b"", "text/markdown"),
        ("", "x.dat", b"\x89PNG\r\n", "image/png"),
        ("", "", b"RIFF0000WAVE", "audio/wav"),
        ("", "", b"RIFF0000WEBP", "image/webp"),
        ("", "", b"RIFF0000????", UNTOLD),
        ("", "", b"\0\0\0\x18ftypmp42", "video/mp4"),
        ("", "", b"", UNTOLD),
        ("", "noext", b"plain", UNTOLD),
    ],
)
def test_media_type_from_declaration_name_or_bytes(said: str, name: str, data: bytes, expected: str) -> None:
    """In this order."""
    assert media_type(said, name, data) == expected
