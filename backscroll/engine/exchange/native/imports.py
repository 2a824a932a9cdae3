"""Native import: complete logs, exactly. Every line is verified before anything of the file is written.

A thread that exists already is extended if the file continues from our last event; if the two diverged, the file's part
becomes a fork at the last event they share. A file does not restore what was forgotten here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from backscroll.engine.core.lineage import View, kin_of
from backscroll.engine.core.pen import Pen
from backscroll.engine.exchange.native.journal import take_reply
from backscroll.engine.exchange.native.lesson_lines import take_lesson
from backscroll.engine.exchange.native.survey import rows, survey
from backscroll.engine.exchange.native.trust import NativeSurvey, ThreadSurvey
from backscroll.engine.exchange.reports import ImportReport
from backscroll.engine.folder.files import FileSource
from backscroll.engine.log import erasure as forgetting
from backscroll.engine.log.forks import begin_fork, count_inherited
from backscroll.errors import BackscrollError, FormatError
from backscroll.formats.native import blob_from, event_from
from backscroll.record.content import blobs_in
from backscroll.record.history import FORGOTTEN
from backscroll.record.order import WIDTH, at_end
from backscroll.record.ports import Reader, ThreadState, Writer
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_BATCH = 500
_WEIGHT = 4_000_000  # or about this many bytes
#: Compactions and placements refer to places and numbers of one log. A fork shows everything until it is condensed again.
_VIEWS = frozenset({Kind.CROPPED, Kind.UNCROPPED, Kind.COMPACTED, Kind.PLACED})
_NUMBERS = frozenset({"of", "group", "runs"})  # parts of a head that count events of their own log
_TASKS = frozenset(
    {"task", "other", "follows"}
)  # … that name a task, by the number of the event that began it
_PLACES = frozenset({"position", "place", "after"})  # … that are places in the history of their own log


def import_native(
    engine: EngineScope, source: FileSource, *, dry_run: bool, again: bool
) -> list[ImportReport]:
    """Import a native file: verify all of it, then write what is sound."""
    del again  # the log itself remembers what was forgotten
    found = survey(engine, source, dry_run=dry_run)
    if dry_run:
        for each in found.threads.values():
            each.report.counts["added"] += each.rehearsal.messages if each.sound and each.report.new else 0
    else:
        _write_all(engine, source, found)
    for each in found.threads.values():
        if each.sound:
            name = each.report.thread or each.line.id
            state = engine.store.read(lambda reader, n=name: reader.thread(n))
            each.report.title = state.about.title if state is not None else each.rehearsal.about.title
        else:
            each.report.thread, each.report.new = None, False
    return found.reports


def _write_all(engine: EngineScope, source: FileSource, found: NativeSurvey) -> None:
    intake: _Intake | None = None
    moved: dict[str, tuple[str, int]] = {}
    wanted = {each.number: each for each in found.threads.values() if each.sound}
    for number, row in rows(source, _ignore_damage):
        if "thread" in row or "reply" in row or "lesson" in row:
            moved |= {} if intake is None else intake.finish()
            intake = _Intake(engine, wanted[number]) if number in wanted else None
        if "reply" in row and found.reports:
            take_reply(engine, row, moved, _report_of(found, row), number)
        elif "lesson" in row:
            take_lesson(engine, row)
        elif intake is not None and ("event" in row or "blob" in row):
            intake.take(row, number)
    if intake is not None:
        moved |= intake.finish()
    buried = {message for each in wanted.values() for message in each.buried}
    buried |= {
        message for each in wanted.values() for message in each.rehearsal.list_forgotten_messages(each.upto)
    }
    bury(engine, buried)


def _ignore_damage(_what: str, _line: int) -> None:
    """Do nothing: damage was already recorded by the survey."""


def _report_of(found: NativeSurvey, row: dict[str, Json]) -> ImportReport:
    """Return the report of the thread that a reply belongs to."""
    name: Json = row.get("for")
    each = found.threads.get(name) if isinstance(name, str) else None
    return found.reports[-1] if each is None else each.report


class _Intake:
    """Imports one thread of a native file, line by line, as far as it verified."""

    def __init__(self, engine: EngineScope, found: ThreadSurvey) -> None:
        self.engine = engine
        self.found = found
        self.report = found.report
        self.name = found.line.id
        self.events: list[Event] = []
        self.blobs: list[tuple[str, bytes]] = []
        self.held: dict[str, bytes] = {}  # blobs that came right before the event that refers to them
        self.weight = 0
        self.next = found.line.fork_seq + 1
        self.state = engine.store.read(lambda reader: reader.thread(self.name))
        self.fork: str | None = None  # the fork that the file's part went to, once it diverged
        self.fork_at = 0

    def take(self, row: dict[str, Json], line: int) -> None:
        """Import one line; lines that failed verification are skipped."""
        try:
            if "blob" in row:
                name, data = blob_from(row)
                self.held[name] = data
                return
            event = event_from(row)
        except (ValueError, BackscrollError):
            return
        if event.thread != self.name or not self.next <= event.seq <= self.found.upto:
            return
        if event.seq != self.next or event.hash != self.found.hash_at(event.seq):
            raise FormatError(
                f"the file changed while it was being read, at line {line}",
                hint="complete threads were imported; import it again",
            )
        self.next += 1
        self.blobs += [(name, self.held[name]) for name in sorted(blobs_in(event)) if name in self.held]
        self.weight += len(event.body or b"") + sum(map(len, self.held.values()))
        self.held = {}
        self.events.append(event)
        if len(self.events) >= _BATCH or self.weight >= _WEIGHT:
            self.flush()

    def finish(self) -> dict[str, tuple[str, int]]:
        """Write the rest; return the fork the thread went to, if it diverged."""
        self.flush()
        grown = self.fork or (
            self.name if self.state is None and self.found.line.parent is not None else None
        )
        if grown is not None:  # it shares a history of which something may have been forgotten here
            bury(self.engine, self.engine.store.read(lambda reader: empty_in(reader, grown)))
        return {} if self.fork is None else {self.name: (self.fork, self.fork_at)}

    def flush(self) -> None:
        """Write what was collected."""
        events, blobs = self.events, self.blobs
        self.events, self.blobs, self.weight = [], [], 0
        if not events:
            return
        added, same, fork = self.engine.store.write(lambda tx: self._write(tx, events, blobs))
        self.report.counts.update({k: n for k, n in (("added", added), ("unchanged", same)) if n})
        if fork is not None and self.fork is None:
            self.fork, self.fork_at = fork
            self.report.notes.append(
                "the file and the store went different ways; the file's way became a fork"
            )
            self.report.thread = self.fork
            self.report.counts["branches"] += 1
        self._note_views(events)

    def _note_views(self, events: list[Event]) -> None:
        what = "crops and compactions of the file's way are not in force in the fork; every message is"
        moved = any(event.kind in _VIEWS and event.seq >= self.fork_at for event in events)
        if self.fork is not None and moved and what not in self.report.notes:
            self.report.notes.append(what)

    def _write(
        self, tx: Writer, events: list[Event], blobs: list[tuple[str, bytes]]
    ) -> tuple[int, int, tuple[str, int] | None]:
        for name, data in blobs:
            if not tx.blob_users(name) or tx.blob(name) is not None or self.state is None:
                tx.put_blob(name, data)
        added = same = 0
        fork = (self.fork, self.fork_at) if self.fork is not None else None
        pen: Pen | None = Pen(tx, fork[0], self.engine.means, "import:native") if fork else None
        for event in events:
            if pen is None and tx.event(event.id) is None and tx.thread(self.name) is None:
                self._add_thread(tx)
            held = tx.event(event.id) if fork is None else None
            if held is not None and held.hash == event.hash:
                if event.forgotten and held.body is not None:
                    forgetting.erase(tx, [held])  # it was forgotten in the file's own store
                same += event.message == event.id
                continue
            if held is not None and fork is None:
                pen = self._diverge(tx, event.seq - 1)
                fork = (pen.state.id, event.seq)
            if fork is not None and pen is not None:
                _replay(pen, event, self.name, fork)
            else:
                pen = pen or Pen(tx, self.name, self.engine.means, event.actor)
                pen.adopt(event)
                _honour(tx, event)
            added += event.message == event.id
        if pen is not None:
            pen.save()
        return added, same, (fork[0], fork[1]) if fork else None

    def _add_thread(self, tx: Writer) -> None:
        line = self.found.line
        state = ThreadState(
            self.name,
            line.root,
            line.fork_seq,
            self.found.link,
            ThreadDescription(),
            line.created_at,
            line.created_at,
            parent=line.parent,
            fork_seq=line.fork_seq,
            fork_position=line.fork_position,
            fork_message=line.fork_message,
        )
        tx.add_thread(count_inherited(tx, state, as_logged=True))

    def _diverge(self, tx: Writer, at: int) -> Pen:
        state = tx.lock_thread(self.name)
        last = tx.event(Ref(self.name, at))
        if state is None or last is None:
            raise FormatError("the file and the store share no event", hint="import it into an empty store")
        shared = replace(state, head=at, hash=last.hash)
        return begin_fork(tx, self.engine.means, shared, None, None, None, "import:native", as_logged=True)


def _honour(tx: Writer, event: Event) -> None:
    """Apply a `forget` that is recorded in the file."""
    if event.kind is not Kind.FORGOTTEN:
        return
    messages = [parse_ref(hole["message"]) for hole in event.head.get("messages", ())]
    said = [e for message in messages for e in tx.events_about(message) if e.body is not None]
    state = tx.thread(event.thread)
    family = [] if state is None else kin_of(tx, state.root)
    told = forgetting.find_condensations(tx, family, messages) if messages else []
    tx.unmake([e.id for e in said], [kin.id for kin in family])
    forgetting.erase(tx, [*said, *told])


def empty_in(reader: Reader, thread: str) -> list[Ref]:
    """Return the messages of a history whose text is gone although no event records that it was forgotten."""
    state = reader.thread(thread)
    out: list[Ref] = []
    low: bytes | None = None
    while state is not None and (found := View(reader, state).page(_BATCH, after=low, gone=True)):
        out += [
            entry.message for entry, spoken in found if spoken.body is None and not entry.flags & FORGOTTEN
        ]
        low = found[-1][0].position
    return out


def bury(engine: EngineScope, messages: Collection[Ref], actor: str = "import:native") -> None:
    """Record as forgotten, in every log that still shows them, messages whose text is gone."""
    if not messages:
        return

    def work(tx: Writer) -> None:
        for root in dict.fromkeys(
            s.root for s in map(tx.thread, {m.thread for m in messages}) if s is not None
        ):
            for kin in kin_of(tx, root):
                view = View(tx, kin)
                holes = [_hole(m) for m in sorted(messages) if _stands_empty(tx, view, m)]
                if holes:
                    pen = Pen(tx, kin.id, engine.means, actor)
                    pen.write(Kind.FORGOTTEN, head={"messages": holes})
                    pen.save()

    engine.store.write(work)


def _hole(message: Ref) -> dict[str, Json]:
    return {"message": str(message), "salt": "", "marks": []}


def _stands_empty(tx: Writer, view: View, message: Ref) -> bool:
    entry = view.entry(message)
    if entry is None or entry.flags & FORGOTTEN:
        return False
    spoken = tx.read_spoken([entry.revision]).get(entry.revision)
    return spoken is not None and spoken.body is None


def _replay(pen: Pen, event: Event, thread: str, fork: tuple[str, int]) -> None:
    """Write an event of the file's part into the fork; ids of events that the fork rebuilt are replaced by the new ones."""
    told = event.kind is not Kind.TASKED  # a step with forgotten text was taken anyway
    if (event.forgotten and told) or event.kind in _VIEWS:
        # The number must be used up, so that the following ids match.
        what = "forgotten" if event.forgotten else event.kind.value
        pen.write(Kind.NOTED, head={"about": what}, at=event.at)
        return
    head = cast("dict[str, Json]", _renamed_in(event.head, thread, fork))
    for name in _NUMBERS & head.keys():
        head[name] = _renumber_events(head[name], fork[1])
    if event.kind in (Kind.TASKED, Kind.FLUSHED):
        for name in _TASKS & head.keys():
            head[name] = _task_renumbered(head[name], fork[1])
    if "entries" in head:  # a message that was forgotten before the import is not in the fork
        head["entries"] = [was for was in head["entries"] if pen.entry(parse_ref(was["message"])) is not None]
    moved = replace(
        event,
        thread=pen.state.id,
        seq=pen.state.head + 1,
        target=None if event.target is None else _rename_ref(event.target, thread, fork),
        head=head,
    )
    pen.rewrite(moved)


