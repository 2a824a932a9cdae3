"""Models at work for an engine: paid once, on the ledger, within limits, and rules stand where they fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.models.gist import plan_gist, recipe
from backscroll.derive.models.request import RecipePlan
from backscroll.derive.summaries.gist import RECIPE, Gist, gist_messages, inputs_of
from backscroll.engine.budget.costs import calls
from backscroll.engine.engine import Engine
from backscroll.engine.models.artefacts import better, failure_of
from backscroll.engine.models.recipes import RecipeRunner
from backscroll.engine.thread import Thread
from backscroll.llm.clients.retries import Patience
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault
from tests.testing.scripted_talk import provider_at

LONG = " ".join(f"Harbour {n} reports a tide of {n * 3} centimetres at noon." for n in range(40))


@pytest.fixture(
    params=[
        pytest.param("sqlite_url", id="sqlite"),
        pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
    ]
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An empty store of each kind, without a worker of its own."""
    with backscroll.open(request.getfixturevalue(request.param), background=False) as engine:
        yield engine


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "sk-planted-0001")


def talk(engine: Engine, topic: str = "tides") -> Thread:
    thread = engine.create("Talk")
    thread.append("user", f"Read the {topic}. You must never round. {LONG}")
    thread.append("assistant", f"Done with the {topic}. {LONG}")
    return thread


def planned(thread: Thread, model: str = "m") -> RecipePlan[Gist]:
    messages = list(thread)
    made = plan_gist(
        messages, gist_messages(messages), RECIPE.key(inputs_of(messages)), model=model, count=rough_count
    )
    assert made is not None
    return made


