"""Gemini CLI's recorded sessions: `session-*.json` (one document), its successor `.jsonl`, or the folder of a project.

Owns: both shapes. A line of the newer one is the session's facts, a message, a message once more (the last one counts), a
change of facts (`$set`), or a rewind (`$rewindTo`: the messages from there on become a branch). Read only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from backscroll.formats.gemini_cli.message import VENDOR, messages_of, role_of, words_of
from backscroll.formats.language import language_of
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.account_exports import moment
from backscroll.formats.sources.json_stream import Member, StreamElement, pieces
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import (
    UNKNOWN,
    as_array,
    as_object,
    as_text,
    keep_line,
    parse_row,
    short_title,
    stem,
)
from backscroll.formats.sources.tree import BEGINNING, MessageNode, walk
from backscroll.vocab.foreign import Aside, ForeignThread, Item, Problem
from backscroll.vocab.part import Json

_SESSION = re.compile(r"session-.*\.jsonl?")
_DEPTH = 2  # tmp/<project>/chats
_SAMPLE = 4000  # characters used for language detection


def _sessions(source: Source, depth: int = _DEPTH) -> Iterator[Source]:
    if not source.is_folder:
        yield source
        return
    for name in source.children():
        child = source.child(name) if _SESSION.fullmatch(name) or (depth and "." not in name) else None
        if child is not None and child.is_folder == (_SESSION.fullmatch(name) is None):
            yield from _sessions(child, depth - 1)


def _sniff(source: Source) -> float:
    first = next(_sessions(source), None)
    head = first.head().lstrip() if first is not None else ""
    known = (
        head.startswith("{") and re.search(r'"sessionId"\s*:', head) and re.search(r'"projectHash"\s*:', head)
    )
    return 0.95 if known else 0.0


def _read(source: Source) -> Iterator[ForeignThread]:
    for file in _sessions(source):
        session = _GeminiSession()
        session.read(file)
        yield session.thread(stem(file.name))


class _GeminiSession:
    """One session being read. A session is small: the program itself keeps it in memory."""

    def __init__(self) -> None:
        self._facts: dict[str, Json] = {}
        self._messages: dict[str, dict[str, Json]] = {}
        self._parents: dict[str, str | None] = {}
        self._path: list[str] = []
        self._lines: dict[str, int] = {}
        self._aside: list[Item] = []

    def read(self, file: Source) -> None:
        """Read a whole file of either shape."""
        first = next(
            (row for number, line in file.lines() if line.strip() for row in [parse_row(number, line)]), None
        )
        if first is None or isinstance(first, Problem) or "messages" in first:
            self._document(file)
            return
        for number, line in file.lines():
            if line.strip():
                self._line(number, line)

    def _document(self, file: Source) -> None:
        for piece in pieces(file, "messages"):
            if isinstance(piece, Problem):
                self._aside.append(piece)
            elif isinstance(piece, Member):
                self._facts[piece.key] = piece.value
            else:
                self._element(piece)

    def _element(self, piece: StreamElement) -> None:
        message = as_object(piece.value)
        if message is None:
            self._aside += [
                Problem("a message is not an object; it is kept as it is", piece.line),
                Aside(UNKNOWN, dumps(piece.value), line=piece.line),
            ]
        else:
            self._say(message, piece.line)

    def _line(self, number: int, line: str) -> None:
        row = parse_row(number, line)
        if isinstance(row, Problem):
            self._aside += [row, keep_line(line, number)]
        elif isinstance(row.get("$rewindTo"), str):
            self._aside.append(Aside("$rewindTo", line, line=number))
            back = row["$rewindTo"]
            self._path = self._path[: self._path.index(back)] if back in self._path else []
        elif isinstance(row.get("id"), str):
            known = self._messages.get(row["id"])
            if known is not None and known != row:
                self._aside.append(Aside("superseded", dumps(known), line=self._lines[row["id"]]))
            self._say(row, number)
        elif (changed := as_object(row.get("$set"))) is not None:
            self._set(changed, line, number)
        elif "sessionId" in row or "projectHash" in row:
            self._facts |= row
        else:
            self._aside += [
                Problem("a line that is not a session record; it is kept", number),
                keep_line(line, number),
            ]

    def _set(self, changed: Mapping[str, Json], line: str, number: int) -> None:
        """Apply changed facts. A new list of messages (shortened to save space) only adds its new messages; earlier ones stay
        unchanged."""
        self._facts |= {key: value for key, value in changed.items() if key != "messages"}
        listed = as_array(changed.get("messages"))
        if listed is not None:
            self._aside.append(Aside("$set", line, line=number))
            for message in map(as_object, listed):
                if message is not None and as_text(message.get("id")) not in self._messages:
                    self._say(message, number)

    def _say(self, message: dict[str, Json], line: int) -> None:
        id = as_text(message.get("id")) or f"#{line}-{len(self._messages) + 1}"
        if id not in self._messages:
            self._parents[id] = self._path[-1] if self._path else None
            self._path.append(id)
        self._messages[id] = message
        self._lines[id] = line

    def thread(self, name: str) -> ForeignThread:
        """Return the session as a thread."""
        facts = self._facts
        person = [m for m in self._messages.values() if role_of(m) == "user"]
        said = [words_of(message) for message in person[:20]]
        return ForeignThread(
            VENDOR,
            as_text(facts.get("sessionId")) or name,
            self._items(),
            title=short_title(as_text(facts.get("summary")) or next(filter(None, said), "")),
            project=as_text(facts.get("projectHash")),
            kind="agent",
            language=language_of("\n".join(said)[:_SAMPLE]),
            started=moment(facts.get("startTime")),
            metadata={VENDOR: facts},
        )

    def _items(self) -> Iterator[Item]:
        # Sessions have no second answers: siblings come from rewinds, and each is a branch. So no node is an answer.
        nodes = [MessageNode(id, self._parents[id], "said") for id in self._messages]
        last: dict[str, str | None] = {
            BEGINNING: BEGINNING
        }  # a branch leaves after the results, not before them
        for step in walk(nodes, self._path[-1] if self._path else None):
            leaves_from = None if step.leaves_from is None else last[step.leaves_from]
            for said in messages_of(
                self._messages[step.node], step.node, leaves_from, self._lines[step.node]
            ):
                last[step.node] = said.source_id
                yield said
        yield from self._aside


FORMAT = Format(VENDOR, "Gemini CLI session", ".json", _sniff, _read)
