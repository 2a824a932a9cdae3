"""One run of an agent: ask the model and call tools until there is an answer.

Owns the shape of a run: the user message goes into the log first, then step after step a reply and the results of its calls,
each durable before the next begins. So whatever ends a run (an answer, a limit, the user, a crash) leaves a thread that is valid
and can continue. Refuses: talking to the model (`agent/loop/step`), running calls (`agent/loop/execution`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from backscroll.agent.events import Began, End, Finished, Happening, Noted, RunStep
from backscroll.agent.loop.answers import Answer
from backscroll.agent.loop.execution import RunContext
from backscroll.agent.loop.limits import RunLimits, is_open
from backscroll.agent.loop.repeats import Repeats
from backscroll.agent.loop.step import ModelCaller
from backscroll.agent.stop_switch import RunStopped
from backscroll.engine.calls.replies import at_work, find_unanswered, record_result
from backscroll.engine.folder.commits import NothingToCommit
from backscroll.errors import BackscrollError, BudgetExceeded
from backscroll.vocab.change import Cause
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import ContentLike, cut_calls
from backscroll.vocab.part import Json, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from backscroll.engine.folder.workroom import Workroom
    from backscroll.engine.thread import Thread

_SILENT = 2  # empty replies after which a run is given up
_CONTINUED = 4  # times in a row that an answer which stopped at the output limit is continued
_CUT_CALLS = 3  # replies in a row cut off inside their calls, after which a run is given up
#: Ends of a run after which the agent's changes are committed, if `workspace.commit` is set.
_COMMITTED: Mapping[str, tuple[End, ...]] = {"turn": ("answered", "completed"), "task": ("completed",)}
LEFT_BEHIND = "was not run: the person went on with something else"
CRASHED = "was running when the program ended; whether and how far it took effect is not known"


class Loop:
    """One run: from a user message to the end of everything that follows from it."""

    def __init__(
        self,
        thread: Thread,
        asker: ModelCaller,
        hands: RunContext,
        tools: Sequence[Mapping[str, Json]],
        limits: RunLimits,
    ) -> None:
        self.thread, self.asker, self.hands, self.tools, self.limits = thread, asker, hands, tools, limits
        self.steps = 0
        self.last: Ref | None = None
        self.opening: Ref | None = None  # the user message
        self.said = ""
        self._cuts = 0  # replies in a row that stopped at the output limit
        self._begun_words = ""  # of an answer that is being continued
        self._repeats = Repeats()

    # -- a run -----------------------------------------------------------------------------------------------

    def events(self, content: ContentLike | None) -> Iterator[Happening]:
        """Yield every event of the run, the last one `Finished`. Without content: continue where it stopped."""
        try:
            ended = yield from (self._begin_turn(content) if content is not None else self._resume_turn())
            if ended is None:
                ended = yield from self._stepping()
            yield from self._closing(ended)
            yield self._build_finish(ended)
        except (RunStopped, KeyboardInterrupt):
            yield self._build_finish("stopped")
        except BudgetExceeded as error:
            yield self._build_finish("limit", error)
        except BackscrollError as error:
            yield self._build_finish("failed", error)

    def _begin_turn(self, content: ContentLike) -> Generator[Happening, None, End | None]:
        yield from answer_open(self.hands)
        self._look()
        self.last = self.opening = self.thread.append("user", content).id
        self._where()
        yield Began(self.last)
        return None

    def _resume_turn(self) -> Generator[Happening, None, End | None]:
        """Finish what a crash or an interrupt left: answer calls that had begun, run the others."""
        self._where()
        yield Began(None, resumed=True)
        yield from _answer_crashed(self.hands)
        newest = next(iter(self.thread.messages(0, 1, newest_first=True)), None)
        if newest is None:
            return "answered"
        carrier, calls = find_unanswered(self.thread)
        if calls:
            yield Noted("resumed", ", ".join(c.name for c in calls))
            halves = frozenset[str]() if carrier is None else cut_calls(self.thread.message(carrier))
            return (yield from self.hands.carry_out(calls, carrier, cut=halves))
        if carrier is None and not is_open(newest):
            self.last, self.said = newest.id, newest.text
            return "answered"  # nothing was left open
        return None

    # -- steps -----------------------------------------------------------------------------------------------

    def _stepping(self) -> Generator[Happening, None, End]:
        silent = 0
        while True:
            self.asker.stop.check()
            over = self._over()
            if over:
                yield Noted("limit", over)
                return "limit"
            self.steps += 1
            answer = yield from self.asker.step(self.steps, self.tools)
            self._cuts = self._cuts + 1 if answer.is_cut else 0
            if answer.recorded is None:
                silent += 1
                if silent >= _SILENT:
                    self.said = self._begun_words
                    return "cut" if answer.is_cut else "silent"
                yield (
                    Noted("continued", f"{answer.limit:,}")
                    if answer.is_cut
                    else Noted("silent", answer.finish)
                )
                continue
            silent = 0
            ended = yield from self._carry_out_reply(answer)
            if ended is not None:
                return ended

    def _carry_out_reply(self, answer: Answer) -> Generator[Happening, None, End | None]:
        """Run the calls of a reply; a reply without calls is the answer."""
        assert answer.recorded is not None
        recorded = answer.recorded
        self.last, self.said = recorded.messages[-1], self._begun_words + answer.text
        yield RunStep(
            self.steps, self.last, answer.text, len(recorded.calls), answer.counted, cut=answer.is_cut
        )
        if not recorded.calls:
            return (yield from self._finish_or_continue(answer))
        self._begun_words = ""
        if answer.cut:
            yield Noted("cut_call", f"{answer.limit:,}")
        if answer.left_out:
            yield Noted("calls", f"{answer.left_out:,}")
        ended = yield from self.hands.carry_out(
            recorded.calls,
            recorded.carrier,
            cut=answer.cut,
            limit=answer.limit,
            left_out=answer.left_out,
        )
        if ended is not None:
            self.said = self.hands.result
            return ended
        if answer.cut and self._cuts >= _CUT_CALLS:
            return "cut"
        if self._repeats.step(recorded.calls, self.hands.results):
            yield Noted("repeated", ", ".join(dict.fromkeys(c.name for c in recorded.calls)))
            return "repeated"
        return None

    def _finish_or_continue(self, answer: Answer) -> Generator[Happening, None, End | None]:
        """End the run with a text-only reply; one that stopped at the output limit is continued, a few times."""
        if not answer.is_cut:
            return "answered"
        if answer.finish == "endless" or self._cuts > _CONTINUED:
            return "cut"
        self._begun_words = self.said
        yield Noted("continued", f"{answer.limit:,}")
        return None

    def _over(self) -> str:
        """Return the limit that was reached; empty: none."""
        if self.steps >= self.limits.steps:
            return f"steps: {self.limits.steps}"
        spent = self.asker.spent.nano or 0
        if self.limits.spend and spent >= self.limits.spend * 1e9:
            return f"spend: {self.limits.spend:g}"
        return ""

    # -- around it -------------------------------------------------------------------------------------------

    def _where(self) -> None:
        """Set turn and task, for the ledger."""
        self.asker.turn = self.thread.info.turns or None
        task = self.thread.tasks.current()
        self.asker.task = None if task is None else task.id

    def _look(self) -> None:
        """Attribute manual changes since the last run to the user, not to the agent."""
        workroom = self.hands.workroom
        if workroom is not None:
            try:
                workroom.look()
            except BackscrollError as error:
                self.hands.notes.append(Noted("snapshot", error.message))

    def _closing(self, ended: End) -> Iterator[Happening]:
        """At the end of a turn, report other changes in the folder meanwhile, and commit if configured."""
        workroom = self.hands.workroom
        if workroom is not None:
            try:
                workroom.looked("", Cause("turn", self.opening))
            except BackscrollError as error:
                yield Noted("snapshot", error.message)
            if ended in _COMMITTED.get(self.thread.engine.settings.workspace_commit, ()):
                yield from self._commit_changes(workroom)
        yield from self.hands.notes
        self.hands.notes.clear()

    def _commit_changes(self, workroom: Workroom) -> Iterator[Happening]:
        """Commit the agent's changes; if that fails the work is kept, and the reason is reported."""
        try:
            done = workroom.commit()
        except NothingToCommit:
            return
        except BackscrollError as error:
            yield Noted("commit", error.message)
        else:
            yield Noted("committed", f"{done.id[:10]} {done.message.splitlines()[0]}")

    def _build_finish(self, end: End, error: BackscrollError | None = None) -> Finished:
        return Finished(
            end,
            self.said,
            self.steps,
            self.asker.spent,
            "" if error is None else error.message,
            "" if error is None else error.hint,
            self.last,
            0 if error is None else error.exit_code,
        )


