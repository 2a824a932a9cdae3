"""Tools of MCP servers, and what they have to read, as tools of ours.

Owns the names (`server__tool`), schemas as other programs write them, what a call would do for the person, and turning results
(text, pictures, sounds, resources, errors) into ours. A server that cannot be used is a problem that is told; the others work.
Refuses: the line itself (`act/mcp_client_line`). After: `act/agent`, which passes the tools on like any others.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from backscroll.act.cleaning import one_line, readable
from backscroll.act.mcp_client_asking import Questions
from backscroll.act.mcp_client_line import Line
from backscroll.act.mcp_client_servers import Server, servers
from backscroll.act.person import Effect, Preview
from backscroll.act.tool import ToolContext, ToolOutput
from backscroll.act.toolbox import plain_preview
from backscroll.errors import BackscrollError
from backscroll.vocab.part import Json, Media

if TYPE_CHECKING:
    from mcp_types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        Resource,
        ResourceTemplate,
        TextResourceContents,
    )
    from mcp_types import Tool as Offered

_NAME = 64
_DESCRIPTION = 2_000
_MEDIA, _MOST = 10_000_000, 8  # bytes of one picture or sound, and how many of one result
_READER = "read_resource"
_NAMED = 20  # addresses that the description of a reader names
_READS: Mapping[str, Json] = {
    "type": "object",
    "properties": {"uri": {"type": "string", "description": "the address; left out: list them all"}},
}
#: What vendors do not take at the top of a schema, though it is JSON Schema.
_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "$schema", "$id")


@dataclass(frozen=True, slots=True, eq=False)
class McpTool:
    """One tool of one server."""

    line: Line = field(repr=False)
    wanted: str  # its name over there
    name: str
    description: str
    parameters: Mapping[str, Json]
    #: Whatever a server says of its tools, they are other people's programs: the person is asked, or a rule allows them.
    effect: Effect = "network"
    seconds: float = 0.0  # the line keeps time
    looks: bool = (
        False  # it says that it only looks; then it may be asked once more, and nothing else follows from it
    )

    def preview(self, context: ToolContext, arguments: Mapping[str, Json]) -> Preview:  # noqa: ARG002 - the protocol's
        """The call with all of its arguments."""
        shown = plain_preview(self.wanted, arguments)
        whole = json.dumps(dict(arguments), ensure_ascii=False, indent=2) if arguments else ""
        return Preview(f"{self.line.server.name}: {shown.line}", text=whole)

    def run(self, context: ToolContext, arguments: Mapping[str, Json]) -> ToolOutput:
        """Ask the server."""
        ask = questions_of(context).ask
        return output_of(
            self.line.call(self.wanted, dict(arguments), context.stop, again=self.looks, ask=ask)
        )


def questions_of(context: ToolContext) -> Questions:
    """How a server may ask the person something during a call."""
    return Questions(
        context.person, context.thread.legible.info.language or context.thread.engine.settings.language
    )


@dataclass(frozen=True, slots=True, eq=False)
class McpReader:
    """What one server has to read: listed where no address is given, else read."""

    line: Line = field(repr=False)
    name: str
    description: str
    listed: str  # every address there is, a line each
    parameters: Mapping[str, Json] = field(default_factory=lambda: dict(_READS))
    effect: Effect = "network"
    seconds: float = 0.0  # the line keeps time

    def preview(self, context: ToolContext, arguments: Mapping[str, Json]) -> Preview:  # noqa: ARG002 - the protocol's
        """The address that would be read."""
        uri = str(arguments.get("uri") or "")
        return Preview(
            f"{self.line.server.name}: read {one_line(uri)}" if uri else f"{self.line.server.name}: list"
        )

    def run(self, context: ToolContext, arguments: Mapping[str, Json]) -> ToolOutput:
        """Read it."""
        uri = str(arguments.get("uri") or "").strip()
        if not uri:
            return ToolOutput(self.listed, line=f"{self.listed.count(chr(10)) + 1} listed")
        found = self.line.read(uri, context.stop, questions_of(context).ask)
        texts: list[str] = []
        media: list[Media] = []
        for held in found.contents:
            text, seen = _held(held)
            texts += [text] if text else []
            media += [seen] if seen is not None and len(media) < _MOST else []
        words = "\n".join(texts)
        return ToolOutput(words, line=one_line(words) or "empty", media=tuple(media))


@dataclass(frozen=True, slots=True)
class Connected:
    """What came of the servers. Close it, or use it in a `with`."""

    tools: tuple[McpTool | McpReader, ...]
    problems: tuple[str, ...] = ()  # one sentence for each server that cannot be used
    lines: tuple[Line, ...] = field(default=(), repr=False)

    def close(self) -> None:
        """End the servers."""
        for line in self.lines:
            line.close()

    def __enter__(self) -> Connected:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def connect(root: Path, wanted: Sequence[Server] | None = None) -> Connected:
    """Start the servers (by default all of the configuration file), side by side, and take their tools."""
    some = servers() if wanted is None else list(wanted)
    if not some:
        return Connected(())
    lines = [Line(server, root) for server in some]
    with ThreadPoolExecutor(len(lines), "mcp") as pool:
        found = list(pool.map(_offered, lines))
    tools: list[McpTool | McpReader] = []
    taken: set[str] = set()
    for line, (offered, held, _) in zip(lines, found, strict=True):
        for each in offered:
            if line.server.tools and each.name not in line.server.tools:
                continue
            made = _tool(line, each, taken)
            if made.name not in taken:  # a server may list the same one again and again
                tools.append(made)
                taken.add(made.name)
        if held and (not line.server.tools or _READER in line.server.tools):
            reader = _reader(line, held, taken)
            tools.append(reader)
            taken.add(reader.name)
    return Connected(tuple(tools), tuple(problem for _, _, problem in found if problem), tuple(lines))


def _offered(line: Line) -> tuple[list[Offered], str, str]:
    """The tools of a server, what it has to read, and why it cannot be used."""
    try:
        offered = line.offered()
    except BackscrollError as error:
        return [], "", str(error)
    try:
        return offered, _listed(*line.resources()), ""
    except BackscrollError:  # its tools work all the same
        return offered, "", ""


def _listed(found: Sequence[Resource], patterns: Sequence[ResourceTemplate]) -> str:
    """What a server has to read, a line each."""
    rows = [(str(r.uri), r) for r in found] + [(p.uri_template, p) for p in patterns]
    return "\n".join(
        one_line(" · ".join(filter(None, (uri, about.title or about.name, about.description or ""))))
        for uri, about in rows
    )


def _reader(line: Line, held: str, taken: set[str]) -> McpReader:
    rows = held.split("\n")
    some = "\n".join(rows[:_NAMED])
    more = f"\n… and {len(rows) - _NAMED} more: call it without uri" if len(rows) > _NAMED else ""
    server = line.server.name
    said = readable(
        f"Read what the MCP server {server} has to read, by its address. There are:\n{some}{more}"
    )
    return McpReader(line, tool_name(server, _READER, taken), said[:_DESCRIPTION], readable(held))


def _tool(line: Line, offered: Offered, taken: set[str]) -> McpTool:
    hints = offered.annotations
    looks = hints is not None and hints.read_only_hint is True
    words = readable(offered.description or offered.title or "").strip() or f"The tool {offered.name}"
    server = line.server.name
    said = f"{words[:_DESCRIPTION]} (from the MCP server {server})"
    name = tool_name(server, offered.name, taken)
    return McpTool(line, offered.name, name, said, schema_of(offered.input_schema), looks=looks)


def tool_name(server: str, tool: str, taken: set[str]) -> str:
    """`server__tool` as every wire takes it; a name that is too long or taken ends with a few digits of its hash."""
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}__{tool}")
    if len(plain) <= _NAME and plain not in taken and plain == f"{server}__{tool}":
        return plain
    mark = hashlib.sha256(f"{server}\n{tool}".encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain[: _NAME - 9]}_{mark}"


def schema_of(given: object) -> Mapping[str, Json]:
    """A schema that every vendor takes, from whatever a server wrote."""
    rules = dict(cast("Mapping[str, Json]", given)) if isinstance(given, Mapping) else {}
    for key in _NOT_AT_THE_TOP:
        rules.pop(key, None)
    properties = rules.get("properties")
    known: Mapping[str, Json] = (
        cast("Mapping[str, Json]", properties) if isinstance(properties, Mapping) else {}
    )
    rules["type"], rules["properties"] = "object", dict(known)
    needed = rules.pop("required", None)
    if isinstance(needed, list):
        kept = [name for name in cast("list[Json]", needed) if isinstance(name, str) and name in known]
        if kept:
            rules["required"] = kept
    return rules


# -- results -----------------------------------------------------------------------------------------------------


def output_of(result: CallToolResult) -> ToolOutput:
    """A result of a server as one of ours."""
    texts: list[str] = []
    media: list[Media] = []
    for block in result.content:
        text, found = _block(block)
        texts += [text] if text else []
        media += [found] if found is not None and len(media) < _MOST else []
    if not texts and not media and result.structured_content is not None:
        texts.append(json.dumps(result.structured_content, ensure_ascii=False))
    words = "\n".join(texts)
    line = one_line(words) or (f"{len(media)} pictures or files" if media else "done")
    return ToolOutput(words, is_error=bool(result.is_error), line=line, media=tuple(media))


def _block(block: ContentBlock) -> tuple[str, Media | None]:
    match block.type:
        case "text":
            return block.text, None
        case "image" | "audio":
            return _media(block.data, block.mime_type, "")
        case "resource":
            return _held(block.resource)
        case _:
            told = f"{block.uri} ({block.mime_type})" if block.mime_type else str(block.uri)
            return f"{block.title or block.name}: {told}", None


def _held(held: TextResourceContents | BlobResourceContents) -> tuple[str, Media | None]:
    """What was read at one address."""
    where = str(held.uri)
    text: str | None = getattr(held, "text", None)
    if text is not None:
        return f"{where}:\n{text}", None
    return _media(str(getattr(held, "blob", "")), held.mime_type or "application/octet-stream", where)


def _media(data: str, kind: str, name: str) -> tuple[str, Media | None]:
    """Bytes in a result; those that cannot be used are named."""
    try:
        raw = base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return f"({kind} that cannot be read)", None
    if not raw or len(raw) > _MEDIA:
        return f"({kind}, {len(raw):,} bytes: not kept)", None
    if not kind.startswith(("image/", "audio/")):
        return f"({name or kind}, {len(raw):,} bytes)", None
    return f"({kind}, {len(raw):,} bytes)", Media(kind, data=raw, name=name or None)
