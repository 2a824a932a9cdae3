"""What a step of a task does to the context: messages are summarized, the summary is saved, and they leave the prompt.

Compress → save → clear: three small functions that run inside one stroke, so that `undo` reverts all of it. Messages are
cropped (`engine/crops/crops`): they stay in the history, handles expand them, and the summary is remade if one of them
changes later. Messages outside the task, system messages, pins and unanswered calls stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.assemble.compaction.crop import CropSelection, may_go
from backscroll.assemble.view.units import Unit, units_of
from backscroll.derive.recipe import Count
from backscroll.derive.summaries.summary import summarise
from backscroll.engine.budget.counts import counts_for
from backscroll.engine.core.lineage import View
from backscroll.engine.core.pen import Pen
from backscroll.engine.crops.crops import SUMMARY_TOKENS, crop_head, crops_of, made_summary
from backscroll.engine.inputs.inputs import CropMark
from backscroll.engine.tree.reader import Forest
from backscroll.engine.tree.tree import catch_up
from backscroll.engine.work.task_memory import Told
from backscroll.engine.work.task_reader import messages_in, newest_place
from backscroll.errors import Conflict
from backscroll.formats.language import language_of
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.tasks.lifecycle.steps import holds
from backscroll.tasks.lifecycle.words import headline
from backscroll.vocab.event import Kind
from backscroll.vocab.handle import Handle
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import Json
from backscroll.vocab.task import Task, TaskState

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

#: Tokens that must leave the prompt to make a crop of the middle worthwhile when a task is sent back.
WORTH = 400
_SAMPLE = 400  # characters of a message from which its language is detected
_LONG = 160  # messages from which the summary tree is used


@dataclass(frozen=True, slots=True)
class ContextRelease:
    """Messages that leave the prompt with a step, and the summary that replaces them."""

    cut: CropSelection
    words: str
    by: str  # rules, or the model
    tokens: int  # tokens removed
    replaces: tuple[int, ...]  # crops of the same task that this one replaces
    task: str  # id; empty: messages before the first task
    whole: bool  # the whole task goes, not only its middle

    @property
    def handle(self) -> str:
        """The handle that expands to the removed messages."""
        seqs = [m.id.seq for m in self.cut.messages]
        return str(Handle(min(seqs), max(seqs)))

    @property
    def messages(self) -> int:
        """The number of messages removed."""
        return len(self.cut.messages)


def own_crops(view: View, tasks: Collection[str]) -> list[CropMark]:
    """Return the crops in force that steps of these tasks made; a user's own crops are not lifted."""
    out: list[CropMark] = []
    for mark in crops_of(view):
        event = view.event(mark.event.seq)
        if event is not None and str(event.head.get("task", "-")) in tasks:
            out.append(mark)
    return out


@dataclass(frozen=True, slots=True)
class PendingRelease:
    """The part of a task that would leave the prompt: found while reading, summarized afterwards."""

    task: Task
    cut: CropSelection
    replaces: tuple[int, ...]
    whole: bool
    edges: tuple[tuple[bytes, bytes], ...] = ()  # the stretches, by their first and last positions
    complete: bool = False  # the stretches are removed entirely, and nothing in them was removed before


def going(view: View, task: Task, *, middle: bool = False) -> PendingRelease | None:
    """Return the part of a task that can leave the prompt: all of it, or only its middle; None if nothing can."""
    ours = own_crops(view, {task.id, *task.merged}) if task.id else []
    others = [m for m in crops_of(view) if m.event not in {o.event for o in ours}]
    messages = [m for m in messages_in(view, task) if not any(mark.holds(m.id) for mark in others)]
    units = [u for u in units_of(messages) if u.role != "tool"]  # a result never goes without its call
    cut = CropSelection(tuple(_middle(units) if middle else (u for u in units if may_go(u, None))))
    if not cut.messages:
        return None
    complete = not (middle or ours or others) and len(cut.messages) == len(messages)
    edges = tuple(
        (inside[0].position, inside[-1].position)
        for span in task.spans
        if (inside := [m for m in messages if holds([span], m.position)])
    )
    return PendingRelease(task, cut, tuple(m.event.seq for m in ours), not middle, edges, complete)


def compress(
    thread: ThreadScope,
    found: PendingRelease | None,
    told: Told | None = None,
    state: TaskState | None = None,
) -> ContextRelease | None:
    """Summarize the removed part; None if there is none, or if condensing a middle would not pay.

    `told` writes the summary; the default is by rules. `state` is the state the task will be in.
    """
    if found is None:
        return None
    tokens = sum(_sizes(thread, found.cut.messages).values())
    if not found.whole and tokens < WORTH:
        return None
    words, by = _words(thread, found, tokens, told, state)
    return ContextRelease(found.cut, words, by, tokens, found.replaces, found.task.id, found.whole)


