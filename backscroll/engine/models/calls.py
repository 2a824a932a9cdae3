"""One model call on behalf of a recipe: within the spending limits, retried, and on the ledger.

Every call is on the ledger, including failed and repeated ones. What is asked, and how the answer is used, is in
`engine/models/recipes`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet

from backscroll.derive.models.request import RecipeRequest
from backscroll.engine.budget.answer_limit import output_limit
from backscroll.engine.budget.costs import (
    FAILED,
    check_allowance,
    check_limits,
    expected_cost,
    record_asked,
    record_call,
)
from backscroll.errors import BudgetExceeded, InvalidInput, ModelError
from backscroll.llm.clients.client import Client, Request
from backscroll.llm.clients.client import Reply as Answer
from backscroll.llm.clients.retries import Patience, with_retries
from backscroll.llm.prices.families import thinks
from backscroll.llm.providers import Provider, client_for
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.record.derived import Charge
from backscroll.record.ports import Writer

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_AT_WORK: WeakSet[RecipeCaller] = WeakSet()
_THINKING = 8192  # tokens for models that think before they answer


def abort_calls(owner: int | None) -> None:
    """Abort the model calls of an OS thread."""
    for working in list(_AT_WORK):
        if working.owner == owner:
            working.abort()


class RecipeCaller:
    """One provider used by one engine."""

    def __init__(
        self,
        engine: EngineScope,
        provider: Provider,
        *,
        client: Client | None = None,
        patience: Patience | None = None,
        background: bool = False,
    ) -> None:
        self.engine = engine
        self.background = background  # not requested by the user: subject to the daily allowance
        self.owner = threading.get_ident()
        _AT_WORK.add(self)
        self.provider = provider
        self.model = provider.writer or provider.model
        self.calls = 0  # calls made, including failed ones
        self._client = client
        self._patience = patience or Patience(tries=provider.tries)

    def __enter__(self) -> RecipeCaller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def abort(self) -> None:
        """Abort the call in progress, from any OS thread."""
        if (client := self._client) is not None:
            client.abort()

    def close(self) -> None:
        """Close connections."""
        _AT_WORK.discard(self)
        if self._client is not None:
            self._client.close()
            self._client = None

    def call(
        self,
        asked: RecipeRequest,
        thread: str,
        turn: int | None,
        purpose: str,
        journal: Callable[[Writer, Answer], None],
    ) -> Answer:
        """Make one call with its retries, all of them on the ledger; the answer is stored in the transaction that charges it."""
        counted, most, owed = self._price(asked)
        check_limits(self.engine, thread, owed).enforce()
        self._check_allowance(owed)
        client = self._open_client()
        request = Request(
            asked.messages,
            system=asked.system,
            model=self.model,
            max_tokens=most,
            schema=asked.schema,
        )

        out: Charge | None = None

        def attempt() -> Answer:
            nonlocal out
            # On the ledger before it is sent: a program that dies meanwhile has asked anyway.
            out = record_asked(
                self.engine,
                model=self.model,
                counted=counted,
                reserve=most,
                thread=thread,
                turn=turn,
                provider=self.provider.name,
            )
            return client.complete(request)

        def charge_failure(_error: ModelError, _attempt: int) -> None:
            self.calls += 1
            self._charge(None, FAILED, thread, turn, out)

        try:
            answer = with_retries(attempt, self._patience, charge_failure)
        except InvalidInput:  # rejected as it is; retries handle only model errors
            self.calls += 1
            self._charge(None, FAILED, thread, turn, out)
            raise
        self.calls += 1
        self._charge(answer, purpose, thread, turn, out, counted, lambda tx: journal(tx, answer))
        return answer

    def _charge(
        self,
        answer: Answer | None,
        purpose: str,
        thread: str,
        turn: int | None,
        settles: Charge | None,
        counted: int | None = None,
        also: Callable[[Writer], None] | None = None,
    ) -> None:
        record_call(
            self.engine,
            model=self.model,
            usage=None if answer is None else answer.usage,
            purpose=purpose,
            thread=thread,
            turn=turn,
            provider=self.provider.name,
            counted=counted,
            also=also,
            settles=settles,
        )

    def explain_refusal(self, asked: RecipeRequest) -> str:
        """Return why the daily allowance refuses this call; empty if it does not, or if the user requested it."""
        try:
            self._check_allowance(self._price(asked)[2])
        except BudgetExceeded as error:
            return error.message
        return ""

    def _price(self, asked: RecipeRequest) -> tuple[int, int, float | None]:
        """Return input tokens, maximum output tokens, and the maximum cost of the call (None: price unknown)."""
        counted, most = self._tokens(asked), self.longest(asked)
        owed = expected_cost(self.engine, self.model, input=counted, output=most, provider=self.provider.name)
        return counted, most, owed

    def _check_allowance(self, owed: float | None) -> None:
        if self.background:
            check_allowance(self.engine, owed)

    def longest(self, asked: RecipeRequest) -> int:
        """Return the tokens that an answer may have: the text plus the model's thinking, up to the model's limit."""
        thought = _THINKING if thinks(self.model) else 0
        return min(asked.max_tokens + thought, output_limit(self.engine, self.model))

    def _tokens(self, asked: RecipeRequest) -> int:
        tokenizer = tokenizer_for(self.model)
        return sum(tokenizer.count(t) for t in (asked.system, *(m["content"] for m in asked.messages)))

    def _open_client(self) -> Client:
        if self._client is None:
            self._client = client_for(self.provider)
        return self._client
