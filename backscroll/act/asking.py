"""One step of an agent: build the prompt, send it, hand on the answer as it comes, write it down with its price.

Owns what can go wrong between us and a model: a busy service or a cut stream is asked again (what was shown of that answer is
void then), a prompt that is too long for the model is made again under a smaller budget, once; a person who stops in the middle keeps
what was said so far, marked as broken off. Refuses: tools (`act/acting`), when to stop asking (`act/loop`). Before:
`engine/prompting`, `llm/retrying`. After: `act/loop`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from backscroll.act.happening import Asked, Counted, Forming, Happening, Noted, Said, Thought
from backscroll.act.stopping import Stop, Stopped
from backscroll.engine.costing import FAILED, check_limits, expected_cost, record_call
from backscroll.engine.replying import ANSWER, Recorded, record_reply
from backscroll.errors import ContextOverflow, CutShort, InvalidInput, ModelError
from backscroll.llm.client import (
    Again,
    CallDelta,
    Client,
    Done,
    ReasoningDelta,
    Reply,
    Request,
    StreamEvent,
    TextDelta,
)
from backscroll.llm.ledger import Tokens
from backscroll.llm.retrying import Patience, stream_with_retries
from backscroll.llm.tokens import tokenizer_for
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Section

if TYPE_CHECKING:
    from backscroll.engine.costing import Charge
    from backscroll.engine.prompting import Prompt
    from backscroll.engine.thread import Thread

#: Of the prompt that a model found too long, so much is kept in the next try.
_SMALLER = 0.7
_SAFE = 0.95  # … and so much of a window that it names: others count tokens in other ways
_LEAST = 2_000  # tokens under which no smaller budget is tried
_FORMING = 4_000  # characters of a call that are shown while it is being written


@dataclass(frozen=True, slots=True)
class Answer:
    """What a step gave."""

    recorded: Recorded | None  # None: nothing was said
    text: str
    finish: str
    counted: Counted


@dataclass
class _Heard:
    """What has come of an answer so far."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])

    def piece(self, delta: CallDelta) -> Forming:
        """More of a call; gives what there is of it."""
        name, arguments = self.calls.get(delta.index, ("", ""))
        if (
            len(arguments) < _FORMING
        ):  # copying a long file for every piece of it would take longer than its writing
            arguments += delta.arguments
        self.calls[delta.index] = (name or delta.name, arguments)
        return Forming(delta.index, *self.calls[delta.index])


