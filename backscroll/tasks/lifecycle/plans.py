"""Plans: the next steps of a task, by rules, each with its sources.

Owns the order: what the user's feedback asks for, point by point; what still fails; what remains to do; constraints and
preferences; a check at the end. Failed attempts are listed with the step they concern, so that they are not
repeated unchanged. The plan changes with the feedback it is made from. Not here: reading a store and doing anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from backscroll.derive.essence.clusters import likeness, pieces
from backscroll.derive.recipe import Recipe
from backscroll.tasks.lifecycle.points import Point, language_in, plan_words, points_of
from backscroll.tasks.lifecycle.tuning import AVOID, PREFERENCES, RULES, SAME_STEP, STEPS, TOUCHES
from backscroll.tasks.memory.request import lines_of
from backscroll.tasks.notes import quote_text
from backscroll.vocab.handle import Handle
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory

#: The recipe of rule-made plans; raise its version whenever the same input would give another plan.
RECIPE = Recipe("task-plan", 2)


@dataclass(frozen=True, slots=True)
class SourcedText:
    """Text and its source."""

    text: str
    source: Ref
    at: str = ""


@dataclass(frozen=True, slots=True)
class PlanInput:
    """The state of a task."""

    goal: str
    asked: SourcedText | None = None  # the latest request, in the user's own words
    feedback: tuple[SourcedText, ...] = ()  # oldest first
    answers: tuple[SourcedText, ...] = ()  # the user's messages since the last feedback
    todos: tuple[SourcedText, ...] = ()
    errors: tuple[SourcedText, ...] = ()
    rules: tuple[SourcedText, ...] = ()  # current constraints
    tried: tuple[SourcedText, ...] = ()  # refused results, failed calls
    check: SourcedText | None = None  # the command that checked the work
    preferences: tuple[Memory, ...] = ()
    lessons: tuple[Memory, ...] = ()  # from earlier tasks
    language: str = ""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step, its reason, and its sources."""

    text: str
    why: str
    sources: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The next steps, in order."""

    steps: tuple[PlanStep, ...]
    avoid: tuple[PlanStep, ...] = ()  # what was tried and need not be repeated
    by: str = "rules"  # by rules or the model
    language: str = "en"

    def lines(self, home: str = "") -> list[str]:
        """Return numbered lines with handles."""
        return [f"{n}. {s.text} {_marks(s.sources, home)}".rstrip() for n, s in enumerate(self.steps, 1)]

    def text(self, home: str = "") -> str:
        """Return the whole plan."""
        words = plan_words(self.language)
        more = [f"- {s.text} {_marks(s.sources, home)}".rstrip() for s in self.avoid]
        return "\n".join([*self.lines(home), *([f"{words['avoid']}:", *more] if more else [])])


def _marks(sources: Sequence[Ref], home: str) -> str:
    marks = [
        str(Handle(s.seq, s.seq, None if not home or s.thread == home else s.thread)) for s in sources[:3]
    ]
    return " ".join(dict.fromkeys(marks))


def plan_from(state: PlanInput) -> Plan:
    """Return the rule-made plan for the state of a task."""
    # In the language of the user's last message.
    last = (*state.feedback, *state.answers)[-1:] or ((state.asked,) if state.asked else ())
    language = language_in(last[0].text if last else state.goal, state.language)
    words = plan_words(language)
    steps = _PlanSteps()
    for step in (
        *_from_feedback(state, words),
        *_plan_requests(state, words),
        *_each(state.errors, words["trouble"], words["why_error"]),
        *_each(state.todos, words["todo"], words["why_todo"]),
        *_earlier(state, words),
    ):
        steps.add(step)
    ending = list(_ending(state, words))
    made = [_with_past(s, state, words) for s in steps.made[: max(1, STEPS - len(ending))]]
    return Plan((*made, *ending), _avoid(state), "rules", language)


class _PlanSteps:
    """The steps so far; a duplicate passes its sources to the earlier step."""

    def __init__(self) -> None:
        self.made: list[PlanStep] = []
        self._words: list[frozenset[str]] = []

    def add(self, step: PlanStep) -> None:
        own = pieces(step.text.partition(":")[2] or step.text.partition("：")[2] or step.text)
        for number, words in enumerate(self._words):
            if likeness(own, words) >= SAME_STEP:
                held = self.made[number]
                sources = tuple(dict.fromkeys((*held.sources, *step.sources)))
                self.made[number] = replace(held, sources=sources)
                return
        self.made.append(step)
        self._words.append(own)


def _from_feedback(state: PlanInput, words: Mapping[str, str]) -> Iterable[PlanStep]:
    if not state.feedback:
        return
    told = [(point, said) for said in (state.feedback[-1], *state.answers) for point in points_of(said.text)]
    clear = [row for row in told if not row[0].vague]
    # A user who has since explained "it doesn't work" needs no question.
    for point, said in clear or told:
        yield PlanStep(_format_wish(point, words), words["why_feedback"], (said.source,))


def _format_wish(point: Point, words: Mapping[str, str]) -> str:
    return words[point.wish].format(text=point.text)


def _plan_requests(state: PlanInput, words: Mapping[str, str]) -> Iterable[PlanStep]:
    """Plan the request itself, in the absence of feedback."""
    if state.feedback:
        return
    asked = state.asked
    if asked is not None:
        found = [p for p in points_of(asked.text) if not p.vague]
        for point in found:
            yield PlanStep(_format_wish(point, words), words["why_asked"], (asked.source,))
        if found:
            return
    if state.goal.strip():
        sources = () if asked is None else (asked.source,)
        yield PlanStep(words["goal"].format(text=quote_text(state.goal)), words["why_asked"], sources)


def _each(found: Sequence[SourcedText], template: str, why: str) -> Iterable[PlanStep]:
    for one in found:
        yield PlanStep(template.format(text=quote_text(one.text)), why, (one.source,))


def _earlier(state: PlanInput, words: Mapping[str, str]) -> Iterable[PlanStep]:
    """Yield points of earlier feedback: they must not recur."""
    for said in reversed(state.feedback[:-1]):
        for point in points_of(said.text):
            if not point.vague:
                yield PlanStep(words["earlier"].format(text=point.text), words["why_earlier"], (said.source,))


def _ending(state: PlanInput, words: Mapping[str, str]) -> Iterable[PlanStep]:
    """Yield constraints, preferences, and the check."""
    liked = {quote_text(m.text) for m in state.preferences}
    rules = [r for r in state.rules if quote_text(r.text) not in liked][-RULES:]
    if rules:
        text = " · ".join(quote_text(r.text, 120) for r in rules)
        yield PlanStep(words["keep"].format(text=text), words["why_rule"], tuple(r.source for r in rules))
    wanted = state.preferences[:PREFERENCES]
    if wanted:
        text = " · ".join(quote_text(m.text, 120) for m in wanted)
        sources = tuple(dict.fromkeys(s for m in wanted for s in m.sources[:2]))
        yield PlanStep(words["prefer"].format(text=text), words["why_preference"], sources)
    if state.check is not None:
        text = words["check"].format(command=quote_text(state.check.text, 100).replace("`", "'"))
        yield PlanStep(text, words["why_check"], (state.check.source,))
    sources = (state.feedback[-1].source,) if state.feedback else ()
    yield PlanStep(words["verify" if state.feedback else "finish"], words["why_end"], sources)


def _with_past(step: PlanStep, state: PlanInput, words: Mapping[str, str]) -> PlanStep:
    """Return a step with earlier attempts at it, here or in an earlier task."""
    own = pieces(step.text)
    why, sources = step.why, step.sources
    for tried in state.tried:
        if tried.source not in sources and _touches(own, pieces(tried.text)):
            why += f"; {words['tried'].format(text=quote_text(tried.text, 160))}"
            sources = (*sources, tried.source)
            break
    for lesson in state.lessons:
        if _touches(own, pieces(lesson.text)):
            why += f"; {words['lesson'].format(text=quote_text(lesson.text, 160))}"
            sources = (*sources, *lesson.sources[:2])
            break
    return step if why == step.why else PlanStep(step.text, why, tuple(dict.fromkeys(sources)))


def _touches(one: frozenset[str], other: frozenset[str]) -> bool:
    few = min(len(one), len(other))
    return few > 1 and len(one & other) >= max(2, TOUCHES * few)


def _avoid(state: PlanInput) -> tuple[PlanStep, ...]:
    seen: dict[str, PlanStep] = {}
    for tried in state.tried:
        seen.setdefault(
            quote_text(tried.text, 160), PlanStep(quote_text(tried.text, 160), "", (tried.source,))
        )
    return tuple(list(seen.values())[-AVOID:])


# -- with a model ------------------------------------------------------------------------------------------------


def render_state(state: PlanInput, home: str, rules: Plan) -> str:
    """Return the state of a task, as a model sees it."""
    rows: list[str] = [f"task: {quote_text(state.goal, 400)}"]
    for name, found in (
        ("asked", (state.asked,) if state.asked else ()),
        ("feedback", state.feedback),
        ("said since", state.answers),
        ("open to-do", state.todos),
        ("unresolved", state.errors),
        ("must hold", state.rules),
        ("tried without success", state.tried),
    ):
        rows += [f"{name}: {one.text.strip()} {_marks((one.source,), home)}" for one in found]
    rows += [f"preference: {m.text} {_marks(m.sources, home)}" for m in state.preferences]
    rows += [f"lesson from an earlier task: {m.text} {_marks(m.sources, home)}" for m in state.lessons]
    return "\n".join([*rows, "plan made by rules:", *rules.lines(home)])


def plan_by_model(text: str, rules: Plan, known: Mapping[int, Ref]) -> Plan:
    """Return the plan that a model wrote; the rule-made one if the model's is unusable.

    A step without handles gets the sources of the whole plan.
    """
    whole = rules.steps[-1].sources or rules.steps[0].sources
    steps = tuple(
        PlanStep(
            quote_text(f"{line.label}: {line.text}" if line.label else line.text, 400),
            "",
            line.messages or whole,
        )
        for line in lines_of(text, known)
    )[:STEPS]
    return rules if not steps else Plan(steps, rules.avoid, "model", rules.language)
