"""Extract what turns state about the world with a model: the call between the plan and the fold.

Owns one turn at a time: what was read or answered before is never paid for again, one reader per thread across processes,
failures are stored with their reason and count, rules take over if the model fails. Which turns are due is decided
elsewhere (`engine/knowledge/analysis`). Choosing another model makes nothing due; a reply whose turn changed meanwhile
stays under its key and is simply not current.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from backscroll.derive.extract.assertions import rule_key
from backscroll.derive.models.assertions import VERSION, AssertionPlan, AssertionResult, plan, recipe
from backscroll.derive.models.assertions_fold import asked_again, fold, from_text, reading_from_text, to_text
from backscroll.derive.models.turn import NOTHING, TurnReading
from backscroll.derive.recipe import Recipe
from backscroll.engine.budget.costs import Estimate, expected_cost
from backscroll.engine.core.lease import Lease, find_lease
from backscroll.engine.models.artefacts import ModelText, better
from backscroll.engine.models.recipes import By, RecipeMethods, RecipeRunner
from backscroll.formats.sources.json_text import dumps
from backscroll.llm.clients.retries import Patience
from backscroll.llm.providers import choose_provider
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.record.chain import words_from_bytes
from backscroll.record.derived import Artefact
from backscroll.record.ports import Reader, Writer
from backscroll.vocab.assertion import Assertion
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_WORK = "extracting"  # the lease
_FAILURE = Recipe("assertions:failure", 1)
_MOST = 12  # failures of one turn that are stored, the first ones
_LIVE = 600 * 1_000_000  # microseconds between writing and logging; later messages were imported
_PAUSE = 300 * 1_000_000  # microseconds before a failed service is asked again; doubled each time
_LONGEST = 86_400 * 1_000_000
BUSY = "another process is having a model read this thread"
_Claims: TypeAlias = tuple[Assertion, ...]


@dataclass(frozen=True, slots=True)
class TurnExtraction:
    """What a turn states, who read it, and why a model did not."""

    assertions: _Claims
    by: By = "rules"
    model: str = ""  # the model that read it; empty: rules did
    why: str = ""
    passing: bool = False  # the service failed, not the answer: a retry may work
    tries: int = 0  # failed calls for this turn so far
    dropped: int = 0  # unusable statements of the model
    busy: bool = False  # another process is reading it: nothing was tried
    reading: TurnReading = NOTHING  # what else the model read in the turn


@dataclass(frozen=True, slots=True)
class ModelReading:
    """A model's reading of a turn, as stored."""

    text: str
    model: str
    sources: tuple[Ref, ...]
    at: str

    def claims(self, revisions: Sequence[Ref]) -> _Claims:
        """Return the assertions for a turn with these revisions (all messages of the turn, in order)."""
        return self.parse_claims(revisions).assertions

    def parse_claims(self, revisions: Sequence[Ref]) -> AssertionResult:
        """Return everything the model read in the turn, for the same revisions."""
        return from_text(self.text, revisions)

    @property
    def reading(self) -> TurnReading:
        """What the model read besides assertions; places are those of the turn's messages."""
        return reading_from_text(self.text)


@dataclass(frozen=True, slots=True)
class ReadingFailure:
    """Why a model could not read a turn: the last reason, and the number of tries."""

    why: str
    model: str
    passing: bool
    tries: int  # calls
    times: int  # occasions
    at: str  # the last one


# -- who reads ---------------------------------------------------------------------------------------------------


def extracting_for(
    engine: EngineScope, *, patience: Patience | None = None, background: bool = False
) -> RecipeRunner | None:
    """Return the model runner that reads turns for this engine; None if rules do (setting `extractor`, or no provider configured)."""
    provider = choose_provider(engine.settings.provider) if engine.settings.extractor == "auto" else None
    if provider is None or not provider.reader:
        return None
    tries = engine.settings.sliding_window_call_retries + 1
    return RecipeRunner(engine, provider, patience=patience or Patience(tries=tries), background=background)


# -- one turn ----------------------------------------------------------------------------------------------------


def extract_turn(
    working: RecipeRunner,
    thread: str,
    messages: Sequence[Message],
    *,
    stand_in: _Claims,
    turn: int | None = None,
    world: str = "",
    language: str = "",
    refresh: bool = False,
) -> TurnExtraction:
    """Return what a turn (all of its messages, in order) states, read by a model; the rule-made `stand_in` if that fails.

    With `refresh`, earlier models' readings are ignored. A turn that is too short costs nothing.
    """
    planned = plan(
        messages,
        stand_in,
        rule_key(messages),
        model=working.model,
        count=working.count,
        world=world,
        language=language,
    )
    if planned is None:
        return TurnExtraction(stand_in)
    known = {} if refresh else _read(working.engine, [planned.rule_key])
    if planned.rule_key in known:
        read = known[planned.rule_key]
        claimed = from_text(read.text, [m.revision for m in messages])
        return _make_extracted(claimed, "kept", read.model)
    if why := working.explain_refusal(planned.ask):
        return TurnExtraction(
            stand_in, why=why, passing=True
        )  # not a failure of this turn: it is read tomorrow
    with Lease(working.engine, thread, _WORK, str(messages[0].id)) as lease:
        if not lease.renew():
            return TurnExtraction(stand_in, why=BUSY, passing=True, busy=True)
        before = working.calls
        outcome = working.craft_artefact(planned, thread, _CRAFT, turn=turn, refresh=refresh)
        claimed = outcome.value
        if outcome.by != "rules":
            return _make_extracted(claimed, outcome.by, outcome.model)
        tries = _note(working, planned, thread, outcome.why, outcome.passing, working.calls - before)
    return TurnExtraction(stand_in, "rules", "", outcome.why, outcome.passing, tries)


