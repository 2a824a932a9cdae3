"""Pasted input: text as it is, files and images as attachments, an image from the clipboard.

Owns distinguishing a dropped file from a text that mentions one, and querying the clipboard. A terminal passes a dropped file as its
path, quoted or escaped as shells do, or as a `file://` address. Refuses: reading the files (`attachments`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from backscroll.errors import NotFound
from backscroll.surfaces.i18n import t

IMAGES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
_LONGEST = 4000  # characters: more is not a drop of files
_SECONDS = 5.0
_LARGEST = 20_000_000
#: Programs that return an image from the clipboard as PNG, and when they can be used.
_CLIPBOARDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
    ("", ("pngpaste", "-")),
)


@dataclass(frozen=True, slots=True)
class PasteContent:
    """A paste: text for the line, and files to attach to the message."""

    text: str
    images: tuple[Path, ...] = ()


def interpret_paste(data: str, root: Path) -> PasteContent:
    """Interpret a paste. Images are attached; other dropped files are mentioned with `@`; everything else is text."""
    data = data.replace("\r\n", "\n").replace("\r", "\n")
    files = find_dropped_files(data)
    if not files:
        return PasteContent(data)
    images = tuple(f for f in files if f.suffix.lower() in IMAGES)
    others = [mention(f, root) for f in files if f not in images]
    return PasteContent(" ".join(others) + (" " if others else ""), images)


def find_dropped_files(data: str) -> list[Path]:
    """Return the files that a paste consists of; empty if it is anything else."""
    text = data.strip()
    if not text or len(text) > _LONGEST or not text.startswith(("/", "~/", "file://", "'", '"')):
        return []
    whole = Path(text).expanduser() if text.startswith(("/", "~/")) else None
    if whole is not None and _is_file(whole):  # an unquoted path with spaces
        return [whole]
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    found = [_path(word) for word in words]
    files = [f for f in found if f is not None and f.is_absolute() and _is_file(f)]
    return files if len(files) == len(words) else []


def mention(path: Path, root: Path) -> str:
    """Return a file as a mention in a message: relative to the folder, in quotes if a space would end it."""
    shown = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
    return f'@"{shown}"' if any(c.isspace() for c in shown) else f"@{shown}"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _path(word: str) -> Path | None:
    if word.startswith("file://"):
        address = urlsplit(word)
        return Path(unquote(address.path)) if address.netloc in {"", "localhost"} else None
    return Path(word).expanduser() if word.startswith(("/", "~/")) else None


def clipboard_image() -> Path:
    """Return the image on the clipboard, in a file of its own; raise an error that says what is missing if there is none."""
    tried: list[str] = []
    for variable, command in _CLIPBOARDS:
        if variable and not os.environ.get(variable):
            continue
        if shutil.which(command[0]) is None:
            tried.append(command[0])
            continue
        data = _output(command)
        if data.startswith(b"\x89PNG"):
            return _save_image(data)
        raise NotFound(t("chat.clipboard_empty"), hint=t("chat.clipboard_empty_hint"))
    names = ", ".join(tried or ["wl-paste", "xclip", "pngpaste"])
    raise NotFound(t("chat.no_clipboard"), hint=t("chat.no_clipboard_hint", names=names))


def _output(command: tuple[str, ...]) -> bytes:
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 and len(done.stdout) <= _LARGEST else b""


def _save_image(data: bytes) -> Path:
    """Save an image until the message is sent: the history keeps the image itself."""
    handle, name = tempfile.mkstemp(prefix="backscroll-clipboard-", suffix=".png")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return Path(name)
