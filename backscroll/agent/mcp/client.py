"""Tools and resources of MCP servers, as our tools.

Owns names (`server__tool`), schemas, previews, and converting results (text, media, resources, errors). A server that cannot be used
is reported; the others work. Refuses: the connection (`agent/mcp/line`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from backscroll.agent.commands.output import one_line, readable
from backscroll.agent.mcp.line import McpConnection
from backscroll.agent.mcp.questions import QuestionRelay
from backscroll.agent.mcp.servers import McpServer, usable_servers
from backscroll.agent.person import Effect, Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import plain_preview
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
_MEDIA, _MOST = 10_000_000, 8  # bytes of one picture or sound, and how many per result
#: Seconds that the first message waits for servers; slower ones join at a later message.
PATIENCE = 10.0
_PROBLEM = 300  # characters of the line about a server that cannot be used
_TOOLS = 128  # tools of one server; every prompt pays for each of them
_LARGEST, _DEEPEST = 30_000, 40  # characters of a schema, and its maximum nesting
#: Property names that every wire accepts.
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_READER = "read_resource"
_NAMED = 20  # addresses listed in the description of a reader
_READS: Mapping[str, Json] = {
    "type": "object",
    "properties": {"uri": {"type": "string", "description": "the address; left out: list them all"}},
}
#: Keywords that vendors reject at the top of a schema, though they are JSON Schema.
_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "$schema", "$id")


@dataclass(frozen=True, slots=True, eq=False)
class McpTool:
    """One tool of one server."""

    line: McpConnection = field(repr=False)
    wanted: str  # its name on the server
    name: str
    description: str
    parameters: Mapping[str, Json]
    #: Whatever a server claims about its tools, they are third-party programs: the user is asked, or a rule allows them.
    effect: Effect = "network"
    seconds: float = 0.0  # the connection keeps time
    looks: bool = False  # the server claims it is read-only: it may be retried once, and nothing else follows

    def preview(self, context: ToolContext, arguments: Mapping[str, Json]) -> Preview:  # noqa: ARG002 - the protocol's
        """Return the call with all of its arguments."""
        shown = plain_preview(self.wanted, arguments)
        whole = json.dumps(dict(arguments), ensure_ascii=False, indent=2) if arguments else ""
        return Preview(f"{self.line.server.name}: {shown.line}", text=whole)

    def run(self, context: ToolContext, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call the tool on the server."""
        ask = questions_of(context).ask
        return output_of(
            self.line.call(self.wanted, dict(arguments), context.stop, again=self.looks, ask=ask)
        )


def questions_of(context: ToolContext) -> QuestionRelay:
    """Return the relay for questions that a server asks the user during a call."""
    return QuestionRelay(
        context.person, context.thread.legible.info.language or context.thread.engine.settings.language
    )


@dataclass(frozen=True, slots=True, eq=False)
class McpReader:
    """Reads the resources of one server; lists them if no address is given."""

    line: McpConnection = field(repr=False)
    name: str
    description: str
    listed: str  # every address, one per line
    parameters: Mapping[str, Json] = field(default_factory=lambda: dict(_READS))
    effect: Effect = "network"
    seconds: float = 0.0  # the connection keeps time

    def preview(self, context: ToolContext, arguments: Mapping[str, Json]) -> Preview:  # noqa: ARG002 - the protocol's
        """Return the address that would be read."""
        uri = str(arguments.get("uri") or "")
        return Preview(
            f"{self.line.server.name}: read {one_line(uri)}" if uri else f"{self.line.server.name}: list"
        )

    def run(self, context: ToolContext, arguments: Mapping[str, Json]) -> ToolOutput:
        """Read the resource, or list all of them."""
        uri = str(arguments.get("uri") or "").strip()
        if not uri:
            return ToolOutput(self.listed, line=f"{self.listed.count(chr(10)) + 1} listed")
        found = self.line.read(uri, context.stop, questions_of(context).ask)
        texts: list[str] = []
        media: list[Media] = []
        for held in found.contents:
            text, seen = _read_content(held)
            texts += [text] if text else []
            media += [seen] if seen is not None and len(media) < _MOST else []
        words = "\n".join(texts)
        return ToolOutput(words, line=one_line(words) or "empty", media=tuple(media))


