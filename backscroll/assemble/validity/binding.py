"""Binding of thinking to its prefix: what may precede a thinking block when it is sent back.

Owns: the form of an Anthropic request that counts (cache marks, limits and choices do not), which thinking became invalid between
two requests and where they diverge, and whether a prompt is the previous one plus something at its end, on every wire. Not here:
repairing; thinking that lost its prefix can only be left out.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from backscroll.assemble.validity.models import binds_thinking
from backscroll.assemble.validity.rules import PromptFlaw, rules
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, as_object, as_text
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

#: Returns the digest of the bytes behind an address, if the sender knows it.
Fetched: TypeAlias = Callable[[str], str | None]

_THOUGHTS: Final = ("thinking", "redacted_thinking")
_BYTES: Final = "bytes"  # replaces a source whose bytes are known


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt as it was sent, with everything in the cached prefix."""

    messages: Sequence[Mapping[str, Json]]
    wire: Wire
    system: Json = None
    tools: Sequence[Json] = ()
    model: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])


class RequestPiece(NamedTuple):
    """One block of a request as it counts for later blocks."""

    role: str
    digest: str
    message: int
    block: int
    thought: str = ""  # the identity of thinking: its signature or its sealed data
    compacts: bool = False  # the service's own summary of everything before

    @property
    def where(self) -> str:
        """Its path in the request."""
        return f"messages[{self.message}].content[{self.block}]"


@dataclass(frozen=True, slots=True)
class RequestForm:
    """A request as it counts for the thinking in it."""

    system: str
    tools: str
    pieces: tuple[RequestPiece, ...]


class Mismatch(NamedTuple):
    """Where a request diverges from the one in which its thinking was made."""

    where: str  # the first difference: system, tools, messages[3].content[0]
    what: str
    invalid: tuple[RequestPiece, ...]  # thinking that is no longer valid


class BoundThinking(NamedTuple):
    """A thinking block, and what preceded it when it was made."""

    form: RequestForm
    before: tuple[RequestPiece, ...]
    digest: str


def form_of(sent: Sent, fetched: Fetched | None = None) -> RequestForm:
    """Return the parts of a request that count. `fetched` gives the digest of the bytes behind an address."""
    tools = [data for tool in sent.tools if (data := as_object(_normalize_value(tool, None))) is not None]
    # A deferred tool is not part of the prompt until a message refers to it: it counts with the block that does.
    deferred = {as_text(tool.get("name")): tool for tool in tools if tool.get("defer_loading")}
    pieces: list[RequestPiece] = []
    for n, message in enumerate(sent.messages):
        for m, block in enumerate(_blocks(message.get("content"))):
            data = as_object(block) or {}
            kind = as_text(data.get("type"))
            loaded = [deferred[name] for name in sorted(set(_find_tool_names(block))) if name in deferred]
            counted = _digest([_normalize_value(block, fetched), *loaded])
            thought = _identify_block(data) if kind in _THOUGHTS else ""
            pieces.append(
                RequestPiece(as_text(message.get("role")), counted, n, m, thought, kind == "compaction")
            )
    system = _digest(_normalize_value(_blocks(sent.system), fetched))
    offered = sorted(_digest(tool) for tool in tools if not tool.get("defer_loading"))
    return RequestForm(system, _digest(offered), tuple(pieces))


def _blocks(content: Json) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return as_array(content) or []


def _identify_block(block: Mapping[str, Json]) -> str:
    return as_text(block.get("signature")) or as_text(block.get("data")) or _digest(block)


def _find_tool_names(value: Json) -> Iterator[str]:
    """Yield names of tools that a block calls or refers to."""
    data = as_object(value) or {}
    if data.get("type") == "tool_use":
        yield as_text(data.get("name"))
    elif data.get("type") == "tool_reference":
        yield as_text(data.get("tool_name")) or as_text(data.get("name"))
    for inner in as_array(value) or as_array(data.get("content")) or []:
        yield from _find_tool_names(inner)


def _normalize_value(value: Json, fetched: Fetched | None) -> Json:
    """Return a value without its cache marks; attachments by their bytes if these are known."""
    items, data = as_array(value), as_object(value)
    if items is not None:
        return [_normalize_value(item, fetched) for item in items]
    if data is None:
        return value
    out = {key: _normalize_value(inner, fetched) for key, inner in data.items() if key != "cache_control"}
    source = as_object(out.get("source"))
    if source is not None and fetched is not None:
        digest = _source(source, fetched)
        out["source"] = source if digest is None else {"type": _BYTES, "digest": digest}
    return out


def _source(source: Mapping[str, Json], fetched: Fetched) -> str | None:
    if source.get("type") == "url":
        return fetched(as_text(source.get("url")))
    if source.get("type") != "base64":
        return None
    try:
        return hashlib.sha256(base64.b64decode(as_text(source.get("data")), validate=True)).hexdigest()
    except (binascii.Error, ValueError):
        return None


