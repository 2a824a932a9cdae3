"""What a scripted service does with a request: refuse it, or pick the line that answers.

Owns the order in which a service looks: key, rate, model, validity, thinking, window, then the scenario. Keeps what it was asked.
Not here: sockets (`server`).
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, cast

from backscroll.llm.prices.families import built_in_window
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.testing.answer import ScriptedAnswer, overflow, speak, too_long_answer
from backscroll.testing.cache import CacheTokens, PrefixCache, rough_count
from backscroll.testing.refusals import flaw
from backscroll.testing.request import ScriptedRequest
from backscroll.testing.scenario import Fault, Line, Scenario
from backscroll.testing.seals import SignatureCheck, SignatureIssuer

_UNKNOWN = 404


class RequestObserver(Protocol):
    """The observer that writes down what was asked and how it ended (`request_log`)."""

    def log_request(self, asked: ScriptedRequest, decided: RequestDecision, words: int) -> None:
        """A request, and what was decided."""
        ...

    def log_end(self, number: int, how: str) -> None:
        """The end of its answer."""
        ...


@dataclass(frozen=True, slots=True)
class RequestDecision:
    """What happens to a request: an answer, a fault, or silence (the line says so)."""

    line: Line
    said: ScriptedAnswer | None = None
    fault: Fault | None = None
    number: int = 0  # of the request, counted from 1
    flaw: str = ""  # what is wrong with the prompt itself; empty: nothing


Answering: TypeAlias = Callable[[ScriptedRequest], Line]


class ScriptedService:
    """One scripted service: its scenario, what it was asked, what it has used up. Safe for several threads."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        count: Callable[[str], int] = rough_count,
        clock: Callable[[], float] = time.monotonic,
        log: RequestObserver | None = None,
    ) -> None:
        self.scenario = scenario
        self.asked: list[ScriptedRequest] = []  # every request that could be read, refused ones included
        self.flaws: list[
            str
        ] = []  # what was wrong with prompts: invalid, over the budget, or nothing to say to
        self.answering: Answering | None = None  # a function in place of the scenario's lines
        self._log = log
        count = counting(scenario.tokens, count)
        self._count = count
        self._clock = clock
        self._cache = PrefixCache(count, least=scenario.cache_least, step=scenario.cache_step)
        self._seals = SignatureIssuer()
        self._used = [0] * len(scenario.lines)
        self._recent: list[float] = []
        self._number = 0
        self._lock = threading.Lock()

    def decide(self, asked: ScriptedRequest, headers: Mapping[str, str]) -> RequestDecision:
        """Return what happens to this request; it is on the log before anything is answered."""
        with self._lock:
            self.asked.append(asked)
            decided = replace(self._make_decision(asked, headers), number=len(self.asked))
            if decided.flaw:
                self.flaws.append(f"request {decided.number}: {decided.flaw}")
            if self._log is not None:
                self._log.log_request(asked, decided, self.words(asked))
            return decided

    def _make_decision(self, asked: ScriptedRequest, headers: Mapping[str, str]) -> RequestDecision:
        fault = self._unwelcome(headers)
        if fault is not None:
            return RequestDecision(Line(), fault=fault)
        fault = self._unfit(asked, headers)
        if fault is not None:
            # A model that there is not says nothing about the prompt.
            return RequestDecision(
                Line(), fault=fault, flaw="" if fault.status == _UNKNOWN else fault.message
            )
        judged = self._judge_thinking(asked)
        if judged.refusal:
            return RequestDecision(Line(), fault=Fault(400, judged.refusal), flaw=judged.refusal)
        longest = self._longest(asked)
        if longest and asked.limit > longest:
            told = too_long_answer(asked.wire, asked.model, longest, asked.limit)
            # What the table says is public; a limit of the service's own has to be tried.
            return RequestDecision(Line(), fault=told, flaw="" if self.scenario.max_output else told.message)
        counted = self._cache.count(asked)
        most = self.scenario.window
        if most and counted.input + asked.limit > most:
            return RequestDecision(Line(), fault=overflow(asked.wire, most, counted.input + asked.limit))
        place = self._place(asked) if self.answering is None else None
        if self.answering is None and place is None:
            told = "no line of the scenario fits this request, or all that fit are used up"
            return RequestDecision(Line(), fault=Fault(400, told, "scenario"), flaw=told)
        line = self.scenario.lines[place] if place is not None else cast("Answering", self.answering)(asked)
        if line.fault is not None and (line.cut_after is None or not asked.streamed):
            return RequestDecision(line, fault=line.fault)
        self._number += 1
        step = self._number if place is None else self._used[place]
        counted = self._cache.take(asked) if self.scenario.cache else CacheTokens(counted.input)
        said = speak(line, asked, counted, self._number, step, self._count)
        if asked.wire == "anthropic" and said.reasoning:
            thinking = "" if line.redacted else said.reasoning
            seal = self._seals.sign(asked, self._number, thinking, judged.last)
            said = replace(said, seal=seal, redacted=line.redacted)
        return RequestDecision(line, replace(said, dropped=judged.dropped))

    def log_end(self, decided: RequestDecision, how: str) -> None:
        """How an answer ended: `sent`, `cut` by the scenario, or `gone` because the other side was."""
        with self._lock:
            if self._log is not None:
                self._log.log_end(decided.number, how)

    def words(self, asked: ScriptedRequest) -> int:
        """Return tokens of the words of a prompt and its tools, without what the wire puts around them: never more than they are."""
        tools = "".join(json.dumps(dict(t), ensure_ascii=False) for t in asked.tools)
        return self._count(asked.everything) + (self._count(tools) if tools else 0)

    def tokens(self, asked: ScriptedRequest, headers: Mapping[str, str]) -> int | Fault:
        """Return tokens of a prompt, for those who ask beforehand; what would be refused then is refused here."""
        with self._lock:
            if self.scenario.validate and asked.wire == "anthropic":
                what = self._flaw(asked, headers) or self._judge_thinking(asked).refusal
                if what:
                    return Fault(400, what)
            return self._cache.count(asked).input

    def _flaw(self, asked: ScriptedRequest, headers: Mapping[str, str]) -> str:
        named = headers.get("anthropic-beta", "").split(",") if asked.wire == "anthropic" else None
        return flaw(asked, None if named is None else [name.strip() for name in named])

    def _judge_thinking(self, asked: ScriptedRequest) -> SignatureCheck:
        """Return what becomes of the thinking in a request."""
        strict = self.scenario.validate and self.scenario.binding and asked.wire == "anthropic"
        return self._seals.judge(asked) if strict else SignatureCheck()

    def welcome(self, headers: Mapping[str, str]) -> Fault | None:
        """Return the fault for a request without the right key; None if the key is right."""
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if self.scenario.key and given != self.scenario.key:
            return Fault(401, "Incorrect API key provided.")
        return None

    def _unwelcome(self, headers: Mapping[str, str]) -> Fault | None:
        wrong = self.welcome(headers)
        if wrong is not None or not self.scenario.rate:
            return wrong
        now = self._clock()
        self._recent = [t for t in self._recent if t > now - self.scenario.period]
        if len(self._recent) >= self.scenario.rate:
            wait = self._recent[0] + self.scenario.period - now
            return Fault(429, "Rate limit reached.", "", round(max(0.0, wait), 3))
        self._recent.append(now)
        return None

    def _unfit(self, asked: ScriptedRequest, headers: Mapping[str, str]) -> Fault | None:
        if self.scenario.models and asked.model not in self.scenario.models:
            return Fault(404, f"The model `{asked.model}` does not exist.")
        if not asked.said:
            return Fault(400, "messages: at least one message is required")
        if asked.wire == "anthropic" and not asked.limit:
            return Fault(400, "max_tokens: field required")
        if self.scenario.validate:
            what = self._flaw(asked, headers)
            if what:
                return Fault(400, what)
        most = self.scenario.budget
        if most and (found := self.words(asked)) > most:
            return Fault(400, f"over the budget: {found} tokens of words, {most} allowed", "budget")
        return None

    def _longest(self, asked: ScriptedRequest) -> int:
        """Return tokens that an answer may be asked for; 0: any."""
        known = built_in_window(asked.model)
        return self.scenario.max_output or (0 if known is None else known.output)

    def _place(self, asked: ScriptedRequest) -> int | None:
        """Return which line answers; it is one step further then."""
        for n, line in enumerate(self.scenario.lines):
            times = line.times or int(self.scenario.once)
            if (not times or self._used[n] < times) and _fits(line, asked):
                self._used[n] += 1
                return n
        return None


def _fits(line: Line, asked: ScriptedRequest) -> bool:
    role, newest = asked.last
    return (
        all(text in newest for text in line.contains)
        and (not line.matches or re.search(line.matches, newest) is not None)
        and all(text in asked.everything for text in line.anywhere)
        and line.wire in ("", asked.wire)
        and line.model in ("", asked.model)
        and line.role in ("", role)
        and line.tools in (None, bool(asked.tools))
        and line.streamed in (None, asked.streamed)
    )


def counting(tokens: str, rough: Callable[[str], int]) -> Callable[[str], int]:
    """Return how tokens are counted: by the tables of a model, or roughly."""
    if not tokens:
        return rough
    return tokenizer_for(tokens).count
