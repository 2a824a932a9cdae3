"""Model-written gists and summaries of a thread: which are due, what they would cost, and writing them.

Owns the walk over the summary tree: closed nodes that are stable (older than the turns shown in full), from the newest
back, each under the key of its rule-made text. In the background only messages logged as they were written are summarized:
imported old conversations wait until the user has seen the price and asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from backscroll.derive.extract.assertions import rule_key
from backscroll.derive.models import gist as model_gist
from backscroll.derive.models import summary as model_summary
from backscroll.derive.models.request import RecipePlan
from backscroll.derive.recipe import Count
from backscroll.derive.summaries.gist import Gist
from backscroll.derive.summaries.summary import Summary
from backscroll.derive.summaries.tree import PROGRESS
from backscroll.engine.budget.costs import Estimate, expected_cost
from backscroll.engine.core.lease import Lease
from backscroll.engine.core.lineage import View
from backscroll.engine.models.artefacts import ModelText, better, failure_of
from backscroll.engine.models.extraction import found_by_models
from backscroll.engine.models.recipes import RecipeRunner, modelling_for
from backscroll.engine.models.usage import ASSERTIONS, models_used
from backscroll.engine.tree.texts import Texts
from backscroll.errors import Conflict, InvalidInput
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.record.derived import SummaryNode
from backscroll.record.ports import Reader, Writer
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.engine.models.extraction import ModelReading

Planned: TypeAlias = RecipePlan[Gist]


class SummaryJob(NamedTuple):
    """A due text, and what a model said about the same messages when it read the turn."""

    plan: Planned
    read: ModelReading | None = None


_SEEN = "modelled"  # the name under which the store keeps the progress of this work
_PAGE = 128
_LIVE = 600 * 1_000_000  # microseconds between writing and logging; later messages were imported


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """How many texts were written, and how many were not."""

    texts: int = 0
    rules: int = 0  # texts that stay rule-made
    calls: int = 0
    why: str = ""  # the last reason for that


def write_pending(
    engine: EngineScope, thread: str, limit: int, stop: Callable[[], bool] = lambda: False
) -> int:
    """Do a step of background work: write at most `limit` due texts; return how many were written.

    A call takes seconds: `stop` is checked before each, so that shutting down waits for one call at most.
    """
    state = engine.store.read(lambda reader: reader.thread(thread))
    if state is None or engine.store.read(lambda reader: reader.progress(thread, _SEEN)) >= state.head:
        return 0
    working = modelling_for(engine, background=True)
    if working is None:
        return 0
    with working, Lease(engine, thread) as lease:
        if not lease.renew():
            return 0  # another process is working on it
        done = _write(working, thread, limit, lease, imported=False, stop=stop)
    if not done.why and not stop() and done.texts + done.rules < limit:

        def note(tx: Writer) -> None:
            tx.set_progress(thread, _SEEN, state.head)

        engine.store.write(note)
    return done.texts


def estimate(engine: EngineScope, thread: str) -> Estimate:
    """Return what writing everything due for a thread would cost, including imported turns; calls no model."""
    working = _require_model(engine)
    count = tokenizer_for(working.model).count
    plans = [due.plan for due in _due(working, thread, imported=True) if due.read is None]
    told = sum(count(p.ask.system) + sum(count(m["content"]) for m in p.ask.messages) for p in plans)
    most = sum(working.longest(p.ask) for p in plans)
    dollars = expected_cost(engine, working.model, input=told, output=most, provider=working.provider.name)
    return Estimate(len(plans), told, most, dollars)


def write_all(engine: EngineScope, thread: str, limit: int | None = None) -> SummaryReport:
    """Write everything due for a thread now, including imported turns."""
    with _require_model(engine) as working, Lease(engine, thread) as lease:
        done = SummaryReport()
        if not lease.renew():
            raise Conflict(
                f"another process is writing summaries of thread {thread[:8]} written", hint="try again later"
            )
        while limit is None or done.texts < limit:
            # Summaries rest on gists: each pass can write what the previous one made possible.
            more = _write(working, thread, (limit or 1 << 30) - done.texts, lease, imported=True)
            done = replace(more, texts=done.texts + more.texts, rules=done.rules + more.rules)
            if more.why or not more.texts:
                break
        return replace(done, calls=working.calls)


def _require_model(engine: EngineScope) -> RecipeRunner:
    found = modelling_for(engine)
    if found is None:
        raise InvalidInput(
            "no model writes summaries here", hint="write a table [providers.NAME] into the settings file"
        )
    return found


def _write(
    working: RecipeRunner,
    thread: str,
    limit: int,
    lease: Lease,
    *,
    imported: bool,
    stop: Callable[[], bool] = lambda: False,
) -> SummaryReport:
    texts = rules = 0
    for planned, read in _due(working, thread, imported=imported):
        if texts + rules >= limit or stop() or not lease.renew():
            break
        told = read and working.adopt(planned, thread, read.reading.gist, read.model)
        outcome = told or working.make(planned, thread)
        if outcome.by == "rules":
            rules += 1
            if outcome.passing:
                return SummaryReport(texts, rules, working.calls, outcome.why)
        else:
            texts += 1
    return SummaryReport(texts, rules, working.calls)


def _due(working: RecipeRunner, thread: str, *, imported: bool) -> Iterator[SummaryJob]:
    """Yield plans for what is due, lower levels first, the newest first in each; each plan is read when needed."""
    engine = working.engine
    level = 0
    while True:
        last = engine.store.read(
            lambda reader, level=level: reader.nodes(thread, level, newest_first=True, limit=1)
        )
        if not last:
            return
        yield from _of_level(working, thread, level, last[0], imported=imported)
        level += 1


def _of_level(
    working: RecipeRunner, thread: str, level: int, last: SummaryNode, *, imported: bool
) -> Iterator[SummaryJob]:
    store, before = working.engine.store, last.position  # the last node of a level is still growing
    edge = store.read(lambda reader: _steady(reader, thread, working.engine.settings.warm_turns))
    whole = imported or store.read(lambda reader: _has_changed(reader, thread))
    while True:
        page, plans = store.read(
            lambda reader, before=before: _plan_page(
                working, reader, thread, level, before, edge, imported=imported
            )
        )
        yield from plans
        if len(page) < _PAGE or (not plans and not whole):
            return  # older ones were checked when they were new
        before = page[-1].position


def _steady(reader: Reader, thread: str, turns: int) -> bytes | None:
    """Return the position from which on turns are shown in full and may still be edited; None: there are no such turns."""
    left, edge = turns, None
    for node in reader.nodes(thread, 0, newest_first=True, limit=8 * (turns + 1)):
        if left <= 0:
            return edge
        edge = node.position
        left -= node.turns
    return edge


def _has_changed(reader: Reader, thread: str) -> bool:
    """Return whether anything but new messages was logged since the last run."""
    return bool(reader.others(thread, reader.progress(thread, _SEEN) + 1))


def _plan_page(
    working: RecipeRunner,
    reader: Reader,
    thread: str,
    level: int,
    before: bytes,
    edge: bytes | None,
    *,
    imported: bool,
) -> tuple[list[SummaryNode], list[SummaryJob]]:
    """Return one page of nodes, newest first, and the plans for those that are due."""
    state = reader.thread(thread)
    page = reader.nodes(thread, level, before=before, newest_first=True, limit=_PAGE)
    if state is None:
        return page, []
    # The tree is as of its last update, which may be behind the log.
    view = View(reader, state, reader.progress(thread, PROGRESS))
    texts = Texts("", reader, view)
    recipe = model_gist.recipe if level == 0 else model_summary.recipe
    known = better(reader, recipe, [n.key for n in page])
    due = [n for n in page if n.key not in known and (edge is None or n.end < edge)]
    plans: list[SummaryJob] = []
    for node in due:
        if not imported and _is_imported_node(reader, node):
            continue
        planned = _plan(reader, texts, node, working.model, working.count)
        if planned is None:
            continue
        failed = failure_of(reader, planned)
        if failed is None or failed.passing:
            plans.append(SummaryJob(planned, _read_before(reader, texts, node)))
    return page, plans


def _read_before(reader: Reader, texts: Texts, node: SummaryNode) -> ModelReading | None:
    """Return a model's reading of the turn that a node covers, if it included a gist."""
    if node.level or node.turns != 1 or not models_used(reader, ASSERTIONS):
        return None

    key = rule_key(texts.messages(node.position, node.end))
    read = found_by_models(reader, [key]).get(key)
    return read if read is not None and read.reading.gist else None


