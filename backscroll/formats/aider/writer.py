"""Write aider's chat history: escaping in both directions, and whole conversations.

Owns: the exact text of a user's message and of a reply (`extract_user_text`, `extract_reply_text` undo them), which of the
program's lines report an edit or a commit, and writing conversations from other tools: tool calls, results, thinking and
system text become lines of the program, because the format has no other speaker.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from backscroll.formats.losses import ExportLosses
from backscroll.formats.shape import Blobs, FormatOutput
from backscroll.formats.sources.json_text import dumps, printable
from backscroll.formats.sources.rows import of_vendor, own
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

KEY = "aider"
OUTPUT = "aider-output"  # lines of the program, kept verbatim
SESSION = "aider-session"  # the line that starts a session, with the blank line before it
APPLIED = "Applied edit"

_EDIT = re.compile(r"> Applied edit to (\S.*?)\s*")
_COMMIT = re.compile(r"> (Commit [0-9a-f]{7,40} .*?)\s*")
_TAKEN = re.compile(r"^(#### .*|> .*)  +$", re.MULTILINE)


def extract_user_text(raw: str) -> str:
    """Return the user's words from their lines in the file."""
    lines = [line for line in raw.split("\n") if line.startswith("####")]
    return "\n".join(
        line.rstrip("\r").removesuffix("  ").removeprefix("####").removeprefix(" ") for line in lines
    )


def asking(text: str) -> str:
    """Return the user's words as aider writes them: every line marked and ended with two spaces, a blank line before."""
    return "\n" + ("#### " + "  \n#### ".join((text or "<blank>").split("\n"))).rstrip() + "  \n"


def extract_reply_text(raw: str) -> str:
    """Return the model's words from their lines in the file."""
    return raw.strip().replace("\r\n", "\n")


def answering(text: str) -> str:
    """Return the model's words as aider writes them: as they are, between blank lines."""
    return f"\n{text.strip()}\n\n"


def saying(text: str) -> str:
    """Return words of the program, line by line."""
    return "".join(f"> {line}".rstrip() + "  \n" for line in text.split("\n"))


def changes_in(raw: str) -> Iterator[ForeignCodeChange]:
    """Yield the edits and commits that lines of the program report."""
    for line in raw.split("\n"):
        edit, commit = _EDIT.fullmatch(line), _COMMIT.fullmatch(line)
        if edit:
            yield ForeignCodeChange(APPLIED, edit[1])
        elif commit:
            yield ForeignCodeChange(commit[1], "")


def write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    """Return the history of one session. `blobs` is unused: a Markdown history contains no bytes."""
    del blobs
    problems: list[Problem] = []
    return FormatOutput(
        map(printable, _pieces(thread, ExportLosses("aider's chat history", problems))), problems
    )


def _pieces(thread: ForeignThread, unsaid: ExportLosses) -> Iterator[str]:
    imported = of_vendor(thread.metadata, KEY)
    items = iter(thread.items)
    if not imported:
        first = next(items, None)
        items = chain([first] if first else [], items)
        yield _opening(thread, first, unsaid)
    reported: Counter[tuple[str, str]] = Counter()
    told = 0
    for item in items:
        told += not isinstance(item, ForeignCodeChange)
        if isinstance(item, ForeignMessage):
            yield from _message(item, unsaid)
        elif isinstance(item, Aside) and item.kind in (OUTPUT, SESSION):
            reported.update((change.description, change.file_path) for change in changes_in(item.raw))
            yield item.raw
        elif isinstance(item, ForeignCodeChange):
            name = (item.description, item.file_path)
            if reported[name]:  # it is in the program's lines already
                reported[name] -= 1
            else:
                yield _change(item, unsaid)
        else:
            unsaid.leave_out(item)
    tail = of_vendor(imported, "tail")
    if tail.get("after") == told:  # blank lines that ended the session do not count once it went on
        yield tail["text"]
    unsaid.close()


def _opening(thread: ForeignThread, first: Item | None, unsaid: ExportLosses) -> str:
    at = thread.started or (first.at if isinstance(first, ForeignMessage) else None)
    if not at:
        unsaid.problems.append(Problem("no time is known: the session has no line that says when it started"))
        return ""
    return f"\n# aider chat started at {at[:10]} {at[11:19]}\n\n"


def _change(change: ForeignCodeChange, unsaid: ExportLosses) -> str:
    if not change.file_path:
        return saying(change.description)
    if change.description != APPLIED:
        unsaid.note(
            f"aider does not describe edits: {change.description!r} is written as a line of the program"
        )
        return saying(f"{change.description}\nApplied edit to {change.file_path}")
    return saying(f"Applied edit to {change.file_path}")


def _message(message: ForeignMessage, unsaid: ExportLosses) -> Iterator[str]:
    unsaid.flags(message)
    text = message.content.text
    raw = own(message.content, KEY).get("raw")
    others = [part for part in message.content.parts if not isinstance(part, Text)]
    if message.role == "user":
        if raw is not None and extract_user_text(raw) == text:
            yield raw
        elif text or not others:
            yield asking(text)
            if extract_user_text(asking(text)) != text:
                unsaid.note("aider does not keep blank ends of a message, nor empty ones")
    elif message.role == "assistant" and text:
        yield (
            raw
            if raw is not None and extract_reply_text(raw) == text
            else answering(_strip_break_marks(text))
        )
    elif text:
        unsaid.note(f"aider has no {message.role} messages: the words are written as lines of the program")
        yield saying(text)
    if others:
        yield from _program_lines(others, unsaid)


def _strip_break_marks(text: str) -> str:
    """Strip trailing spaces that would make aider read a heading or quotation as its own line."""
    return _TAKEN.sub(r"\1", text)


def _program_lines(parts: Iterable[Part], unsaid: ExportLosses) -> Iterator[str]:
    kinds: Counter[str] = Counter()
    for part in parts:
        match part:
            case ToolCall():
                kinds["tool call"] += 1
                yield saying(
                    f"{part.name}: {part.arguments if isinstance(part.arguments, str) else dumps(part.arguments)}"
                )
            case ToolResult():
                kinds["tool result"] += 1
                yield saying("\n".join(_words(inner) for inner in part.content))
            case Reasoning():
                kinds["block of thinking"] += 1
                yield saying(part.text)
            case Media() | Opaque() | Text():
                kinds["attachment" if isinstance(part, Media) else "vendor's part"] += 1
                yield saying(_words(part))
    for kind, count in kinds.items():
        unsaid.note(f"aider has no such thing as a {kind}: {count} written as lines of the program")


def _words(part: Text | Media | Opaque) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Media):
        address = part.url if part.url and not part.url.startswith("data:") else part.media_type
        return f"[{part.name or part.media_type}: {address}]"
    return f"[{part.vendor} {part.kind}]"
