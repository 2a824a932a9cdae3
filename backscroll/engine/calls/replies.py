"""Record a model's answer: exactly as the vendor sent it, with its cost, in one transaction.

Owns: converting an answer on any wire into messages that can be sent back unchanged (signatures, encrypted reasoning, order
of the items), assigning ids to calls without a usable one, recording tool results, and marking a call that is running (so
that the next start knows what a crash interrupted). An answer and its charge are recorded together or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from backscroll.engine.budget.costs import record_call
from backscroll.engine.core.checks import checked_content
from backscroll.engine.core.pen import Pen
from backscroll.engine.log import operations
from backscroll.errors import FormatError
from backscroll.formats.anthropic.message import message_from_anthropic
from backscroll.formats.openai.message import message_from_openai
from backscroll.formats.openai.responses_item import messages_from_responses
from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import from_bytes
from backscroll.record.derived import Charge
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Part, Reasoning, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.llm.clients.client import Reply
    from backscroll.llm.prices.ledger import Tokens
    from backscroll.record.ports import Writer
    from backscroll.vocab.prompt import Wire

#: The actor of answers and results.
AGENT = "agent"
ANSWER = "answer"  # the purpose of such a call on the ledger
_AT_WORK = "act:at work:"


@dataclass(frozen=True, slots=True)
class ReplyRecord:
    """An answer as recorded in the log."""

    messages: tuple[Ref, ...]
    calls: tuple[ToolCall, ...]  # with ids that are unique in the thread
    carrier: Ref | None  # the message that contains the last call; None if there is none
    charge: Charge


@dataclass(frozen=True, slots=True)
class UnfinishedCall:
    """A call that was running when the process stopped."""

    call_id: str
    tool: str
    snapshot: str  # of the files, before it began; empty if none was taken


def said_in(reply: Reply, wire: Wire, fresh: str) -> list[Content]:
    """Return an answer as contents of assistant messages; `fresh` prefixes the ids of calls without their own."""
    raw, calls = _assign_call_ids(reply, wire, fresh)
    try:
        found = _read(raw, wire)
    except (FormatError, KeyError, TypeError, ValueError):
        found = []  # an answer that does not parse on its wire still has its text
    got = [p for c in found for p in c.parts if isinstance(p, ToolCall)]
    mute = bool(reply.text.strip()) and not any(c.text.strip() for c in found)
    if mute or [(c.id, c.name) for c in got] != [(c.id, c.name) for c in calls]:
        found = [_plain(reply, calls)]
    return [c for c in found if c.parts]


def _read(raw: Json, wire: Wire) -> list[Content]:
    if wire == "anthropic":
        return [c for _, c in message_from_anthropic({"role": "assistant", "content": raw})]
    if wire == "openai-responses":
        return [m.content for m in messages_from_responses(cast("list[Json]", raw))]
    return [message_from_openai({**cast("dict[str, Json]", raw), "role": "assistant"})[1]]


def _plain(reply: Reply, calls: Sequence[ToolCall]) -> Content:
    parts: list[Part] = []
    if reply.reasoning:
        parts.append(Reasoning(reply.reasoning))
    if reply.text:
        parts.append(Text(reply.text))
    return Content((*parts, *calls))


def _assign_call_ids(reply: Reply, wire: Wire, fresh: str) -> tuple[Json, tuple[ToolCall, ...]]:
    """Return the answer with an id on every call: some services send none, or the same one twice."""
    seen: set[str] = set()
    calls: list[ToolCall] = []
    for number, call in enumerate(reply.tool_calls):
        usable = call.id and call.id not in seen
        seen.add(call.id)
        calls.append(call if usable else replace(call, id=f"{fresh}_{number}"))
    if tuple(calls) == reply.tool_calls:
        return reply.raw, reply.tool_calls
    return _with_ids(reply.raw, wire, [c.id for c in calls]), tuple(calls)


def _with_ids(raw: Json, wire: Wire, ids: Sequence[str]) -> Json:
    """Return the vendor's message with these ids on its calls, in order."""
    left = list(ids)
    if wire == "openai-chat":
        message = dict(cast("Mapping[str, Json]", raw))
        told = cast("list[Mapping[str, Json]]", message.get("tool_calls") or [])
        message["tool_calls"] = [{**c, "id": left.pop(0)} if left else c for c in told]
        return message
    kind, name = ("tool_use", "id") if wire == "anthropic" else ("function_call", "call_id")
    items = cast("list[Mapping[str, Json]]", raw)
    return [{**i, name: left.pop(0)} if i.get("type") == kind and left else i for i in items]


def record_reply(
    thread: Thread,
    reply: Reply,
    wire: Wire,
    *,
    provider: str,
    model: str,
    counted: int | None = None,
    turn: int | None = None,
    task: str | None = None,
    facts: Mapping[str, Json] | None = None,
    usage: Tokens | None = None,
    paid: bool = True,
    settles: Charge | None = None,
) -> ReplyRecord:
    """Record an answer and its charge. `usage` applies if the vendor reported nothing; `facts` are stored with it.

    With `paid` False (no service was called) nothing goes on the ledger. `settles` is what was recorded when the call was
    sent (`costing.record_asked`).
    """
    contents = said_in(reply, wire, f"call_{thread.head}")
    about: dict[str, Json] = {"model": model, **({"provider": provider} if provider else {})}
    halves = _halves(reply, contents)
    signed = [
        checked_content(
            replace(c, metadata={**c.metadata, **about, **_act(reply, c, halves, facts, c is contents[-1])}),
            None,
        )
        for c in contents
    ]
    written: list[Ref] = []

    def also(tx: Writer) -> None:
        pen = Pen(tx, thread.id, thread.engine.means, AGENT)
        written.clear()
        written.extend(operations.append(pen, "assistant", c).id for c in signed)
        pen.save()

    charge = _charge_reply(
        thread, reply, usage, provider, model, counted, turn, task, also, paid=paid, settles=settles
    )
    thread.engine.notify_change(thread)
    calls = tuple(p for c in signed for p in c.parts if isinstance(p, ToolCall))
    carriers = [
        ref for ref, c in zip(written, signed, strict=True) if any(isinstance(p, ToolCall) for p in c.parts)
    ]
    return ReplyRecord(tuple(written), calls, carriers[-1] if carriers else None, charge)