class Waits:
    """Sleeps in a moment, and remembers how long it should have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@contextmanager
def at_work(
    engine: Engine, *lines: Line, waits: Waits | None = None, **more: Any
) -> Iterator[tuple[RecipeRunner, ScriptedServer]]:
    """A scripted model at work for an engine."""
    with ScriptedServer(Scenario(lines=lines, window=more.pop("window", 0))) as server:
        patience = Patience(tries=3, sleep=waits or Waits(), chance=lambda: 1.0)
        with RecipeRunner(engine, provider_at(server.url, **more), patience=patience) as working:
            yield working, server


def ledger(engine: Engine) -> list[str]:
    """What the calls were for, oldest first."""
    return [charge.purpose for charge in reversed(calls(engine))]


GOOD = Line(text=json.dumps({"text": "Tides were read."}))


def test_answer_is_paid_for_once(engine: Engine) -> None:
    """It is stored and charged; the second request makes no call."""
    thread = talk(engine)
    with at_work(engine, GOOD) as (working, server):
        first = working.make(planned(thread), thread.id, turn=1)
        again = working.make(planned(thread), thread.id)
    assert (first.by, again.by) == ("model", "kept")
    assert first.value == again.value
    assert first.value.text.startswith("Tides were read.")
    assert "must never round" in first.value.text
    assert len(server.asked) == 1
    (charge,) = calls(engine)
    assert (charge.purpose, charge.model, charge.provider, charge.thread, charge.turn) == (
        "summary", "m", "here", thread.id, 1,
    )  # fmt: skip
    assert charge.input > 0
    assert not charge.estimated


def test_open_call_is_on_the_ledger(engine: Engine) -> None:
    """If the program dies, the call is recorded as unanswered."""
    seen: list[list[str]] = []
    thread = talk(engine)
    with at_work(engine, Line(fault=Fault(429, "busy"), times=1), GOOD) as (working, _):
        client = working._open_client()
        complete = client.complete

        def watched(request: Any) -> Any:
            seen.append(ledger(engine))
            return complete(request)

        client.complete = watched
        working.make(planned(thread), thread.id)
    assert seen == [["unanswered"], ["failed", "unanswered"]]
    assert ledger(engine) == ["failed", "summary"]


def test_journaled_reply_is_not_paid_for_again(engine: Engine, tmp_path: Path) -> None:
    """If the artefact is missing, it is derived again from the stored reply."""
    thread = talk(engine)
    plan = planned(thread)
    with at_work(engine, GOOD) as (working, server):
        made = working.make(plan, thread.id)
        (reply,) = engine.store.read(lambda reader: reader.replies(thread.id))
        assert (reply.key, reply.model, set(reply.sources)) == (plan.key, "m", set(plan.sources))
    with backscroll.open(tmp_path / "other.db", background=False) as other:
        copy = talk(other)
        with at_work(other, GOOD) as (working, server):
            fresh = planned(copy)
            kept = type(reply)(
                fresh.key, reply.recipe, copy.id, reply.model, reply.body, fresh.sources, reply.at
            )
            other.store.write(lambda tx: tx.keep_reply(kept))
            outcome = working.make(fresh, copy.id)
        assert outcome.by == "journal"
        assert outcome.value.text.splitlines()[0] == made.value.text.splitlines()[0]
        assert server.asked == []
        assert ledger(other) == []


def test_changing_the_model_makes_nothing_due(engine: Engine) -> None:
    """Earlier text stays; an explicit refresh writes new text, which is then shown."""
    thread = talk(engine)
    rule = planned(thread).rule_key
    with at_work(engine, GOOD) as (working, _):
        working.make(planned(thread), thread.id)
    newer = Line(text="Newer words.")
    with at_work(engine, newer, summary_model="n") as (working, server):
        stays = working.make(planned(thread, "n"), thread.id)
        assert server.asked == []
        anew = working.make(planned(thread, "n"), thread.id, refresh=True)
    assert stays.value.text.startswith("Tides were read.")
    assert anew.value.text.startswith("Newer words.")
    shown = engine.store.read(lambda reader: better(reader, recipe, [rule, b"unknown"]))
    assert {key: words.model for key, words in shown.items()} == {rule: "n"}


def test_unusable_answer_is_retried_once(engine: Engine) -> None:
    """With the reason; both calls are on the ledger."""
    thread = talk(engine)
    with at_work(engine, Line(text='{"text": 7}', times=1), Line(text="Better.")) as (working, server):
        outcome = working.make(planned(thread), thread.id)
    assert outcome.by == "model"
    assert outcome.value.text.startswith("Better.")
    assert "field text" in server.asked[1].last[1]
    assert ledger(engine) == ["summary", "retry"]


def test_rules_apply_after_two_unusable_answers(engine: Engine) -> None:
    """The failure is kept with its reason, and nothing is ever paid for it again."""
    thread = talk(engine)
    plan = planned(thread)
    for _ in range(2):
        with at_work(engine, Line(text="{broken")) as (working, _server):
            outcome = working.make(plan, thread.id)
        assert outcome.by == "rules"
        assert outcome.value == plan.stand_in
        assert "JSON" in outcome.why
    assert ledger(engine) == ["summary", "retry"]
    failure = engine.store.read(lambda reader: failure_of(reader, plan))
    assert failure is not None
    assert not failure.passing
    assert "JSON" in failure.why


def test_rate_limited_service_is_retried_after_its_delay(engine: Engine) -> None:
    """Pauses follow the service's own word, else they grow; every failed attempt is on the ledger."""
    thread = talk(engine)
    waits = Waits()
    busy = Line(fault=Fault(429, "slow", retry_after=7), times=1)
    with at_work(engine, busy, Line(fault=Fault(500, "x"), times=1), GOOD, waits=waits) as (working, _):
        assert working.make(planned(thread), thread.id).by == "model"
    assert waits.seconds == [7.0, 1.0]
    assert ledger(engine) == ["failed", "failed", "summary"]
    assert working.calls == 3


