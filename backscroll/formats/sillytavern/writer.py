"""Write messages as lines of a SillyTavern chat.

Owns: rebuilding imported lines (the same JSON values, if unchanged), and expressing conversations from other tools in
SillyTavern's terms: system text as narrator, tool calls with their results as one line, alternatives as swipes. Losses are
reported.
"""

from __future__ import annotations

import hashlib
import html
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backscroll.formats.shape import Blobs, FormatOutput
from backscroll.formats.sillytavern.message import KEY, SWIPED, mapping, unspoken
from backscroll.formats.sources.json_text import dumps, try_parse
from backscroll.formats.sources.media import bytes_of, to_data_url
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Media, Opaque, Reasoning, Text, ToolCall, ToolResult

LINE_ASIDE = "sillytavern-line"  # a valid line of the chat that is not a message
BROKEN_ASIDE = "sillytavern-broken"  # a line that is not JSON
_LISTED = ("media", "files", "image_swipes")


def write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    """Return the chat file, line by line."""
    problems: list[Problem] = []
    return FormatOutput(_lines(thread, blobs, problems), problems)


def _lines(thread: ForeignThread, blobs: Blobs, problems: list[Problem]) -> Iterator[str]:
    own = mapping(thread.metadata.get(KEY))
    if "header" not in own:
        yield dumps(_new_header(thread)) + "\n"
    elif own["header"] is not None:
        yield dumps(own["header"]) + "\n"
    scribe = SillyTavernWriter(thread.project, blobs, problems)
    unsaid: Counter[str] = Counter()
    step = _PendingReplies()
    for item in thread.items:
        if isinstance(item, ForeignMessage):
            if item.role == "tool":
                step.results += _results(item)
                scribe.note_flags(item)
                continue
            if item.role != "assistant" or step.answered:
                yield from step.texts(scribe)
                step = _PendingReplies()
            step.messages.append(item)
        elif isinstance(item, Aside) and item.kind == LINE_ASIDE:
            yield from step.texts(scribe)
            step = _PendingReplies()
            yield item.raw + "\n"
        elif isinstance(item, Problem):
            problems.append(item)
        else:
            unsaid[f"{item.kind} entries" if isinstance(item, Aside) else "code changes"] += 1
    yield from step.texts(scribe)
    for kind, count in unsaid.items():
        problems.append(Problem(f"{count} {kind} have no place in a SillyTavern chat and were left out"))


@dataclass(slots=True)
class _PendingReplies:
    """Replies that wait for the results of their calls: several, where a reply was logged in pieces."""

    messages: list[ForeignMessage] = field(default_factory=list[ForeignMessage])
    results: list[ToolResult] = field(default_factory=list[ToolResult])

    @property
    def answered(self) -> bool:
        """True where no call is open."""
        return _collect_call_ids(self.messages) <= {result.call_id for result in self.results}

    def texts(self, scribe: SillyTavernWriter) -> Iterator[str]:
        """Yield the lines; each result with the call it answers, results of no call at the end."""
        for message in self.messages:
            asked = _collect_call_ids([message])
            mine = [result for result in self.results if result.call_id in asked]
            yield from (dumps(line) + "\n" for line in scribe.lines(message, mine))
        asked = _collect_call_ids(self.messages)
        orphans = [result for result in self.results if result.call_id not in asked]
        yield from (dumps(scribe.orphan(result)) + "\n" for result in orphans)


def _collect_call_ids(messages: Iterable[ForeignMessage]) -> set[str]:
    return {part.id for message in messages for part in message.content.parts if isinstance(part, ToolCall)}


def _new_header(thread: ForeignThread) -> dict[str, Json]:
    # The names in the header are no longer read by SillyTavern, which itself writes `unused` there.
    metadata: dict[str, Json] = {"main_chat": thread.forked_from} if thread.forked_from else {}
    return {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}


def canonical(lines: Sequence[Mapping[str, Json]]) -> str:
    """Return a text that is equal for equal JSON values only (True is not 1, 1 is not 1.0)."""
    return json.dumps(lines, sort_keys=True)


def fingerprint(lines: Sequence[Mapping[str, Json]]) -> str:
    """Return a short hash of the JSON values of these lines."""
    return hashlib.sha256(canonical(lines).encode()).hexdigest()


