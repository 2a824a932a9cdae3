"""Write threads as lines of a Codex rollout.

Owns: reassembling imported lines (equal JSON values, in the same order), and lines for messages from other tools: an item for
the model and, for text, the event that Codex shows when a session is reopened. Reasoning from other tools is displayed only:
without the vendor's signature it must not be sent. What the format cannot express is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from backscroll.formats.codex.item import VENDOR, contents, is_machine, put_back
from backscroll.formats.losses import ExportLosses
from backscroll.formats.shape import Blobs, FormatOutput
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_object, minted_uuid, of_vendor, own
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EPOCH = "1970-01-01T00:00:00.000Z"


def write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    """Return the rollout, line by line."""
    problems: list[Problem] = []
    scribe = _CodexWriter(thread, blobs, ExportLosses("a Codex rollout", problems))
    return FormatOutput((line + "\n" for line in scribe.lines()), problems)


class _CodexWriter:
    def __init__(self, thread: ForeignThread, blobs: Blobs, unsaid: ExportLosses) -> None:
        self._thread, self._blobs, self._unsaid = thread, blobs, unsaid
        self._facts = of_vendor(thread.metadata, VENDOR)
        self._ours = VENDOR in thread.metadata
        self._when = thread.started or ""

    def lines(self) -> Iterator[str]:
        """Yield the lines without their ends."""
        if not self._ours:
            yield self._header()
        for item in self._thread.items:
            if isinstance(item, ForeignMessage):
                yield from self._message(item)
            elif isinstance(item, Aside) and self._ours:
                yield item.raw
            else:
                self._unsaid.leave_out(item)
        if self._thread.title and self._thread.title != self._facts.get("title"):
            self._unsaid.problems.append(Problem("a Codex rollout has no title: it is kept in another file"))
        self._unsaid.close()

    def _header(self) -> str:
        given = self._thread.source_id
        session = given if _UUID.fullmatch(given) else minted_uuid("session", self._thread.format, given)
        when = self._time()
        meta: dict[str, Json] = {"id": session, "timestamp": when, "cwd": self._thread.project}
        meta |= {"originator": "backscroll", "cli_version": "0.0.0", "instructions": None, "source": "cli"}
        return dumps({"timestamp": when, "type": "session_meta", "payload": meta})

    def _time(self) -> str:
        return self._when or _EPOCH

    def _message(self, item: ForeignMessage) -> Iterator[str]:
        facts = own(item.content, VENDOR)
        skeleton = as_object(facts.get("line"))
        seen = not is_machine(item.role, item.content.text) and not facts.get("rolled_back")
        shape = as_object((skeleton or {}).get("payload")) or skeleton
        self._unsaid.flags(item, hidden=not seen, author=shape is not None and "author" in shape)
        self._when = item.at or self._when
        if skeleton is not None and shape is not None:
            payload = put_back(shape, item.content.parts, self._blobs, self._unsaid.note)
            if payload is not None:
                yield dumps(payload if shape is skeleton else {**skeleton, "payload": payload})
                return
        if not self._when:
            self._unsaid.note("no time is known: written as the beginning of 1970")
            self._when = _EPOCH
        yield from self._new(item)

    # -- lines for messages from other tools ---------------------------------------------------------------------

    def _new(self, item: ForeignMessage) -> Iterator[str]:
        words: list[Part] = []
        for part in item.content.parts:
            if isinstance(part, Text | Media | Opaque):
                words.append(part)
                continue
            yield from self._words(item, words)
            words = []
            yield from self._write_part(part)
        yield from self._words(item, words)

    def _words(self, item: ForeignMessage, parts: list[Part]) -> Iterator[str]:
        role = "developer" if item.role == "system" else "user" if item.role == "tool" else item.role
        said = contents(parts, role, False, self._blobs, self._unsaid.note)
        if not said:
            return
        yield self._item({"type": "message", "role": role, "content": said})
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        if role == "user" and not item.hidden:
            yield from self._event({"type": "user_message", "message": text, "kind": "plain"})
        elif role == "assistant" and text:
            yield from self._event({"type": "agent_message", "message": text})

    def _write_part(self, part: Part) -> Iterator[str]:
        match part:
            case Reasoning():
                self._unsaid.note(
                    "a reasoning without this vendor's proof is written as an event, which no model sees"
                )
                yield from self._event({"type": "agent_reasoning", "text": part.text})
            case ToolCall():
                asked = part.arguments if isinstance(part.arguments, str) else dumps(part.arguments)
                call: dict[str, Json] = {"type": "function_call", "name": part.name, "arguments": asked}
                yield self._item({**call, "call_id": part.id})
            case ToolResult():
                if part.is_error:
                    self._unsaid.note("a rollout cannot say that a tool failed, only its words can")
                said = contents(part.content, "user", True, self._blobs, self._unsaid.note) or ""
                answer = {"type": "function_call_output", "call_id": part.call_id, "output": said}
                yield self._item(answer)
            case _:
                pass

    def _item(self, payload: dict[str, Json]) -> str:
        if self._facts.get("bare") is True:
            return dumps(payload)
        return dumps({"timestamp": self._time(), "type": "response_item", "payload": payload})

    def _event(self, payload: dict[str, Json]) -> Iterator[str]:
        """Yield an event line; nothing for bare rollouts, which are older and have no events."""
        if self._facts.get("bare") is not True:
            yield dumps({"timestamp": self._time(), "type": "event_msg", "payload": payload})
