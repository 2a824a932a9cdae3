"""Determine media types from the given type, the name, or the first bytes.

Covers the few types that people attach to conversations. The system's table of types differs by machine and is not used.
"""

from __future__ import annotations

UNTOLD = "application/octet-stream"

_BY_SUFFIX = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "bmp": "image/bmp",
    "heic": "image/heic",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "ogg": "audio/ogg",
    "webm": "video/webm",
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "pdf": "application/pdf",
    "json": "application/json",
    "zip": "application/zip",
    "csv": "text/csv",
    "html": "text/html",
    "md": "text/markdown",
    "txt": "text/plain",
    "py": "text/x-python",
    "js": "text/javascript",
    "css": "text/css",
    "xml": "application/xml",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
_BY_BEGINNING = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"PK\x03\x04", "application/zip"),
)
_BY_RIFF = {b"WAVE": "audio/wav", b"WEBP": "image/webp"}


def media_type(said: str = "", name: str = "", data: bytes = b"") -> str:
    """Return the media type: the given one if valid, else by the name, else by the first bytes."""
    if "/" in said:
        return said
    suffix = name.rpartition(".")[2].lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if data[:4] == b"RIFF":
        return _BY_RIFF.get(data[8:12], UNTOLD)
    if data[4:8] == b"ftyp":
        return "video/mp4"
    return next((kind for beginning, kind in _BY_BEGINNING if data.startswith(beginning)), UNTOLD)
