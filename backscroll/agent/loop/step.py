"""One step of an agent: build the prompt, send it, stream the answer, record it with its price.

Owns what can go wrong between us and a model: after a busy service or a cut stream the request is retried (the partial answer is void
then), a prompt that is too long for the model is rebuilt under a smaller budget, once; a user who stops in the middle keeps
what has arrived so far, marked as broken off. Every attempt is on the ledger before it is sent, so that one interrupted by a
crash is not missing there. Refuses: tools (`agent/loop/execution`), when to stop asking (`agent/loop/loop`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from backscroll.agent.events import Asked, Happening, Noted, RunUsage, Said, Thought
from backscroll.agent.loop.answers import Answer, AnswerState, add_counts
from backscroll.agent.stop_switch import RunStopped, Stop
from backscroll.engine.budget.answer_limit import affordable_answer, learn_output_limit, longest_answer
from backscroll.engine.budget.costs import FAILED, check_limits, expected_cost, record_asked, record_call
from backscroll.engine.calls.replies import ANSWER, first_calls, record_reply
from backscroll.errors import BackscrollError, ContextOverflow, CutShort, InvalidInput, ModelError
from backscroll.llm.clients.client import (
    Again,
    CallDelta,
    Client,
    Done,
    ReasoningDelta,
    Reply,
    Request,
    StreamEvent,
    Tally,
    TextDelta,
    Usage,
    broken_calls,
)
from backscroll.llm.clients.retries import Patience, stream_with_retries
from backscroll.llm.prices.ledger import Tokens
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Section

if TYPE_CHECKING:
    from backscroll.engine.budget.costs import Charge
    from backscroll.engine.prompts.builder import Prompt
    from backscroll.engine.thread import Thread

#: Share of a prompt the model found too long that is kept in the next try.
_SMALLER = 0.7
_SAFE = 0.95  # … and share of a window that it reports: services count tokens differently
_LEAST = 2_000  # tokens below which no smaller budget is tried
#: Calls accepted from one reply; the model is told about the others.
MOST_CALLS = 64
#: A reported usage this many times our own count, plus a margin, is invalid.
_TIMES, _BEYOND = 20, 2_000_000


class ModelCaller:
    """Sends the requests of one thread to one model."""

    def __init__(
        self,
        thread: Thread,
        client: Client,
        *,
        model: str,
        stop: Stop,
        budget: int | None = None,
        tries: int = 4,
        offline: bool = False,
        cache_key: bool = False,
    ) -> None:
        self.thread, self.client, self.model, self.stop = thread, client, model, stop
        self.budget = budget
        self.offline = offline
        self.cache_key = cache_key  # whether the service knows `prompt_cache_key`; compatible services may refuse unknown fields
        self._patience = Patience(tries=tries, sleep=self._sleep)
        self.turn: int | None = None  # the turn being answered, for the ledger
        self.task: str | None = None
        self.spent = RunUsage(nano=0)  # of this run
        self._open: Charge | None = None  # the pending attempt, as it is on the ledger
        self._heard = AnswerState()
        self._counted = 0  # tokens of its prompt
        self._window: int | None = None  # the limit that the service reported
        self._reserve: int | None = None  # for the answer; None: a share of the budget

    def _sleep(self, seconds: float) -> None:
        if self.stop.wait(seconds):
            raise RunStopped

    # -- a step ----------------------------------------------------------------------------------------------

    def step(self, number: int, tools: Sequence[Mapping[str, Json]]) -> Generator[Happening, None, Answer]:
        """Send one request, and pass on what arrives."""
        prompt = self._prompt(tools)
        yield _describe_prompt(number, prompt, self.model)
        try:
            return (yield from self._allowed_answer(prompt))
        except ContextOverflow as error:
            took = prompt.receipt.tokens + prompt.receipt.tools
            reserve: int | None = prompt.receipt.reserve
            smaller = int(took * _SMALLER) + reserve
            window = error.facts.get("window")  # if the service says how much it accepts
            if isinstance(window, int) and window < prompt.receipt.budget:
                smaller, reserve = int(window * _SAFE), None
                self._window = window
            if smaller < _LEAST:
                raise
            yield Noted("overflow", error.message)
            # With a reserve that shrinks with the budget the room would hardly be smaller.
            self.budget, self._reserve = smaller, reserve
        prompt = self._prompt(tools)
        yield _describe_prompt(number, prompt, self.model)
        return (yield from self._allowed_answer(prompt))

    def _allowed_answer(self, prompt: Prompt) -> Generator[Happening, None, Answer]:
        """Yield the answer; if a service allows only a shorter one, ask again with its limit."""
        request = self._request(prompt)
        try:
            return (yield from self._answer(prompt, request))
        except InvalidInput as error:
            most = error.facts.get("output_limit")
            if not isinstance(most, int) or most >= request.max_tokens:
                raise
            learn_output_limit(self.thread.engine, self.model, most)
            yield Noted("output_limit", f"{most}")
        return (yield from self._answer(prompt, self._request(prompt)))

    def _prompt(self, tools: Sequence[Mapping[str, Json]]) -> Prompt:
        wire = self.client.wire
        return self.thread.prompt(
            self.budget, model=self.model, tools=tools, wire=wire, handles=None, reserve=self._reserve
        )

    def _answer(self, prompt: Prompt, request: Request) -> Generator[Happening, None, Answer]:
        self._heard = AnswerState()
        self._counted = prompt.receipt.tokens + prompt.receipt.tools
        self._check_money(self._counted, request.max_tokens)
        reply: Reply | None = None
        try:
            asked = stream_with_retries(
                self.client, request, self._patience, self._settle_failure, lambda: self._goes_out(request)
            )
            stream = cast("Generator[StreamEvent]", asked)
            with self.stop.telling(self.client.abort), closing(stream):
                self.stop.check()  # before there is anything to abort
                for event in stream:
                    self.stop.check()
                    if isinstance(event, Done):
                        reply = event.reply
                    elif (told := self._handle_event(event)) is not None:
                        yield told
        except (RunStopped, KeyboardInterrupt, GeneratorExit):
            self._broken_off(self._heard)
            raise
        except (ModelError, InvalidInput) as error:
            self._keep_partial(error)
            raise
        assert reply is not None, "a stream ends with Done or an error"
        reply = self._check_reply(reply, request)
        if reply.usage.odd:
            yield Noted("usage", reply.usage.odd)
        return self._record_answer(reply, self._counted, request.max_tokens)

    def _check_reply(self, reply: Reply, request: Request) -> Reply:
        """Return the reply in reliable form: impossible figures are dropped, and incomplete calls are marked."""
        told = reply.usage
        ours = self._estimate_tokens(reply, self._counted)
        absurd = told.known and (
            told.input > _TIMES * ours.input + _BEYOND
            or max(told.output, told.reasoning) > _TIMES * (ours.output + request.max_tokens) + _BEYOND
        )
        if absurd:
            figures = f"{told.input}, {told.output}"
            reply = replace(reply, usage=Usage(known=False, odd=figures))
        halves = broken_calls(reply.tool_calls) if reply.finish in ("tools", "stop", "other") else ()
        if halves and reply.usage.known and reply.usage.output >= request.max_tokens:
            # Some services do not report that the limit ended the answer.
            reply = replace(reply, finish="length", cut=halves)
        return reply

    def _handle_event(self, event: StreamEvent) -> Happening | None:
        """Return the event for a piece of an answer, and keep the piece."""
        match event:
            case TextDelta():
                self._heard.text += event.text
                return Said(event.text)
            case ReasoningDelta():
                self._heard.reasoning += event.text
                return Thought(event.text)
            case CallDelta():
                return self._heard.piece(event)
            case Tally():
                self._heard.usage = event.usage
                return None
            case Again():
                self._heard = AnswerState()
                return Noted("again", event.reason)
            case Done():
                return None

    def _keep_partial(self, error: ModelError | InvalidInput) -> None:
        """Keep what has arrived of a failed answer."""
        if self.stop.thrown:  # the connection was closed during the answer, on purpose
            self._broken_off(self._heard)
            raise RunStopped from error
        if isinstance(error, CutShort) and self._heard.text:
            self._broken_off(self._heard, why="cut")
        if self._open is not None:  # refused as it is; the retries handle only errors of models
            self._settle_failure(error, 1)

    def _request(self, prompt: Prompt) -> Request:
        more: dict[str, Json] = {}
        if prompt.cache_key and self.cache_key:
            more["prompt_cache_key"] = prompt.cache_key
        engine, receipt = self.thread.engine, prompt.receipt
        sent = receipt.tokens + receipt.tools
        most = longest_answer(
            engine, self.model, sent=sent, reserve=receipt.reserve, budget=receipt.budget, window=self._window
        )
        if not self.offline:
            provider = self.client.provider
            most = affordable_answer(engine, self.thread, self.model, sent=sent, most=most, provider=provider)
        return Request(
            prompt.messages,
            system=prompt.system or "",
            model=self.model,
            tools=prompt.tools,
            max_tokens=most,
            more=more,
        )

    # -- recording -------------------------------------------------------------------------------------------

    def _goes_out(self, request: Request) -> None:
        """Put an attempt on the ledger before it is sent: with its prompt, and the most that an answer can cost."""
        if not self.offline:
            self._open = record_asked(
                self.thread.engine,
                model=self.model,
                counted=self._counted,
                reserve=request.max_tokens,
                thread=self.thread,
                task=self.task,
                turn=self.turn,
                provider=self.client.provider,
            )

    def _record_answer(self, reply: Reply, counted: int, limit: int) -> Answer:
        usage = None if reply.usage.known else self._estimate_tokens(reply, counted)
        if not reply.text and not reply.tool_calls:
            took = self._charge(reply.usage if usage is None else usage, ANSWER, counted)
            return Answer(None, "", reply.finish, took, limit)
        left_out = max(0, len(reply.tool_calls) - MOST_CALLS)
        reply = first_calls(reply, self.client.wire, MOST_CALLS)
        recorded = record_reply(
            self.thread,
            reply,
            self.client.wire,
            provider=self.client.provider,
            model=self.model,
            counted=counted,
            turn=self.turn,
            task=self.task,
            usage=usage,
            facts={"calls_left_out": left_out} if left_out else None,
            paid=not self.offline,
            settles=self._open,
        )
        halves = frozenset(recorded.calls[n].id for n in reply.cut if n < len(recorded.calls))
        took = self._settle_charge(recorded.charge)
        return Answer(recorded, reply.text, reply.finish, took, limit, halves, left_out)

    def _broken_off(self, heard: AnswerState, why: str = "stopped") -> None:
        """Keep the text that arrived before an answer broke off. Incomplete tool calls and unsigned reasoning are useless.

        If no attempt is pending (it failed and is on the ledger as such, or none had begun) there is nothing to pay for.
        """
        reply = Reply(
            heard.text.rstrip(), self.model, raw={"role": "assistant", "content": heard.text.rstrip()}
        )
        usage = self._until_then(heard)
        out = self._open is not None
        if not reply.text:
            if out:
                self._charge(usage, ANSWER, None)
            return
        recorded = record_reply(
            self.thread,
            reply,
            "openai-chat",
            provider=self.client.provider,
            model=self.model,
            turn=self.turn,
            task=self.task,
            facts={"interrupted": why},
            usage=usage,
            paid=out,
            settles=self._open,
        )
        if out:
            self._settle_charge(recorded.charge)

    def _estimate_tokens(self, reply: Reply, counted: int) -> Tokens:
        """Return the tokens of an answer, counted by us, if the vendor reports none."""
        said = reply.text + reply.reasoning + "".join(str(c.arguments) for c in reply.tool_calls)
        return Tokens(input=counted, output=tokenizer_for(self.model).count(said), estimated=True)

    def _until_then(self, heard: AnswerState) -> Tokens:
        """Return the tokens of an answer that broke off: the vendor's count so far, and the rest as we count it."""
        said = heard.text + heard.reasoning + "".join(heard.written)
        output = tokenizer_for(self.model).count(said)
        told = heard.usage
        if told is None or not told.known or not told.input:
            return Tokens(input=self._counted, output=output, estimated=True)
        output = max(output, told.output, told.reasoning)
        cached, written = min(told.cached, told.input), min(told.written, max(0, told.input - told.cached))
        return Tokens(told.input, cached, written, output=output, reasoning=told.reasoning, estimated=True)

    def _settle_failure(self, error: BackscrollError, _attempt: int) -> None:
        """Settle a failed attempt. What had arrived was paid for, and perhaps also an answer that never came."""
        if self.stop.thrown:  # a stop by the user is not a failure; it is charged elsewhere
            return
        paid = self._heard.anything or bool(error.facts.get("late"))
        usage = self._until_then(self._heard) if paid else None
        self._charge(usage, FAILED, None)

    def _charge(self, usage: object, purpose: str, counted: int | None) -> RunUsage:
        """Put a call that produced no message on the ledger."""
        if self.offline:
            took = RunUsage(nano=0, calls=1)
            self.spent = add_counts(self.spent, took)
            return took
        charge = record_call(
            self.thread.engine,
            model=self.model,
            usage=usage,
            purpose=purpose,
            thread=self.thread,
            task=self.task,
            turn=self.turn,
            provider=self.client.provider,
            counted=counted,
            settles=self._open,
        )
        return self._settle_charge(charge)

    def _settle_charge(self, charge: Charge) -> RunUsage:
        """Settle the pending attempt on the ledger; return its usage."""
        self._open = None
        took = _count_charge(charge)
        self.spent = add_counts(self.spent, took)
        return took

    def _check_money(self, counted: int, output: int) -> None:
        if self.offline:
            return
        engine = self.thread.engine
        owed = expected_cost(engine, self.model, input=counted, output=output, provider=self.client.provider)
        check_limits(engine, self.thread, owed).enforce()


def _count_charge(charge: Charge) -> RunUsage:
    guessed = charge.estimated and charge.input + charge.output > 0
    return RunUsage(charge.input, charge.cached, charge.output, charge.nano, 1, int(guessed))


def _describe_prompt(number: int, prompt: Prompt, model: str) -> Asked:
    receipt = prompt.receipt
    return Asked(
        number,
        receipt.tokens + receipt.tools,
        receipt.budget,
        model,
        receipt.cached,
        # A giant result was cut before it was cached: the history is unchanged.
        "" if receipt.compaction.get("trimmed") else str(receipt.compaction.get("reason", "")),
        sum(item.section == Section.RECALLED for item in receipt.items),
    )
