"""Pydantic AI: a capability that records and assembles, a history processor, and message histories in and out of a thread.

    agent = Agent(model, capabilities=[BackscrollMemory(thread, budget=16_000)])
    agent = Agent(model, capabilities=[ProcessHistory(history_processor(thread, budget=16_000))])
    result = agent.run_sync("…", message_history=load_history(thread)); store_history(thread, result.all_messages())

Owns Pydantic AI's ways in. The capability sees both sides of every call: it takes the list in, sends a prompt within the budget
instead (for that call only), and records the answer with its cost. A processor sees requests only, and what it returns becomes the
run's own history: the last answer of a run is recorded by its `finish`. Refuses: message formats (`pydantic_ai_messages`).
Needs the extra `pydantic-ai`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from backscroll.engine.budget.costs import record_call
from backscroll.engine.calls import conversation as conversing
from backscroll.engine.calls.capture import PROGRAM, append_all
from backscroll.engine.calls.replies import ANSWER
from backscroll.errors import MissingExtra
from backscroll.llm.prices.ledger import Tokens, heard_tokens, tokens_of
from backscroll.surfaces.adapters.pydantic_ai_messages import (
    VENDOR,
    is_text_kind,
    parse_messages,
    render_messages,
)
from backscroll.surfaces.adapters.recorder import FrameworkRecorder, ModelCall, Spoken
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Text

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart
    from pydantic_ai.tools import RunContext
except ImportError as error:
    raise MissingExtra(
        "this needs the package pydantic-ai-slim", hint="pip install 'backscroll[pydantic-ai]'"
    ) from error

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestContext

    from backscroll.engine.thread import Thread

Messages: TypeAlias = list[ModelMessage]


# -- histories in and out ----------------------------------------------------------------------------------------


def load_history(thread: Thread) -> Messages:
    """Return the messages of a thread, for `message_history=`."""
    given = [ForeignMessage(m.role, m.content) for m in conversing.iterate_spoken(thread)]
    return render_messages(given, thread.engine.blob)


def store_history(thread: Thread, messages: Sequence[ModelMessage]) -> None:
    """Update a thread to a run's `all_messages()`: known messages stay, new ones are added, nothing is lost."""
    thread.sync(parse_messages(messages), knows_hidden=False, actor=PROGRAM)


# -- every call --------------------------------------------------------------------------------------------------


