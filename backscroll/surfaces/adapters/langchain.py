"""LangChain and LangGraph: a message history backed by a thread, and middleware that records and assembles.

    history = BackscrollChatMessageHistory(thread)
    agent = create_agent(model, tools, middleware=[BackscrollMiddleware(thread, budget=16_000)])

Owns LangChain's two ways in. The middleware takes in what the agent is about to send and replaces it, for that call only, by a prompt within
the budget; the agent's own state is left alone. An agent without a checkpointer that is given only new messages keeps its history all the same.
Refuses: message formats (`langchain_messages`). Needs the extra `langchain`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

from backscroll.engine.budget.costs import record_call
from backscroll.engine.calls import capture
from backscroll.engine.calls import conversation as conversing
from backscroll.engine.calls.replies import ANSWER
from backscroll.errors import MissingExtra
from backscroll.llm.prices.ledger import Tokens, heard_tokens, tokens_of
from backscroll.surfaces.adapters.langchain_messages import VENDOR, parse_message, render_messages
from backscroll.surfaces.adapters.recorder import FrameworkRecorder, ModelCall, Spoken
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.part import Json

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtra(
        "this needs the package langchain", hint="pip install 'backscroll[langchain]'"
    ) from error

if TYPE_CHECKING:
    from backscroll.engine.calls.capture import CapturedRequest
    from backscroll.engine.thread import Thread


class BackscrollChatMessageHistory(BaseChatMessageHistory):
    """A thread as a chat message history; with a budget, `messages` returns what fits, the rest condensed.

    Answers that report their usage are put on the ledger, unless `ledger` is False (if something else counts them already).
    """

    def __init__(
        self, thread: Thread, budget: int | None = None, *, model: str = "", ledger: bool = True
    ) -> None:
        super().__init__()
        self.ledger = ledger
        self.thread = thread
        self.budget = budget
        self.model = model

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The messages, oldest first."""
        if self.budget is None:
            given = [ForeignMessage(m.role, m.content) for m in conversing.iterate_spoken(self.thread)]
        elif next(conversing.iterate_spoken(self.thread), None) is None:
            given = []
        else:
            given = capture.assembled_messages(
                self.thread, "openai-chat", model=self.model, budget=self.budget
            )
        return [t for m in given for t in render_messages(m, self.thread.engine.blob)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, all or none; durable on return."""
        capture.append_all(self.thread, [parse_message(m) for m in messages])
        for message in messages if self.ledger else ():
            if isinstance(message, AIMessage) and message.usage_metadata:
                self._count(message)

    def _count(self, message: AIMessage) -> None:
        facts: Mapping[str, Any] = message.response_metadata
        named = next((facts[n] for n in ("model_name", "model") if isinstance(facts.get(n), str)), "")
        record_call(
            self.thread.engine,
            model=named or self.model or "unknown",
            usage=_usage(message),
            purpose=ANSWER,
            thread=self.thread,
            turn=self.thread.info.turns or None,
            provider=str(facts.get("model_provider") or ""),
        )

    def clear(self) -> None:
        """Start over. Nothing is erased: the messages stay in the log, and `give_back` restores them."""
        conversing.clear(self.thread)

    def give_back(self) -> bool:
        """Undo the last `clear`; False if there was none."""
        return conversing.give_back(self.thread)


class BackscrollMiddleware(AgentMiddleware[Any, Any, Any]):
    """Records every model call of an agent in a thread, and sends a prompt within the budget.

    With `assemble=False` it only records. Without `strict`, an error of ours is warned about once and the agent continues.
    """

    def __init__(
        self, thread: Thread, budget: int | None = None, *, assemble: bool = True, strict: bool = False
    ) -> None:
        super().__init__()
        self.tools = ()
        self.listener = FrameworkRecorder(thread, VENDOR, budget, assemble, strict)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Record one call."""
        known, provider, sent = self._begin(request)
        try:
            response = handler(sent)
        except BaseException:
            self.listener.record_failure(known, provider)
            raise
        self._end(known, provider, response)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Record one call of an asynchronous agent."""
        known, provider, sent = await asyncio.to_thread(self._begin, request)
        try:
            response = await handler(sent)
        except BaseException:
            self.listener.record_failure(known, provider)
            raise
        await asyncio.to_thread(self._end, known, provider, response)
        return response

    def _begin(self, request: ModelRequest[Any]) -> tuple[CapturedRequest | None, str, ModelRequest[Any]]:
        provider = _provider(request.model)
        asking = self.listener.run_guarded(lambda: _asking(request, provider))
        if asking is None:
            return None, provider, request
        known, prompt = self.listener.begin(asking)
        if prompt is None:
            return known, provider, request
        blob = self.listener.thread.engine.blob
        sent = [t for m in prompt for t in render_messages(m, blob)]
        first = sent[0] if sent and isinstance(sent[0], SystemMessage) else None
        rest = cast("list[Any]", (sent if first is None else sent[1:]) + _behind(request.messages))
        return known, provider, request.override(system_message=first, messages=rest)

    def _end(self, known: CapturedRequest | None, provider: str, response: Any) -> None:
        inner = getattr(response, "model_response", response)
        result = [inner] if isinstance(inner, BaseMessage) else list(getattr(inner, "result", ()))
        answer = next((m for m in result if isinstance(m, AIMessage)), None)
        said = None if answer is None else self.listener.run_guarded(lambda: parse_message(answer).content)
        if answer is None or said is None:
            self.listener.record_failure(known, provider)
        else:
            self.listener.record_answer(known, provider, said, _usage(answer))


def _asking(request: ModelRequest[Any], provider: str) -> ModelCall:
    """Return what matters of a request."""
    listed: list[BaseMessage] = list(request.messages)
    whole = [request.system_message, *listed] if request.system_message is not None else listed
    model: Any = request.model
    named = next((v for n in ("model_name", "model") if isinstance(v := getattr(model, n, None), str)), "")
    reserve = getattr(model, "max_tokens", None)
    wire: Spoken = "anthropic" if provider == "anthropic" else "openai-chat"
    return ModelCall(
        wire,
        named,
        provider,
        [parse_message(m) for m in whole],
        [_spec(t) for t in request.tools],
        reserve if isinstance(reserve, int) else None,
    )


def _behind(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what other middleware appended for this call only: it is not part of the conversation, but the model must see it."""
    return [*takewhile(lambda m: m.type == "system", reversed(messages))][::-1]


def _spec(tool: Any) -> Mapping[str, Json]:
    """Return a tool in the wire's format; one that runs at the service is counted as it is."""
    if isinstance(tool, dict):
        given = cast("dict[str, Json]", tool)
        return given if "function" not in given and "name" not in given else convert_to_openai_tool(given)
    return convert_to_openai_tool(tool)


def _provider(model: object) -> str:
    """Return the service's name on the ledger: the integration's package, without its prefix."""
    return type(model).__module__.partition(".")[0].removeprefix("langchain_")


def _usage(message: AIMessage) -> Tokens:
    """Return the usage that the service reported, if it is plausible."""
    return heard_tokens(lambda: _read_usage(message))


def _read_usage(message: AIMessage) -> Tokens:
    told_usage = message.usage_metadata
    if not told_usage:
        return tokens_of(None)
    into: Mapping[str, Any] = cast("Mapping[str, Any]", told_usage.get("input_token_details") or {})
    out: Mapping[str, Any] = cast("Mapping[str, Any]", told_usage.get("output_token_details") or {})
    whole, answer = int(told_usage["input_tokens"]), int(told_usage["output_tokens"])
    cached = min(int(into.get("cache_read") or 0), whole)
    written = min(int(into.get("cache_creation") or 0), whole - cached)
    reasoning = min(int(out.get("reasoning") or 0), answer)
    return Tokens(input=whole, cached=cached, written=written, output=answer, reasoning=reasoning)
