"""Task boundaries: where a new task appears to start, as suggestions for the user or, if the settings say so, acted upon.

`tasks/boundary/detector` scores messages; this module reads the relevant stretch, skips messages that already start a task,
and caches the score of the newest request for the calls of one turn. The setting `task_boundaries` is off, suggest (the
default) or act. Automatic starts are recorded as a program's decision; `undo` reverts them, and merging loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from backscroll.derive.window import window_of
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.models.usage import ASSERTIONS, models_used
from backscroll.engine.work.memory.log import rare_of
from backscroll.engine.work.task_reader import all_tasks
from backscroll.engine.work.task_steps import start_task
from backscroll.engine.work.task_writer import TaskReport
from backscroll.engine.work.verdict import complete_task
from backscroll.record.history import HIDDEN, Entry
from backscroll.record.ports import Reader, RevisionBody
from backscroll.tasks.boundary.detector import THRESHOLD, Boundary, BoundaryScore, Detector, Reason, suggest
from backscroll.tasks.boundary.signals import placed_signals
from backscroll.tasks.lifecycle.steps import current_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.task import Task

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope

_BLOCK = 48  # events: the newest request is scored with those of its own block and of the previous one
_MODEL = 0.9  # the score of a boundary that only a model found
_PAGE, _MOST = 64, 512  # messages read at once, and messages in which a request is searched


@dataclass(frozen=True, slots=True)
class TaskSuggestion:
    """What the newest request appears to mean for tasks: a new one starts, or the current one is done."""

    what: str  # start or end
    message: Ref
    score: float
    reasons: tuple[str, ...]
    ended: bool = False  # another task starts, and the message says that the current one is done


def boundaries(
    thread: ThreadScope, *, threshold: float | None = None, last: int | None = None
) -> Sequence[Boundary]:
    """Return messages where a new task appears to start and none was started; nothing if the setting is off."""
    if thread.engine.settings.task_boundaries == "off":
        return []

    messages = list(thread.legible.messages()) if last is None else thread.legible.recent(last)
    begun = {task.first for task in all_tasks(thread)}
    found = suggest(messages, threshold=THRESHOLD if threshold is None else threshold)
    return [b for b in _judge_boundaries(thread, found, messages) if b.message not in begun]


def _judge_boundaries(
    thread: ThreadScope, found: Sequence[Boundary], messages: Sequence[Message]
) -> list[Boundary]:
    """Return the boundaries with a model's judgement where it has read the turn; rules decide the others."""
    verdicts = thread.store.read(lambda reader: _verdicts(thread.engine, reader, thread.id))
    if not verdicts:
        return list(found)

    by_rules = {b.message: b for b in found}
    out: list[Boundary] = []
    for n, message in enumerate(messages):
        known, begins = by_rules.get(message.id), verdicts.get(message.id)
        if begins and known is None and n:
            known = Boundary(message.id, _MODEL, (Reason("model", _MODEL),))
        if known is not None and begins is not False:
            out.append(known)
    return out


def _verdicts(engine: EngineScope, reader: Reader, thread: str) -> dict[Ref, bool]:
    """Return whether a task begins with each request that opens a turn, for turns that a model has read."""
    if not models_used(reader, ASSERTIONS):
        return {}
    from backscroll.engine.models.extraction import found_by_models  # start-up: only with a model

    marks = [m for m in reader.turn_marks(thread, window_of(engine.settings).rule) if m.key and not m.gone]
    read = found_by_models(reader, [m.key for m in marks])
    tasks = {m.opening: read[m.key].reading.task for m in marks if m.key in read}
    return {opening: task.begins for opening, task in tasks.items() if task is not None}


def suggestion(thread: ThreadScope, tasks: Sequence[Task] | None = None) -> TaskSuggestion | None:
    """Return what the newest request appears to mean; None if it continues the current task, or the setting is off."""
    if thread.engine.settings.task_boundaries == "off":
        return None
    found = thread.reading(lambda view: _newest(thread.engine, view))
    if found is None:
        return None
    known = all_tasks(thread) if tasks is None else tasks
    if any(found.message == task.first for task in known):
        return None
    return None if found.what == "end" and current_of(known) is None else found


