"""Decide about a request to a scripted service: reject it, or pick the line that answers.

Owns the order of a service's checks: key, rate, model, validity, thinking, window, then the scenario. Keeps the requests.
Sockets: `server`.
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
    """An observer that logs requests and how they ended (`request_log`)."""

    def log_request(self, asked: ScriptedRequest, decided: RequestDecision, words: int) -> None:
        """Log a request and its decision."""
        ...

    def log_end(self, number: int, how: str) -> None:
        """Log the end of an answer."""
        ...


@dataclass(frozen=True, slots=True)
class RequestDecision:
    """The decision about a request: an answer, a fault, or silence if the line says so."""

    line: Line
    said: ScriptedAnswer | None = None
    fault: Fault | None = None
    number: int = 0  # of the request, counted from 1
    flaw: str = ""  # the flaw of the prompt itself; empty: none


Answering: TypeAlias = Callable[[ScriptedRequest], Line]


class ScriptedService:
    """One scripted service: its scenario, its requests, its used lines. Safe for several threads."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        count: Callable[[str], int] = rough_count,
        clock: Callable[[], float] = time.monotonic,
        log: RequestObserver | None = None,
    ) -> None:
        self.scenario = scenario
        self.asked: list[ScriptedRequest] = []  # every readable request, rejected ones included
        self.flaws: list[str] = []  # flaws of prompts: invalid, over the budget, or without a matching line
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
        """Return the decision about a request; it is logged before anything is answered."""
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
            # For an unknown model the prompt is not checked.
            return RequestDecision(
                Line(), fault=fault, flaw="" if fault.status == _UNKNOWN else fault.message
            )
        judged = self._judge_thinking(asked)
        if judged.refusal:
            return RequestDecision(Line(), fault=Fault(400, judged.refusal), flaw=judged.refusal)
        longest = self._longest(asked)
        if longest and asked.limit > longest:
            told = too_long_answer(asked.wire, asked.model, longest, asked.limit)
            # The table's limits are public; a service's own limit must be found by trying.
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
        """Log how an answer ended: `sent`, `cut` by the scenario, or `gone` because the client disconnected."""
        with self._lock:
            if self._log is not None:
                self._log.log_end(decided.number, how)

    def words(self, asked: ScriptedRequest) -> int:
        """Return the tokens of a prompt's text and tools, without wire overhead: a lower bound."""
        tools = "".join(json.dumps(dict(t), ensure_ascii=False) for t in asked.tools)
        return self._count(asked.everything) + (self._count(tools) if tools else 0)

    def tokens(self, asked: ScriptedRequest, headers: Mapping[str, str]) -> int | Fault:
        """Return the tokens of a prompt for the counting endpoint; rejects what a call would reject."""
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
        """Check the thinking in a request."""
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
        """Return the maximum output tokens of a request; 0: unlimited."""
        known = built_in_window(asked.model)
        return self.scenario.max_output or (0 if known is None else known.output)

    def _place(self, asked: ScriptedRequest) -> int | None:
        """Return the line that answers, and advance it by one step."""
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
    """Return the token counter: a model's vocabulary, or a rough estimate."""
    if not tokens:
        return rough
    return tokenizer_for(tokens).count
