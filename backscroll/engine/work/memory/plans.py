"""Plans, questions and memories of a task: by a model if the user asks and one is configured, else by rules.

Owns the state a plan is made from (`standing`: goal, feedback, what is open, what failed, what is preferred) and the calls:
reading never waits for a model; an earlier answer is used as long as its inputs are unchanged. Journal, limits and ledger
are in `engine/models/recipes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from backscroll.derive.digest import digests_of
from backscroll.derive.essence.essentials import Essential, EssentialKind
from backscroll.derive.essence.reader import findings
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.models.request import RecipePlan as Planned
from backscroll.derive.summaries.gist import Gist, filter_quotable, inputs_of
from backscroll.engine.core.lineage import View
from backscroll.engine.models.artefacts import better
from backscroll.engine.models.recipes import RecipeOutcome, modelling_for
from backscroll.engine.work.memory.log import rare_of
from backscroll.engine.work.memory.memories import hints, sort_memories
from backscroll.engine.work.memory.reader import ScopeMemories, collect, of_task
from backscroll.engine.work.task_reader import all_tasks, find_task, messages_in
from backscroll.formats.language import language_of
from backscroll.formats.sources.json_text import dumps
from backscroll.tasks.lifecycle import followup
from backscroll.tasks.lifecycle import plans as planning
from backscroll.tasks.lifecycle.followup import AskInput, FollowUp
from backscroll.tasks.lifecycle.plans import Plan, PlanInput, SourcedText
from backscroll.tasks.lifecycle.points import is_vague
from backscroll.tasks.memory import memory as recipe
from backscroll.tasks.memory import request as memory_ask
from backscroll.tasks.memory.outcomes import is_check
from backscroll.tasks.notes import describe_call, has_failed, has_succeeded, quote_text
from backscroll.tasks.preferences.preferences import guides
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.task import Attempt, Memory, MemoryKind, Task

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_PLAN_TOKENS, _QUESTION_TOKENS, _MEMORY_TOKENS = 900, 400, 1_200
_TRIED, _PREFERENCES, _ANSWERS = 6, 4, 3


def _task(thread: ThreadScope, task: Task | str) -> Task:
    return task if isinstance(task, Task) else find_task(all_tasks(thread), task)


# -- the state of a task -----------------------------------------------------------------------------------------


def standing(thread: ThreadScope, task: Task | str) -> PlanInput:
    """Return the state of a task: everything that a plan is made from."""
    one = _task(thread, task)
    messages = thread.reading(lambda view: messages_in(view, one))
    return _standing(thread, one, messages, collect(thread))


def _standing(
    thread: ThreadScope, task: Task, messages: Sequence[Message], among: ScopeMemories
) -> PlanInput:
    said = filter_quotable(_upto(messages, task))
    digests = digests_of(said)
    opened = findings(said, digests).open
    users = [m for m in said if m.role == "user" and m.text.strip()]
    revisions = {m.id: m.revision for m in said}
    refused = [
        SourcedText(a.result, a.event, a.at)
        for a in task.attempts
        if a.verdict == "refused" and a.result.strip()
    ]
    bad = [
        SourcedText(
            f"{describe_call(d)}: {quote_text(d.summary, 160)}",
            revisions.get(d.result or d.call, d.call),
            d.timestamp,
        )
        for d in digests
        if has_failed(d)
    ]
    checks = [d for d in digests if is_check(d) and (has_succeeded(d) or has_failed(d))]
    check = (
        SourcedText(checks[-1].target, revisions.get(checks[-1].call, checks[-1].call)) if checks else None
    )
    text = f"{task.title}\n{task.feedback[-1] if task.feedback else ''}"
    preferred = [m for m in sort_memories(among.memories, MemoryKind.PREFERENCE) if guides(m)]
    return PlanInput(
        task.title,
        SourcedText(users[-1].text, users[-1].revision, users[-1].at) if users else None,
        tuple(_feedback(a, users) for a in task.attempts if a.verdict == "refused" and a.feedback.strip()),
        _answers(task, users),
        _some(opened, EssentialKind.TODO),
        _some(opened, EssentialKind.ERROR),
        _some(opened, EssentialKind.CONSTRAINT),
        (*refused, *bad[-_TRIED:]),
        check,
        tuple(preferred[:_PREFERENCES]),
        tuple(m for m in hints(thread, text, among=among) if (m.thread, m.task) != (thread.id, task.id)),
        thread.legible.info.language or language_of(" ".join(m.text[:400] for m in users)),
    )


def _upto(messages: Sequence[Message], task: Task) -> list[Message]:
    """Return the messages up to the user's newest one, or the last verdict: a plan stays valid until the user writes again."""
    user = max((m.position for m in messages if m.role == "user"), default=b"")
    last = max(user, *(a.place for a in task.attempts), b"")
    return [m for m in messages if m.position <= last] or list(messages)


