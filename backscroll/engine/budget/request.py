"""A caller's request for a prompt: checked once, with everything that depends on the model looked up.

Owns the arithmetic of the budget: it covers everything that is sent (tools, messages) and the room for the answer. Rejects
budgets that cannot work, and names one that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from backscroll.assemble.compaction.marks import Prices
from backscroll.assemble.view.excerpt import shown_bytes
from backscroll.assemble.view.handles import offers_expand
from backscroll.assemble.view.meter import Meter
from backscroll.engine.budget.answer_limit import reserve_for
from backscroll.engine.budget.costs import price_of, window_of
from backscroll.engine.budget.counts import correction, kept_bytes, usable
from backscroll.engine.core.checks import checked_tools
from backscroll.errors import BudgetTooSmall, InvalidInput
from backscroll.llm.tokens.overhead import BytesOf, frame_tokens, message_tokens, own_bytes, tools_tokens
from backscroll.llm.tokens.tokens import Tokenizer, tokenizer_for
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json, Part, ToolResult
from backscroll.vocab.prompt import Wire, checked_wire
from backscroll.vocab.values.unicode import valid_json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A caller's request for a prompt."""

    budget: int  # tokens of everything, by our count
    reserve: int
    wire: Wire
    model: str
    tokenizer: Tokenizer
    tools: tuple[Mapping[str, Json], ...]
    tools_tokens: int
    prices: Prices
    given: int = 0  # the budget in the vendor's tokens, as the caller gave it
    shared: bool = False  # the reserve is a share of the budget, and grows with it
    shown: int = 0  # bytes of a tool result that the prompt shows
    handles: bool = True  # originals not shown are named by handles, for a tool that opens them

    @property
    def room(self) -> int:
        """The tokens left for messages."""
        return self.budget - self.reserve - self.tools_tokens - frame_tokens(self.wire)


def check_request(
    engine: EngineScope,
    budget: int | None,
    *,
    model: str | None = None,
    tools: Sequence[Mapping[str, Json]] = (),
    reserve: int | None = None,
    wire: str | None = None,
    handles: bool | None = True,
) -> PromptRequest:
    """Check a request, and look up what depends on its model. Whether it has enough room is checked by `too_small`."""
    settings = engine.settings
    way = checked_wire(settings.wire if wire is None else wire)
    name = settings.model if model is None else model
    tokenizer = tokenizer_for(name)
    whole = _budget(engine, budget, name)
    kept = _reserve(engine, reserve, _usable(engine, name, whole), name)
    given: tuple[Mapping[str, Json], ...] = tuple(valid_json(tool) for tool in checked_tools(tools))
    spent = tools_tokens(given, tokenizer, way)
    prices, shared = prices_for(engine, name), reserve is None
    # From the caller's value, not the corrected one: a result must look the same in every prompt.
    shown = shown_bytes(_smaller(engine, name, whole))
    size = _usable(engine, name, whole)
    opens = offers_expand(given) if handles is None else handles
    return PromptRequest(size, kept, way, name, tokenizer, given, spent, prices, whole, shared, shown, opens)


def too_small(engine: EngineScope, ask: PromptRequest, need: int, waiting: int = 0) -> BudgetTooSmall | None:
    """Return the error for a budget that leaves less than `need` tokens for messages; None if it leaves enough.

    The minimum in the error is exact. `waiting` are tokens of calls that await their results.
    """
    if ask.room >= need:
        return None
    least, factor = ask.given, correction(engine, ask.model)
    while (short := need - _room(engine, ask, least)) > 0:
        least += max(1, int(short * factor))
    if ask.room <= 0:
        spent, kept, whole = ask.tools_tokens, ask.reserve, ask.budget
        return BudgetTooSmall(
            f"the tools ({spent} tokens) and the room for the answer ({kept}) leave nothing of a budget of {whole}",
            minimum=least,
            hint=f"the least that can work is {least}; fewer tools or a smaller reserve help too",
        )
    hint = f"give at least {least}; or unpin, crop or shorten what is pinned, or offer fewer tools"
    if 2 * waiting > need:
        hint = f"give at least {least}; or answer or delete the tool call that waits for its result ({waiting} tokens)"
    return BudgetTooSmall(
        f"a budget of {ask.given} tokens is too small: what must be in the prompt takes {least}",
        minimum=least,
        hint=hint,
    )


def _room(engine: EngineScope, ask: PromptRequest, budget: int) -> int:
    """Return the room for messages that the same request would leave in another budget."""
    whole = _usable(engine, ask.model, budget)
    kept = _reserve(engine, None, whole, ask.model) if ask.shared else ask.reserve
    return replace(ask, budget=whole, reserve=kept).room


def _usable(engine: EngineScope, model: str, budget: int) -> int:
    return usable(engine, model, budget) if model else budget


def _budget(engine: EngineScope, budget: Any, model: str) -> int:
    if budget is None:
        budget = engine.settings.budget or _window(engine, model)
    if isinstance(budget, bool) or not isinstance(budget, int):
        raise InvalidInput(f"invalid budget: {budget!r}", hint="give a whole number of tokens")
    if budget <= 0:
        raise InvalidInput(f"cannot build a prompt in {budget} tokens", hint="give a budget of 1 or more")
    return budget


def _smaller(engine: EngineScope, model: str, budget: int) -> int:
    """Return the budget, or the model's context window if that is smaller."""
    window = window_of(engine, model) if model else None
    return budget if window is None or not window.known else min(budget, window.tokens)


def _window(engine: EngineScope, model: str) -> int:
    if not model:
        raise InvalidInput(
            "no budget and no model given", hint="prompt(budget=32000), or set `model` or `budget`"
        )
    window = window_of(engine, model)
    if not window.known:
        raise InvalidInput(
            f"unknown context size of model {model!r}",
            hint="give a budget, or put the model into your table of prices",
        )
    return window.tokens


def _reserve(engine: EngineScope, reserve: Any, budget: int, model: str) -> int:
    if reserve is None:
        own = engine.settings.reserve
        return min(own, budget // 4) if own else reserve_for(engine, model, budget)
    if isinstance(reserve, bool) or not isinstance(reserve, int) or reserve < 0:
        raise InvalidInput(f"invalid reserve: {reserve!r}", hint="give a whole number of 0 or more tokens")
    return reserve


def prices_for(engine: EngineScope, model: str) -> Prices:
    """Return token prices relative to plain input; typical prices without a model."""
    if not model:
        return Prices()

    found = price_of(engine, model)
    return Prices(found.read, found.write, found.output)


@dataclass(frozen=True, slots=True)
class WireMeter(Meter):
    """Counts the tokens of blocks on the wire of a request."""

    ask: PromptRequest | None = None
    bytes_of: BytesOf = own_bytes

    def parts(self, parts: Sequence[Part], author: str | None = None) -> int:
        """Return the tokens of a message with these parts, including the overhead of the wire."""
        assert self.ask is not None
        role = "tool" if any(isinstance(p, ToolResult) for p in parts) else "user"
        tokenizer, wire = self.ask.tokenizer, self.ask.wire
        return message_tokens(parts, role, tokenizer, wire, author=author, bytes_of=self.bytes_of)


def meter_of(engine: EngineScope, ask: PromptRequest, sizes: Mapping[Ref, int]) -> WireMeter:
    """Return a meter for a request; `sizes` are the tokens of whole messages, by revision."""
    return WireMeter(ask.tokenizer.count, sizes, ask=ask, bytes_of=kept_bytes(engine))