@pytest.mark.parametrize(
    ("line", "attempts"),
    [
        (Line(fault=Fault(401, "no")), 1),
        (Line(fault=Fault(404, "no")), 1),
        (Line(fault=Fault(400, "odd request")), 1),
        (Line(fault=Fault(500, "down")), 3),
        (Line(fault=Fault(429, "much later", retry_after=9999)), 1),
        (Line(text="Tides", cut_after=20), 3),
    ],
    ids=["key", "model", "request", "down", "later", "cut"],
)
def test_rules_apply_if_the_service_fails(engine: Engine, line: Line, attempts: int) -> None:
    """Deterministic, explained, every attempt on the ledger; it may work later, and then does."""
    thread = talk(engine)
    plan = planned(thread)
    with at_work(engine, line) as (working, server):
        outcome = working.make(plan, thread.id)
    assert (outcome.by, outcome.passing) == ("rules", True)
    assert outcome.value == plan.stand_in
    assert outcome.why
    assert len(server.asked) == attempts
    assert ledger(engine) == ["failed"] * attempts
    with at_work(engine, GOOD) as (working, _):
        assert working.make(plan, thread.id).by == "model"
    assert engine.store.read(lambda reader: failure_of(reader, plan)) is None


def test_rules_apply_if_the_prompt_overflows(engine: Engine) -> None:
    """A context window that is too small is neither retried nor an error."""
    thread = talk(engine)
    with at_work(engine, GOOD, window=100) as (working, server):
        outcome = working.make(planned(thread), thread.id)
    assert outcome.by == "rules"
    assert "too long" in outcome.why
    assert len(server.asked) == 1


def test_rules_apply_without_a_key(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the variable; no call is made."""
    monkeypatch.delenv("PLANTED")
    thread = talk(engine)
    with at_work(engine, GOOD) as (working, server):
        outcome = working.make(planned(thread), thread.id)
    assert outcome.by == "rules"
    assert "PLANTED" in outcome.why
    assert server.asked == []


def test_spending_limit_prevents_the_call(tmp_path: Path) -> None:
    """A call over the limit is not made."""
    prices = tmp_path / "prices.toml"
    prices.write_text('[[model]]\nmatch = "m"\ninput = 1000\noutput = 1000\n')
    with backscroll.open(tmp_path / "s.db", background=False, prices=str(prices), day_limit=0.5) as engine:
        thread = talk(engine)
        with at_work(engine, GOOD) as (working, server):
            outcome = working.make(planned(thread), thread.id)
        assert outcome.by == "rules"
        assert "cost" in outcome.why
        assert server.asked == []
        assert ledger(engine) == []


def test_answer_about_words_forgotten_meanwhile_is_dropped(engine: Engine) -> None:
    """Words erased while the model was working do not return in its answer."""
    thread = talk(engine)
    plan = planned(thread)
    thread.forget(thread.message(0).id)
    with at_work(engine, GOOD) as (working, _):
        outcome = working.make(plan, thread.id)
    assert outcome.by == "rules"
    assert engine.store.read(lambda reader: reader.replies(thread.id)) == []
    assert engine.store.read(lambda reader: reader.read_artefacts([plan.key])) == {}
    assert ledger(engine) == ["summary"]


def test_forget_erases_model_results(engine: Engine) -> None:
    """Replies, artefacts and failures go with the words that they rest on."""
    thread, other = talk(engine), talk(engine, "currents")
    with at_work(engine, Line(contains=("currents",), text="{broken"), GOOD) as (working, _):
        working.make(planned(thread), thread.id)
        failed = planned(other)
        working.make(failed, other.id)
    for each in (thread, other):
        plan = planned(each)
        each.forget(each.message(0).id)
        assert engine.store.read(lambda reader, t=each.id: reader.replies(t)) == []
        assert engine.store.read(lambda reader, k=plan.key: reader.read_artefacts([k])) == {}
    assert engine.store.read(lambda reader: failure_of(reader, failed)) is None


def test_recipe_names_used_by_prompts_match_the_recipes() -> None:
    """Written twice, so that asking loads nothing."""
    from backscroll.derive.models import assertions as model_assertions
    from backscroll.derive.models import gist as model_gist
    from backscroll.derive.models import summary as model_summary
    from backscroll.engine.models import usage as models_used

    assert model_gist.recipe("").name == models_used.GIST
    assert model_summary.recipe("").name == models_used.SUMMARY
    assert model_assertions.recipe("").name == models_used.ASSERTIONS