@dataclass(slots=True)
class McpServers:
    """The servers that were started, and what they offer. Close it, or use it in a `with` block."""

    tools: tuple[McpTool | McpReader, ...]
    problems: tuple[str, ...] = ()  # a line for each server or tool that cannot be used
    lines: tuple[McpConnection, ...] = field(default=(), repr=False)
    starting: dict[McpConnection, Future[_ServerOffer]] = field(
        default_factory=dict["McpConnection", "Future[_ServerOffer]"], repr=False
    )

    def gather(self, seconds: float = 0.0) -> tuple[list[McpTool | McpReader], list[str]]:
        """Add the tools of servers that have answered since, waiting at most `seconds`; return the new tools and problems."""
        wait(self.starting.values(), seconds)
        tools: list[McpTool | McpReader] = []
        problems: list[str] = []
        taken = {tool.name for tool in self.tools}
        for line in [line for line, offer in self.starting.items() if offer.done()]:
            offer = self.starting.pop(line).result()
            found, left_out = _usable(line, offer, taken)
            tools += found
            problems += [offer.problem] if offer.problem else []
            problems += [f"the MCP server {line.server.name}: {left_out}"] if left_out else []
        told = [_short(problem) for problem in problems]
        self.tools, self.problems = (*self.tools, *tools), (*self.problems, *told)
        return tools, told

    def close(self) -> None:
        """Stop all servers, concurrently."""
        if self.lines:
            with ThreadPoolExecutor(len(self.lines), "mcp-close") as pool:
                list(pool.map(McpConnection.close, self.lines))

    def __enter__(self) -> McpServers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def connect(root: Path, wanted: Sequence[McpServer] | None = None, patience: float = PATIENCE) -> McpServers:
    """Start the servers (default: all configured ones) side by side; those slower than `patience` are taken in by `gather`."""
    some, problems = usable_servers() if wanted is None else (list(wanted), [])
    connected = McpServers((), tuple(_short(each) for each in problems))
    if not some:
        return connected
    connected.lines = tuple(McpConnection(server, root) for server in some)
    connected.starting = {line: _start_offer(line) for line in connected.lines}
    connected.gather(patience)
    late = [f"the MCP server {line.server.name} is still starting" for line in connected.starting]
    connected.problems = (*connected.problems, *late)
    return connected


def _short(problem: str) -> str:
    """Return a problem on a single line."""
    return one_line(" ".join(readable(problem).split()), _PROBLEM)


@dataclass(frozen=True, slots=True)
class _ServerOffer:
    """What a server offers, or why it cannot be used."""

    tools: Sequence[Offered] = ()
    held: str = ""  # its resources, one per line
    problem: str = ""


def _start_offer(line: McpConnection) -> Future[_ServerOffer]:
    """Ask a server for what it offers, in a daemon thread."""
    waiting: Future[_ServerOffer] = Future()

    def work() -> None:
        try:
            waiting.set_result(_fetch_offer(line))
        except Exception as error:  # noqa: BLE001 - outermost boundary of a thread: no server may end its caller
            words = f"the MCP server {line.server.name} cannot be used: {type(error).__name__}: {error}"
            waiting.set_result(_ServerOffer(problem=words))

    threading.Thread(target=work, name=f"mcp start {line.server.name}", daemon=True).start()
    return waiting


def _fetch_offer(line: McpConnection) -> _ServerOffer:
    try:
        offered = line.fetch_tools()
    except BackscrollError as error:
        return _ServerOffer(problem=str(error))
    try:
        return _ServerOffer(offered, _list_resources(*line.resources()))
    except BackscrollError:  # its tools work nevertheless
        return _ServerOffer(offered)


def _usable(
    line: McpConnection, offer: _ServerOffer, taken: set[str]
) -> tuple[list[McpTool | McpReader], str]:
    """Return the tools of an offer that every wire accepts, and a line about the others."""
    found: list[McpTool | McpReader] = []
    left_out = list(line.output.left_out)
    for each in offer.tools:
        if line.server.tools and each.name not in line.server.tools:
            continue
        made = _tool(line, each, taken)
        if made.name in taken:  # a server may list the same one again and again
            continue
        wrong = "over the limit of tools" if len(found) >= _TOOLS else fault_of(made.parameters)
        if wrong:
            left_out.append(f"{each.name}: {wrong}")
            continue
        found.append(made)
        taken.add(made.name)
    if offer.held and (not line.server.tools or _READER in line.server.tools):
        reader = _reader(line, offer.held, taken)
        found.append(reader)
        taken.add(reader.name)
    if not left_out:
        return found, ""
    rest = f"; and {len(left_out) - 3} more" if len(left_out) > 3 else ""
    return found, f"{len(left_out)} left out: {'; '.join(left_out[:3])}{rest}"


