"""A session for the OpenAI Agents SDK, backed by a thread.

    session = BackscrollSession(thread)
    result = await Runner.run(agent, "Hello", session=session, hooks=session.hooks)

Owns the SDK's `Session` protocol: items in and out without loss, the newest item popped, everything cleared; both only take
items out of the history (`give_back` undoes them). With a budget the history that the SDK gets fits into it, and `fit`, as
`RunConfig.call_model_input_filter`, keeps every call within it. Its hooks put every call on the ledger. Needs the extra `agents`.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from backscroll.engine.budget.costs import record_call
from backscroll.engine.calls import conversation as conversing
from backscroll.engine.calls.replies import ANSWER
from backscroll.errors import BudgetTooSmall, MissingExtra
from backscroll.llm.prices.ledger import Tokens, heard_tokens, tokens_of
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.surfaces.capture_guard import CaptureGuard
from backscroll.surfaces.wrap.client import host_of
from backscroll.vocab.part import Json

try:
    from agents.lifecycle import RunHooks
    from agents.memory.session_settings import SessionSettings
    from agents.run import CallModelData, ModelInputData
    from agents.run_context import RunContextWrapper
except ImportError as error:
    raise MissingExtra(
        "this session is for the package openai-agents", hint="pip install 'backscroll[agents]'"
    ) from error

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.items import ModelResponse, TResponseInputItem

    from backscroll.engine.thread import Thread

_WIRE = "openai-responses"
Items: TypeAlias = Sequence[Mapping[str, Json]]


class BackscrollSession:
    """A thread as the SDK's session. Everything that the SDK adds is in the log before the next model call."""

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        thread: Thread,
        *,
        budget: int | None = None,
        model: str = "",
        settings: SessionSettings | None = None,
    ) -> None:
        self.thread = thread
        self.session_id = thread.id
        self.session_settings = settings or SessionSettings()
        self.budget = budget
        self.model = model
        self._ahead: list[tuple[str, str]] = []  # what `fit` added before the SDK did
        self._warned = False
        self.hooks = SpendingHooks(self)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the history, oldest first; its latest `limit` items; or, with a budget, what of it fits, the rest condensed."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        self._ahead.clear()
        found = await asyncio.to_thread(self._items, limit)
        return cast("list[TResponseInputItem]", found)

    def _items(self, limit: int | None) -> list[dict[str, Json]]:
        if limit is None and self.budget is not None:
            return self._past(self.budget)
        return conversing.newest_items(self.thread, limit)

    def _past(self, budget: int) -> list[dict[str, Json]]:
        """Return the history within a budget, without sections that depend on a question: there is none yet."""
        out = self._fitting(budget, (), self.model, recall=False)
        newest = conversing.newest_items(self.thread, 1)
        if newest and any(_name(i) == _name(newest[0]) for i in out):
            while _name(out[-1]) != _name(newest[0]):
                out.pop()
        return out

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, all or none; durable on return."""
        await asyncio.to_thread(self._add, cast("Items", items))

    def _add(self, items: Items) -> None:
        left = list(items)
        while left and self._ahead and isinstance(cast("object", left[0]), Mapping):
            if _name(left[0]) != self._ahead[0]:
                break
            left.pop(0)
            self._ahead.pop(0)
        self._ahead.clear()
        conversing.add_items(self.thread, left)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item and return it."""
        self._ahead.clear()
        found = await asyncio.to_thread(conversing.pop_item, self.thread)
        return cast("TResponseInputItem | None", found)

    async def clear_session(self) -> None:
        """Start over. Nothing is erased: the items stay in the log, and `give_back` restores them."""
        await asyncio.to_thread(conversing.clear, self.thread)

    async def give_back(self) -> bool:
        """Undo the last `clear_session` or `pop_item`; False if there was none."""
        return await asyncio.to_thread(conversing.give_back, self.thread)

    async def fit(self, data: CallModelData[Any]) -> ModelInputData:
        """Return what is sent with the next call, within the budget: pass it as `RunConfig(call_model_input_filter=session.fit)`."""
        given = data.model_data
        if self.budget is None:
            return given
        if not await asyncio.to_thread(self._caught_up, cast("Items", given.input)):
            self._warn()
            return given
        tools = await data.agent.get_all_tools(RunContextWrapper(data.context))
        specs = [s for t in tools if (s := _spec(t)) is not None]
        model = self.model or _model_of(data.agent)
        room = self.budget - _instructions_size(given.instructions, model)
        items = await asyncio.to_thread(self._fitting, room, specs, model)
        return ModelInputData(cast("list[TResponseInputItem]", items), given.instructions)

    def _caught_up(self, items: Items) -> bool:
        """Add everything that is about to be sent to the thread; False if the two have nothing in common.

        While it streams, the SDK calls the filter before it adds the user's message: that is then added here, and skipped
        when it arrives.
        """
        newest = [_name(i) for i in conversing.newest_items(self.thread, 1)]
        start = len(items)
        while newest and start and _name(items[start - 1]) != newest[0]:
            start -= 1
        if newest and not start:
            return False
        fresh = items[start:] if newest else items
        conversing.add_items(self.thread, fresh)
        self._ahead += [_name(i) for i in fresh]
        return True

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "backscroll sent a call as it was: its newest item is not in the session's thread, "
                "so give the same session to the run",
                RuntimeWarning,
                stacklevel=2,
            )

    def _fitting(
        self, budget: int, tools: Sequence[Mapping[str, Json]], model: str, *, recall: bool | None = None
    ) -> list[dict[str, Json]]:
        if budget <= 0:
            raise BudgetTooSmall(
                "the instructions alone take the whole budget",
                minimum=(self.budget or 0) - budget + 1,
                hint="give a larger budget, or shorter instructions",
            )
        if next(conversing.iterate_spoken(self.thread), None) is None:
            return []
        made = self.thread.prompt(budget, wire=_WIRE, model=model, tools=tools, recall=recall, handles=None)
        return made.messages


