"""One step and its price: whatever ends it, the ledger says what was asked, once, and marks what it had to guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backscroll.agent.events import Finished, Noted, Said
from backscroll.engine.budget.costs import calls
from backscroll.testing import Line
from backscroll.testing.scenario import Fault
from tests.agent.scripted_agent import KINDS, Stage, call, stage

BARE: dict[str, Any] = {"standard": False}


def kept(on: Stage) -> list[tuple[str, bool]]:
    """Purpose, and whether it was guessed, of every call, oldest first."""
    return [(c.purpose, c.estimated) for c in calls(on.engine)[::-1]]


@pytest.mark.parametrize("kind", KINDS)
def test_answer_replaces_its_open_call_on_the_ledger(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, "Done.", kind=kind, **BARE) as on:
        end = on.end("go")
        assert kept(on) == [("answer", False)]
        assert (end.counted.calls, end.counted.estimated, end.counted.unanswered) == (1, 0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_call_is_on_the_ledger_while_its_answer_streams(tmp_path: Path, kind: str) -> None:
    """Another process sees it there before the first word arrives."""
    with stage(tmp_path, Line(text="word " * 20, chunk=5, times=1), kind=kind, **BARE) as on:
        for happening in on.agent.events("go"):
            if isinstance(happening, Said):
                assert kept(on) == [("unanswered", True)]
                assert on.agent.counted().unanswered == 1
        assert kept(on) == [("answer", False)]
        assert on.agent.counted().unanswered == 0


@pytest.mark.parametrize("kind", KINDS)
def test_stopped_stream_is_charged_with_what_is_known(tmp_path: Path, kind: str) -> None:
    """Usage that the wire reported is used, the rest is counted locally; the charge is marked as estimated."""
    usage = {"input": 777}
    with stage(tmp_path, Line(text="word " * 40, chunk=5, usage=usage, times=1), kind=kind, **BARE) as on:
        end: Finished | None = None
        for happening in on.agent.events("go"):
            if isinstance(happening, Said):
                on.agent.stop()
            end = happening if isinstance(happening, Finished) else end
        assert end is not None
        assert end.end == "stopped"
        (charge,) = calls(on.engine)
        assert (charge.purpose, charge.estimated) == ("answer", True)
        assert charge.output > 0
        if kind == "anthropic":
            assert charge.input == 777
        assert (end.counted.calls, end.counted.estimated) == (1, 1)


def test_partial_tool_call_is_charged(tmp_path: Path) -> None:
    """It is not recorded, but the model wrote it."""
    wanted = call("list_files", folder="somewhere " * 60)
    with stage(tmp_path, Line(calls=(wanted,), chunk=20, times=1), **BARE) as on:
        for happening in on.agent.events("go"):
            if type(happening).__name__ == "Forming" and len(getattr(happening, "arguments", "")) > 400:
                on.agent.stop()
        (charge,) = calls(on.engine)
        assert charge.estimated
        assert charge.output >= 40


def test_cut_stream_is_charged_and_a_rate_limit_is_not(tmp_path: Path) -> None:
    """Both failed and were asked again; only of the cut one something had come."""
    busy = Line(fault=Fault(429, "slow down", retry_after=0.01), times=1)
    cut = Line(text="half of an answer that is cut", chunk=4, cut_after=3, times=1)
    with stage(tmp_path, busy, cut, "whole", **BARE) as on:
        end = on.end("go")
        refused, broken, whole = calls(on.engine)[::-1]
        assert (refused.purpose, refused.input, refused.nano) == ("failed", 0, 0)
        assert (broken.purpose, broken.estimated) == ("failed", True)
        assert broken.input > 0
        assert broken.output > 0
        assert (whole.purpose, whole.estimated) == ("answer", False)
        assert len(on.server.asked) == end.counted.calls == 3
        assert end.counted.estimated == 1


def test_answer_cut_on_every_attempt_is_charged_per_attempt(tmp_path: Path) -> None:
    cut = Line(text="half of an answer that is cut", chunk=4, cut_after=3)
    with stage(tmp_path, cut, **BARE) as on:
        assert on.end("go").end == "failed"
        assert kept(on) == [("failed", True)] * len(on.server.asked)
        assert on.thread.recent(1)[0].content.metadata["act"]["interrupted"] == "cut"


def test_rejected_request_leaves_no_open_call(tmp_path: Path) -> None:
    refused = Line(fault=Fault(400, "no such field"))
    with stage(tmp_path, refused, **BARE) as on:
        assert on.end("go").end == "failed"
        assert {purpose for purpose, _ in kept(on)} == {"failed"}


def test_stop_between_attempts_adds_no_cost(tmp_path: Path) -> None:
    """The attempt before has failed and is on the ledger; the next one never went out."""
    busy = Line(fault=Fault(429, "slow down", retry_after=60), times=1)
    with stage(tmp_path, busy, "never", **BARE) as on:
        for happening in on.agent.events("go"):
            if isinstance(happening, Noted):
                on.agent.stop()
        assert kept(on) == [("failed", True)]
        assert calls(on.engine)[0].nano == 0


def test_empty_answer_is_retried_once_then_reported(tmp_path: Path) -> None:
    """After two empty answers the run ends; the next start can continue."""
    with stage(tmp_path, Line(text="", times=2), "Here I am.", **BARE) as on:
        seen = on.say("go")
        assert [s.kind for s in seen if isinstance(s, Noted)] == ["silent"]
        end = seen[-1]
        assert isinstance(end, Finished)
        assert (end.end, end.text, end.steps) == ("silent", "", 2)
        assert kept(on) == [("answer", False)] * 2
        assert on.agent.unfinished
        again = on.say(None)[-1]
        assert isinstance(again, Finished)
        assert (again.end, again.text) == ("answered", "Here I am.")


def test_one_empty_answer_is_retried(tmp_path: Path) -> None:
    with stage(tmp_path, Line(text="", times=1), "Here I am.", **BARE) as on:
        assert on.end("go").end == "answered"