# -- what was left open ------------------------------------------------------------------------------------------


def answer_open(hands: RunContext) -> Iterator[Happening]:
    """Answer open calls, so that the next prompt is valid; one that had begun is reported as such."""
    yield from _answer_crashed(hands)
    _, calls = find_unanswered(hands.thread)
    for call in calls:
        _close(hands, call, f"[{call.name}] {LEFT_BEHIND}")
    if calls:
        yield Noted("left", ", ".join(c.name for c in calls))


def _answer_crashed(hands: RunContext) -> Iterator[Happening]:
    """Answer a call that a crash interrupted, with its file changes as far as they can be determined."""
    begun = at_work(hands.thread)
    carrier, calls = find_unanswered(hands.thread)
    call = next((c for c in calls if begun is not None and c.id == begun.call_id), None)
    if begun is None or call is None:
        return
    text = f"[{call.name}] {CRASHED}."
    if hands.workroom is not None and begun.snapshot:
        try:
            change = hands.workroom.looked(begun.snapshot, Cause("tool", carrier, call.id, call.name))
        except BackscrollError as error:  # the folder cannot be scanned: the call is answered anyway
            hands.notes.append(Noted("snapshot", error.message))
        else:
            named = "none" if change is None else ", ".join(f.path for f in change.files)
            text += f"\nFiles that changed meanwhile: {named}"
    _close(hands, call, text)
    yield Noted("crashed", text)


def _close(hands: RunContext, call: ToolCall, text: str) -> None:
    result = ToolResult(call.id, (Text(text),), True, call.name)
    record_result(hands.thread, result, {"line": text.splitlines()[0]})