class _BoundaryScorer:
    """Scores the messages since an event, one by one."""

    def __init__(self, since: int) -> None:
        self.since = since
        self._detector = Detector()
        self._score, self._where = BoundaryScore(0.0), Ref("", 0)

    def add(self, messages: Sequence[Message]) -> None:
        """Score messages up to and including a request."""
        later = [message for message in messages if message.id.seq >= self.since]
        for message, signal in placed_signals(later):
            self._score, self._where = self._detector.step(signal), message

    def suggests(self, asked: Ref) -> TaskSuggestion | None:
        """Return what a request appears to mean, if it was the last message scored."""
        score = self._score
        if self._where != asked:
            return None
        reasons = tuple(reason.name for reason in score.reasons[:3])
        if score.value > THRESHOLD:
            return TaskSuggestion("start", asked, score.value, reasons, score.ended)
        return TaskSuggestion("end", asked, score.value, reasons) if score.explicit == "end" else None


@dataclass(frozen=True, slots=True)
class _BoundaryState:
    """How far a thread was scored; `following` is used when the next block of events begins."""

    touched: int  # the last event that may have changed a message
    place: bytes  # the position of the newest request
    block: int
    current: _BoundaryScorer
    following: _BoundaryScorer
    found: TaskSuggestion | None


def _newest(engine: EngineScope, view: View) -> TaskSuggestion | None:
    """Return what the newest request of a history appears to mean. Messages scored before are not scored again.

    Scoring starts one block of events before the one with the request, so it takes bounded time and gives the same result
    whatever was cached.
    """
    touched = rare_of(engine, view).touched
    shelf = engine.memo.shelf("boundaries", 100)
    known = cast("_BoundaryState | None", shelf.get(view.state.id))
    if known is not None and known.touched != touched:
        known = None
    messages = _since(view, None if known is None else known.place)
    asked = [n for n, message in enumerate(messages) if is_spoken_by_user(message)]
    if not asked:
        return None if known is None else known.found
    newest = messages[asked[-1]]
    block = newest.id.seq // _BLOCK
    if known is not None and block - known.block not in (0, 1):
        known, messages = None, _since(view, None)
        asked = [n for n, message in enumerate(messages) if is_spoken_by_user(message)]
    if known is None:
        pair = _BoundaryScorer((block - 1) * _BLOCK), _BoundaryScorer(block * _BLOCK)
    elif block == known.block:
        pair = known.current, known.following
    else:
        pair = known.following, _BoundaryScorer(block * _BLOCK)
    before = 0
    for n in asked:
        for weighed in pair:
            weighed.add(messages[before : n + 1])
        before = n + 1
    found = pair[0].suggests(newest.id)
    shelf[view.state.id] = _BoundaryState(touched, newest.position, block, *pair, found)
    return found


def _since(view: View, place: bytes | None) -> list[Message]:
    """Return messages after a place; without one, the newest messages that can matter."""
    if place is not None:
        rows: list[tuple[Entry, RevisionBody]] = []
        while True:
            page = view.page(_PAGE, after=rows[-1][0].position if rows else place)
            rows += page
            if len(page) < _PAGE:
                return _make_messages(rows)
    rows = []
    while True:
        page = view.page(_PAGE, before=rows[-1][0].position if rows else None, newest_first=True)
        rows += page
        asked = next((e for e, _ in rows if e.role == "user" and not e.flags & HIDDEN), None)
        least = 0 if asked is None else (asked.message.seq // _BLOCK - 1) * _BLOCK
        if len(page) < _PAGE or len(rows) >= _MOST or (asked and rows[-1][0].message.seq < least):
            break
    rows.reverse()
    return [m for m in _make_messages(rows) if asked is None or m.id.seq >= least]


def _make_messages(rows: Sequence[tuple[Entry, RevisionBody]]) -> list[Message]:
    return [message_of(*row) for row in rows if row[1].body is not None]


def act(thread: ThreadScope) -> TaskReport | None:
    """Start the task that the newest request appears to begin, if the setting is `act`; None if nothing was done."""
    if thread.engine.settings.task_boundaries != "act":
        return None
    found = suggestion(thread)
    if found is None:
        return None
    if found.what == "end":
        current = current_of(all_tasks(thread))
        # The user has just said so: the messages stay in the prompt until something else starts.
        return None if current is None else complete_task(thread, current, manual=False, keep=True)
    before = current_of(all_tasks(thread))
    begun = start_task(thread, at=found.message, manual=False)
    if found.ended and before is not None:
        # "That's done. Let's start on …": the current task ends where the other starts.
        complete_task(thread, before, manual=False, keep=True)
    return begun