def _feedback(attempt: Attempt, users: Sequence[Message]) -> SourcedText:
    """Return the feedback and its source: the message that contains it, else the step of the task."""
    words = attempt.feedback.strip()
    message = next((m for m in reversed(users) if words in m.text), None)
    return SourcedText(words, attempt.event if message is None else message.revision, attempt.at)


def _answers(task: Task, users: Sequence[Message]) -> tuple[SourcedText, ...]:
    """Return what the user wrote since a result was sent back; the feedback itself is not an answer to it."""
    refused = [a for a in task.attempts if a.verdict == "refused"]
    if not refused:
        return ()
    last = refused[-1]
    since = [m for m in users if m.position > last.place and last.feedback.strip() != m.text.strip()]
    return tuple(SourcedText(m.text, m.revision, m.at) for m in since[-_ANSWERS:])


def _some(found: Sequence[Essential], kind: EssentialKind) -> tuple[SourcedText, ...]:
    return tuple(SourcedText(e.text, e.source) for e in found if e.kind is kind)


# -- plans -------------------------------------------------------------------------------------------------------


def plan_for(thread: ThreadScope, task: Task | str, *, ask: bool = False, background: bool = False) -> Plan:
    """Return what to do next in a task. With `ask`, a configured model is asked; its earlier answer is used anyway."""
    one = _task(thread, task)
    messages = thread.reading(lambda view: messages_in(view, one))
    state = _remembered_standing(thread, one, messages)
    rules = planning.plan_from(state)
    key = planning.RECIPE.key([dumps(_facts(state))])
    words = _words(thread, memory_ask.PLAN, key)
    if words is None and ask:
        given = planning.render_state(state, thread.id, rules)
        words = _ask_model(
            thread,
            memory_ask.PLAN,
            key,
            rules.text(thread.id),
            given,
            rules.language,
            _PLAN_TOKENS,
            _all(state),
            background=background,
        )
    return rules if words is None else planning.plan_by_model(words, rules, _map_marks(messages, _all(state)))


def _remembered_standing(thread: ThreadScope, task: Task, messages: Sequence[Message]) -> PlanInput:
    """Return the state of a task; cached until the user writes or does something, because every prompt asks for it.

    Preferences and lessons come from other threads too: the cached state is valid while the same things are remembered.
    """
    engine = thread.engine
    among = collect(thread)
    shelf = engine.memo.shelf("plans", 64)
    newest = max((m.revision for m in messages if m.role == "user"), default=None)
    changed = thread.reading(lambda view: rare_of(engine, view).last)
    key = (thread.id, task.id, changed, newest, thread.info.language)
    kept = cast("tuple[ScopeMemories, PlanInput] | None", shelf.get(key))
    if kept is None or kept[0] is not among:
        kept = shelf[key] = (among, _standing(thread, task, messages, among))
    return kept[1]


def _facts(state: PlanInput) -> list[object]:
    """Return the inputs of a plan, for its key."""
    told = (state.feedback, state.answers, state.todos, state.errors, state.rules, state.tried)
    rows: list[object] = [state.goal, state.language, *([[s.text, str(s.source)] for s in f] for f in told)]
    rows.append(None if state.asked is None else [state.asked.text, str(state.asked.source)])
    rows.append([[m.id, m.text] for m in (*state.preferences, *state.lessons)])
    return rows


def _all(state: PlanInput) -> tuple[Ref, ...]:
    told = [*state.feedback, *state.answers, *state.todos, *state.errors, *state.rules, *state.tried]
    told += [s for s in (state.asked, state.check) if s is not None]
    kept: Sequence[Memory] = (*state.preferences, *state.lessons)
    return tuple(dict.fromkeys([*(s.source for s in told), *(r for m in kept for r in m.sources)]))


# -- questions ---------------------------------------------------------------------------------------------------


def followups_for(
    thread: ThreadScope, task: Task | str, *, ask: bool = False, background: bool = False
) -> list[FollowUp]:
    """Return questions to ask the user about a task, without those answered since. `ask`: as for plans."""
    one = _task(thread, task)
    messages = thread.reading(lambda view: messages_in(view, one))
    state = _asking(thread, one, messages)
    rules = followup.questions(state)
    if state.feedback is None or (not rules and not ask):
        return rules
    key = followup.RECIPE.key([state.feedback.text, str(state.feedback.source), *inputs_of(messages)])
    words = _words(thread, memory_ask.QUESTIONS, key)
    if words is None and ask:
        given = f"feedback: {state.feedback.text}\n{memory_ask.render_messages(messages, rough_count)}"
        sources = (state.feedback.source, *(m.revision for m in messages))
        stand_in = "\n".join(q.text for q in rules)
        language = state.language or language_of(state.feedback.text)
        words = _ask_model(
            thread,
            memory_ask.QUESTIONS,
            key,
            stand_in,
            given,
            language,
            _QUESTION_TOKENS,
            sources,
            background=background,
        )
    if words is None:
        return rules
    found = followup.questions_by_model(words, rules, _map_marks(messages, (state.feedback.source,)))
    return [q for q in found if followup.find_answer(q, state.after) is None]


