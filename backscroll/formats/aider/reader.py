"""aider's chat history (`.aider.chat.history.md`): Markdown in which the start of each line marks the speaker.

`# aider chat started at ...` starts a session, which is one conversation here. `#### ` lines are the user's, `> ` lines the
program's, everything else is the model's. aider ends the first two kinds with two spaces, so a heading or a quotation in the
model's own words is recognised by having none (unless an editor stripped them everywhere). The program's lines are not part
of the conversation: they are kept verbatim as asides, and the edits and commits they report become code changes.

Owns: splitting a file into sessions and speakers such that joining the pieces gives the file back byte for byte. Writing:
`aider/writer`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from backscroll.errors import FormatError
from backscroll.formats.aider.writer import (
    KEY,
    OUTPUT,
    SESSION,
    answering,
    asking,
    changes_in,
    extract_reply_text,
    extract_user_text,
    write,
)
from backscroll.formats.language import language_of
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.rows import short_title, stem
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Text

_HEADER = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_FOLDER = re.compile(r"[/\\]")
_DEFAULT_NAME = ".aider.chat.history.md"

Speaker: TypeAlias = Literal["user", "program", "model"]


def sniff(source: Source) -> float:
    """Return the confidence that this is an aider chat history."""
    if source.is_folder:
        return 0.0
    lines = source.head().split("\n")
    if any(_HEADER.fullmatch(line) for line in lines):
        return 0.97
    if source.name == _DEFAULT_NAME:
        return 0.9 if any(line.startswith(("#### ", "> ")) for line in lines) else 0.0
    # Benchmark runs leave histories without a header: both kinds of marked lines, and with aider's two spaces.
    marked = [line for line in lines if line.startswith(("#### ", "> ")) and line.endswith("  ")]
    kinds = {line[0] for line in marked}
    return 0.6 if kinds == {"#", ">"} and len(marked) >= 4 else 0.0


@dataclass(frozen=True, slots=True)
class _SpeakerLines:
    """Neighbouring lines of one speaker, line ends included."""

    speaker: Speaker
    raw: str
    line: int


@dataclass(slots=True)
class _AiderSession:
    """The lines of one session, before conversion to a thread."""

    opening: str  # the header line with the blank line before it; empty where the file begins without one
    stamp: str
    line: int
    lines: list[str]


def read(source: Source) -> Iterable[ForeignThread]:
    """Return one conversation per session, in the order of the file."""
    if source.is_folder:
        raise FormatError(
            "a folder is not an aider chat history", hint=f"name the file {_DEFAULT_NAME} in it"
        )
    if not source.head().strip():
        raise FormatError(
            f"{source.name} is empty", hint="aider writes its history into the folder it was started in"
        )
    return _threads(source)


def _threads(source: Source) -> Iterator[ForeignThread]:
    folders = [name for name in _FOLDER.split(source.path)[:-1] if name]
    project = folders[-1] if folders and source.name == _DEFAULT_NAME else ""
    origin = project or stem(source.name)
    strict = _has_line_breaks(source)
    met: dict[str, int] = {}
    for session in _sessions(source):
        met[session.stamp] = met.get(session.stamp, 0) + 1
        again = f"#{met[session.stamp]}" if met[session.stamp] > 1 else ""
        items, tail = _items(session, strict=strict)
        words = [item.content.text for item in items if isinstance(item, ForeignMessage)]
        kept: dict[str, Json] = {"session": session.stamp}
        if tail:
            kept["tail"] = {
                "text": tail,
                "after": sum(not isinstance(item, ForeignCodeChange) for item in items),
            }
        if session.stamp:
            kept["naive"] = True  # aider writes the clock of the machine, without a zone
        yield ForeignThread(
            format="aider",
            source_id=f"{origin}:{session.stamp or 'before the first session'}{again}",
            items=items,
            title=_title(items) or origin,
            project=project,
            kind="agent",
            language=language_of("\n".join(words)[:100_000]),
            started=_parse_start(session.stamp),
            metadata={KEY: kept},
        )


def _has_line_breaks(source: Source) -> bool:
    """Return True if marked lines end with aider's two spaces; False where an editor stripped them."""
    marked = [
        line.rstrip("\r") for line in source.head().split("\n")[:-1] if line.startswith(("#### ", "> "))
    ]
    return sum(line.endswith("  ") for line in marked) * 2 > len(marked)