class SpendingHooks(RunHooks[Any], CaptureGuard):
    """Hooks of a run that put every model call on the ledger of the session's thread: pass them as `hooks=session.hooks`."""

    def __init__(self, session: BackscrollSession, *, strict: bool = False) -> None:
        self.session = session
        self.strict, self.warned = strict, False

    async def on_llm_end(
        self,
        context: RunContextWrapper[Any],  # noqa: ARG002 - theirs
        agent: Agent[Any],
        response: ModelResponse,
    ) -> None:
        """Record the cost of one answered call."""
        usage = _usage(response)
        await asyncio.to_thread(self.run_guarded, lambda: self._record(agent, usage))

    def _record(self, agent: Agent[Any], usage: Tokens) -> None:
        thread = self.session.thread
        record_call(
            thread.engine,
            model=self.session.model or _model_of(agent) or "unknown",
            usage=usage,
            purpose=ANSWER,
            thread=thread,
            turn=thread.info.turns or None,
            provider=_provider_of(agent),
        )


def _usage(response: ModelResponse) -> Tokens:
    """Return the usage that the service reported, if it is plausible."""
    return heard_tokens(lambda: _read_usage(response))


def _read_usage(response: ModelResponse) -> Tokens:
    """Return the usage that the service reported; zeros from the SDK mean unknown."""
    usage = response.usage
    if not usage.input_tokens and not usage.output_tokens:
        return tokens_of(None)
    into, out = usage.input_tokens_details, usage.output_tokens_details
    cached = min(into.cached_tokens or 0, usage.input_tokens)
    written = min(int(getattr(into, "cache_write_tokens", 0) or 0), usage.input_tokens - cached)
    return Tokens(
        input=usage.input_tokens,
        cached=cached,
        written=written,
        output=usage.output_tokens,
        reasoning=min(out.reasoning_tokens or 0, usage.output_tokens),
    )


def _provider_of(agent: Agent[Any]) -> str:
    """Return the service's name on the ledger."""
    client = getattr(agent.model, "_client", None)
    return "openai" if client is None else host_of(client)


def _name(item: Mapping[str, Json]) -> tuple[str, str]:
    """Return the identity of an item, however the SDK writes it."""
    if item.get("call_id"):
        return str(item.get("type")), str(item["call_id"])
    said = item.get("content")
    if isinstance(said, list):
        parts = [cast("Mapping[str, Json]", p) for p in cast("list[Json]", said) if isinstance(p, Mapping)]
        return str(item.get("role")), "".join(str(p.get("text") or "") for p in parts)
    return str(item.get("role") or item.get("type")), str(said)


def _spec(tool: Any) -> dict[str, Json] | None:
    """Return a function tool in the wire's format; None for tools that run at the service."""
    schema = getattr(tool, "params_json_schema", None)
    if schema is None:
        return None
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": schema}


def _model_of(agent: Any) -> str:
    model = getattr(agent, "model", None)
    return model if isinstance(model, str) else str(getattr(model, "model", "") or "")


def _instructions_size(text: str | None, model: str) -> int:
    return tokenizer_for(model).count(text) + 4 if text else 0
