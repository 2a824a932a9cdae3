"""Export threads in other programs' formats. What a format cannot express is listed, never dropped silently."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from backscroll.engine.core.checks import checked_path
from backscroll.engine.core.history import History
from backscroll.engine.exchange.native.exports import native_lines
from backscroll.errors import FormatError, InvalidInput, StoreCorrupt, StoreError
from backscroll.formats.detection import format_named
from backscroll.formats.dialogue.reader import file_name
from backscroll.formats.shape import Format
from backscroll.record.chain import from_bytes
from backscroll.regular_files import is_special
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope


@dataclass(slots=True)
class ExportReport:
    """What was written, and what the format could not express."""

    files: list[str] = field(default_factory=list[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    text: str | None = None


def export(
    engine: EngineScope,
    threads: Sequence[str] | None,
    format: str = "native",
    target: str | None = None,
) -> ExportReport:
    """Export threads (None: all) in a format: to a file, to a folder with one file each, or as text."""
    chosen = format_named(format)
    names = None if threads is None else [engine.resolve(name) for name in threads]
    report = ExportReport()
    if chosen.name == "native":
        _deliver(
            (line + "\n" for line in native_lines(engine, names, report.problems)),
            target,
            _file_name("backscroll", chosen),
            report,
        )
        return report
    if chosen.write is None:
        raise FormatError(
            f"{chosen.label} can only be read, not written", hint="`backscroll export --help` lists formats"
        )
    every = names if names is not None else [info.id for info in engine.threads()]
    folder = target is not None and (Path(target).is_dir() or target.endswith(("/", os.sep)))
    if len(every) > 1 and not folder and target is not None:
        raise InvalidInput(
            f"{len(every)} threads do not fit one {chosen.label} file", hint="give a folder, ending in /"
        )
    for name in every:
        try:
            foreign = foreign_thread(engine, name)
        except StoreCorrupt as error:
            if names is not None:
                raise
            report.problems.append(Problem(f"the thread was left out: {error.message}", where=name[:8]))
            continue
        written = chosen.write(foreign, engine.blob)
        place = (
            str(Path(target) / _file_name(_stem(foreign, chosen), chosen)) if folder and target else target
        )
        _deliver(written.text, place, "", report)
        report.problems += [
            Problem(p.what, p.line, p.where or foreign.title or name[:8]) for p in written.problems
        ]
    return report


def _file_name(stem: str, chosen: Format) -> str:
    return stem + chosen.suffix


def _stem(foreign: ForeignThread, chosen: Format) -> str:
    """Return a readable file name that is safe on every system; the start of the id keeps it unique."""
    if chosen.name == "dialogue":
        return file_name(foreign.started or "").removesuffix(chosen.suffix)
    words = "".join(c if c.isalnum() or c in "-_ " else " " for c in foreign.title)
    short = "-".join(words.split())[:60]
    return f"{short}-{foreign.source_id[:8]}" if short else foreign.source_id[:8]


def _deliver(text: Iterable[str], target: str | None, name: str, report: ExportReport) -> None:
    if target is None:
        report.text = (report.text or "") + "".join(text)
        return
    path = Path(target)
    if path.is_dir() and name:
        path = path / name
    write_file(path, text)
    report.files.append(str(path))


def write_file(path: Path, text: Iterable[str]) -> None:
    """Write a file atomically: a reader never sees half of it. A pipe or a device is written to directly."""
    checked_path(path)
    if is_special(path):
        raise InvalidInput(
            f"not a regular file: {path}", hint="name a file, or leave the target out to print"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
                file.writelines(text)
                file.flush()
                os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            Path(temporary).chmod(
                0o666 & ~mask
            )  # mkstemp makes it private; an export follows the user's umask
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror}", hint="check the folder and its permissions"
        ) from error


def foreign_thread(engine: EngineScope, name: str) -> ForeignThread:
    """Return a thread in the form that export formats write."""
    thread = engine.thread(name)
    info = thread.info
    origin = cast("dict[str, Json]", info.metadata.get("origin") or {})
    first = next(iter(thread.messages(0, 1)), None)
    return ForeignThread(
        origin.get("format", "backscroll"),
        origin.get("id", info.id),
        _items(History(engine.store, info.id, thread.head)),
        info.title,
        info.project,
        info.kind,
        info.language,
        first.at if first is not None else info.created_at,
        {k: v for k, v in info.metadata.items() if k != "origin"},
        info.parent,
    )


def _items(history: History) -> Iterator[Item]:
    """Yield live messages in order, with asides and code changes at the places where they were logged."""
    beside = [e for e in history.events() if e.kind in (Kind.ASIDE, Kind.CODE_CHANGED) and e.body is not None]
    sources = _source_ids(history)
    beside.reverse()
    for message in history:
        while beside and beside[-1].seq < message.id.seq:
            yield _beside(beside.pop())
        yield _foreign(history, message, sources.get(message.id))
    while beside:
        yield _beside(beside.pop())


def _source_ids(history: History) -> dict[object, str]:
    return {e.id: e.head["src"] for e in history.events() if "src" in e.head}


def _beside(event: Event) -> Item:
    body = cast("dict[str, Json]", from_bytes(event.body or b"{}"))
    said = event.head.get("said")
    if event.kind is Kind.ASIDE:
        return Aside(body["kind"], body["raw"], said, body.get("src"))
    return ForeignCodeChange(body["description"], body["file"], said or event.at)


def _foreign(history: History, message: Message, source: str | None) -> ForeignMessage:
    contents: tuple[Content, ...] = ()
    times: tuple[str | None, ...] = ()
    chosen = 0
    if message.alternatives > 1:
        newest: dict[int, tuple[Content, str]] = {}
        for revision in history.revisions(message.id):
            if revision.content is not None:
                newest[revision.alternative] = (revision.content, revision.said)
        newest[message.alternative] = (message.content, message.at)
        order = sorted(newest)
        contents = tuple(newest[n][0] for n in order)
        times = tuple(newest[n][1] for n in order)
        chosen = order.index(message.alternative)
    return ForeignMessage(
        message.role,
        message.content,
        message.at,
        source,
        None,
        contents,
        times,
        chosen,
        message.hidden,
        message.pinned,
    )
