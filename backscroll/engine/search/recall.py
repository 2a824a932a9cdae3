"""Recall: find past messages that answer a question, best value per token first.

Owns the scopes, the decision to recall automatically, and what is returned. Most prompts recall nothing, so modules that
score text are imported only when needed. The texts come from `engine/search/recall_pool`, the score and the choice from the
pure room `recall`. Hidden, deleted, superseded and forgotten text never appears; cropped text may.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from backscroll.derive.summaries.tree import PROGRESS
from backscroll.engine.core.audience import checked_scope, wanted_from
from backscroll.engine.inputs.lessons import note_all
from backscroll.engine.search.recall_choice import (
    SMALLEST,
    Choice,
    RecallItem,
    RecallResult,
    RecallThresholds,
    ScoredTexts,
)
from backscroll.errors import InvalidInput, NotFound, StoreError
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.recall.question.analysis import QuestionAnalysis, needs_past, understand
from backscroll.record.ports import Reader, SearchFilter, ThreadState
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.values.unicode import valid_text

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope
    from backscroll.engine.search.recall_pool import RecallPool

__all__ = ["RecallItem", "RecallResult"]
#: Automatic recall: only likely texts enter a prompt, because every token costs.
_UNASKED = RecallThresholds(any=-2.8, best=-1.4, below=4.0)
_POINTED = RecallThresholds(
    any=-3.4, best=-2.6, below=4.0
)  # … a message that refers to the past almost asks for it
_LESS = 0.5  # … by how much a text that is not in the prompt may be less likely than one that is
_SAME_MATTER = 2.0  # log odds of a text about the same everyday subject, if no words decide
_CONDENSING = frozenset({Kind.COMPACTED, Kind.CROPPED})
_UNREAD = 1_000  # backlog of a background worker in events, from which prompts search less
_EMBEDDED = 64  # events whose vectors are made before a question is answered, if no worker makes them
_THREADS = 64  # threads that may be searched as a whole
_LATELY = 64  # messages among which the newest question is searched
_TELLING = 3  # items that become lessons: those further down may be there by chance


def _check_question(query: str, budget: int, limit: int | None) -> str:
    """Return the question in valid Unicode, or raise InvalidInput."""
    if not query.strip():
        raise InvalidInput("the question is empty", hint="say what you are looking for")
    if budget < 1:
        raise InvalidInput(
            f"a budget of {budget} tokens holds nothing", hint="give a number of tokens above 0"
        )
    if limit is not None and limit < 1:
        raise InvalidInput(f"cannot recall {limit} messages", hint="give a number above 0")
    return valid_text(query)


def recall(
    thread: ThreadScope,
    query: str,
    budget: int = 2000,
    *,
    scope: str = "thread",
    limit: int | None = None,
    exclude: Collection[Ref] = (),
) -> RecallResult:
    """Return past messages that answer a question, within `budget` tokens; `scope` is thread, user, project or all. `exclude` are revisions."""
    checked_scope(scope)
    query = _check_question(query, budget, limit)
    engine = thread.engine
    wanted = wanted_from(thread.info, scope)
    if wanted is not None:
        return recall_across(
            engine, query, budget, wanted=wanted, limit=limit, home=thread.id, exclude=exclude
        )
    asked = understand(query, _today(engine))
    pool, exact = _pool_of(engine, thread.id, asked, exclude=exclude)
    with pool.lock:
        choice = Choice(pool, asked, _weigh_pool(pool, asked), _counter(engine), thread.id)
        found = choice.choose_items(budget, limit, exact=exact, exclude=exclude)
    _learn(thread, found)
    return found


def _learn(thread: ThreadScope, found: RecallResult) -> None:
    """Record messages that are requested although condensed, so that they fade later; see `engine/inputs/lessons`."""
    log = thread.store.read(lambda reader: reader.others(thread.id))
    if not found.items or not any(event.kind in _CONDENSING for event in log):
        return

    try:
        note_all(
            thread.engine,
            thread.id,
            [thread.legible.message(item.message) for item in found.items[:_TELLING]],
            0.5,
        )
    except (StoreError, NotFound):
        return  # read-only, or gone since: the caller did not ask for this lesson


def recall_across(
    engine: EngineScope,
    query: str,
    budget: int = 2000,
    *,
    project: str | None = None,
    user: str | None = None,
    limit: int | None = None,
    home: str = "",
    exclude: Collection[Ref] = (),
    wanted: SearchFilter | None = None,
) -> RecallResult:
    """Recall across all threads of a project or of a user (or those that are `wanted`), or across all threads."""
    query = _check_question(query, budget, limit)
    looked = wanted or SearchFilter(project=project, users=None if user is None else (user,))
    asked = understand(query, _today(engine))
    pool, exact = _pool_across(engine, asked, looked, home, exclude=exclude)
    with pool.lock:
        choice = Choice(pool, asked, _weigh_pool(pool, asked), _counter(engine), home)
        return choice.choose_items(budget, limit, exact=exact, exclude=exclude)


def _pool_across(
    engine: EngineScope,
    asked: QuestionAnalysis,
    wanted: SearchFilter,
    home: str,
    question: Message | None = None,
    exclude: Collection[Ref] = (),
) -> tuple[RecallPool, bool]:
    """Return the texts of all wanted threads; the current thread comes last, because it grows."""
    # start-up: numpy is loaded by the first search
    from backscroll.engine.search.embedding import embed_some
    from backscroll.engine.search.recall_pool import whole_pool
    from backscroll.engine.search.recall_source import gathered_pool, threads_wanted

    states = engine.store.read(lambda reader: threads_wanted(reader, wanted, _THREADS + 1))
    if len(states) <= _THREADS and not exclude:
        ordered = sorted(states, key=lambda state: (state.id == home, state.id))
        before = None if question is None else question.position or None
        pool = engine.store.read(lambda reader: whole_pool(engine, reader, ordered, before))
        if pool is not None:
            return pool, True
    if question is None or engine.at_work is None:
        embed_some(engine, tuple(state.id for state in states[:_THREADS]))
    revision = None if question is None else question.revision
    return engine.store.read(
        lambda reader: gathered_pool(engine, reader, asked, wanted, None, revision, exclude)
    ), False


def recall_for_prompt(
    thread: ThreadScope,
    newest: Message,
    budget: int,
    count: Callable[[str], int],
    exclude: Collection[Ref] = (),
) -> RecallResult | None:
    """Return what the newest message asks for and the prompt does not show; None if nothing is needed or good enough."""
    engine, today = thread.engine, _today(thread.engine)
    asked = understand(newest.text, today)
    scope = checked_scope(engine.settings.recall_scope)
    shown = {*exclude, newest.revision}
    if budget < SMALLEST or not asked.words or needs_past(asked, now=today).strength < 0.3:
        return None
    if scope == "thread" and len(thread) <= len(shown):
        return None  # everything is in the prompt
    # start-up: numpy is loaded by the first search
    from backscroll.recall.relevance import holds_most

    wanted = wanted_from(thread.info, scope)
    if wanted is not None:
        pool, exact = _pool_across(engine, asked, wanted, thread.id, newest)
    else:
        pool, exact = _pool_of(engine, thread.id, asked, newest)
    with pool.lock:
        need = needs_past(asked, _visible(pool, shown), today)
        weighed = _weigh_pool(pool, asked)
        about = weighed.about or (need.sure and holds_most(pool.index, asked))
        if not about or not (need.sure or _is_worth_it(pool, asked, weighed, shown)):
            return None
        choice = Choice(pool, asked, replace(weighed, about=about), count, thread.id)
        cut = _POINTED if need.sure else _UNASKED
        made = choice.choose_items(budget, None, exact=exact, exclude=shown, cut=cut)
    return made if made.items else None


def _is_worth_it(
    pool: RecallPool, asked: QuestionAnalysis, weighed: ScoredTexts, shown: Collection[Ref]
) -> bool:
    """Return whether a plain question without reference to the past gets details.

    What the prompt does not show has to be about it with certainty, and no less likely than everything it shows.
    """
    # start-up: numpy is loaded by the first search
    from backscroll.recall.relevance import is_surely_about

    hidden, seen = -1, float("-inf")
    for place, number in enumerate(map(int, weighed.rows)):
        score = float(weighed.scores[place])
        if pool.places[number].revision in shown:
            seen = max(seen, score)
        elif hidden < 0 or score > weighed.scores[hidden]:
            hidden = place
    if hidden < 0:
        return False
    text = pool.index.texts[int(weighed.rows[hidden])].candidate.text
    if asked.requests and not any(thing in text for thing in asked.exact):
        return False  # asks for work: only what it names exactly is looked up
    return float(weighed.scores[hidden]) > seen - _LESS and is_surely_about(weighed.clues, hidden)


def preload(thread: ThreadScope) -> int:
    """Load what is likely to be asked next: index and vectors in memory, off the hot path; return how many texts."""
    # start-up: numpy is loaded by the first search
    from backscroll.engine.search.embedding import embed_some

    engine = thread.engine
    embed_some(engine, (thread.id,), 2_000)
    asked = understand(_likely(thread), _today(engine))
    pool = _pool_ahead(thread, asked)
    with pool.lock:
        if len(pool.index):
            _weigh_pool(pool, asked)
        return len(pool.index)


def _pool_ahead(thread: ThreadScope, asked: QuestionAnalysis) -> RecallPool:
    """Return the texts that prompts search: everything before the newest question, to which only the next one adds."""
    engine = thread.engine
    lately = thread.recent(_LATELY)
    asks = next((m for m in reversed(lately) if is_spoken_by_user(m)), lately[0] if lately else None)
    # start-up: numpy is loaded by the first search
    from backscroll.engine.search.recall_pool import whole_pool

    before = None if asks is None else asks.position
    pool = engine.store.read(
        lambda reader: whole_pool(engine, reader, [_state_of(reader, thread.id)], before, behind=True)
    )
    return _pool_of(engine, thread.id, asked)[0] if pool is None else pool


def _likely(thread: ThreadScope) -> str:
    """Return what the next question may be about: the last messages, the files and errors in them."""
    return "\n".join(message.text[-500:] for message in thread.legible.recent(4)) or "?"


# -- from texts to the result ------------------------------------------------------------------------------------


def _today(engine: EngineScope) -> date:
    return datetime.fromisoformat(engine.means.now()).date()


def _counter(engine: EngineScope) -> Callable[[str], int]:
    return tokenizer_for(engine.settings.model).count


def _state_of(reader: Reader, thread: str) -> ThreadState:
    state = reader.thread(thread)
    if state is None:
        raise NotFound(f"thread {thread} not found", hint="run `backscroll threads` to list threads")
    return state


def _pool_of(
    engine: EngineScope,
    thread: str,
    asked: QuestionAnalysis,
    question: Message | None = None,
    exclude: Collection[Ref] = (),
) -> tuple[RecallPool, bool]:
    """Return the texts of a thread (before the question, if that is one of its messages): all of them, or for a long thread what the store finds.

    A question must not be found as its own answer.
    """
    # start-up: numpy is loaded by the first search
    from backscroll.engine.search.embedding import embed_some
    from backscroll.engine.search.recall_pool import EXACT, pool_without, whole_pool
    from backscroll.engine.search.recall_source import HASTY, WIDE, gathered_pool, lineage

    def look(reader: Reader) -> ThreadState:
        return _state_of(reader, thread)

    state, reach = engine.store.read(look), WIDE
    if question is not None and _is_unread(engine, state):
        reach = HASTY
    elif state.messages <= EXACT and exclude:
        return engine.store.read(lambda reader: pool_without(engine, reader, look(reader), exclude)), True
    elif not exclude:
        before = None if question is None else question.position or None
        pool = engine.store.read(lambda reader: whole_pool(engine, reader, [look(reader)], before))
        if pool is not None:
            return pool, True
    line = engine.store.read(lambda reader: lineage(reader, state))
    if engine.at_work is None:  # otherwise the worker makes the vectors; until then only words match
        embed_some(engine, line, _EMBEDDED)
    revision = None if question is None else question.revision
    return engine.store.read(
        lambda reader: gathered_pool(
            engine, reader, asked, SearchFilter(line), look(reader), revision, exclude, reach
        )
    ), False


def _is_unread(engine: EngineScope, state: ThreadState) -> bool:
    """Return True for a thread that was imported or written by another process, and of which a background worker has yet to read much."""
    if state.messages <= _UNREAD:
        return False
    return state.head - engine.store.read(lambda reader: reader.progress(state.id, PROGRESS)) > _UNREAD


def _weigh_pool(pool: RecallPool, asked: QuestionAnalysis) -> ScoredTexts:
    import numpy as np

    from backscroll.recall.clues import measure_best  # start-up: numpy is loaded by the first search
    from backscroll.recall.fuse import fusion
    from backscroll.recall.passages import odds_of_results
    from backscroll.recall.relevance import is_about, is_worded, texts_of_domains

    if not len(pool.index):
        return ScoredTexts(np.zeros(0, np.intp), np.zeros(0), {})
    lifted = odds_of_results(pool.index, asked, pool.called)
    found = measure_best(pool.index, asked, lifted)
    scores = fusion(vectors=pool.index.encode is not None).score(found.clues)
    about = bool(lifted) or is_about(pool.index, asked, found.clues)
    if about and not lifted and not is_worded(found.clues):  # then texts about the same subject come first
        kin = texts_of_domains(pool.index, asked)
        scores = scores + _SAME_MATTER * np.asarray([number in kin for number in found.rows.tolist()], float)
    if lifted:
        least = np.asarray([lifted.get(number, -np.inf) for number in found.rows.tolist()])
        scores = np.maximum(scores, least)
    return ScoredTexts(found.rows, scores, found.clues, about)


def _visible(pool: RecallPool, shown: Collection[Ref]) -> set[str]:
    """Return the terms of what the prompt shows anyway."""
    out: set[str] = set()
    for place, text in zip(pool.places, pool.index.texts, strict=True):
        if place.revision in shown:
            out.update(text.words)
    return out