def _halves(reply: Reply, contents: Sequence[Content]) -> set[str]:
    """Return the ids of the calls that were cut off at the output limit."""
    calls = [p.id for c in contents for p in c.parts if isinstance(p, ToolCall)]
    return {calls[n] for n in reply.cut if n < len(calls)}


def _act(
    reply: Reply, content: Content, halves: set[str], facts: Mapping[str, Json] | None, last: bool
) -> dict[str, Json]:
    """Return the metadata of an answer's message; of several messages, the last is the one that was cut off."""
    out: dict[str, Json] = dict(facts or {})
    if last and reply.finish in ("length", "endless"):
        out["cut"] = True
    own = [p.id for p in content.parts if isinstance(p, ToolCall) and p.id in halves]
    if own:
        out["cut_calls"] = own
    return {"act": out} if out else {}


def first_calls(reply: Reply, wire: Wire, most: int) -> Reply:
    """Return the answer with at most `most` of its calls."""
    if len(reply.tool_calls) <= most:
        return reply
    raw: Json = reply.raw
    if wire == "openai-chat":
        raw = {**raw, "tool_calls": list(raw.get("tool_calls") or [])[:most]}
    else:
        kind, seen, kept = ("tool_use" if wire == "anthropic" else "function_call"), 0, list[Json]()
        for item in cast("list[Mapping[str, Json]]", raw):
            seen += item.get("type") == kind
            if item.get("type") != kind or seen <= most:
                kept.append(item)
        raw = kept
    cut = tuple(n for n in reply.cut if n < most)
    return replace(reply, tool_calls=reply.tool_calls[:most], raw=raw, cut=cut)


def _charge_reply(
    thread: Thread,
    reply: Reply,
    usage: Tokens | None,
    provider: str,
    model: str,
    counted: int | None,
    turn: int | None,
    task: str | None,
    also: Callable[[Writer], None],
    *,
    paid: bool,
    settles: Charge | None,
) -> Charge:
    if not paid:
        thread.store.write(also)
        return Charge("", "", 0, model, ANSWER, nano=0, provider=provider, thread=thread.id)
    return record_call(
        thread.engine,
        model=model,
        usage=usage if usage is not None else reply.usage,
        purpose=ANSWER,
        thread=thread,
        task=task,
        turn=turn,
        provider=provider,
        counted=counted,
        also=also,
        settles=settles,
    )


# -- results -----------------------------------------------------------------------------------------------------


def record_result(
    thread: Thread, result: ToolResult, facts: Mapping[str, Json], *, at_work: bool = True
) -> Ref:
    """Record the result of a call, and clear the mark that it was running, in one transaction."""
    content = checked_content(Content((result,), metadata={"act": dict(facts)}), None)

    def work(tx: Writer) -> Ref:
        pen = Pen(tx, thread.id, thread.engine.means, AGENT)
        event = operations.append(pen, "tool", content)
        pen.save()
        if at_work:
            tx.set_meta(_AT_WORK + thread.id, "")
        return event.id

    done = thread.store.write(work)
    thread.engine.notify_change(thread)
    return done


def mark_at_work(thread: Thread, call: ToolCall, snapshot: str) -> None:
    """Record that a call is about to be executed."""
    told = dumps({"call": call.id, "tool": call.name, "snapshot": snapshot})
    thread.store.write(lambda tx: tx.set_meta(_AT_WORK + thread.id, told))


def at_work(thread: Thread) -> UnfinishedCall | None:
    """Return the call that was started and never answered; None if the last run ended normally."""
    raw = thread.store.read(lambda reader: reader.meta(_AT_WORK + thread.id))
    if not raw:
        return None
    told = from_bytes(raw.encode())
    return UnfinishedCall(str(told["call"]), str(told["tool"]), str(told["snapshot"]))


def find_unanswered(thread: Thread) -> tuple[Ref | None, list[ToolCall]]:
    """Return the calls at the end of the history without a result, and the message that contains them."""
    answered: set[str] = set()
    waiting: list[ToolCall] = []
    carrier: Ref | None = None
    called = False
    for message in thread.messages(newest_first=True):
        if message.role == "tool":
            if called:
                break  # the results of the step before
            answered |= {p.call_id for p in message.parts if isinstance(p, ToolResult)}
            continue
        calls = [p for p in message.parts if isinstance(p, ToolCall)]
        if message.role != "assistant" or (not calls and waiting):
            break
        if not calls and not any(isinstance(p, Reasoning) for p in message.parts):
            break
        called = called or bool(calls)
        carrier = carrier or (message.id if calls else None)
        waiting = [c for c in calls if c.id not in answered] + waiting
    return (carrier if waiting else None), waiting