def _asking(thread: ThreadScope, task: Task, messages: Sequence[Message]) -> AskInput:
    refused = [a for a in task.attempts if a.verdict == "refused"]
    users = [m for m in messages if m.role == "user"]
    if not refused:
        return _as_said(messages, thread.legible.info.language)
    last = refused[-1]
    said = _feedback(last, users)
    after = [m for m in messages if m.position > last.place and m.revision != said.source]
    # If the feedback is a message of the history, earlier messages are not an answer to it.
    place = next((m.position for m in messages if m.revision == said.source), last.place)
    before = tuple(m for m in messages if m.position <= place)
    after = [m for m in after if m.position > place]
    return AskInput(
        said, bool(last.media), before, tuple(after), _open(messages), thread.legible.info.language
    )


def _as_said(messages: Sequence[Message], language: str) -> AskInput:
    """Without a verdict: the user's last message, if it criticises the answer before it without saying what is wrong."""
    last = next((n for n in range(len(messages) - 1, -1, -1) if is_spoken_by_user(messages[n])), None)
    if last is None or not is_vague(messages[last].text):
        return AskInput(open=_open(messages), language=language)
    before, one = messages[:last], messages[last]
    if not any(m.role == "assistant" for m in before):
        return AskInput(open=_open(messages), language=language)
    said = SourcedText(one.text, one.revision, one.at)
    return AskInput(said, False, tuple(before), (), _open(messages), language)


def _open(messages: Sequence[Message]) -> tuple[SourcedText, ...]:
    found = findings(filter_quotable(messages)).open
    return tuple(SourcedText(e.text, e.source) for e in found if e.group == "question/assistant")


# -- memories by a model -----------------------------------------------------------------------------------------


def write_memory(thread: ThreadScope, task: Task | str, *, background: bool = False) -> str:
    """Have a model write the memories of an ended task; return who wrote them in the end.

    Rules take over if no model is configured or it fails; the result is used as long as the messages are unchanged.
    """
    one = _task(thread, task)
    if one.state not in recipe.ENDED:
        return "rules"

    def read(view: View) -> list[Message]:
        return of_task(view, one)

    messages = thread.reading(read)
    key = recipe.key_of(one.state, messages)
    if _words(thread, memory_ask.MEMORY, key) is not None:
        return "model"
    if not messages:
        return "rules"
    found = recipe.found_in(one.state, messages)
    stand_in = "\n".join([found.summary, *(n.text for n in found.notes)])
    verdicts = [f"feedback: {text}" for text in one.feedback]
    given = "\n".join([f"task: {one.title}", *verdicts, memory_ask.render_messages(messages, rough_count)])
    sources = tuple(dict.fromkeys(m.revision for m in messages))
    made = _ask_model(
        thread,
        memory_ask.MEMORY,
        key,
        stand_in,
        given,
        found.language,
        _MEMORY_TOKENS,
        sources,
        background=background,
    )
    return "rules" if made is None else "model"


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """For how many tasks a model wrote memories, and for how many rules did."""

    by_model: int = 0
    by_rules: int = 0


def write_all(thread: ThreadScope, task: Task | str | None = None) -> MemoryReport:
    """Write the memories of one task, or of all ended tasks of a thread."""
    some = [_task(thread, task)] if task is not None else all_tasks(thread)
    made = [write_memory(thread, one) for one in some if one.state in recipe.ENDED]
    return MemoryReport(made.count("model"), made.count("rules"))


# -- the call ----------------------------------------------------------------------------------------------------


def _map_marks(messages: Sequence[Message], sources: Sequence[Ref]) -> dict[int, Ref]:
    """Return what marks in an answer may refer to: messages by their numbers, everything else by the number of its event."""
    known: dict[int, Ref] = {ref.seq: ref for ref in sources}
    known |= {m.id.seq: m.revision for m in messages}
    return known


def _words(thread: ThreadScope, name: str, key: bytes) -> str | None:
    """Return a model's earlier answer for the same input."""
    found = thread.store.read(
        lambda reader: better(reader, lambda model: memory_ask.recipe(name, model), [key])
    )
    return found[key].text if key in found else None


def _ask_model(
    thread: ThreadScope,
    name: str,
    key: bytes,
    stand_in: str,
    given: str,
    language: str,
    limit: int,
    sources: Sequence[Ref],
    *,
    background: bool = False,
) -> str | None:
    """Ask a model now; None if none is configured, or if it fails."""
    working = modelling_for(thread.engine, background=background)
    if working is None:
        return None
    with working:
        planned: Planned[Gist] = memory_ask.plan_request(
            name, key, stand_in, given, model=working.model, language=language, limit=limit, sources=sources
        )
        outcome: RecipeOutcome[Gist] = working.make(planned, thread.id)
    return None if outcome.by == "rules" else outcome.value.text