class BackscrollMemory(AbstractCapability[Any]):
    """Records every model call of an agent in a thread, and sends a prompt within the budget.

    With `assemble=False` it only records. Without `strict`, an error of ours is warned about once and the agent continues.
    """

    def __init__(
        self, thread: Thread, budget: int | None = None, *, assemble: bool = True, strict: bool = False
    ) -> None:
        self.listener = FrameworkRecorder(thread, VENDOR, budget, assemble, strict)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a thread cannot be serialized into a specification."""
        return None

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - theirs
        *,
        request_context: ModelRequestContext,
        handler: Callable[..., Any],
    ) -> ModelResponse:
        """Record one call."""
        given = list(request_context.messages)
        asking = self.listener.run_guarded(lambda: _asking(request_context, given))
        if asking is None:
            return await handler(request_context)
        known, prompt = await asyncio.to_thread(self.listener.begin, asking)
        if prompt is not None:
            request_context.messages = _render_prompt(self.listener.thread, prompt, asking, given)
        try:
            response: ModelResponse = await handler(request_context)
        except BaseException:
            self.listener.record_failure(known, asking.provider)
            raise
        said = self.listener.run_guarded(lambda: _only_said(response))
        if said is not None:
            await asyncio.to_thread(
                self.listener.record_answer, known, asking.provider, said, _usage(response)
            )
        return response


class HistoryProcessor:
    """Takes a run's list in before each call, and returns a prompt within the budget, which is the run's history from then on."""

    def __init__(self, thread: Thread, budget: int | None = None, *, strict: bool = False) -> None:
        self.listener = FrameworkRecorder(thread, VENDOR, budget, strict=strict)
        self._given: Messages = []  # our prompt, with which the run continues

    def __call__(self, ctx: RunContext[Any], messages: Messages) -> Messages:
        """Return the prompt that replaces a list."""
        goes_on, fresh = self._fresh(messages)
        asking = self.listener.run_guarded(lambda: _asking_of(ctx.model, _instructions(messages), fresh))
        if asking is None:
            return messages
        if goes_on:
            self.listener.run_guarded(lambda: self._count(fresh))
        begin = self.listener.begin_after if goes_on else self.listener.begin
        _, prompt = begin(asking)
        if prompt is None:
            return messages
        self._given = _render_prompt(self.listener.thread, prompt, asking, messages)
        return list(self._given)

    def finish(self, messages: Sequence[ModelMessage]) -> None:
        """Record what came after the last prompt; pass `result.all_messages()` when a run has ended."""
        goes_on, fresh = self._fresh(list(messages))
        if goes_on:
            append_all(self.listener.thread, parse_messages(fresh))
            self._count(fresh)
            self._given = list(messages)
        else:
            store_history(self.listener.thread, messages)

    def _count(self, fresh: Messages) -> None:
        """Put the answers of this run on the ledger."""
        thread = self.listener.thread
        for said in fresh:
            if isinstance(said, ModelResponse):
                record_call(
                    thread.engine,
                    model=said.model_name or "unknown",
                    usage=_usage(said),
                    purpose=ANSWER,
                    thread=thread,
                    turn=thread.info.turns or None,
                    provider=said.provider_name or "",
                )

    def _fresh(self, messages: Messages) -> tuple[bool, Messages]:
        """Return whether a list continues the one we returned, and what of it is new."""
        known = len(self._given)
        goes_on = 0 < known <= len(messages) and messages[:known] == self._given
        return goes_on, messages[known:] if goes_on else messages


def history_processor(thread: Thread, budget: int | None = None, *, strict: bool = False) -> HistoryProcessor:
    """Make a processor for `ProcessHistory`; call its `finish` when a run has ended."""
    return HistoryProcessor(thread, budget, strict=strict)


def _asking(request: ModelRequestContext, given: Messages) -> ModelCall:
    wanted = request.model_request_parameters
    instructions = "\n\n".join(p.content for p in wanted.instruction_parts or ())
    asking = _asking_of(request.model, instructions, given)
    tools = [
        {
            "type": "function",
            "function": {
                "name": t.name,
                "description": t.description,
                "parameters": t.parameters_json_schema,
            },
        }
        for t in (*wanted.function_tools, *wanted.output_tools)
    ]
    settings = cast("Mapping[str, Any]", request.model_settings or {})
    reserve = settings.get("max_tokens")
    return replace(asking, tools=tools, reserve=reserve if isinstance(reserve, int) else None)


def _asking_of(model: Any, instructions: str, messages: Sequence[ModelMessage]) -> ModelCall:
    provider = str(getattr(model, "system", ""))
    wire: Spoken = "anthropic" if provider == "anthropic" else "openai-chat"
    system = [ForeignMessage("system", Content((Text(instructions),)))] if instructions else []
    listed = parse_messages(messages)
    return ModelCall(wire, str(getattr(model, "model_name", "")), provider, [*system, *listed])


def _instructions(messages: Sequence[ModelMessage]) -> str:
    return next((m.instructions or "" for m in reversed(messages) if isinstance(m, ModelRequest)), "")


def _render_prompt(
    thread: Thread, prompt: Sequence[ForeignMessage], asking: ModelCall, given: Sequence[ModelMessage]
) -> Messages:
    """Return our prompt in the framework's format: the framework sends its own instructions, and parts that only it understands stay in."""
    messages = list(prompt)
    instructions = _system_text(asking.messages[:1]) if not _is_theirs(asking.messages[:1]) else ""
    if messages and messages[0].role == "system" and instructions:
        rest = messages[0].content.text.removeprefix(instructions).strip("\n")
        first = [ForeignMessage("system", Content((Text(rest),)))] if rest else []
        messages = [*first, *messages[1:]]
    out = render_messages(messages, thread.engine.blob)
    last, newest = (out[-1] if out else None), given[-1]
    if not isinstance(newest, ModelRequest):
        return out
    odd = [p for p in newest.parts if not is_text_kind(p.part_kind) or _late_system(p, given)]
    if not isinstance(last, ModelRequest):
        return [*out, newest]
    ours = replace(
        last,
        parts=[*last.parts, *odd],
        instructions=newest.instructions,
        run_id=newest.run_id,
        conversation_id=newest.conversation_id,
        timestamp=newest.timestamp,
    )
    return [*out[:-1], ours]


def _late_system(part: object, given: Sequence[ModelMessage]) -> bool:
    """Return True for a system prompt in the middle of a conversation: it is new, and not part of the opening."""
    return isinstance(part, SystemPromptPart) and len(given) > 1


def _is_theirs(messages: Sequence[ForeignMessage]) -> bool:
    return not messages or VENDOR in messages[0].content.metadata


def _system_text(messages: Sequence[ForeignMessage]) -> str:
    return messages[0].content.text if messages and messages[0].role == "system" else ""


def _only_said(response: ModelResponse) -> Content:
    return parse_messages([response])[0].content


def _usage(response: ModelResponse) -> Tokens:
    """Return the usage that the service reported, if it is plausible."""
    return heard_tokens(lambda: _read_usage(response))


def _read_usage(response: ModelResponse) -> Tokens:
    usage = response.usage
    whole, answer = usage.input_tokens, usage.output_tokens
    if not whole and not answer:
        return tokens_of(None)
    cached = min(usage.cache_read_tokens, whole)
    written = min(usage.cache_write_tokens, whole - cached)
    reasoning = int(cast("Mapping[str, Json]", usage.details).get("reasoning_tokens") or 0)
    return Tokens(
        input=whole, cached=cached, written=written, output=answer, reasoning=min(reasoning, answer)
    )
