"""Transcript capture: record what a program sends to a model, and what it gets back, in a thread.

A program sends its whole message list with every call, or (on the Responses wire) only what is new; both are recognised, so
that nothing is recorded twice, and edits, truncation and regenerated answers are recorded as such. Owns parsing request
bodies of the three wires, recording answers with their price, and putting an assembled prompt into a request. Vendors' SDKs
are handled in `surfaces/wrap/client`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

from backscroll.engine.budget.answer_limit import longest_answer, reserve_within
from backscroll.engine.budget.costs import FAILED, record_call, window_of
from backscroll.engine.calls.continuation import known_part
from backscroll.engine.calls.instructions import instruct
from backscroll.engine.calls.replies import ANSWER, record_reply, said_in
from backscroll.engine.core.checks import checked_content
from backscroll.engine.core.pen import MessageDraft
from backscroll.engine.log import operations
from backscroll.engine.prompts.builder import prompt
from backscroll.formats.anthropic.message import messages_from_anthropic
from backscroll.formats.openai.message import messages_from_openai
from backscroll.formats.openai.responses_item import messages_from_responses
from backscroll.llm.clients.anthropic_events import AnthropicStreamState as Blocks
from backscroll.llm.clients.anthropic_events import reply_of
from backscroll.llm.clients.client import Finish, Reply
from backscroll.llm.clients.openai.pieces import OpenAIStreamState as Chunks
from backscroll.llm.clients.openai.responses import put_together
from backscroll.llm.prices.ledger import Tokens, heard_tokens, tokens_of
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json, ToolCall
from backscroll.vocab.prompt import Wire

if TYPE_CHECKING:
    from backscroll.engine.prompts.builder import Prompt
    from backscroll.engine.thread import Thread

#: The actor of what a program said.
PROGRAM = "program"
#: What the wires call the limit of an answer.
_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
#: Request fields that mean the request contains only new items.
_GOES_ON = ("previous_response_id", "conversation")


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """A recorded request that awaits its answer."""

    wire: Wire
    model: str
    awaiting: tuple[Ref, ...] = ()  # the previous answer, if it is being regenerated
    counted: int = 0  # tokens of the prompt, estimated
    turn: int | None = None


# -- requests ----------------------------------------------------------------------------------------------------


def messages_in(wire: Wire, body: Mapping[str, Json]) -> list[ForeignMessage]:
    """Return the messages of a request, its system prompt first."""
    if wire == "anthropic":
        return messages_from_anthropic(list(body.get("messages") or ()), body.get("system"))
    if wire == "openai-responses":
        given: Json = body.get("input")
        items = given if isinstance(given, str) else list(given or ())
        instructions = body.get("instructions")
        return messages_from_responses(items, instructions if isinstance(instructions, str) else None)
    return messages_from_openai(list(body.get("messages") or ()))


def overhear(thread: Thread, wire: Wire, body: Mapping[str, Json]) -> CapturedRequest:
    """Record the messages that a program is about to send."""
    goes_on = wire == "openai-responses" and any(body.get(name) for name in _GOES_ON)
    return take_in(thread, wire, str(body.get("model") or ""), messages_in(wire, body), only_new=goes_on)


def take_in(
    thread: Thread, wire: Wire, model: str, messages: Sequence[ForeignMessage], *, only_new: bool = False
) -> CapturedRequest:
    """Record messages that are about to be sent: a whole list, most of it known, or only what is new."""
    awaiting: tuple[Ref, ...] = ()
    system = list(takewhile(lambda m: m.role == "system", messages))
    spoken = messages[len(system) :]
    if system:
        parts = tuple(p for m in system for p in m.content.parts)
        instruct(thread, replace(system[0].content, parts=parts), PROGRAM)
    known = 0 if only_new else known_part(thread, spoken)
    if known is not None:
        append_all(thread, spoken[known:])
    else:
        awaiting = thread.sync(spoken, mode="prompt", actor=PROGRAM).awaiting
    count = tokenizer_for(model).count
    counted = sum(count(m.content.text) + 4 for m in messages)
    return CapturedRequest(wire, model, awaiting, counted, thread.info.turns or None)


def append_all(thread: Thread, messages: Sequence[ForeignMessage]) -> None:
    """Append messages to a thread, all or none, with the program as actor."""

    spoken = [MessageDraft(message.role, checked_content(message.content, None)) for message in messages]
    if spoken:
        thread.as_actor(PROGRAM).stroke(
            lambda pen: pen.append_all([(speech, operations.facts_of(speech.role)) for speech in spoken])
        )


def assemble_request(
    thread: Thread,
    wire: Wire,
    body: Mapping[str, Json],
    budget: int | None = None,
    heard: CapturedRequest | None = None,
) -> dict[str, Json]:
    """Return the request with an assembled prompt in place of the program's list; everything else unchanged.

    An answer that the `heard` request regenerates is left out: the model is to give another one, not to continue it.
    """
    tools = cast("list[Mapping[str, Json]]", list(body.get("tools") or ()))
    name = next((n for n in _LIMITS if body.get(n)), "")
    wanted, model = body.get(name), str(body.get("model") or "")
    reserve = reserve_within(thread.engine, model, budget, wanted)
    prompt = _prompt(thread, budget, heard, model=model, tools=tools, wire=wire, reserve=reserve)
    out = {
        k: v for k, v in body.items() if k not in (*_GOES_ON, "messages", "input", "system", "instructions")
    }
    if isinstance(wanted, int) and model and window_of(thread.engine, model).known:
        # The program's limit, as far as the window has room for it beside our prompt.
        receipt = prompt.receipt
        sent = receipt.tokens + receipt.tools
        most = longest_answer(thread.engine, model, sent=sent, reserve=receipt.reserve, budget=receipt.budget)
        out[name] = min(wanted, most)
    return {**out, **prompt.request}


def assembled_messages(
    thread: Thread,
    wire: Wire,
    *,
    model: str = "",
    budget: int | None = None,
    tools: Sequence[Mapping[str, Json]] = (),
    reserve: int | None = None,
    heard: CapturedRequest | None = None,
) -> list[ForeignMessage]:
    """Return an assembled prompt as our own messages, its system text first: for programs with message types of their own."""
    kept = reserve_within(thread.engine, model, budget, reserve)
    prompt = _prompt(thread, budget, heard, model=model, tools=tools, wire=wire, reserve=kept)
    return messages_in(wire, prompt.request)


def _prompt(thread: Thread, budget: int | None, heard: CapturedRequest | None, **about: Any) -> Prompt:
    with thread.engine.callers.inside():
        return prompt(thread, budget, handles=None, without=heard.awaiting if heard else (), **about)


# -- answers -----------------------------------------------------------------------------------------------------


def reply_in(wire: Wire, told: Mapping[str, Json], model: str) -> Reply:
    """Return the answer in a complete response."""
    if wire == "anthropic":
        return reply_of(told, model)
    if wire == "openai-responses":
        items = cast(
            "list[Mapping[str, Json]]", [i for i in told.get("output") or () if isinstance(i, Mapping)]
        )
        return put_together(items, told, model)
    return _chat_reply(told, model)


def _chat_reply(told: Mapping[str, Json], model: str) -> Reply:
    choices = cast("list[Mapping[str, Json]]", told.get("choices") or [])
    message = dict(cast("Mapping[str, Json]", choices[0].get("message") or {})) if choices else {}
    text = message.get("content")
    calls = cast("list[Mapping[str, Json]]", message.get("tool_calls") or [])
    made = tuple(
        ToolCall(str(c.get("id") or ""), str(c["function"].get("name") or ""), c["function"].get("arguments"))
        for c in calls
        if isinstance(c.get("function"), Mapping)
    )
    ended = str(choices[0].get("finish_reason") or "") if choices else ""
    finish: Finish = "length" if ended == "length" else "tools" if made else "stop"
    return Reply(text if isinstance(text, str) else "", model, finish, tool_calls=made, raw=message)


def record_answer(
    thread: Thread,
    heard: CapturedRequest,
    told: Mapping[str, Json],
    *,
    provider: str,
    interrupted: str = "",
) -> None:
    """Record an answer and its cost. If the program regenerated an earlier answer, the new one is an alternative to it."""
    reply = reply_in(heard.wire, told, heard.model)
    usage = heard_tokens(lambda: tokens_of(told.get("usage")))
    take_reply(thread, heard, reply, usage, provider=provider, interrupted=interrupted)


def take_reply(
    thread: Thread,
    heard: CapturedRequest,
    reply: Reply,
    usage: Tokens,
    *,
    provider: str,
    interrupted: str = "",
) -> None:
    """Record an answer that was parsed already; `usage` is estimated if the service did not report it."""
    if usage.estimated:
        said = reply.text + reply.reasoning + "".join(str(c.arguments) for c in reply.tool_calls)
        spoken = tokenizer_for(heard.model).count(said)
        usage = Tokens(input=heard.counted, output=spoken, estimated=True)
    facts: dict[str, Json] | None = {"interrupted": interrupted} if interrupted else None
    again = _alternative(thread, heard, reply)
    if again is not None or not (reply.text or reply.tool_calls):
        record_call(
            thread.engine,
            model=heard.model,
            usage=usage,
            purpose=ANSWER,
            thread=thread,
            turn=heard.turn,
            provider=provider,
        )
        return
    if heard.awaiting:
        thread.as_actor(PROGRAM).delete(*heard.awaiting)
    record_reply(
        thread,
        reply,
        heard.wire,
        provider=provider,
        model=heard.model,
        turn=heard.turn,
        usage=usage,
        facts=facts,
    )


def _alternative(thread: Thread, heard: CapturedRequest, reply: Reply) -> Ref | None:
    """Add an answer as an alternative to the previous one, if both are a single text message."""
    if len(heard.awaiting) != 1 or reply.tool_calls or not reply.text:
        return None
    said = said_in(reply, heard.wire, "call")
    old = thread.message(heard.awaiting[0])
    if len(said) != 1 or old.role != "assistant" or any(isinstance(p, ToolCall) for p in old.parts):
        return None
    thread.as_actor(PROGRAM).regenerate(old.id, said[0])
    return old.id


def record_failure(thread: Thread, heard: CapturedRequest, provider: str) -> None:
    """Record a call that gave no answer in the ledger."""
    record_call(
        thread.engine,
        model=heard.model or "unknown",
        usage=None,
        purpose=FAILED,
        thread=thread,
        turn=heard.turn,
        provider=provider,
    )


class StreamPieces:
    """The pieces of a streamed answer received so far."""

    def __init__(self, wire: Wire, model: str) -> None:
        self.wire = wire
        self.whole: Mapping[str, Json] | None = None  # the response, if the stream reports it as a whole
        self.came = False
        if wire == "anthropic":
            self._blocks = Blocks("", model)
        elif wire == "openai-chat":
            self._chunks = Chunks()
        else:
            self._items: dict[int, dict[str, Json]] = {}

    def take(self, event: Mapping[str, Json]) -> None:
        """Add one event."""
        self.came = True
        if self.wire == "anthropic":
            list(self._blocks.take(event))
        elif self.wire == "openai-chat":
            list(self._chunks.take(event))
        else:
            self._item(event)

    def _item(self, event: Mapping[str, Json]) -> None:
        kind, index = event.get("type"), int(event.get("output_index") or 0)
        if kind in ("response.completed", "response.incomplete"):
            self.whole = cast("Mapping[str, Json]", event.get("response"))
        elif kind == "response.output_item.done":
            self._items[index] = dict(event["item"])
        elif kind == "response.output_text.delta":
            item = self._items.setdefault(
                index,
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ""}]},
            )
            content = cast("list[dict[str, Json]]", item["content"])
            content[0]["text"] = str(content[0].get("text") or "") + str(event.get("delta") or "")

    @property
    def ended(self) -> bool:
        """True once the stream has reported its end."""
        if self.wire == "anthropic":
            return self._blocks.ended
        if self.wire == "openai-chat":
            return bool(self._chunks.finish)
        return self.whole is not None

    def response(self) -> Mapping[str, Json]:
        """Return the response as a non-streaming call would have given it; incomplete tool calls are left out."""
        if self.whole is not None:
            return self.whole
        if self.wire == "anthropic":
            return self._blocks.message()
        if self.wire == "openai-chat":
            message = dict(self._chunks.message())
            if not self.ended:
                message.pop("tool_calls", None)
            choice = {"message": message, "finish_reason": self._chunks.finish}
            return {"choices": [choice], "usage": self._chunks.told.get("usage")}
        done = [i for _, i in sorted(self._items.items()) if i.get("type") == "message"]
        return {"output": done}
