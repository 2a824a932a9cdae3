"""Text given to a command: as an argument, on standard input, or in an editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from backscroll.errors import InvalidInput
from backscroll.surfaces.i18n import t
from backscroll.vocab.message import Content
from backscroll.vocab.part import Part, Text, ToolResult

STDIN = "-"


def read_words(text: str | None) -> str:
    """Return text from an argument, or from standard input for `-` or nothing."""
    if text is not None:
        return from_stdin() if text == STDIN else text
    words = "" if sys.stdin.isatty() else from_stdin()
    if not words:  # an empty message must be given explicitly: "" or -
        raise InvalidInput(t("words_in.missing"), hint=t("words_in.missing_hint"))
    return words


def from_stdin() -> str:
    """Read all of standard input, without the line end that a shell adds."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(t("words_in.not_utf8"), hint=t("words_in.not_utf8_hint")) from error
    return text.removesuffix("\n").removesuffix("\r")


def edit_in_editor(text: str) -> str | None:
    """Edit a text in an editor; None if it was not changed."""
    if not sys.stdin.isatty() and not os.environ.get("BACKSCROLL_EDITOR"):
        return read_words(None)
    command = _editor()
    with tempfile.TemporaryDirectory(prefix="backscroll-") as folder:
        path = Path(folder) / "message.md"
        path.write_text(text + "\n", encoding="utf-8")
        try:
            done = subprocess.run([*command, str(path)], check=False)
        except OSError as error:
            raise InvalidInput(
                t("words_in.no_editor", name=command[0]), hint=t("words_in.no_editor_hint")
            ) from error
        if done.returncode != 0:
            raise InvalidInput(
                t("words_in.editor_failed", code=done.returncode), hint=t("words_in.unchanged")
            )
        changed = path.read_text(encoding="utf-8").removesuffix("\n")
    return None if changed == text else changed


def _editor() -> list[str]:
    for name in ("BACKSCROLL_EDITOR", "VISUAL", "EDITOR"):
        if command := shlex.split(os.environ.get(name, "")):
            return command
    for name in ("sensible-editor", "nano", "vim", "vi"):
        if shutil.which(name):
            return [name]
    raise InvalidInput(t("words_in.no_editor", name="$EDITOR"), hint=t("words_in.no_editor_hint"))


def save_aside(text: str) -> Path:
    """Save text to a file, so that a failed edit loses nothing."""
    handle, name = tempfile.mkstemp(prefix="backscroll-unsaved-", suffix=".md")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return Path(name)


def words_of(content: Content) -> str:
    """Return the editable text of a content: its text, or the text of its only tool result."""
    if any(isinstance(part, Text) for part in content.parts):
        return content.text
    result = _only_result(content)
    return "" if result is None else "\n".join(p.text for p in result.content if isinstance(p, Text))


def with_words(content: Content, text: str) -> Content:
    """Return the same content with other text: tool calls, images, reasoning and metadata stay."""
    result = _only_result(content)
    if result is not None:
        others = tuple(p for p in result.content if not isinstance(p, Text))
        return replace(content, parts=(replace(result, content=(Text(text), *others)),))
    parts: list[Part] = []
    placed = False
    for part in content.parts:
        if not isinstance(part, Text):
            parts.append(part)
        elif not placed:
            parts.append(replace(part, text=text))
            placed = True
    return replace(content, parts=tuple(parts) if placed else (Text(text), *parts))


def _only_result(content: Content) -> ToolResult | None:
    first = content.parts[0] if len(content.parts) == 1 else None
    return first if isinstance(first, ToolResult) else None