class Asker:
    """One model, asked for one thread."""

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
        self.cache_key = cache_key  # whether the service knows `prompt_cache_key`; imitators may refuse what they do not know
        self._patience = Patience(tries=tries, sleep=self._sleep)
        self.turn: int | None = None  # whose answer this is, for the ledger
        self.task: str | None = None
        self.spent = Counted(nano=0)  # of this run

    def _sleep(self, seconds: float) -> None:
        if self.stop.wait(seconds):
            raise Stopped

    # -- a step ----------------------------------------------------------------------------------------------

    def step(self, number: int, tools: Sequence[Mapping[str, Json]]) -> Generator[Happening, None, Answer]:
        """Ask once, and hand on what comes."""
        prompt = self._prompt(tools)
        yield _asked(number, prompt, self.model)
        try:
            return (yield from self._answer(prompt))
        except ContextOverflow as error:
            took = prompt.receipt.tokens + prompt.receipt.tools
            smaller = int(took * _SMALLER) + prompt.receipt.reserve
            window = error.facts.get("window")  # where the service says how much it takes
            if isinstance(window, int) and window < prompt.receipt.budget:
                smaller = int(window * _SAFE)
            if smaller < _LEAST:
                raise
            yield Noted("overflow", error.message)
            self.budget = smaller
        prompt = self._prompt(tools)
        yield _asked(number, prompt, self.model)
        return (yield from self._answer(prompt))

    def _prompt(self, tools: Sequence[Mapping[str, Json]]) -> Prompt:
        return self.thread.prompt(self.budget, model=self.model, tools=tools, wire=self.client.wire)

    def _answer(self, prompt: Prompt) -> Generator[Happening, None, Answer]:
        heard = _Heard()
        counted = prompt.receipt.tokens + prompt.receipt.tools
        self._check_money(counted, prompt.receipt.reserve)
        reply: Reply | None = None
        try:
            asked = stream_with_retries(self.client, self._request(prompt), self._patience, self._failed)
            stream = cast("Generator[StreamEvent]", asked)
            with self.stop.telling(self.client.abort), closing(stream):
                self.stop.check()  # before there is anything to abort
                for event in stream:
                    self.stop.check()
                    match event:
                        case TextDelta():
                            heard.text += event.text
                            yield Said(event.text)
                        case ReasoningDelta():
                            heard.reasoning += event.text
                            yield Thought(event.text)
                        case CallDelta():
                            yield heard.piece(event)
                        case Again():
                            heard = _Heard()
                            yield Noted("again", event.reason)
                        case Done():
                            reply = event.reply
        except (Stopped, KeyboardInterrupt, GeneratorExit):
            self._broken_off(heard, counted)
            raise
        except (ModelError, InvalidInput) as error:
            if self.stop.thrown:  # the connection was closed under the answer, on purpose
                self._broken_off(heard, counted)
                raise Stopped from error
            if isinstance(error, CutShort) and heard.text:
                self._broken_off(heard, counted, why="cut")
            raise
        assert reply is not None, "a stream ends with Done or an error"
        return self._recorded(reply, counted)

    def _request(self, prompt: Prompt) -> Request:
        more: dict[str, Json] = {}
        if prompt.cache_key and self.cache_key:
            more["prompt_cache_key"] = prompt.cache_key
        return Request(
            prompt.messages,
            system=prompt.system or "",
            model=self.model,
            tools=prompt.tools,
            max_tokens=prompt.receipt.reserve,
            more=more,
        )

    # -- writing down ----------------------------------------------------------------------------------------

    def _recorded(self, reply: Reply, counted: int) -> Answer:
        usage = None if reply.usage.known else self._estimated(reply, counted)
        if not reply.text and not reply.tool_calls:
            took = self._charge(reply.usage if usage is None else usage, ANSWER, counted)
            self.spent = added(self.spent, took)
            return Answer(None, "", reply.finish, took)
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
            facts={"cut": True} if reply.finish == "length" else None,
            paid=not self.offline,
        )
        took = _counted(recorded.charge)
        self.spent = added(self.spent, took)
        return Answer(recorded, reply.text, reply.finish, took)

    def _broken_off(self, heard: _Heard, counted: int, why: str = "stopped") -> None:
        """Keep what was said before an answer broke off. Half a tool call, and thinking without its proof, are worth nothing."""
        reply = Reply(
            heard.text.rstrip(), self.model, raw={"role": "assistant", "content": heard.text.rstrip()}
        )
        usage = self._estimated(reply, counted, heard.reasoning)
        if not reply.text:
            took = self._charge(usage, ANSWER, None)
        else:
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
                paid=not self.offline,
            )
            took = _counted(recorded.charge)
        self.spent = added(self.spent, took)

    def _estimated(self, reply: Reply, counted: int, more: str = "") -> Tokens:
        """What an answer took, counted by us, where the vendor says nothing."""
        said = reply.text + reply.reasoning + more + "".join(str(c.arguments) for c in reply.tool_calls)
        return Tokens(input=counted, output=tokenizer_for(self.model).count(said), estimated=True)

    def _failed(self, _error: ModelError, _attempt: int) -> None:
        if not self.stop.thrown:  # what a person stops is no failure; what came of it is charged as such
            self.spent = added(self.spent, self._charge(None, FAILED, None))

    def _charge(self, usage: object, purpose: str, counted: int | None) -> Counted:
        """Put a call on the ledger that left no words."""
        if self.offline:
            return Counted(nano=0, calls=1)
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
        )
        return _counted(charge)

    def _check_money(self, counted: int, output: int) -> None:
        if self.offline:
            return
        engine = self.thread.engine
        owed = expected_cost(engine, self.model, input=counted, output=output, provider=self.client.provider)
        check_limits(engine, self.thread, owed).enforced()


def added(one: Counted, other: Counted) -> Counted:
    """The sum; money is unknown where any of it is."""
    nano = None if one.nano is None or other.nano is None else one.nano + other.nano
    return Counted(
        one.input + other.input,
        one.cached + other.cached,
        one.output + other.output,
        nano,
        one.calls + other.calls,
    )


def _counted(charge: Charge) -> Counted:
    return Counted(charge.input, charge.cached, charge.output, charge.nano, 1)


def _asked(number: int, prompt: Prompt, model: str) -> Asked:
    receipt = prompt.receipt
    return Asked(
        number,
        receipt.tokens + receipt.tools,
        receipt.budget,
        model,
        receipt.cached,
        # A giant result that was cut before anybody cached it: the past stands as it was.
        "" if receipt.compaction.get("trimmed") else str(receipt.compaction.get("reason", "")),
        sum(item.section == Section.RECALLED for item in receipt.items),
    )