def _is_imported_node(reader: Reader, node: SummaryNode) -> bool:
    """Return True if the messages of a node were logged long after they were written."""
    event = reader.event(node.opening)
    spoken = reader.read_spoken([node.opening]).get(node.opening)
    if event is None or spoken is None:
        return True
    return microseconds(event.at) - microseconds(spoken.said) > _LIVE


def _plan(reader: Reader, texts: Texts, node: SummaryNode, model: str, count: Count) -> Planned | None:
    stand_in = texts.of(node)
    if node.level == 0:
        messages = texts.messages(node.position, node.end)
        return model_gist.plan_gist(messages, stand_in, node.key, model=model, count=count)
    if not isinstance(stand_in, Summary):
        return None
    children = _with_better(reader, texts, texts.children(node))
    return model_summary.plan_summary(children, stand_in, node.key, model=model, count=count)


def _with_better(reader: Reader, texts: Texts, nodes: Sequence[SummaryNode]) -> list[Gist]:
    """Return the gists of nodes, in a model's words if there are any."""
    found = node_words(reader, nodes)
    return [
        replace(texts.of(n), text=found[n.key].text, sources=found[n.key].sources)
        if n.key in found
        else texts.of(n)
        for n in nodes
    ]


def node_words(reader: Reader, nodes: Iterable[SummaryNode], upto: str = "") -> dict[bytes, ModelText]:
    """Return what models wrote for nodes of the tree, by their keys; with `upto`, only what was written by that time.

    A prompt shows what existed when it was compacted, so that its beginning stays unchanged.
    """
    told = list(nodes)
    gists = better(reader, model_gist.recipe, [n.key for n in told if n.level == 0])
    spans = better(reader, model_summary.recipe, [n.key for n in told if n.level > 0])
    found = gists | spans
    if not upto:
        return found
    moment = microseconds(upto)
    return {key: words for key, words in found.items() if microseconds(words.at) <= moment}
