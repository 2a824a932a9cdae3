"""Survey a native file before anything is written: which threads it contains, and how far each can be trusted.

Owns: reading every line once with the distrust due to foreign files, checking every field, seal and link, and folding each
log in memory. One bad thread does not stop the others; `engine/exchange/native/trust` decides how far each is imported.
Writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

from backscroll.engine.exchange.native.journal import reply_from
from backscroll.engine.exchange.native.lesson_lines import lesson_from
from backscroll.engine.exchange.native.trust import (
    REST,
    NativeSurvey,
    ThreadSurvey,
    decide,
    entry_at,
    misbegun,
    misread,
    past_here,
)
from backscroll.engine.exchange.reports import ImportReport
from backscroll.engine.folder.files import FileSource
from backscroll.errors import BackscrollError, FormatError, StoreCorrupt
from backscroll.formats.native import LINES, ThreadLine, blob_from, checked_header, event_from, thread_from
from backscroll.formats.sources.json_text import NotJson, try_parse
from backscroll.record.chain import DAMAGE, flaws, genesis
from backscroll.record.content import blobs_in
from backscroll.record.event_schema import misshapen
from backscroll.record.history import Entry
from backscroll.record.rehearsal import ForkPast, LogReplay
from backscroll.vocab.event import SPEAKING, Event
from backscroll.vocab.foreign import Problem
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.values.fields import is_ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope


def survey(engine: EngineScope, source: FileSource, *, dry_run: bool) -> NativeSurvey:
    """Read a file through and return what was found; nothing is written."""
    out = NativeSurvey()
    reading = _SurveyPass(engine, source, out, dry_run=dry_run)
    promised: Json = None
    for number, row in rows(source, reading.note):
        if number == 1:
            wrong = checked_header(row)
            out.whole = row.get("kind") != "thread"
            promised = row.get("threads") if wrong is None else None
            if wrong is not None:
                out.problems.append(Problem(wrong, 1))
        else:
            reading.take(number, row)
    reading.close()
    if isinstance(promised, int) and promised != reading.lines:
        what = f"the first line promises {promised} threads, the file holds {reading.lines}: it was cut or damaged"
        out.problems.append(Problem(what, 1))
    decide(engine, out)
    if out.problems and not out.reports:
        out.reports.append(ImportReport("native", source.path, dry_run=dry_run))
    if out.problems:
        out.reports[0].problems[:0] = out.problems
    return out


def rows(source: FileSource, note: Callable[[str, int], None]) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the objects of a file, line by line; the first must be our header, and damaged lines are reported."""
    for number, line in source.lines(ample='{"blob":'):
        if not line.strip():
            continue
        data = try_parse(line)
        if not isinstance(data, NotJson) and isinstance(data, dict):
            yield number, cast("dict[str, Json]", data)
            continue
        why = data.what if isinstance(data, NotJson) else "it is not a JSON object"
        if number == 1:
            raise FormatError(
                f"{source.name} is not a native Backscroll file: {why}",
                hint="its first line must be a JSON object with the key `backscroll`",
            )
        note(f"the line is damaged and was left out: {why}", number)