def _make_extracted(claimed: AssertionResult, by: By, model: str) -> TurnExtraction:
    return TurnExtraction(claimed.assertions, by, model, dropped=claimed.dropped, reading=claimed.reading)


def _parse_kept(planned: AssertionPlan, kept: ModelText) -> AssertionResult:
    return from_text(kept.text, [m.revision for m in planned.messages])


_CRAFT: RecipeMethods[AssertionPlan, AssertionResult] = RecipeMethods(
    lambda planned, text, whole, last: fold(planned, text, whole=whole, last=last),
    asked_again,
    _parse_kept,
    lambda planned, claimed: to_text(claimed, planned.messages),
    "extraction",
)


def _read(engine: EngineScope, keys: Sequence[bytes]) -> dict[bytes, ModelReading]:
    return engine.store.read(lambda reader: found_by_models(reader, keys))


def reading_now(reader: Reader, thread: str, now: str) -> str | None:
    """Return the first message of the turn that a model is reading now, by its id; None if there is none."""
    return find_lease(reader, thread, _WORK, microseconds(now))


# -- stored readings ---------------------------------------------------------------------------------------------


def found_by_models(reader: Reader, keys: Iterable[bytes]) -> dict[bytes, ModelReading]:
    """Return models' readings of turns, by their keys.

    One read per version of the prompt, whatever the number of keys; the newest version, then the newest model, wins.
    """
    wanted, found = list(dict.fromkeys(keys)), dict[bytes, ModelText]()
    for version in range(VERSION, 0, -1):
        found |= better(
            reader, lambda model, v=version: recipe(model, v), [k for k in wanted if k not in found]
        )
    return {key: ModelReading(b.text, b.model, b.sources, b.at) for key, b in found.items()}


def failed_extractions(reader: Reader, keys: Iterable[bytes]) -> dict[bytes, ReadingFailure]:
    """Return why models could not read turns, by the same keys; without those that were read in the end."""
    wanted = list(dict.fromkeys(keys))
    first = {_failure_key(key, 1): key for key in wanted}
    began = {first[k]: made for k, made in reader.read_artefacts(list(first)).items()}
    began = {key: made for key, made in began.items() if key not in found_by_models(reader, began)}
    later = {_failure_key(key, n): key for key in began for n in range(2, _MOST + 1)}
    more = reader.read_artefacts(list(later)) if later else {}
    rows = {key: [made] for key, made in began.items()}
    for name, key in later.items():  # in chronological order of the tries
        if name in more:
            rows[key].append(more[name])
    return {key: _make_failed(made) for key, made in rows.items()}


def _failure_key(key: bytes, time: int) -> bytes:
    return _FAILURE.key([key.hex(), str(time)])


def _make_failed(made: Sequence[Artefact]) -> ReadingFailure:
    told = [words_from_bytes(m.body) for m in made]
    last = told[-1]
    tries = sum(int(t["calls"]) for t in told)
    return ReadingFailure(last["why"], last["model"], bool(last["passing"]), tries, len(made), made[-1].at)


def _note(
    working: RecipeRunner, planned: AssertionPlan, thread: str, why: str, passing: bool, calls: int
) -> int:
    """Store the failure with the earlier ones; return how many calls have failed for this turn."""
    engine, key = working.engine, planned.rule_key
    row = {"why": why, "model": working.model, "passing": passing, "calls": calls}
    body = dumps(row).encode("utf-8", "surrogatepass")

    def work(tx: Writer) -> int:
        before = failed_extractions(tx, [key]).get(key)
        same = before is not None and not calls and (before.why, before.model) == (why, working.model)
        times = 0 if before is None else before.times
        if times < _MOST and not same:  # an old answer that was read again is not a new try
            name = _failure_key(key, times + 1)
            tx.make([Artefact(name, _FAILURE.name, thread, body, planned.sources, engine.means.now())])
        return calls + (0 if before is None else before.tries)

    return engine.store.write(work)


def worth_trying(failed: ReadingFailure, model: str, now: str) -> bool:
    """Return whether to retry a failed turn automatically: never after unusable answers, else after growing pauses.

    A different model is always worth trying. A user may request a retry at any time.
    """
    if failed.model != model:
        return True
    if not failed.passing or failed.times >= _MOST:
        return False
    pause = min(_LONGEST, _PAUSE * 2 ** (failed.times - 1))
    return microseconds(now) - microseconds(failed.at) >= pause


# -- consent -----------------------------------------------------------------------------------------------------


def is_imported(reader: Reader, message: Ref) -> bool:
    """Return True for a message that was logged long after it was written: a model reads it only once the user has seen the price."""
    event = reader.event(message)
    spoken = reader.read_spoken([message]).get(message)
    if event is None or spoken is None:
        return True
    return microseconds(event.at) - microseconds(spoken.said) > _LIVE


def estimate_extraction(
    working: RecipeRunner, turns: Iterable[tuple[Sequence[Message], _Claims, str]]
) -> Estimate:
    """Return what having these turns read would cost: for each its messages, what rules found, its world; calls no model.

    Turns that a model has read, and those that are too short, cost nothing.
    """
    count = tokenizer_for(working.model).count
    told = most = number = 0
    for messages, stand_in, world in turns:
        key = rule_key(messages)
        if _read(working.engine, [key]):
            continue
        planned = plan(messages, stand_in, key, model=working.model, count=working.count, world=world)
        if planned is None:
            continue
        number += 1
        told += count(planned.ask.system) + sum(count(m["content"]) for m in planned.ask.messages)
        most += working.longest(planned.ask)
    dollars = expected_cost(
        working.engine, working.model, input=told, output=most, provider=working.provider.name
    )
    return Estimate(number, told, most, dollars)