def _middle(units: Sequence[Unit]) -> Iterable[Unit]:
    """Yield the messages between the request that opened a task and its last turn; both of these stay in full."""
    asked = [n for n, unit in enumerate(units) if is_spoken_by_user(unit.messages[0])]
    if len(asked) < 2:
        # One long turn: the request, and the last steps of it, stay.
        asked = [asked[0] if asked else -1, max(len(units) - 2, 0)]
    first, last = asked[0], asked[-1]
    return (u for u in units[first + 1 : last] if may_go(u, None))


def _sizes(thread: ThreadScope, messages: Sequence[Message]) -> dict[Ref, int]:
    settings = thread.engine.settings
    return counts_for(thread.engine, messages, tokenizer_for(settings.model), settings.wire)


def _words(
    thread: ThreadScope, found: PendingRelease, tokens: int, told: Told | None, state: TaskState | None
) -> tuple[str, str]:
    """Return the replacement text: the task, its state, and the summary; shorter than what it replaces."""
    count = tokenizer_for(thread.engine.settings.model).count
    said = " ".join(m.text[:_SAMPLE] for m in found.cut.messages if m.role == "user")
    head = headline(found.task, thread.legible.info.language or language_of(said), state)
    room = max(0, tokens - count(head) - 2)
    text, by = ("", "rules") if told is None else told(found.cut.messages)
    if not text or count(text) > min(room, 2 * SUMMARY_TOKENS):
        text, by = _summarise_stretch(thread, found, count, room), "rules"
    whole = f"{head}\n{text}".strip()
    return (whole if count(whole) < tokens else text), by


def _summarise_stretch(thread: ThreadScope, found: PendingRelease, count: Count, room: int) -> str:
    """Return a rule-made summary; for a long stretch from the summary tree, most of which exists already."""
    messages = found.cut.messages
    if len(messages) < _LONG or not found.complete:
        return made_summary(messages, count, room)

    catch_up(thread.engine, thread.id)
    limit = min(2 * SUMMARY_TOKENS, room // 2)

    def tell(view: View) -> str:
        forest = Forest(view)
        parts = [part for first, last in found.edges for part in forest.cover(first, last)]
        return summarise([forest.gist(part) for part in parts], limit_tokens=limit, count=count).text

    text = thread.reading(tell)
    return text if 0 < count(text) < room else made_summary(messages[-_LONG:], count, room)


def clear(pen: Pen, release: ContextRelease, group: int, place: bytes | None = None) -> None:
    """Replace the messages in prompts with the summary; raises Conflict if they changed meanwhile.

    `place` is the position in the history where that happens, by default its end: a fork of an earlier message does not
    share it.
    """
    entries = [(message, pen.entry(message.id)) for message in release.cut.messages]
    if not all(e is not None and e.live and e.revision == m.revision for m, e in entries):
        raise Conflict("the history changed while the task was being summed up", hint="do it again")
    if release.replaces:
        pen.write(Kind.UNCROPPED, head={"of": list(release.replaces), "group": group})
    head: dict[str, Json] = {
        **crop_head(pen.view, release.cut),
        "by": release.by,
        "task": release.task,
        "place": (newest_place(pen.view) if place is None else place).hex(),
        "group": group,
        **({"whole": True} if release.whole else {}),
    }
    pen.write(Kind.CROPPED, head=head, body={"summary": release.words})


def bring_back(pen: Pen, tasks: Collection[str], group: int) -> int:
    """Show the messages of tasks in prompts again; return how many."""
    marks = own_crops(pen.view, tasks)
    if marks:
        pen.write(Kind.UNCROPPED, head={"of": [m.event.seq for m in marks], "group": group})
    return sum(m.count for m in marks)


def make_unowned(view: View, tasks: Sequence[Task], upto: bytes) -> Task:
    """Return the messages up to a place that belong to no task, as a task: talk before the first one, or between two."""
    spans: list[tuple[bytes, bytes | None]] = []
    low = b""
    taken = [span for task in tasks for span in task.spans if span[0] < upto]
    for first, last in sorted(taken, key=lambda span: span[0]):
        if low < first:
            spans.append((low, first))
        low = max(low, upto if last is None else last)
    if low < upto:
        spans.append((low, upto))
    return Task(
        "",
        Ref(view.state.id, 0),
        "",
        TaskState.IN_PROGRESS,
        view.state.id,
        None,
        None,
        "",
        spans=tuple(spans),
    )