class _SurveyPass:
    """One pass through the lines of a file."""

    def __init__(self, engine: EngineScope, source: FileSource, out: NativeSurvey, *, dry_run: bool) -> None:
        self.engine = engine
        self.source = source
        self.out = out
        self.dry_run = dry_run
        self.lines = 0  # lines about threads
        self._now: ThreadSurvey | None = None
        self._astray: set[str] = set()  # threads whose events came without the line about them
        self._bytes: dict[str, int] = {}  # blobs not referred to yet, with their lines

    def take(self, number: int, row: dict[str, Json]) -> None:
        """Process one line after the first."""
        kinds = [name for name in LINES if name in row]
        if len(kinds) != 1:
            self.note("the line is of no known kind and was left out", number)
        elif kinds[0] == "thread":
            self.close()
            self._begin(number, row)
        elif kinds[0] == "blob":
            self._take_bytes(number, row)
        elif kinds[0] == "event":
            self._take_event(number, row)
        else:
            self.close()
            self._look_beside(number, row)

    def _look_beside(self, number: int, row: dict[str, Json]) -> None:
        """Process a model's reply or a lesson, which come after all logs."""
        what = "something that was learned is damaged and was left out"
        if "reply" in row:
            what = "a reply of a model is damaged and was left out"
        try:
            if "reply" in row:
                reply_from(row)
            else:
                lesson_from(row)
        except ValueError as error:
            self.note(f"{what}: {error}", number)

    def note(self, what: str, number: int) -> None:
        """Record a problem, with the thread whose lines are being read."""
        (self.out.problems if self._now is None else self._now.report.problems).append(Problem(what, number))

    # -- threads ---------------------------------------------------------------------------------------------

    def _begin(self, number: int, row: dict[str, Json]) -> None:
        self.lines += 1
        report = ImportReport("native", self.source.path, dry_run=self.dry_run)
        self.out.reports.append(report)
        name: Json = row["thread"]
        try:
            line = thread_from(row)
        except ValueError as error:
            report.problems.append(
                Problem(f"the line about a thread is damaged, the thread was left out: {error}", number)
            )
            self._astray.add(str(name))
            return
        report.thread = line.id
        if line.id in self.out.threads:
            report.thread = None
            what = f"thread {line.id[:8]} is in the file twice, the second was left out"
            report.problems.append(Problem(what, number))
            return
        found = ThreadSurvey(
            line, number, report, LogReplay(line.id, line.fork_seq, ForkPast()), line.fork_seq
        )
        self.out.threads[line.id] = self._now = found
        wrong = self._link(found)
        if wrong is not None:
            found.stop(f"{wrong}, the thread was left out", number)

    def _link(self, found: ThreadSurvey) -> str | None:
        """Find what a thread builds on; return why it is missing."""
        line = found.line
        if line.parent is None:
            found.link = genesis(line.id)
            return None
        parent = self.out.threads.get(line.parent)
        if parent is None or not parent.line.fork_seq < line.fork_seq <= parent.upto:
            return self._link_here(found)
        found.link = parent.hash_at(line.fork_seq)
        found.rehearsal.past = parent.rehearsal.fork(line.fork_seq, line.fork_position)
        if line.root != parent.line.root:
            return "it is not of the family of the thread it forked from"
        return None

    def _link_here(self, found: ThreadSurvey) -> str | None:
        """Find it in the store, if the file lacks the parent or ends before the fork; return why it is missing."""
        line = found.line
        try:
            past = self.engine.store.read(lambda reader: past_here(reader, line))
        except (*DAMAGE, StoreCorrupt):
            past = None
        if past is None:
            return "the thread it forked from is not in the store or the file, or not that far"
        found.link, root, reached = past
        if root != line.root:
            return "it is not of the family of the thread it forked from"
        found.rehearsal.past = ForkPast(self._entry_here(line), self._speaks_here, reached)
        return None

    def _entry_here(self, line: ThreadLine):
        def entry(message: Ref) -> Entry | None:
            return self.engine.store.read(lambda reader: entry_at(reader, line, message))

        return entry

    def _speaks_here(self, revision: Ref) -> Ref | None:
        event = self.engine.store.read(lambda reader: reader.event(revision))
        return None if event is None or event.kind not in SPEAKING else event.message

    def close(self) -> None:
        """End the lines of a thread."""
        found, self._now = self._now, None
        self._left_bytes(found)
        if found is None or found.stopped:
            return
        held = (found.upto, found.hash_at(found.upto))
        if held != (found.line.head, found.line.hash):
            what = f"the log ends at event {found.upto} and not, as its line says, at {found.line.head}"
            found.report.problems.append(Problem(what, found.number))

    # -- events ----------------------------------------------------------------------------------------------

    def _take_event(self, number: int, row: dict[str, Json]) -> None:
        found = self._now
        name: Json = row["event"]
        if found is None or (is_ref(name) and parse_ref(name).thread != found.line.id):
            home = str(name).partition(".")[0]
            if home not in self._astray:
                self._astray.add(home)
                self.note("events came without the line about their thread and were left out", number)
            return
        if found.stopped:
            return
        try:
            event = event_from(row)
            wrong = flaws(event, found.hash_at(found.upto)) if event.seq == found.upto + 1 else []
        except (ValueError, BackscrollError) as error:
            found.stop(f"the line is damaged, {REST}: {error}", number)
            return
        what = self._misfit(found, event, wrong)
        if what is None:
            what = found.rehearsal.take(event, number, declared=row.get("forgotten") is True)
        if what is not None:
            found.stop(f"event {event.seq} does not verify, {REST}: {what}", number)
            return
        found.hashes += event.hash
        found.upto = event.seq
        for blob in blobs_in(event):
            self._bytes.pop(blob, None)
        self._left_bytes(found)

    def _misfit(self, found: ThreadSurvey, event: Event, wrong: list[str]) -> str | None:
        if event.seq != found.upto + 1:
            return f"it does not follow event {found.upto}"
        return wrong[0] if wrong else misshapen(event) or misread(event) or misbegun(found.line, event)

    # -- blobs -----------------------------------------------------------------------------------------------

    def _take_bytes(self, number: int, row: dict[str, Json]) -> None:
        try:
            name, _ = blob_from(row)
        except ValueError as error:
            self.note(f"attached bytes were left out: {error}", number)
            return
        self._bytes[name] = number

    def _left_bytes(self, found: ThreadSurvey | None) -> None:
        """Report blobs without an event: a blob comes right before the event that refers to it; others could never be found, or forgotten."""
        for number in self._bytes.values():
            what = Problem("attached bytes to which no message refers were left out", number)
            (self.out.problems if found is None else found.report.problems).append(what)
        self._bytes.clear()
