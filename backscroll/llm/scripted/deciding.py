"""What a scripted service does with a request: refuse it, or pick the line that answers.

Owns the order in which a service looks: key, rate, model, validity, window, then the scenario. Keeps what it was asked. Refuses:
sockets (`server`). Before: `asked`, `scenario`, `cache`. After: `server` sends what was decided.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backscroll.llm.scripted.asked import Asked
from backscroll.llm.scripted.cache import Counted, PrefixCache, rough_count
from backscroll.llm.scripted.scenario import Fault, Line, Scenario
from backscroll.llm.scripted.spoken import Spoken, overflow, speak


@dataclass(frozen=True, slots=True)
class Decided:
    """What happens to a request: an answer, a fault, or silence (the line says so)."""

    line: Line
    said: Spoken | None = None
    fault: Fault | None = None


class Service:
    """One scripted service: its scenario, what it was asked, what it has used up. Safe for several threads."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        count: Callable[[str], int] = rough_count,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.scenario = scenario
        self.asked: list[Asked] = []  # every request that could be read, refused ones included
        self._count = count
        self._clock = clock
        self._cache = PrefixCache(count, least=scenario.cache_least, step=scenario.cache_step)
        self._used = [0] * len(scenario.lines)
        self._recent: list[float] = []
        self._number = 0
        self._lock = threading.Lock()

    def decide(self, asked: Asked, headers: Mapping[str, str]) -> Decided:
        """What happens to this request."""
        with self._lock:
            self.asked.append(asked)
            fault = self._unwelcome(headers) or self._unfit(asked)
            if fault is not None:
                return Decided(Line(), fault=fault)
            counted = self._cache.count(asked)
            most = self.scenario.window
            if most and counted.input + asked.limit > most:
                return Decided(Line(), fault=overflow(asked.wire, most, counted.input + asked.limit))
            line = self._line(asked)
            if line is None:
                told = "no line of the scenario fits this request, or all that fit are used up"
                return Decided(Line(), fault=Fault(400, told, "scenario"))
            if line.fault is not None and (line.cut_after is None or not asked.streamed):
                return Decided(line, fault=line.fault)
            self._number += 1
            counted = self._cache.take(asked) if self.scenario.cache else Counted(counted.input)
            return Decided(line, speak(line, asked, counted, self._number, self._count))

    def tokens(self, asked: Asked) -> int:
        """Tokens of a prompt, for those who ask beforehand."""
        return self._cache.count(asked).input

    def welcome(self, headers: Mapping[str, str]) -> Fault | None:
        """The fault for somebody without the right key; None where it is right."""
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

    def _unfit(self, asked: Asked) -> Fault | None:
        if self.scenario.models and asked.model not in self.scenario.models:
            return Fault(404, f"The model `{asked.model}` does not exist.")
        if not asked.said:
            return Fault(400, "messages: at least one message is required")
        if asked.wire == "anthropic" and not asked.limit:
            return Fault(400, "max_tokens: field required")
        if self.scenario.validate:
            from backscroll.llm.scripted.refusing import flaw

            what = flaw(asked)
            return Fault(400, what) if what else None
        return None

    def _line(self, asked: Asked) -> Line | None:
        for n, line in enumerate(self.scenario.lines):
            if (not line.times or self._used[n] < line.times) and _fits(line, asked):
                self._used[n] += 1
                return line
        return None


def _fits(line: Line, asked: Asked) -> bool:
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