def _renumber_events(value: Json, first: int) -> Json:
    """Increase the numbers of events of the same log by one, as the fork counts them."""
    if isinstance(value, list):
        return [_renumber_events(each, first) for each in cast("list[Json]", value)]
    return value + 1 if isinstance(value, int) and value >= first else value


def _task_renumbered(value: Json, first: int) -> Json:
    return str(_renumber_events(int(value), first)) if isinstance(value, str) and value.isdecimal() else value


def _shift_position(value: Json, first: int) -> Json:
    """Return the same place in the fork. Places begin with an event number, so their order is preserved."""
    if not isinstance(value, str) or len(value) < 2 * WIDTH:
        return value
    number = int(value[: 2 * WIDTH], 16)
    return at_end(number + 1).hex() + value[2 * WIDTH :] if number >= first else value


def _rename_ref(ref: Ref, thread: str, fork: tuple[str, int]) -> Ref:
    name, first = fork
    return Ref(name, ref.seq + 1) if ref.thread == thread and ref.seq >= first else ref


def _renamed_in(value: Json, thread: str, fork: tuple[str, int]) -> Json:
    """Return the head with the ids of moved events replaced, wherever they occur."""
    if isinstance(value, dict):
        held = cast("dict[str, Json]", value)
        return {
            k: _shift_position(v, fork[1]) if k in _PLACES else _renamed_in(v, thread, fork)
            for k, v in held.items()
        }
    if isinstance(value, list):
        return [_renamed_in(v, thread, fork) for v in cast("list[Json]", value)]
    if isinstance(value, str) and value.startswith(f"{thread}.") and value[33:].isdecimal():
        return str(_rename_ref(parse_ref(value), thread, fork))
    return value