def fault_of(parameters: Mapping[str, Json]) -> str:
    """Return why a service would reject a request with this schema; empty if none would."""
    if _depth(parameters) > _DEEPEST:
        return "its inputSchema is nested too deep"
    try:
        size = len(json.dumps(parameters, ensure_ascii=False))
    except (TypeError, ValueError) as error:
        return f"its inputSchema is not JSON: {error}"
    if size > _LARGEST:
        return f"its inputSchema has {size:,} characters; {_LARGEST:,} is the limit"
    odd = next((key for key in parameters.get("properties", {}) if not _PROPERTY.fullmatch(key)), None)
    if odd is not None:
        return f"its inputSchema names a property {odd[:40]!r}"
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(dict(parameters))
    except SchemaError as error:
        return f"its inputSchema is not valid: {error.message[:120]}"
    return ""


def _depth(value: object) -> int:
    """Return how deep a value is nested, without recursion."""
    deepest, left = 0, [(value, 1)]
    while left:
        each, depth = left.pop()
        deepest = max(deepest, depth)
        if depth > _DEEPEST:
            break
        inner = cast("Mapping[str, object]", each).values() if isinstance(each, Mapping) else each
        if isinstance(each, Mapping | list):
            left += [(one, depth + 1) for one in cast("Sequence[object]", inner)]
    return deepest


def _list_resources(found: Sequence[Resource], patterns: Sequence[ResourceTemplate]) -> str:
    """Return a server's resources, one per line."""
    rows = [(str(r.uri), r) for r in found] + [(p.uri_template, p) for p in patterns]
    return "\n".join(
        one_line(" · ".join(filter(None, (uri, about.title or about.name, about.description or ""))))
        for uri, about in rows
    )


def _reader(line: McpConnection, held: str, taken: set[str]) -> McpReader:
    rows = held.split("\n")
    some = "\n".join(rows[:_NAMED])
    more = f"\n… and {len(rows) - _NAMED} more: call it without uri" if len(rows) > _NAMED else ""
    server = line.server.name
    said = readable(
        f"Read what the MCP server {server} has to read, by its address. There are:\n{some}{more}"
    )
    return McpReader(line, tool_name(server, _READER, taken), said[:_DESCRIPTION], readable(held))


def _tool(line: McpConnection, offered: Offered, taken: set[str]) -> McpTool:
    hints = offered.annotations
    looks = hints is not None and hints.read_only_hint is True
    words = readable(offered.description or offered.title or "").strip() or f"The tool {offered.name}"
    server = line.server.name
    said = f"{words[:_DESCRIPTION]} (from the MCP server {server})"
    name = tool_name(server, offered.name, taken)
    return McpTool(line, offered.name, name, said, schema_of(offered.input_schema), looks=looks)


def tool_name(server: str, tool: str, taken: set[str]) -> str:
    """Return `server__tool` as every wire accepts it; a name that is too long or taken ends with digits of its hash."""
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}__{tool}")
    if len(plain) <= _NAME and plain not in taken and plain == f"{server}__{tool}":
        return plain
    mark = hashlib.sha256(f"{server}\n{tool}".encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain[: _NAME - 9]}_{mark}"


def schema_of(given: object) -> Mapping[str, Json]:
    """Return a schema that every vendor accepts, from whatever a server wrote."""
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
    """Convert a result of a server to one of ours."""
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
            return _read_content(block.resource)
        case _:
            told = f"{block.uri} ({block.mime_type})" if block.mime_type else str(block.uri)
            return f"{block.title or block.name}: {told}", None


def _read_content(held: TextResourceContents | BlobResourceContents) -> tuple[str, Media | None]:
    """Return what was read at one address."""
    where = str(held.uri)
    text: str | None = getattr(held, "text", None)
    if text is not None:
        return f"{where}:\n{text}", None
    return _media(str(getattr(held, "blob", "")), held.mime_type or "application/octet-stream", where)


def _media(data: str, kind: str, name: str) -> tuple[str, Media | None]:
    """Return binary content of a result as media; unusable content is only named."""
    try:
        raw = base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return f"({kind} that cannot be read)", None
    if not raw or len(raw) > _MEDIA:
        return f"({kind}, {len(raw):,} bytes: not kept)", None
    if not kind.startswith(("image/", "audio/")):
        return f"({name or kind}, {len(raw):,} bytes)", None
    return f"({kind}, {len(raw):,} bytes)", Media(kind, data=raw, name=name or None)
