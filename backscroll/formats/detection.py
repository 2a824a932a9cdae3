"""List all formats and detect the format of a file or folder.

Owns: the list of formats, loaded on first use, and a helpful error if none of them fits: what was found and what can be read.
Each format decides by contents before file names.
"""

from __future__ import annotations

from functools import cache
from itertools import islice

from backscroll.errors import FormatError
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.json_stream import Member, StreamElement, pieces_of
from backscroll.formats.sources.rows import as_object

_LEAST = 0.1  # below this a format only says that it cannot rule itself out
_SHOWN = 8
_PACKED = ("PK\x03\x04", "\x1f\x8b", "Rar!", "7z\xbc\xaf")


@cache
def formats() -> tuple[Format, ...]:
    """Return every format, those with certain detection first."""
    # start-up: a command that neither imports nor exports needs none of the readers
    from backscroll.formats import cline, grok, native
    from backscroll.formats.aider import reader as aider
    from backscroll.formats.anthropic import reader as anthropic
    from backscroll.formats.cards import conversion as character_card
    from backscroll.formats.chatgpt import reader as chatgpt
    from backscroll.formats.claude_ai import reader as claude_ai
    from backscroll.formats.claude_code import reader as claude_code
    from backscroll.formats.codex import reader as codex
    from backscroll.formats.dialogue import reader as dialogue
    from backscroll.formats.gemini_cli import reader as gemini_cli
    from backscroll.formats.markdown import writer as markdown
    from backscroll.formats.openai import chat as openai_chat
    from backscroll.formats.openai import responses as openai_responses
    from backscroll.formats.sillytavern import reader as sillytavern

    return (
        native.FORMAT,
        claude_code.FORMAT,
        codex.FORMAT,
        gemini_cli.FORMAT,
        cline.FORMAT,
        sillytavern.FORMAT,
        character_card.FORMAT,
        chatgpt.FORMAT,
        claude_ai.FORMAT,
        grok.FORMAT,
        dialogue.FORMAT,
        anthropic.FORMAT,
        openai_responses.FORMAT,
        openai_chat.FORMAT,
        aider.FORMAT,
        markdown.FORMAT,
    )


def format_named(name: str) -> Format:
    """Return the format of that name, in any spelling (`Claude_Code`)."""
    wanted = _plain(name)
    for format in formats():
        if _plain(format.name) == wanted:
            return format
    raise FormatError(f"unknown format: {name!r}", hint=f"known formats: {_names()}")


def _plain(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(" ", "-").replace(".", "-")


def _names() -> str:
    return ", ".join(format.name for format in formats())


def detect(source: Source) -> Format:
    """Return the format with the highest confidence; among equals, the more specific one."""
    best = max(formats(), key=lambda format: format.sniff(source))
    if best.sniff(source) >= _LEAST:
        return best
    seen, hint = _describe_source(source)
    labels = ", ".join(format.label for format in formats() if format.name != "markdown")
    raise FormatError(
        f"{source.name} is not in a supported format: {seen}",
        hint=f"{hint}; supported formats: {labels}",
    )


def _describe_source(source: Source) -> tuple[str, str]:
    """Return the problem as text, and what to do about it."""
    if source.is_folder:
        names = source.children()
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        inside = f"it holds {', '.join(names[:_SHOWN])}{more}" if names else "it is empty"
        return f"a folder without a history that is known; {inside}", "name one of the files in it"
    head = source.head(8192)
    if not head.strip():
        return "an empty file", "check that it was saved or downloaded completely"
    if head.startswith(_PACKED):
        return "a packed archive", "unpack it and name the folder"
    if head.startswith("SQLite format 3"):
        return "an SQLite database", "if it is a store of Backscroll, open it with --store"
    if "\0" in head or head.count("\ufffd") > len(head) / 20:
        return "a binary file", "name a text file"
    return _text_seen(source.head(), source.name)


def _text_seen(head: str, name: str) -> tuple[str, str]:
    named = "if you know what it is, name the format with --format"
    if head.lstrip()[:1] not in ("[", "{"):
        line = " ".join(head.split())[:60]
        return f"plain text that begins with {line!r}", named
    found = [piece for piece in islice(pieces_of(iter([head]), name), _SHOWN + 1) if not _is_problem(piece)]
    keys = [piece.key for piece in found if isinstance(piece, Member)]
    if "entries" in keys:
        return "a lorebook", "add it to a thread with `backscroll lore THREAD FILE`"
    if keys:
        return f"a JSON object with the keys {_join_keys(keys)}", named
    if found and isinstance(found[0], StreamElement):
        inner = as_object(found[0].value)
        if inner is not None:
            return f"a JSON list of objects with the keys {_join_keys(list(inner))}", named
        return f"a JSON list that begins with a {type(found[0].value).__name__}", named
    if head.strip() in ("[]", "{}"):
        return "JSON without anything in it", "check that the export is complete"
    return "JSON of an unknown shape", named


def _is_problem(piece: object) -> bool:
    return not isinstance(piece, StreamElement | Member)


def _join_keys(keys: list[str]) -> str:
    more = ", …" if len(keys) > _SHOWN else ""
    return ", ".join(keys[:_SHOWN]) + more
