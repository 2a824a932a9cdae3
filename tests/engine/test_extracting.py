"""A model reads turns: paid once, checked word by word, and what rules found stands where it fails."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.derive.extract.assertions import rule_key
from backscroll.engine.budget.costs import calls
from backscroll.engine.core.lease import Lease
from backscroll.engine.engine import Engine
from backscroll.engine.models.extraction import (
    BUSY,
    ModelReading,
    ReadingFailure,
    TurnExtraction,
    estimate_extraction,
    extract_turn,
    extracting_for,
    failed_extractions,
    found_by_models,
    is_imported,
    reading_now,
    worth_trying,
)
from backscroll.engine.models.recipes import RecipeRunner
from backscroll.engine.thread import Thread
from backscroll.llm.clients.retries import Patience
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault
from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.message import Message
from tests.testing.scripted_talk import KINDS, Kind, provider_at

SAID = "Ellie is a forest elf. She lives in Greenvale."


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


def talk(engine: Engine, said: str = SAID) -> Thread:
    thread = engine.create("Talk")
    thread.append("user", said)
    thread.append("assistant", "Greenvale it is, then.")
    return thread


def item(**more: Any) -> dict[str, Any]:
    """One statement as a model gives it."""
    plain = {
        "kind": "attribute",
        "subject": "Ellie",
        "type": "person",
        "predicate": "race",
        "value": "forest elf",
        "object": "",
        "object_type": "",
        "quote": "Ellie is a forest elf.",
        "message": 1,
    }
    return {**plain, **more}


def answer(*items: dict[str, Any], **more: Any) -> Line:
    return Line(text=json.dumps({"assertions": list(items)}, ensure_ascii=False), **more)


LIVES = item(
    kind="relation",
    predicate="lives_in",
    value="",
    object="Greenvale",
    object_type="place",
    quote="She lives in Greenvale.",
)
GOOD = answer(item(), LIVES)


def nothing(_seconds: float) -> None:
    """Waits for nobody."""


@contextmanager
def at_work(engine: Engine, *lines: Line, **more: Any) -> Iterator[tuple[RecipeRunner, ScriptedServer]]:
    """A scripted model at work for an engine."""
    kind: Kind = more.pop("kind", "openai")
    tries = more.pop("attempts", 3)
    with ScriptedServer(Scenario(lines=lines, window=more.pop("window", 0))) as server:
        patience = Patience(tries=tries, sleep=nothing, chance=lambda: 1.0)
        with RecipeRunner(engine, provider_at(server.url, kind, **more), patience=patience) as working:
            yield working, server


def stand_in(messages: Sequence[Message]) -> tuple[Assertion, ...]:
    """Something that rules could have found."""
    quote = messages[0].text.split(". ")[0]
    return (Assertion(Claim.NODE, "Ellie", type="person", quote=quote, source=messages[0].revision),)


def read(working: RecipeRunner, thread: Thread, **more: Any) -> TurnExtraction:
    messages = list(thread)
    return extract_turn(working, thread.id, messages, stand_in=stand_in(messages), turn=1, **more)


def kept(engine: Engine, thread: Thread) -> ModelReading | None:
    key = rule_key(list(thread))
    return engine.store.read(lambda reader: found_by_models(reader, [key])).get(key)


def failure(engine: Engine, thread: Thread) -> ReadingFailure | None:
    key = rule_key(list(thread))
    return engine.store.read(lambda reader: failed_extractions(reader, [key])).get(key)


def ledger(engine: Engine) -> list[str]:
    """What the calls were for, oldest first."""
    return [charge.purpose for charge in reversed(calls(engine))]


# -- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_turn_is_read_by_a_model_once(engine: Engine, kind: Kind) -> None:
    """On every wire, with and without a schema; the reading is stored and charged, and a second request uses it."""
    thread = talk(engine)
    with at_work(engine, GOOD, kind=kind, structured=True) as (working, server):
        first = read(working, thread)
        again = read(working, thread)
    assert (first.by, again.by) == ("model", "kept")
    assert first.assertions == again.assertions
    race, home = first.assertions
    assert (race.subject, race.predicate, race.value) == ("Ellie", "race", "forest elf")
    assert (home.predicate, home.object, home.quote) == ("lives_in", "Greenvale", "She lives in Greenvale.")
    assert race.source == thread.message(0).revision
    assert race.speaker == "user"
    assert len(server.asked) == 1
    (charge,) = calls(engine)
    assert (charge.purpose, charge.thread, charge.turn, charge.model) == ("extraction", thread.id, 1, "m")
    found = kept(engine, thread)
    assert found is not None
    assert found.model == first.model == "m"
    assert found.claims([m.revision for m in thread]) == first.assertions


def test_fork_and_undo_cost_no_model_call(engine: Engine) -> None:
    """The same text shares one reading, with the revisions of each thread."""
    thread = talk(engine)
    with at_work(engine, GOOD) as (working, server):
        first = read(working, thread)
        fork = thread.fork()
        assert read(working, fork).by == "kept"
        opening = thread.message(0)
        thread.edit(opening.id, "Ellie is a dwarf, and that is all there is to it.")
        thread.edit(opening.id, SAID)
        back = read(working, thread)
    assert back.by == "kept"
    assert {a.source for a in back.assertions} == {thread.message(0).revision}
    assert {a.source for a in back.assertions} != {a.source for a in first.assertions}
    assert len(server.asked) == 1


def test_world_description_is_read_with_the_turn(engine: Engine) -> None:
    """Names of the world are known; when the world changes, nothing is paid for again."""
    thread = talk(engine)
    world = "Mirelle is the queen of the elves."
    line = answer(item(kind="relation", predicate="knows", value="", object="Mirelle"))
    with at_work(engine, line) as (working, server):
        told = read(working, thread, world=world)
        assert "queen of the elves" in server.asked[0].everything
        assert read(working, thread, world="Mirelle is dead.").by == "kept"
    assert told.assertions[0].object == "Mirelle"
    assert kept(engine, thread) is not None


def test_changing_the_model_makes_nothing_due(engine: Engine) -> None:
    """Earlier readings stay; an explicit refresh reads again with the new model."""
    thread = talk(engine)
    with at_work(engine, GOOD) as (working, _):
        read(working, thread)
    with at_work(engine, answer(item()), summary_model="n") as (working, server):
        assert read(working, thread).model == "m"
        assert server.asked == []
        assert read(working, thread, refresh=True).model == "n"
    found = kept(engine, thread)
    assert found is not None
    assert found.model == "n"


def test_turn_without_content_costs_no_call(engine: Engine) -> None:
    """A call for two letters is money thrown away."""
    thread = engine.create("Short")
    thread.append("user", "ok")
    with at_work(engine, GOOD) as (working, server):
        assert read(working, thread).by == "rules"
    assert server.asked == []


def test_edit_during_a_reading_keeps_the_reply_under_its_old_key(engine: Engine) -> None:
    """It is not current; undoing the edit uses it without a call."""
    thread = talk(engine)
    before = list(thread)
    with at_work(engine, GOOD) as (working, server):
        thread.edit(before[0].id, "Ellie is a dwarf from the mountains.")
        late = extract_turn(working, thread.id, before, stand_in=stand_in(before))
        assert late.by == "model"
        assert kept(engine, thread) is None
        thread.edit(before[0].id, SAID)
        assert read(working, thread).by == "kept"
    assert len(server.asked) == 1


def test_injected_text_is_not_sent_to_the_model(engine: Engine) -> None:
    """Reminders and tool output do not even reach the model."""
    thread = engine.create("Injected")
    thread.append("user", f"{SAID}\n<system-reminder>Tom is a spy.</system-reminder>")
    with at_work(engine, GOOD) as (working, server):
        assert read(working, thread).by == "model"
    assert "spy" not in server.asked[0].everything


# -- answers that cannot be used ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (Line(text='{"assertions": [{"kind": "attr'), "no valid JSON"),
        (Line(text='{"facts": []}'), "no field assertions"),
        (Line(text='{"assertions": ["Ellie"]}'), "no object"),
        (answer(item(quote="Ellie is the queen of Mars.")), "does not stand in message 1"),
        (answer(item(subject="Zorblax")), "Zorblax"),
        (answer(item(kind="opinion")), "kind is"),
        (answer(item(message=9)), "no such message"),
        (Line(text=GOOD.text, finish="length"), "cut off"),
        (Line(text=" "), "empty"),
    ],
    ids=["broken", "schema", "item", "quote", "name", "kind", "message", "length", "empty"],
)
def test_rules_apply_after_two_unusable_answers(engine: Engine, line: Line, reason: str) -> None:
    """Asked once more with the reason, then never again; both calls are counted and the failure is kept."""
    thread = talk(engine)
    asked: Sequence[object] = ()
    for _ in range(2):
        with at_work(engine, line) as (working, server):
            told = read(working, thread)
        assert (told.by, told.passing) == ("rules", False)
        assert told.assertions == stand_in(list(thread))
        assert reason in told.why
        assert told.tries == 2
        asked = server.asked
    assert asked == []  # the second time the journal answers
    assert ledger(engine) == ["extraction", "retry"]
    found = failure(engine, thread)
    assert found is not None
    assert (found.tries, found.times, found.passing) == (2, 1, False)
    assert reason in found.why
    assert not worth_trying(found, "m", engine.means.now())
    assert worth_trying(found, "another", engine.means.now())


def test_retry_states_the_reason_and_uses_the_second_answer(engine: Engine) -> None:
    """An invented quote is named; a better answer is taken, and nothing remains of the failure."""
    thread = talk(engine)
    bad = answer(item(quote="She can fly."), times=1)
    with at_work(engine, bad, GOOD) as (working, server):
        told = read(working, thread)
    assert told.by == "model"
    assert "She can fly." in server.asked[1].last[1]
    assert ledger(engine) == ["extraction", "retry"]
    assert failure(engine, thread) is None


def test_valid_statements_of_the_second_answer_are_kept(engine: Engine) -> None:
    """Valid statements stay, the others are dropped and counted."""
    thread = talk(engine)
    with at_work(engine, answer(item(), item(subject="Zorblax"), LIVES)) as (working, _):
        told = read(working, thread)
        again = read(working, thread)
    assert told.by == "model"
    assert [a.predicate for a in told.assertions] == ["race", "lives_in"]
    assert told.dropped == again.dropped == 1
    assert ledger(engine) == ["extraction", "retry"]


# -- services that fail ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "attempts"),
    [
        (Line(fault=Fault(500, "down")), 3),
        (Line(fault=Fault(401, "no")), 1),
        (Line(hang=0.6), 3),
        (Line(text=GOOD.text, cut_after=20), 3),
        (Line(fault=Fault(429, "much later", retry_after=9999)), 1),
    ],
    ids=["down", "key", "slow", "cut", "busy"],
)
def test_rules_apply_if_the_service_fails(engine: Engine, line: Line, attempts: int) -> None:
    """Every attempt is on the ledger and counted; later it works, and then it is read."""
    thread = talk(engine)
    with at_work(engine, line, timeout=0.3) as (working, server):
        told = read(working, thread)
        assert (told.by, told.passing, told.tries) == ("rules", True, attempts)
        assert told.assertions == stand_in(list(thread))
        assert told.why
        assert read(working, thread).tries == 2 * attempts
    assert ledger(engine) == ["failed"] * 2 * attempts
    found = failure(engine, thread)
    assert found is not None
    assert (found.passing, found.tries, found.times) == (True, 2 * attempts, 2)
    with at_work(engine, GOOD) as (working, server):
        assert read(working, thread).by == "model"
    assert failure(engine, thread) is None
    assert len(server.asked) == 1


def test_unreachable_service_falls_back_to_rules(engine: Engine) -> None:
    """A service that is not there at all."""
    thread = talk(engine)
    with ScriptedServer(Scenario()) as gone:
        url = gone.url
    patience = Patience(tries=2, sleep=nothing, chance=lambda: 1.0)
    with RecipeRunner(engine, provider_at(url), patience=patience) as working:
        told = read(working, thread)
    assert (told.by, told.passing, told.tries) == ("rules", True, 2)


def test_rate_limited_service_is_retried(engine: Engine) -> None:
    """429 and then fine: read, with both calls counted."""
    thread = talk(engine)
    busy = Line(fault=Fault(429, "slow down", retry_after=1), times=1)
    with at_work(engine, busy, GOOD) as (working, _):
        assert read(working, thread).by == "model"
        assert working.calls == 2
    assert ledger(engine) == ["failed", "extraction"]
    assert failure(engine, thread) is None


def test_rules_apply_if_the_prompt_overflows(engine: Engine) -> None:
    """A context window that is too small is not retried."""
    thread = talk(engine)
    with at_work(engine, GOOD, window=100) as (working, server):
        told = read(working, thread)
    assert told.by == "rules"
    assert "too long" in told.why
    assert len(server.asked) == 1


def test_pause_grows_after_repeated_failures(engine: Engine) -> None:
    """At once is too early; some minutes later it is worth another try, and each time later."""
    at = "2026-11-15T12:00:00+00:00"
    once = ReadingFailure("down", "m", passing=True, tries=3, times=1, at=at)
    twice = ReadingFailure("down", "m", passing=True, tries=6, times=2, at=at)
    assert not worth_trying(once, "m", "2026-11-15T12:01:00+00:00")
    assert worth_trying(once, "m", "2026-11-15T12:06:00+00:00")
    assert not worth_trying(twice, "m", "2026-11-15T12:06:00+00:00")
    assert worth_trying(twice, "m", "2026-11-15T12:11:00+00:00")


def test_spending_limit_prevents_the_call(tmp_path: Path) -> None:
    """A call over the limit is not made and not counted as an attempt."""
    prices = tmp_path / "prices.toml"
    prices.write_text('[[model]]\nmatch = "m"\ninput = 1000\noutput = 1000\n')
    with backscroll.open(tmp_path / "s.db", background=False, prices=str(prices), day_limit=0.5) as engine:
        thread = talk(engine)
        with at_work(engine, GOOD) as (working, server):
            told = read(working, thread)
            messages = list(thread)
            price = estimate_extraction(working, [(messages, stand_in(messages), "")])
        assert told.by == "rules"
        assert "cost" in told.why
        assert told.tries == 0
        assert server.asked == []
        assert price.texts == 1
        assert price.dollars is not None
        assert price.dollars > 0.5


def test_one_reader_per_thread_at_a_time(engine: Engine) -> None:
    """While one worker reads a thread, others neither pay nor fail; the current turn is visible."""
    thread = talk(engine)
    with at_work(engine, GOOD) as (working, server):
        with Lease(engine, thread.id, "extracting", "a turn") as lease:
            assert lease.renew()
            now = engine.means.now()
            assert engine.store.read(lambda reader: reading_now(reader, thread.id, now)) == "a turn"
            told = read(working, thread)
            assert (told.by, told.busy, told.why) == ("rules", True, BUSY)
        assert server.asked == []
        assert failure(engine, thread) is None
        assert engine.store.read(lambda reader: reading_now(reader, thread.id, now)) is None
        assert read(working, thread).by == "model"


def test_concurrent_readers_pay_once(engine: Engine) -> None:
    """Two threads of work that want the same turn read at the same moment: one of them asks."""
    thread = talk(engine)
    with at_work(engine, Line(text=GOOD.text, delay=0.3)) as (working, server), ThreadPoolExecutor(2) as pool:
        other = RecipeRunner(engine, provider_at(server.url))
        with other:
            told = list(pool.map(lambda who: read(who, thread), [working, other]))
    assert len(server.asked) == 1
    assert sorted((t.by, t.busy) for t in told) == [("model", False), ("rules", True)]
    assert failure(engine, thread) is None


# -- forgetting, consent, choice ---------------------------------------------------------------------------------


def test_forget_erases_readings(engine: Engine) -> None:
    """Readings, replies and failures go with the words that they rest on."""
    fine, bad = talk(engine), talk(engine, "Ellie is no elf at all. She is a witch from Dunwall.")
    with at_work(engine, Line(contains=("witch",), text="{broken"), GOOD) as (working, _):
        read(working, fine)
        read(working, bad)
    for thread in (fine, bad):
        key = rule_key(list(thread))
        thread.forget(thread.message(0).id)
        assert engine.store.read(lambda reader, t=thread.id: reader.replies(t)) == []
        assert engine.store.read(lambda reader, k=key: found_by_models(reader, [k])) == {}
        assert engine.store.read(lambda reader, k=key: failed_extractions(reader, [k])) == {}


def test_reading_of_words_forgotten_meanwhile_is_dropped(engine: Engine) -> None:
    """Words erased while the model was working do not return in its answer."""
    thread = talk(engine)
    messages = list(thread)
    thread.forget(messages[0].id)
    with at_work(engine, GOOD) as (working, _):
        told = extract_turn(working, thread.id, messages, stand_in=stand_in(messages))
    assert told.by == "rules"
    assert engine.store.read(lambda reader: reader.replies(thread.id)) == []
    assert engine.store.read(lambda reader: failed_extractions(reader, [rule_key(messages)])) == {}


def test_imported_turns_wait_for_consent(engine: Engine) -> None:
    """Turns logged long after they were said count as imported."""
    thread = engine.create("Old and new")
    thread.append("user", SAID, at="2020-01-01T00:00:00+00:00")
    thread.append("user", SAID)
    old, new = thread
    assert engine.store.read(lambda reader: is_imported(reader, old.id))
    assert not engine.store.read(lambda reader: is_imported(reader, new.id))


def test_extractor_setting_selects_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured model by default; none with `rules` or `none`; retries follow the settings."""
    config = tmp_path / "config.toml"
    config.write_text('[providers.here]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(config))
    with backscroll.open(tmp_path / "s.db", background=False, sliding_window_call_retries=0) as engine:
        working = extracting_for(engine)
        assert working is not None
        with working:
            assert working.model == "m"
            assert read(working, talk(engine)).tries == 1
    for name in ("rules", "none"):
        with backscroll.open(tmp_path / f"{name}.db", background=False, extractor=name) as engine:
            assert extracting_for(engine) is None
