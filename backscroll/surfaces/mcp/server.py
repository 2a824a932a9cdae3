"""The server: the questions of `memory_tools` in the Model Context Protocol.

Owns which requests are understood, of both generations of the protocol (with a handshake, up to 2025-11-25; without one, 2026-07-28),
schemas with a word on every argument, and errors of ours as results that say what to do. Written by hand: a client waits for the list of
tools at its start, and loading the protocol's own package takes four times as long as everything else here. Refuses: writing to the
record, a network port, resources and prompts (there are none). Before: `surfaces/mcp/memory_tools`. After: `surfaces/mcp/line`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from backscroll import __version__
from backscroll.act.arguments import checked, read_arguments
from backscroll.act.schema import Signature, signature_of
from backscroll.errors import BackscrollError
from backscroll.surfaces.mcp.memory_tools import Memory
from backscroll.vocab.part import Json

_ABOUT = (
    "The record of earlier conversations and agent runs, kept whole. Ask `recall` before guessing about the past; handles such as "
    "[bs:17] are expanded by `expand`."
)
NAMES = ("recall", "expand", "search", "recent_operations", "task_status", "threads")
#: Generations with a handshake, the newest last; and those in which every request says what it speaks.
GREETED = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
_VERSION = "io.modelcontextprotocol/protocolVersion"
_SERVER = {"name": "backscroll", "title": "Backscroll", "version": __version__}
_LOOKS_ONLY = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
NO_METHOD, NO_PARAMS, NO_VERSION = -32601, -32602, -32022


class Refused(Exception):
    """A request that cannot be answered, as the protocol says it."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


@dataclass(frozen=True, slots=True)
class Offer:
    """One question that can be asked."""

    work: Callable[..., str]
    signature: Signature

    def listed(self) -> dict[str, Json]:
        """The question as a client lists it."""
        about = self.signature
        return {
            "name": about.name,
            "description": about.description,
            "inputSchema": dict(about.schema),
            "annotations": _LOOKS_ONLY,
        }

    def answer(self, given: Json) -> dict[str, Json]:
        """Ask it; what is wrong is a result with words for the model that asked."""
        try:
            arguments = checked(self.signature.schema, read_arguments(given))
            return _told(self.work(**self.signature.values(arguments)))
        except BackscrollError as error:
            return _told(str(error), is_error=True)


def _told(text: str, *, is_error: bool = False) -> dict[str, Json]:
    # Words may hold what no line can carry.
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return {"content": [{"type": "text", "text": plain}], "isError": is_error}


class Server:
    """Answers requests from one store."""

    def __init__(self, memory: Memory) -> None:
        offers = [Offer(work := getattr(memory, name), signature_of(work, name)) for name in NAMES]
        self._offers = {offer.signature.name: offer for offer in offers}

    def answer(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        """The result of a request; `Refused` where there is none."""
        stateless = _spoken(params)
        match method:
            case "initialize":
                return _greeting(params)
            case "server/discover":
                found = {**_abilities(), "supportedVersions": list(STATELESS)}
                return _finished(found, stateless=True, lasting=True)
            case "ping":
                return _finished({}, stateless=stateless)
            case "tools/list":
                found = {"tools": [offer.listed() for offer in self._offers.values()]}
                return _finished(found, stateless=stateless, lasting=True)
            case "tools/call":
                return _finished(self._called(params), stateless=stateless)
            case _:
                raise Refused(NO_METHOD, f"Method not found: {method}")

    def _called(self, params: Mapping[str, Json]) -> dict[str, Json]:
        name = params.get("name")
        if not isinstance(name, str):
            raise Refused(NO_PARAMS, "Invalid params: the name of a tool is missing")
        offer = self._offers.get(name)
        if offer is None:
            return _told(f"Unknown tool: {name}. There are: {', '.join(NAMES)}", is_error=True)
        return offer.answer(params.get("arguments"))


def _spoken(params: Mapping[str, Json]) -> bool:
    """True where a request speaks for itself, without a handshake before it."""
    meta: Json = params.get("_meta")
    version = cast("Mapping[str, Json]", meta).get(_VERSION) if isinstance(meta, Mapping) else None
    if version is None:
        return False
    if version not in STATELESS:
        supported = list(STATELESS)
        raise Refused(
            NO_VERSION, "Unsupported protocol version", {"supported": supported, "requested": version}
        )
    return True


def _abilities() -> dict[str, Json]:
    return {"capabilities": {"tools": {"listChanged": False}}, "instructions": _ABOUT}


def _greeting(params: Mapping[str, Json]) -> dict[str, Json]:
    wanted = params.get("protocolVersion")
    version = wanted if wanted in GREETED else GREETED[-1]
    return {"protocolVersion": version, **_abilities(), "serverInfo": _SERVER}


def _finished(result: dict[str, Json], *, stateless: bool, lasting: bool = False) -> dict[str, Json]:
    """A result with what its generation wants to have beside it."""
    if not stateless:
        return result
    kept: dict[str, Json] = {"ttlMs": 0, "cacheScope": "private"} if lasting else {}
    about = {"io.modelcontextprotocol/serverInfo": _SERVER}
    return {**result, **kept, "resultType": "complete", "_meta": about}