def _raw_lines(source: Source) -> Iterator[str]:
    """Yield lines with their ends, which a rebuilt file needs."""
    rest = ""
    for chunk in source.chunks():
        pieces = (rest + chunk).split("\n")
        rest = pieces.pop()
        for piece in pieces:
            yield piece + "\n"
    if rest:
        yield rest


def _sessions(source: Source) -> Iterator[_AiderSession]:
    current = _AiderSession("", "", 1, [])
    for number, line in enumerate(_raw_lines(source), 1):
        header = _HEADER.fullmatch(line)
        if not header:
            current.lines.append(line)
            continue
        blank = current.lines.pop() if current.lines and not current.lines[-1].strip() else ""
        if current.stamp or "".join(current.lines).strip():
            yield current
        else:
            blank = "".join(current.lines) + blank
        current = _AiderSession(blank + line, header[1], number, [])
    if current.stamp or "".join(current.lines).strip():
        yield current


def _parse_start(stamp: str) -> str | None:
    try:
        return datetime.fromisoformat(stamp).replace(tzinfo=UTC).isoformat()
    except ValueError:
        return None


def _title(items: Iterable[Item]) -> str:
    """Return the user's first request; a command only if there is nothing else."""
    asks = [item.content.text for item in items if isinstance(item, ForeignMessage) and item.role == "user"]
    return short_title(
        next((ask for ask in asks if not ask.startswith(("/", "<blank>"))), asks[0] if asks else "")
    )


def _speaker(line: str, *, strict: bool) -> Speaker:
    bare = line.rstrip("\r\n")
    if bare.startswith("#### ") and (bare.endswith("  ") or not strict):
        return "user"
    if bare.startswith("> ") and (bare.endswith("  ") or not strict):
        return "program"
    return "model"


def _runs(session: _AiderSession, *, strict: bool) -> Iterator[_SpeakerLines]:
    """Yield neighbouring lines of one speaker together; blank lines between others' lines count as the model's."""
    current: list[str] = []
    speaker: Speaker = "model"
    first = session.line + 1
    for number, line in enumerate(session.lines, session.line + 1 if session.stamp else 1):
        who = _speaker(line, strict=strict)
        if who != speaker and current:
            yield _SpeakerLines(speaker, "".join(current), first)
            current = []
        if not current:
            speaker, first = who, number
        current.append(line)
    if current:
        yield _SpeakerLines(speaker, "".join(current), first)


def _items(session: _AiderSession, *, strict: bool) -> tuple[list[Item], str]:
    """Return the conversation, and the blank lines after it. Other blank lines go with what follows them."""
    runs = list(_runs(session, strict=strict))
    out: list[Item] = [Aside(SESSION, session.opening, line=session.line)] if session.opening else []
    lead = ""
    for index, run in enumerate(runs):
        following = runs[index + 1].speaker if index + 1 < len(runs) else None
        if not run.raw.strip():
            lead += run.raw
            continue
        # A blank line between a reply and the user's words was written together with the latter.
        cut = len(run.raw)
        if run.speaker == "model" and following == "user":
            cut -= _ending_blank(run.raw)
        if run.speaker == "program":
            # Line by line, because a file that is read again while aider runs has more lines in its last run.
            for number, line in enumerate(re.findall(r".*\n|.+\Z", run.raw), run.line):
                out.append(Aside(OUTPUT, lead + line, line=number))
                out.extend(changes_in(line))
                lead = ""
        else:
            role = "user" if run.speaker == "user" else "assistant"
            out.append(_message(role, lead, run.raw[:cut], run.line))
        lead = run.raw[cut:]
    return out, lead


def _ending_blank(raw: str) -> int:
    """Return the length of the trailing blank line."""
    found = re.search(r"(?<=\n)[ \t]*\r?\n\Z", raw)
    return len(found[0]) if found else 0


def _message(role: Literal["user", "assistant"], lead: str, raw: str, line: int) -> ForeignMessage:
    """Return a message; its raw lines are kept if aider would not write the text in exactly this way."""
    text = extract_user_text(raw) if role == "user" else extract_reply_text(raw)
    usual = asking(text) if role == "user" else answering(text)
    kept = {} if lead + raw == usual else {KEY: {"raw": lead + raw}}
    return ForeignMessage(role, Content((Text(text),), None, kept), line=line)


FORMAT = Format("aider", "aider chat history", ".md", sniff, read, write)