class SillyTavernWriter:
    """Turns one message at a time into lines, and records losses."""

    def __init__(self, character: str, blobs: Blobs, problems: list[Problem]) -> None:
        self.character = character or "Assistant"
        self.blobs = blobs
        self.problems = problems

    def lines(self, message: ForeignMessage, results: Sequence[ToolResult]) -> list[dict[str, Json]]:
        """Return the lines of a message and the results of its calls; the original line if nothing changed."""
        calls = [part for part in message.content.parts if isinstance(part, ToolCall)]
        kept = mapping(message.content.metadata.get(KEY))
        worded = (Text,) if kept.get("invocations") else (Text, Media)
        spoken = any(isinstance(part, worded) for part in message.content.parts)
        out = [self._write_message(message)] if spoken or not calls else []
        if calls:
            answers = {result.call_id: result for result in results}
            out.append(self._tool_line(message, calls, answers, whole=not spoken))
        if "raw" in kept and fingerprint(out) == kept.get("written"):
            return [dict(mapping(kept["raw"]))]
        return out

    def _problem(self, what: str, message: ForeignMessage | None = None) -> None:
        self.problems.append(Problem(what, message.line if message else None))

    def note_flags(self, message: ForeignMessage) -> None:
        """Report flags of a message that no line of a chat can express."""
        if message.pinned:
            self._problem("SillyTavern has no pinned messages: the pin was left out", message)
        if message.parent_id is not None:
            self._problem(
                "a SillyTavern chat is one line of messages: the branch was written in place", message
            )
        for part in message.content.parts:
            if isinstance(part, Opaque):
                self._problem(f"a {part.vendor} part ({part.kind}) cannot be said in SillyTavern", message)

    def _write_message(self, message: ForeignMessage) -> dict[str, Json]:
        """Return the line of an ordinary message."""
        self.note_flags(message)
        kept = _find_kept_line(message)
        imported = kept is not None
        line: dict[str, Json] = dict(mapping((kept or {}).get("line")))
        line |= self._own_fields(message.content, message.at, message.role)
        name = message.content.author
        if name is not None or not imported:
            line["name"] = name or {"user": "User", "system": "System"}.get(message.role, self.character)
        for key, value in (("is_user", message.role == "user"), ("is_system", message.hidden)):
            if not imported or bool(line.get(key)) != value:
                line[key] = value
        line["mes"] = message.content.text
        if message.alternatives or (kept or {}).get("swiped"):
            self._add_swipes(line, message, kept or {})
        return _order_keys(line)

    def _own_fields(self, content: Content, at: str | None, role: str) -> dict[str, Json]:
        """Return send_date, gen_* and extra of one swipe."""
        kept = mapping(content.metadata.get(KEY))
        fields = dict(mapping(kept.get("fields")))
        if "fields" not in kept and at is not None:
            fields["send_date"] = at
        extra = dict(mapping(fields.get("extra")))
        before = dict(extra)
        self._add_parts(extra, content)
        if role == "system" and not unspoken(extra):
            extra["type"] = "narrator"
        if extra != before or "fields" not in kept:
            fields["extra"] = extra
        return fields

    def _add_parts(self, extra: dict[str, Json], content: Content) -> None:
        """Put thinking and attachments where SillyTavern keeps them."""
        thoughts = [part for part in content.parts if isinstance(part, Reasoning)]
        if thoughts:
            extra["reasoning"] = "\n\n".join(thought.text for thought in thoughts)
            signatures = [thought.signature for thought in thoughts if thought.signature is not None]
            if signatures:
                extra["reasoning_signature"] = signatures[-1]
            if len(thoughts) > 1:
                self._problem(f"{len(thoughts)} blocks of thinking were joined into one")
        for part in content.parts:
            if isinstance(part, Media):
                self._add_media(extra, part)

    def _add_media(self, extra: dict[str, Json], part: Media) -> None:
        note = mapping(part.extra.get(KEY))
        url = self._url(part, note)
        if url is None:
            lost = (
                "the bytes of an attachment are gone"
                if part.blob
                else "an attachment has neither bytes nor address"
            )
            self._problem(f"{lost}: {part.name or part.media_type} was left out")
            return
        key = note.get("key") or "media"
        kind = part.media_type.partition("/")[0]
        item: Json = url
        if "item" in note:
            item = {"url": url, **mapping(note["item"])}
        elif not note:
            item = {"url": url, "type": kind if kind in ("image", "video", "audio") else "file"}
            if part.name:
                item["title"] = part.name
        if key in _LISTED:
            extra.setdefault(key, []).append(item)
        elif key in extra:
            extra.setdefault("media", []).append({"url": url, "type": kind})
        else:
            extra[key] = item

    def _url(self, part: Media, note: Mapping[str, Json]) -> str | None:
        data = bytes_of(part, self.blobs)
        if data is None:
            return part.url
        return to_data_url(part.media_type + note.get("parameters", ""), data)

    def _add_swipes(self, line: dict[str, Json], message: ForeignMessage, kept: Mapping[str, Json]) -> None:
        contents = message.alternatives or (message.content,)
        chosen = message.chosen if message.alternatives else 0
        swipes: list[Json] = []
        infos: list[Json] = []
        for index, content in enumerate(contents):
            if any(isinstance(part, ToolCall) for part in content.parts) and index != chosen:
                self._problem("a swipe cannot call tools: the calls of an alternative were left out", message)
            if index == chosen:
                swipes.append(mapping(message.content.metadata.get(KEY)).get("stale", line["mes"]))
                mine = {key: line[key] for key in SWIPED if key in line}
                infos.append(mapping(message.content.metadata.get(KEY)).get("info", mine))
            else:
                times = message.alternative_times
                at = times[index] if index < len(times) else None
                rest = mapping(mapping(content.metadata.get(KEY)).get("rest"))
                swipes.append(content.text)
                infos.append({**self._own_fields(content, at, message.role), **rest})
        line["swipes"] = swipes
        line["swipe_id"] = chosen
        if kept.get("swiped") != "bare":
            line["swipe_info"] = infos

    def _tool_line(
        self,
        message: ForeignMessage,
        calls: Sequence[ToolCall],
        answers: Mapping[str, ToolResult],
        *,
        whole: bool,
    ) -> dict[str, Json]:
        """Return one line for all calls of a reply and their results. `whole`: no other line holds the rest of the message."""
        invocations = [self._invocation(call, answers.get(call.id), message) for call in calls]
        kept = mapping(message.content.metadata.get(KEY))
        line: dict[str, Json] = {}
        extra: dict[str, Json] = {}
        if whole:
            self.note_flags(message)
            line |= mapping(kept.get("line"))
            line |= self._own_fields(message.content, message.at, message.role)
            extra |= mapping(line.get("extra"))
            if message.hidden:
                self._problem(
                    "lines with tool calls are always marked as system: the hiding was left out", message
                )
        if "line" not in kept or not whole:
            line |= {"name": message.content.author or "System", "is_user": False, "is_system": True}
            line["mes"] = _render_tool_calls(invocations)
            extra["isSmallSys"] = True
            if message.at is not None:
                line["send_date"] = message.at
        line["extra"] = {**extra, "tool_invocations": invocations}
        return _order_keys(line)

    def _invocation(
        self, call: ToolCall, answer: ToolResult | None, message: ForeignMessage
    ) -> dict[str, Json]:
        note = mapping(call.extra.get(KEY))
        if not note:
            text = call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)
            out: dict[str, Json] = {
                "id": call.id,
                "displayName": call.name,
                "name": call.name,
                "parameters": text,
            }
            if answer is None:
                self._problem(f"the call of {call.name} has no result: an empty one was written", message)
            out["result"] = self._answer(answer) if answer else ""
            if answer and answer.is_error:
                out["error"] = True
            return out
        out = {"id": note.get("id", call.id), "name": call.name, "parameters": call.arguments}
        if note.get("bare"):
            del out["parameters"]
        if "id" in note and note["id"] is None:
            del out["id"]
        out |= mapping(note.get("item"))
        if answer:
            out["result"] = self._answer(answer)
        return out

    def _answer(self, result: ToolResult) -> Json:
        """Return the text of a result, or the JSON value it was made from."""
        text = "\n".join(part.text for part in result.content if isinstance(part, Text))
        if any(not isinstance(part, Text) for part in result.content):
            self._problem("a tool result in SillyTavern is text: its images or vendor parts were left out")
        return try_parse(text) if mapping(result.extra.get(KEY)).get("json") else text

    def orphan(self, result: ToolResult) -> dict[str, Json]:
        """Return a result whose call is missing as a call without parameters, so that its text is kept."""
        self._problem(f"the tool result {result.call_id} has no call: it was written with an empty one")
        call = {
            "id": result.call_id,
            "name": result.name or "tool",
            "parameters": "{}",
            "result": self._answer(result),
        }
        return _order_keys(
            {
                "name": "System",
                "is_user": False,
                "is_system": True,
                "mes": _render_tool_calls([call]),
                "extra": {"isSmallSys": True, "tool_invocations": [call]},
            }
        )


