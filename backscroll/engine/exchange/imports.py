"""Import: foreign files become threads; importing a file again adds only what is new.

A file is read lazily and written in batches, so its size does not matter. A conversation that branches becomes a thread and
forks. The second import of a file follows what the first one left; from the first difference on, the rest is aligned by
`reconcile/plan`. What the user changed here meanwhile is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.engine.exchange.arrivals import Arrival, ImportConflict
from backscroll.engine.exchange.lines import Router
from backscroll.engine.exchange.native.imports import import_native
from backscroll.engine.exchange.reports import ImportReport, SecretNotice
from backscroll.engine.folder.files import FileSource
from backscroll.engine.knowledge.lore.imports import tell_arrived, with_user
from backscroll.engine.log.scrub import finish_forgetting
from backscroll.errors import Conflict, FormatError, InvalidInput
from backscroll.formats.detection import detect, format_named
from backscroll.formats.secrets import find_secrets
from backscroll.record.content import encode, searchable
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, ToolCall, ToolResult
from backscroll.vocab.values.nesting import DEEPEST, is_deeper

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

#: Called with bytes read, bytes in total (None: unknown) and what is being read.
Progress = Callable[[int, int | None, str], None]
_SECRETS = 50
_AROUND = 10  # maximum levels of nesting that the log adds to a value
_TRIES = 20


def import_path(
    engine: EngineScope,
    path: str,
    *,
    format: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    again: bool = False,
    project: str | None = None,
) -> list[ImportReport]:
    """Import a file or folder; the format is detected from its content unless it is named."""
    source = FileSource(Path(path).expanduser(), progress, engine.settings.longest_line)
    chosen = format_named(format) if format is not None else detect(source)
    if chosen.name == "native":
        reports = import_native(engine, source, dry_run=dry_run, again=again)
        if not dry_run:
            finish_forgetting(engine, wait=True)  # a file may contain a forget
        return reports
    if chosen.read is None:
        raise FormatError(
            f"{chosen.label} can only be written, not read", hint="`backscroll import --help` lists formats"
        )
    for _ in range(_TRIES):
        try:
            return [_taken_in(engine, t, source, dry_run, again, project) for t in chosen.read(source)]
        except ImportConflict:
            continue  # what is already imported counts as unchanged the next time
    raise Conflict(
        f"others kept writing to the same conversations: {path}", hint="nothing was lost; try again"
    )


def _taken_in(
    engine: EngineScope,
    thread: ForeignThread,
    source: FileSource,
    dry_run: bool,
    again: bool,
    project: str | None,
) -> ImportReport:
    report = ImportReport(thread.format, source.path, thread.title, dry_run=dry_run)
    if thread.world:
        thread = with_user(engine, thread)
    if is_deeper(dict(thread.metadata), DEEPEST - _AROUND):
        report.problems.append(
            Problem("what the file says about the conversation is nested too deeply: left out")
        )
        thread = replace(thread, metadata={})
    arrival = Arrival(
        engine, thread, report.counts, report.notes, again=again, project=project, dry_run=dry_run
    )
    arrival.receive(_filter_items(thread.items, report))
    report.thread, report.new = arrival.thread, arrival.new
    if thread.world and not dry_run and arrival.thread is not None:
        report.counts["lore"] = tell_arrived(engine, arrival.thread, arrival.actor, thread.world)
    return report


def _filter_items(
    items: Iterable[Item], report: ImportReport
) -> Iterator[ForeignMessage | Aside | ForeignCodeChange]:
    """Pass items on; collect problems, and report what looks like a secret."""
    for item in items:
        if isinstance(item, Problem):
            report.problems.append(item)
            continue
        if isinstance(item, ForeignMessage) and (wrong := _unstorable(item)):
            report.problems.append(Problem(f"the message was left out: {wrong}", item.line))
            continue
        if isinstance(item, ForeignMessage) and len(report.secrets) < _SECRETS:
            for finding in find_secrets(searchable(item.content)):
                report.secrets.append(SecretNotice(finding.kind, finding.shown, item.line))
        yield item


def _unstorable(message: ForeignMessage) -> str:
    """Return why the log would reject a message: found beforehand, so that it does not stop all the others."""
    for content in (message.content, *message.alternatives):
        if any(is_deeper(value, DEEPEST - _AROUND) for value in _values(content)):
            try:
                encode(content)
            except InvalidInput as error:
                return error.message
    return ""


def _values(content: Content) -> Iterator[Json]:
    """Yield the values in a content that are not text."""
    if content.metadata:
        yield content.metadata
    for part in content.parts:
        if part.extra:
            yield part.extra
        if isinstance(part, ToolCall):
            yield part.arguments
        elif isinstance(part, ToolResult):
            yield from (inner.extra for inner in part.content if inner.extra)


def read_messages(path: str, format: str | None = None) -> tuple[str, list[ForeignMessage]]:
    """Return the main line of the only conversation in a file without importing it, and the name of its format."""
    source = FileSource(Path(path).expanduser())
    chosen = format_named(format) if format is not None else detect(source)
    found = list(chosen.read(source))
    if len(found) != 1:
        raise FormatError(
            f"{source.name} holds {len(found)} conversations", hint="give a file that holds one"
        )
    kept = (item for item in found[0].items if not isinstance(item, Problem))
    line = Router([]).route(kept)
    return chosen.name, [item for item in line if isinstance(item, ForeignMessage)]
