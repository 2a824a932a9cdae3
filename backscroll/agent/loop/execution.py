"""Running the calls of one reply: approval, execution, scan of the files, recorded results.

Owns the order: all proposals before one question; refused ones are answered with the reason; read-only calls
run concurrently, the others one after another, with a scan of the folder before and after. Every call gets exactly one result,
even if a tool fails, the user stops or the program crashes (then the next start answers it). Refuses: turning failures into
results (`agent/loop/calls`), rules (`agent/approval/approval`).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.agent.approval.approval import LOOK, Rules, decide
from backscroll.agent.approval.refusals import fingerprint, refusal_text, refused_before
from backscroll.agent.events import Called, Calling, End, Happening, Noted, Output
from backscroll.agent.loop.calls import PreparedCall, prepare, run
from backscroll.agent.person import Decision, Person, Proposal
from backscroll.agent.stop_switch import RunStopped, Stop
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import Toolbox
from backscroll.engine.calls.replies import find_unanswered, mark_at_work, record_result
from backscroll.errors import BackscrollError
from backscroll.vocab.change import Cause, CodeChange
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from backscroll.engine.folder.workroom import Workroom
    from backscroll.engine.thread import Thread

#: Effects after which files may have changed.
_TOUCHING = frozenset({"write", "command", "network"})
#: Effects whose beginning must be on record for the next start; a question to the user is simply asked again.
_MARKED = _TOUCHING | {"memory"}
#: Effects that cannot conflict with each other.
_LOOKING = frozenset({"none", "read"})
# (A `SimpleQueue` would be lighter, but a signal that comes while it waits can leave it waiting for good.)
_SECONDS = 0.05  # seconds between two reads of what a running tool has printed
_SIDE_BY_SIDE = 8  # concurrent calls
_GRACE = 6.0  # seconds that running calls have to end, if a run is abandoned
NOT_RUN = "was not run: the person stopped the run first"
#: What the command would do was judged from the folder, which has changed since.
OTHER_NOW = "was not run: what it touches changed while this reply was carried out; call it again, and the person is asked"
BROKEN_OFF = "stopped by the person before it was done; whether and how far it took effect is not known"


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """An allowed call that is pending or running."""

    prepared: PreparedCall
    context: ToolContext
    looked: Proposal | None = (
        None  # allowed unasked because it is read-only, judged from the folder at that time
    )

    @property
    def call(self) -> ToolCall:
        """The call."""
        return self.prepared.call

    @property
    def effect(self) -> str:
        """The effect of its tool."""
        return "none" if self.prepared.tool is None else self.prepared.tool.effect


@dataclass(slots=True)
class _CallBatch:
    """Calls that have begun, and their results so far."""

    batch: Sequence[_PendingCall]
    before: str  # the files, before they began
    outputs: dict[str, ToolOutput] = field(default_factory=dict[str, ToolOutput])
    threads: list[threading.Thread] = field(default_factory=list[threading.Thread])

    @property
    def touching(self) -> bool:
        """True if files may have changed afterwards."""
        return self.batch[0].effect in _TOUCHING


@dataclass
class RunContext:
    """What the calls of a run share: thread, tools, rules and user."""

    thread: Thread
    root: Path
    toolbox: Toolbox
    rules: Rules
    person: Person
    stop: Stop
    workroom: Workroom | None = None
    seconds: float = 120.0
    longest: int = 200_000
    unasked: bool = False  # the user gave the order
    result: str = ""  # of the tool that ended the run
    results: list[str] = field(default_factory=list[str])  # of the last reply's calls, as they were recorded
    notes: list[Noted] = field(default_factory=list[Noted])  # to be reported at the next opportunity
    _work: _CallBatch | None = None  # the calls running now
    _remark: tuple[str, str] = (
        "",
        "",
    )  # the call whose result carries a note about the whole reply, and the note

    def context(self, call_id: str, show: Callable[[str], None]) -> ToolContext:
        """Return the context that a tool gets."""
        return ToolContext(
            self.thread,
            call_id,
            self.root,
            self.person,
            self.stop,
            show,
            self.seconds,
            self.longest,
        )

    # -- all calls of a reply --------------------------------------------------------------------------------

    def carry_out(
        self,
        calls: Sequence[ToolCall],
        carrier: Ref | None,
        *,
        cut: Collection[str] = (),
        limit: int = 0,
        left_out: int = 0,
    ) -> Generator[Happening, None, End | None]:
        """Answer every call; return how the run ends, if a tool ends it.

        Calls in `cut` broke off at the output limit of `limit` tokens: they are not run, and the model is told why. It is
        also told of `left_out` further calls of the same reply that were dropped.
        """
        waiting = list(calls)
        heard: queue.Queue[Output] = queue.Queue()
        ends: End | None = None
        self.results = []
        self._remark = (calls[-1].id, _left_out(len(calls), left_out)) if left_out else ("", "")
        try:
            for call in calls:
                if call.id in cut:
                    yield self._answer_call(call, cut_off(call.name, limit), waiting)
            whole = [call for call in calls if call.id not in cut]
            due = yield from self._select_allowed(whole, waiting, heard)
            touched = False  # a call ran that may have changed what the others were judged by
            for batch in _batches(due):
                self.stop.check()
                if touched and not self._still_looks(batch[0]):
                    failed = ToolOutput(f"[{batch[0].call.name}] {OTHER_NOW}", True)
                    yield self._answer_call(batch[0].call, failed, waiting)
                    continue
                touched = touched or (batch[0].effect in _TOUCHING and batch[0].looked is None)
                ended = yield from self._batch(batch, waiting, carrier, heard)
                ends = ends or ended
        except (RunStopped, KeyboardInterrupt, GeneratorExit):
            self.stop.throw()
            self._broken_off(waiting, carrier)
            raise
        return ends

    def _broken_off(self, waiting: Sequence[ToolCall], carrier: Ref | None) -> None:
        """Answer the open calls of an abandoned run truthfully: which have ended, had begun, or never began."""
        work, self._work = self._work, None
        begun: set[str] = set()
        if work is not None:
            begun = {due.call.id for due in work.batch}
            for thread in work.threads:
                thread.join(_GRACE)
            if work.touching:
                self._record_change(work.before, work.batch[0], carrier)
        left = {call.id for call in find_unanswered(self.thread)[1]}
        for call in waiting:
            if call.id in left:  # the interrupt may have come just after its result was recorded
                known = None if work is None else work.outputs.get(call.id)
                why = BROKEN_OFF if call.id in begun else NOT_RUN
                output = known or ToolOutput(f"[{call.name}] {why}", True)
                self._record(call, output, {"line": output.line} if output.line else {})

    def _select_allowed(
        self, calls: Sequence[ToolCall], waiting: list[ToolCall], heard: queue.Queue[Output]
    ) -> Generator[Happening, None, list[_PendingCall]]:
        """Select the calls that may run; answer the others here."""
        proposals: list[Proposal] = []
        due: dict[str, _PendingCall] = {}
        for call in calls:
            context = self.context(call.id, _OutputSink(call.id, heard))
            prepared = prepare(self.toolbox, call, context)
            if prepared.failure is not None:
                yield self._answer_call(call, prepared.failure, waiting)
                continue
            proposals.append(prepared.proposal(refused_before(self.thread, call.name, prepared.arguments)))
            due[call.id] = _PendingCall(prepared, context)
        decisions = (
            [Decision(True)] * len(proposals) if self.unasked else decide(self.rules, self.person, proposals)
        )
        by_id = {call.id: call for call in calls}
        for proposal, decision in zip(proposals, decisions, strict=True):
            if not decision.allowed:
                yield self._refuse_call(by_id[proposal.call_id], proposal, decision, waiting)
                del due[proposal.call_id]
            elif decision.by == LOOK:
                due[proposal.call_id] = replace(due[proposal.call_id], looked=proposal)
        return list(due.values())

    def _still_looks(self, due: _PendingCall) -> bool:
        """Return False for a command that was allowed as read-only, and would need approval now."""
        decision = Decision(True) if due.looked is None else self.rules.verdict(due.looked)
        return decision is not None and decision.allowed

    def _refuse_call(
        self, call: ToolCall, proposal: Proposal, decision: Decision, waiting: list[ToolCall]
    ) -> Called:
        language = self.thread.legible.info.language
        text = refusal_text(
            call.name, decision.reason, proposal.refused_before, language=language, by=decision.by
        )
        facts = {
            "refused": decision.reason,
            "fingerprint": fingerprint(call.name, proposal.arguments),
            "by": decision.by,
        }
        message = self._record(call, ToolOutput(text, True, line=decision.reason), facts)
        waiting.remove(call)
        line = proposal.preview.line
        return Called(call.id, call.name, line, text, True, decision.reason, message)

    # -- running ---------------------------------------------------------------------------------------------

    def _batch(
        self,
        batch: Sequence[_PendingCall],
        waiting: list[ToolCall],
        carrier: Ref | None,
        heard: queue.Queue[Output],
    ) -> Generator[Happening, None, End | None]:
        """Run calls concurrently; a single one if it may change something."""
        ends: End | None = None
        for due in batch:
            yield Calling(due.call.id, due.call.name, due.prepared.preview.line, due.prepared.arguments)
        first = batch[0]
        touching = first.effect in _TOUCHING
        before = self._take_snapshot() if touching else ""
        if first.effect in _MARKED:
            mark_at_work(self.thread, first.call, before)
        work = self._work = _CallBatch(batch, before)
        if first.effect == "ask":
            # The user is asked in the run's own thread, not in one beside it.
            work.outputs[first.call.id] = run(first.prepared, first.context)
        else:
            yield from self._side_by_side(work, heard)
        for due in batch:
            output = work.outputs.get(due.call.id)
            output = output or ToolOutput(f"[{due.call.name}] ended without a result", True)
            change = self._record_change(before, due, carrier) if touching else None
            yield self._answer_call(due.call, output, waiting, change)
            if output.ends is not None:
                ends, self.result = output.ends, str(output.facts.get("result", output.text))
        self._work = None
        yield from self._emit_notes()
        return ends

    def _side_by_side(self, work: _CallBatch, heard: queue.Queue[Output]) -> Generator[Happening]:
        """Run calls in their own threads and pass on what they print; on a stop, wait for them, so that each has its result."""

        due: queue.SimpleQueue[_PendingCall] = queue.SimpleQueue()
        for each in work.batch:
            due.put(each)

        def carry() -> None:
            while True:
                try:
                    one = due.get_nowait()
                except queue.Empty:
                    return
                if self.stop.thrown:
                    work.outputs[one.call.id] = ToolOutput(f"[{one.call.name}] {NOT_RUN}", True)
                else:
                    work.outputs[one.call.id] = run(one.prepared, one.context)

        many = min(_SIDE_BY_SIDE, len(work.batch))
        work.threads = [threading.Thread(target=carry, daemon=True) for _ in range(many)]
        for thread in work.threads:
            thread.start()
        while any(t.is_alive() for t in work.threads):
            try:
                yield from _drain_output(heard, _SECONDS)
            except KeyboardInterrupt:
                self.stop.throw()
        yield from _drain_output(heard, 0)

    # -- recording -------------------------------------------------------------------------------------------

    def _answer_call(
        self, call: ToolCall, output: ToolOutput, waiting: list[ToolCall], change: CodeChange | None = None
    ) -> Called:
        line = output.line or _first_line(output.text)
        facts: dict[str, Json] = {"line": line}
        if output.facts:
            facts["facts"] = dict(output.facts)
        if self.unasked:
            facts["by"] = "person"
        message = self._record(call, output, facts)
        waiting.remove(call)
        return Called(call.id, call.name, line, output.text, output.is_error, None, message, change)

    def _record(self, call: ToolCall, output: ToolOutput, facts: Mapping[str, Json]) -> Ref:
        if call.id == self._remark[0]:
            output = replace(output, text=f"{output.text}\n{self._remark[1]}")
        self.results.append(output.text)
        result = ToolResult(call.id, (Text(output.text), *output.media), output.is_error, call.name)
        return record_result(self.thread, result, facts)

    # -- the folder ------------------------------------------------------------------------------------------

    def _take_snapshot(self) -> str:
        """Take a snapshot before a call; manual changes since the last one are attributed to the user."""
        if self.workroom is None:
            return ""
        try:
            return self.workroom.look()
        except BackscrollError as error:
            self.notes.append(Noted("snapshot", error.message))
            return ""

    def _record_change(self, before: str, due: _PendingCall, carrier: Ref | None) -> CodeChange | None:
        if self.workroom is None or not before:
            return None
        try:
            return self.workroom.looked(before, Cause("tool", carrier, due.call.id, due.call.name))
        except BackscrollError as error:
            self.notes.append(Noted("snapshot", error.message))
            return None

    def _emit_notes(self) -> Generator[Happening]:
        yield from self.notes
        self.notes.clear()


def cut_off(tool: str, limit: int) -> ToolOutput:
    """Return the result of a call that was cut off at the output limit of the model."""
    most = f" of {limit:,} tokens" if limit else ""
    words = (
        f"[{tool}] was not run: your reply reached the output limit{most} in the middle of this call, and its arguments are "
        "incomplete. The same call would be cut again. Write in smaller pieces: several calls, each well below the limit (of a long "
        "file first the beginning, then one part after another)."
    )
    return ToolOutput(words, True, line="not run: cut at the output limit")


def _left_out(taken: int, more: int) -> str:
    return (
        f"[This reply held {taken + more:,} calls. Only the first {taken:,} were taken; the other {more:,} were not run. "
        "Make those that are still needed in the next replies.]"
    )


@dataclass(frozen=True, slots=True)
class _OutputSink:
    """Receives the output of one call while it runs."""

    call_id: str
    heard: queue.Queue[Output]

    def __call__(self, text: str) -> None:
        self.heard.put(Output(self.call_id, text))


def _batches(due: Sequence[_PendingCall]) -> list[list[_PendingCall]]:
    """Group adjacent read-only calls, which run together; a call that may change something runs alone, in its turn."""
    out: list[list[_PendingCall]] = []
    for one in due:
        if out and one.effect in _LOOKING and out[-1][0].effect in _LOOKING:
            out[-1].append(one)
        else:
            out.append([one])
    return out


def _drain_output(heard: queue.Queue[Output], seconds: float) -> Generator[Output]:
    """Yield what has been printed; wait a moment for the first of it."""
    try:
        yield heard.get(timeout=seconds) if seconds else heard.get_nowait()
        while True:
            yield heard.get_nowait()
    except queue.Empty:
        return


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 120 else f"{line[:119]}…"