def _find_kept_line(message: ForeignMessage) -> Mapping[str, Json] | None:
    """Return the line's metadata from the import; it is on the swipe that was live then, which may not be live now."""
    for content in (message.content, *message.alternatives):
        kept = mapping(content.metadata.get(KEY))
        if "line" in kept:
            return kept
    return None


def _results(message: ForeignMessage) -> list[ToolResult]:
    """Return the results in a tool message; bare text counts as a result of an unknown call."""
    found = [part for part in message.content.parts if isinstance(part, ToolResult)]
    words = [part for part in message.content.parts if isinstance(part, Text | Media)]
    if words:
        found.append(ToolResult("", tuple(words), name=message.content.author))
    return found


def _render_tool_calls(invocations: Sequence[Mapping[str, Json]]) -> str:
    """Return the HTML that SillyTavern shows for a line of tool calls."""
    names = html.escape(", ".join(str(item["name"]) for item in invocations), quote=False)
    body = html.escape(dumps(list(invocations), indent=2), quote=False)
    return f"<details><summary>Tool calls: {names}</summary><pre><code>{body}</code></pre></details>"


_ORDER = ("name", "is_user", "is_system", "send_date", "mes", "extra")


def _order_keys(line: Mapping[str, Json]) -> dict[str, Json]:
    """Return the keys in SillyTavern's own order; unknown ones after them."""
    first = {key: line[key] for key in _ORDER if key in line}
    return first | {key: value for key, value in line.items() if key not in first}