def _digest(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


# -- thinking ----------------------------------------------------------------------------------------------------


def check_binding(
    before: Sent | Sequence[Sent],
    after: Sent,
    *,
    fetched: Fetched | None = None,
    enforced: bool | None = None,
) -> list[PromptFlaw]:
    """Find thinking that the service will refuse, given the requests before it (the last one is enough).

    Thinking that first appears in a request was made by the reply to the one before. `enforced` says whether the model binds
    thinking at all; left out, its name decides.
    """
    if after.wire != "anthropic" or not (binds_thinking(after.model) if enforced is None else enforced):
        return []
    requests = [before] if isinstance(before, Sent) else list(before)
    forms = [form_of(sent, fetched) for sent in (*requests, after)]
    found = mismatch(bound_by(forms), forms[-1])
    if found is None:
        return []
    rule = rules()["A16"]
    places = ", ".join(piece.where for piece in found.invalid)
    return [PromptFlaw(rule, found.where, f"{found.what}; invalid from here on: {places}", rule.hint)]


def bound_by(forms: Sequence[RequestForm]) -> dict[str, BoundThinking]:
    """Return the prefix of each thinking block in consecutive requests, by the block's identity."""
    out: dict[str, BoundThinking] = {}
    for number, form in enumerate(forms):
        for place, piece in enumerate(form.pieces):
            if not piece.thought or piece.thought in out:
                continue
            if number == 0:
                out[piece.thought] = BoundThinking(form, form.pieces[:place], piece.digest)
                continue
            asked = forms[number - 1]
            own = tuple(other for other in form.pieces[:place] if other.message == piece.message)
            out[piece.thought] = BoundThinking(asked, (*asked.pieces, *own), piece.digest)
    return out


def mismatch(known: Mapping[str, BoundThinking], form: RequestForm) -> Mismatch | None:
    """Return the first thinking block whose prefix has changed; None if there is none."""
    for place, piece in enumerate(form.pieces):
        bound = known.get(piece.thought) if piece.thought else None
        parted = None if bound is None else _find_divergence(bound, form, place)
        if parted is not None:
            later = tuple(p for p in form.pieces[place:] if p.thought)
            return Mismatch(parted[0], parted[1], later)
    return None


def _find_divergence(bound: BoundThinking, form: RequestForm, place: int) -> tuple[str, str] | None:
    """Return where the text before a thinking block differs from its original prefix."""
    here = form.pieces[place]
    if bound.digest != here.digest:
        return here.where, "a thinking block is not as it was"
    if bound.form.tools != form.tools:
        return "tools", "the tools are not those that the thinking was made under"
    if bound.form.system != form.system:
        return "system", "the system text is not the one that the thinking was made under"
    before = form.pieces[:place]
    summed = max((n for n, piece in enumerate(before) if piece.compacts), default=None)
    now = [piece for piece in before if not piece.thought]
    then = [piece for piece in bound.before if not piece.thought]
    if summed is not None:  # a summary by the service replaces everything up to here
        now = [piece for piece in before[summed + 1 :] if not piece.thought]
        then = then[len(then) - len(now) :] if len(now) <= len(then) else then
    for one, two in zip(then, now, strict=False):
        if (one.role, one.digest) != (two.role, two.digest):
            return two.where, "not what stood here when the thinking was made"
    if len(now) != len(then):
        more = now[len(then)].where if len(now) > len(then) else here.where
        return more, "something was added" if len(now) > len(then) else "something that stood before is gone"
    left = [piece.thought for piece in before if piece.thought]
    once = [piece.thought for piece in bound.before if piece.thought]
    if once[len(once) - len(left) :] != left or len(left) > len(once):
        return here.where, "thinking before it was removed from the middle, or was added"
    return None


# -- growth ------------------------------------------------------------------------------------------------------


def check_growth(before: Sent, after: Sent) -> list[PromptFlaw]:
    """Check that a prompt is the previous one plus something at its end, cache marks aside; name the first difference."""
    rule = rules()["V11"]
    where = _grown_from(before, after)
    return [] if where is None else [PromptFlaw(rule, where, "not what was sent before", rule.hint)]


def _grown_from(before: Sent, after: Sent) -> str | None:
    if before.wire != after.wire:
        return "wire"
    one, two = form_of(before), form_of(after)
    if one.tools != two.tools:
        return "tools"
    if one.system != two.system:
        return "system"
    for n, message in enumerate(before.messages):
        if n >= len(after.messages):
            return f"messages[{n}]"
        grown = n == len(before.messages) - 1
        if not _continues(message, after.messages[n], grown=grown):
            return f"messages[{n}]"
    return None


def _continues(one: Mapping[str, Json], two: Mapping[str, Json], *, grown: bool) -> bool:
    """Return True if a message is unchanged, or is the last one with something appended."""
    first, second = _normalize_value(one.get("content"), None), _normalize_value(two.get("content"), None)
    rest = [dumps({k: v for k, v in m.items() if k != "content"}) for m in (one, two)]
    if rest[0] != rest[1]:
        return False
    if not grown or first is None:
        return dumps(first) == dumps(second)
    if isinstance(first, str) and isinstance(second, str):
        return second == first or second.startswith(f"{first}\n\n")
    old, new = _blocks(first), _blocks(second)
    return dumps(old) == dumps(new[: len(old)])
