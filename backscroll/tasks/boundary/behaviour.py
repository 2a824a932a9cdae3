"""Behaviour: evidence for a boundary from time, tools and files, added to the learned score.

Owns the state outside the text: the time of the last message, the files in use, the outcomes of the last steps, the
distance to the last boundary. In a thread with tool calls only the user starts a task, and more evidence is required. The
numbers are set by hand (`boundary_behaviour.toml`): the written dialogues from which the rest is learned have no tools and no
times.
"""

from __future__ import annotations

import re
import tomllib
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import inf
from typing import NamedTuple

from backscroll.tasks.boundary.features import MessageFeatures
from backscroll.tasks.boundary.reasons import Reason
from backscroll.tasks.boundary.signals import Signal
from backscroll.tasks.boundary.tuning import FILES_KEPT
from backscroll.vocab.part import Json

_MINUTE_US = 60_000_000
_LIST = re.compile(r"^(?:[-*•] |\d{1,2}[.)、] ?\S|#{1,4} |\*\*|\|)", re.MULTILINE)


class BehaviourClues(NamedTuple):
    """The evidence from behaviour for one message."""

    reasons: tuple[Reason, ...]
    never: bool  # in an agent's thread only the user starts a task
    sure: float  # the certainty given by explicit words
    most: float = 1.0  # the maximum certainty without explicit words …
    evidence: float = -inf  # … and without enough evidence of another subject


@cache
def _numbers() -> Json:
    return tomllib.loads(
        files("backscroll.tasks").joinpath("boundary_behaviour.toml").read_text(encoding="utf-8")
    )


@dataclass(slots=True)
class Behaviour:
    """The state of one conversation outside its text."""

    at_us: int | None = None
    calls: int = 0
    worked: bool = False
    listed: bool = False  # the other side writes lists and headings: it serves, and does not chat
    asked: int = 0  # messages of the user
    streak: int = 0  # successes since the last failure
    last_failed: bool = False
    done: bool = False  # the user's last words were that it is done
    since: int = 99  # messages since the last boundary
    touched: deque[str] = field(default_factory=lambda: deque(maxlen=FILES_KEPT))

    def weigh(self, signal: Signal, said: MessageFeatures) -> BehaviourClues:
        """Return the evidence for and against a boundary, before the message is learned."""
        numbers = _numbers()
        agent = self.worked or self._works(signal)
        if signal.role != "user" and (agent or self.listed or _LIST.search(signal.text)):
            return BehaviourClues((), True, 0.0)
        reasons: list[Reason] = []
        pause = self._minutes(signal)
        for minutes, adds in reversed(
            list(zip(numbers["silence"]["minutes"], numbers["silence"]["adds"], strict=True))
        ):
            if pause >= minutes:
                reasons.append(Reason("silence", adds, _format_minutes(pause)))
                break
        if self.since < numbers["near"]["messages"]:
            reasons.append(Reason("near_boundary", numbers["near"]["adds"], str(self.since + 1)))
        if agent:
            reasons += self._of_agent(signal, said, pause, numbers["agent"])
        most = 1.0
        if signal.role == "user":
            subject, assistant = numbers["subject"], numbers["assistant"]
            if said.replies > assistant["words"]:
                reasons.append(Reason("long_replies", assistant["adds"], f"{said.replies:.0f}"))
            if said.read.revises and not said.peers and not said.read.cues & {"shift", "start"}:
                reasons.append(Reason("takes_up", subject["revises"], said.read.revises))
        if said.bare and not (said.peers and said.fresh):
            reasons.append(Reason("nothing_new", 0.0))
            most = numbers["subject"]["bare"]
        needs = numbers["subject"]["evidence"] if signal.role == "user" and not said.peers else -inf
        return BehaviourClues(tuple(reasons), False, numbers["explicit"]["start"], most, needs)

    def _works(self, signal: Signal) -> bool:
        """Return True if this is work, not chat: tools are called, or the other side writes code."""
        return bool(signal.tools) or (signal.role == "assistant" and "```" in signal.text)

    def _of_agent(self, signal: Signal, said: MessageFeatures, pause: float, numbers: Json) -> list[Reason]:
        heavy = self.calls >= numbers["heavy_calls"] * max(1, self.asked)
        out = [
            Reason("agent_thread", numbers["quiet"] + (numbers["heavy"] if heavy else 0.0), str(self.calls))
        ]
        if said.words < numbers["remark_words"]:
            out.append(Reason("remark", numbers["remark"], str(said.words)))
        named = [_base(path) for path in signal.files]
        if kept := [path for path in named if path in self.touched]:
            out.append(Reason("kept_file", numbers["kept_file"], kept[0]))
        elif named and self.touched:
            out.append(Reason("other_files", numbers["other_files"], named[0]))
        if self.done:
            out.append(Reason("said_done", numbers["said_done"]))
        if self.last_failed:
            out.append(Reason("failed", numbers["failed"]))
        elif self.streak >= numbers["successes"] and pause >= numbers["pause_minutes"]:
            out.append(Reason("finished", numbers["finished"], str(self.streak)))
        return out

    def pass_by(self, signal: Signal) -> None:
        """Skip a text inserted by a program: only time advances."""
        self.at_us = signal.at_us if signal.at_us is not None else self.at_us

    def learn(self, signal: Signal, *, boundary: bool, done: bool = False) -> None:
        """Add a message to the state."""
        self.pass_by(signal)
        if signal.role == "user":
            self.done = done
        self.calls += len(signal.tools)
        self.worked = self.worked or self._works(signal)
        self.listed = self.listed or (signal.role != "user" and _LIST.search(signal.text) is not None)
        self.asked += signal.role == "user"
        if signal.failed:
            # The last of several calls is unknown: a step with a failure counts as failed unless most of it succeeded.
            self.last_failed = signal.failed >= signal.succeeded
            self.streak = 0
        elif signal.succeeded:
            self.last_failed = False
            self.streak += signal.succeeded
        self.touched.extend(_base(path) for path in signal.files)
        self.since = 0 if boundary else self.since + 1

    def _minutes(self, signal: Signal) -> float:
        if self.at_us is None or signal.at_us is None:
            return 0.0
        return max(0.0, (signal.at_us - self.at_us) / _MINUTE_US)


def _base(path: str) -> str:
    """Return the name of a file without its folders: people seldom write them out."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].lower()


def _format_minutes(minutes: float) -> str:
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if minutes < 2_880 else f"{minutes / 1_440:.0f} d"
