"""Write threads as lines of a Claude Code transcript.

Owns: reassembling imported lines (equal JSON values, in the same order), giving new messages lines of their own with ids made
from their content and position, and keeping the chain of parents intact where messages were added or removed. What the format
cannot express is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from backscroll.formats.anthropic.parts import BlockWriter
from backscroll.formats.claude_code.line import VENDOR, is_machine, line_of
from backscroll.formats.losses import ExportLosses
from backscroll.formats.shape import Blobs, FormatOutput
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import (
    as_array,
    as_object,
    as_text,
    mint_id,
    minted_uuid,
    of_vendor,
    own,
    parse_row,
)
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.part import Json

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EPOCH = "1970-01-01T00:00:00.000Z"


def write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    """Return the transcript, line by line."""
    problems: list[Problem] = []
    scribe = _ClaudeCodeWriter(thread, blobs, ExportLosses("a Claude Code transcript", problems))
    return FormatOutput(
        (dumps(line) + "\n" if not isinstance(line, str) else line + "\n" for line in scribe.lines()),
        problems,
    )


class _ClaudeCodeWriter:
    def __init__(self, thread: ForeignThread, blobs: Blobs, unsaid: ExportLosses) -> None:
        self._thread, self._blobs, self._unsaid = thread, blobs, unsaid
        self._facts = of_vendor(thread.metadata, VENDOR)
        self._ours = VENDOR in thread.metadata
        self._session = self._session_id()
        self._parents = _Parents(as_array(self._facts.get("dangling")) or [])
        self._when = thread.started or ""
        self._open: dict[str, Json] | None = None  # a line that may still get more blocks
        self._reply = ""  # the id of a new reply that spans several lines, as in Claude Code

    def _session_id(self) -> str:
        given = as_text(self._facts.get("session")) or self._thread.source_id
        if self._ours or _UUID.fullmatch(given):
            return given
        return minted_uuid("session", self._thread.format, given)

    def lines(self) -> Iterator[dict[str, Json] | str]:
        """Yield objects, and texts that are kept verbatim."""
        for item in self._in_order():
            if isinstance(item, ForeignMessage):
                yield from self._message(item)
            elif isinstance(item, Aside) and self._ours:
                yield from self._flush()
                yield self._aside(item)
            else:
                self._unsaid.leave_out(item)
        yield from self._flush()
        if self._thread.title and self._thread.title != self._facts.get("title"):
            yield {"type": "custom-title", "customTitle": self._thread.title, "sessionId": self._session}
        self._unsaid.close()

    def _in_order(self) -> Iterable[Item]:
        """Return the items in file order: abandoned branches come last and are put back between the live lines if their place
        is known."""
        if not self._facts.get("branches"):
            return self._thread.items
        items = list(self._thread.items)
        numbers = [getattr(item, "line", None) for item in items]
        known = [number for number in numbers if number is not None]
        if len(known) < len(items):
            return items
        return [item for _, item in sorted(zip(known, items, strict=True), key=lambda pair: pair[0])]

    def _aside(self, item: Aside) -> dict[str, Json] | str:
        row = parse_row(0, item.raw)
        if isinstance(row, Problem) or not self._parents.place(row):
            return item.raw
        return row

    def _message(self, item: ForeignMessage) -> Iterator[dict[str, Json]]:
        meta = own(item.content, VENDOR)
        skeleton = as_object(meta.get("line"))
        said = item.role == "user" if skeleton is None else is_machine(skeleton, item.content.text)
        self._unsaid.flags(item, hidden=said)
        self._when = item.at or self._when
        blocks = BlockWriter(self._blobs, self._unsaid.note, foreign=skeleton is None and "joins" not in meta)
        if self._joins(meta, item, blocks):
            return
        yield from self._flush()
        if skeleton is None:
            yield from self._new(item, blocks)
            return
        line = line_of(skeleton, item.content.parts, as_text(meta.get("content")), blocks)
        self._parents.place(line)
        self._open, self._reply = line, ""

    def _joins(self, meta: Mapping[str, Json], item: ForeignMessage, blocks: BlockWriter) -> bool:
        if self._open is None or "joins" not in meta or meta["joins"] != as_text(self._open.get("uuid")):
            return False
        content = as_array(self._open["message"]["content"])
        if content is None:
            return False
        content.extend(blocks.blocks(item.content.parts))
        return True

    def _flush(self) -> Iterator[dict[str, Json]]:
        if self._open is not None:
            yield self._open
        self._open = None

    # -- lines for messages from other tools ---------------------------------------------------------------------

    def _new(self, item: ForeignMessage, blocks: BlockWriter) -> Iterator[dict[str, Json]]:
        how = "list" if item.role == "assistant" else ""
        content = blocks.content(item.content.parts, how)
        if not content:
            self._unsaid.note("nothing is left of a message: left out")
            return
        line: dict[str, Json] = {"parentUuid": None, "isSidechain": False, "userType": "external"}
        line |= {"cwd": self._thread.project, "sessionId": self._session}
        line |= {"version": as_text(self._facts.get("version")) or "0.0.0", "gitBranch": ""}
        seed = [self._session, self._unsaid.position, item.role, content]
        if item.role == "assistant":
            self._reply = self._reply or f"msg_{mint_id(*seed)[:24]}"
            line |= {"type": "assistant", "message": _reply(content, self._reply)}
        elif item.role == "system":
            self._unsaid.note("Claude Code shows system lines but does not send them to a model")
            line |= {"type": "system", "subtype": "informational", "content": item.content.text}
            line |= {"level": "info", "isMeta": False}
        else:
            line |= {"type": "user", "message": {"role": "user", "content": content}}
            line |= {"isMeta": True} if item.hidden else {}
        if not self._when:
            self._unsaid.note("no time is known: written as the beginning of 1970")
            self._when = _EPOCH
        line |= {"uuid": minted_uuid(*seed), "timestamp": self._when}
        if not _goes_on(content):
            self._reply = ""
        self._parents.insert(line)
        yield line


def _goes_on(content: Json) -> bool:
    """Return True if the next line may be the rest of this reply: calls of one reply share its id."""
    blocks = as_array(content)
    last = as_object(blocks[-1]) if blocks else None
    return last is not None and last.get("type") in ("thinking", "tool_use")


def _reply(content: Json, name: str) -> dict[str, Json]:
    blocks = [as_object(block) or {} for block in as_array(content) or []]
    calls = any(block.get("type") == "tool_use" for block in blocks)
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "unknown",
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


class _Parents:
    """Keeps the chain of parents intact: new lines are inserted, and children of removed lines are attached to the line
    before."""

    def __init__(self, dangling: Iterable[Json]) -> None:
        self._known = {as_text(uuid) for uuid in dangling}
        self._move_edits: dict[str, str] = {}  # children of the first are now attached to the second
        self._last = ""

    def place(self, line: dict[str, Json]) -> bool:
        """Note a line of the old file; True where its parent had to be changed."""
        uuid, parent = as_text(line.get("uuid")), as_text(line.get("parentUuid"))
        if not uuid:
            return False
        now = parent if not parent or parent in self._known else self._last
        if not now:
            now = self._move_edits.pop("", "")  # only the first root can be the original first line
        while now in self._move_edits:
            now = self._move_edits[now]
        self._known.add(uuid)
        self._last = uuid
        if "parentUuid" not in line or now == parent:
            return False
        line["parentUuid"] = now or None
        return True

    def insert(self, line: dict[str, Json]) -> None:
        """Insert a new line after the last one; the last line's children become its children."""
        line["parentUuid"] = self._last or None
        self._move_edits[self._last] = line["uuid"]
        self._known.add(line["uuid"])
        self._last = line["uuid"]
