"""Import one foreign conversation: route its items into lines, compare them, write them in batches."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

from backscroll.engine.core.history import History
from backscroll.engine.core.pen import Pen
from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.exchange.comparison import EarlierImport, hash_media, imported_side
from backscroll.engine.exchange.lines import ImportBranch, Kept, Router
from backscroll.engine.exchange.walk import ImportWalk, body_of
from backscroll.engine.log import operations
from backscroll.engine.log.batch import speech_of
from backscroll.engine.log.forks import begin_fork
from backscroll.engine.log.writer import add_message
from backscroll.record.content import digest
from backscroll.record.ports import Reader, ThreadState, Writer
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.event import Kind
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_BATCH = 400  # items in one transaction
_WEIGHT = 4_000_000  # or about this many characters


class ImportConflict(Exception):
    """Another process wrote to the conversation while it was being imported."""


def origin_key(format_name: str, source_id: str) -> bytes:
    """Return the key by which a store remembers the origin of a thread; it reveals nothing about it."""
    return hashlib.sha256(
        f"backscroll/origin\0{format_name}\0{source_id}".encode("utf-8", "surrogatepass")
    ).digest()


class Arrival:
    """Receives the items of one foreign conversation."""

    def __init__(
        self,
        engine: EngineScope,
        foreign: ForeignThread,
        counts: Counter[str],
        notes: list[str],
        *,
        again: bool,
        project: str | None,
        dry_run: bool,
    ) -> None:
        self.engine = engine
        self.foreign = foreign
        self.counts = counts
        self.notes = notes
        self.again = again
        self.project = project
        self.dry_run = dry_run
        self.actor = f"import:{foreign.format}"
        self.thread: str | None = None
        self.new = False
        self._router = Router(notes)

    # -- routing ---------------------------------------------------------------------------------------------

    def receive(self, items: Iterator[Kept]) -> None:
        """Import all items: the main line as they arrive, branches when they are complete."""
        main, branches = self._router.main, self._router.branches
        key = origin_key(self.foreign.format, self.foreign.source_id)
        known = self.engine.store.read(lambda reader: reader.origin(key))
        if known is not None and self._is_forgotten(known):
            if not self.again:
                self.counts["forgotten_skipped"] = sum(
                    1 for item in items if isinstance(item, ForeignMessage)
                )
                self.notes.append("this conversation was forgotten on purpose; nothing was brought back")
                return
            known = None
        self._take(main, self._router.route(items), known, key)
        for branch in branches:
            name = f"{self.foreign.source_id}#{branch.leaves_at}#{_first_name(branch)}"
            branch_key = origin_key(self.foreign.format, name)
            held = self.engine.store.read(lambda reader, k=branch_key: reader.origin(k))
            self._take(branch, iter(branch.items), held, branch_key)
        if branches:
            self.counts["branches"] = len(branches)
        self.thread = main.thread
        for line in (main, *branches):
            if line.written and line.thread is not None:
                self.engine.notify_change(ThreadScope(self.engine, line.thread, self.actor))

    def _is_forgotten(self, thread: str) -> bool:
        state = self.engine.store.read(lambda reader: reader.thread(thread))
        return state is not None and state.forgotten

    # -- one line --------------------------------------------------------------------------------------------

    def _take(self, line: ImportBranch, items: Iterator[Kept], known: str | None, key: bytes) -> None:
        if known is not None:
            line.thread = known
            items = self._past_the_known(line, items)
        elif self.dry_run:
            self.new |= line.number == 0
        else:
            first = list(islice(items, 1))
            if not first:
                return  # a session without messages
            items = self._begin(line, key, first, items)
            self.new |= line.number == 0
        for batch in _batches(items):
            self._write(line, batch)

    def _begin(
        self, line: ImportBranch, key: bytes, first: list[Kept], items: Iterator[Kept]
    ) -> Iterator[Kept]:
        """Create or find the thread of a line; return the items that are still to be written."""
        foreign = self.foreign
        origin: dict[str, Json] = {"format": foreign.format, "id": foreign.source_id}
        metadata = {**foreign.metadata, "origin": origin}
        started = foreign.started or next((i.at for i in first if i.at), None)
        shared, items = self._shared_past(line, chain(first, items))

        def work(tx: Writer) -> ThreadState:
            if tx.origin(key) is not None and not self.again:
                raise ImportConflict
            if line.parent is not None and line.parent.thread is not None:
                made = self._fork(tx, line)
            elif shared is not None:
                state = tx.lock_thread(shared[0])
                if state is None:
                    raise LookupError(f"the thread of an origin is missing: {shared[0]}")
                pen = begin_fork(
                    tx, self.engine.means, state, shared[2], shared[1], foreign.title, self.actor
                )
                operations.describe(pen, {"metadata": metadata})
                made = pen.save()
            else:
                project = self.project if self.project is not None else foreign.project
                about = ThreadDescription(
                    foreign.title,
                    project,
                    foreign.kind,
                    foreign.language,
                    (),
                    metadata,
                    self.engine.settings.user,
                )
                made = self.engine.begin(tx, about, self.actor, said=started).state
            tx.set_origin(key, made.id)
            return made

        state = self.engine.store.write(work)
        line.thread, line.head = state.id, state.head
        return items

    def _shared_past(
        self, line: ImportBranch, items: Iterator[Kept]
    ) -> tuple[tuple[str, Ref, bytes] | None, Iterator[Kept]]:
        """Find what a branch in a file shares with its original in the store: the last common message, and the remaining items."""
        name = self.foreign.forked_from
        parent = (
            self.engine.store.read(lambda reader: reader.origin(origin_key(self.foreign.format, name)))
            if name and line.number == 0
            else None
        )
        if parent is None or self._is_forgotten(parent):
            return None, items
        beside: list[Kept] = []
        last: tuple[str, Ref, bytes] | None = None
        ours = iter(History(self.engine.store, parent))
        for item in items:
            if not isinstance(item, ForeignMessage):
                beside.append(item)
                continue
            mine = next(ours, None)
            if mine is None or mine.digest != digest(item.role, hash_media(item.content)).hex():
                return last, chain(beside, [item], items)
            self.counts["unchanged"] += 1
            self.learn(line, item, mine.id)
            last = (parent, mine.id, mine.position)
        return last, iter(beside)

    def _fork(self, tx: Writer, line: ImportBranch) -> ThreadState:
        """Return a branch as a fork of the line it leaves, at the message where it leaves."""
        parent = line.parent
        assert parent is not None
        found = parent.place(line.leaves_at or "")
        holder = found[0] if found else parent
        state = tx.lock_thread(holder.thread or "")
        if state is None:
            raise LookupError(f"the thread of a branch is missing: {holder.thread}")
        at = found[1] if found else None
        entry = None if at is None else Pen(tx, state.id, self.engine.means, self.actor).entry(at)
        position = b"" if line.leaves_at == "" else None if entry is None else entry.position
        title = f"{self.foreign.title} ({line.number + 1})" if self.foreign.title else None
        return begin_fork(tx, self.engine.means, state, position, at, title, self.actor).state

    def _write(self, line: ImportBranch, batch: list[Kept]) -> None:
        for item in batch:
            self.counts[_COUNTED[type(item)]] += 1
            if isinstance(item, ForeignMessage) and len(item.alternatives) > 1:
                self.counts["alternatives"] += len(item.alternatives) - 1
        if self.dry_run or line.thread is None:
            return

        def work(tx: Writer) -> tuple[dict[str, Ref], int]:
            pen = self.pen(tx, line)
            places: dict[str, Ref] = {}
            for plain, run in groupby(batch, _is_plain):
                items = list(run)
                refs = _put_all(pen, items) if plain else [(item, _put(pen, item)) for item in items]
                for item, ref in refs:
                    if isinstance(item, ForeignMessage) and item.source_id is not None and ref is not None:
                        places[item.source_id] = ref
            return places, pen.save().head

        places, line.head = self.engine.store.write(work)
        line.written = True
        line.places.update(places)

    def pen(self, tx: Writer, line: ImportBranch) -> Pen:
        """Return a pen for a line; raises ImportConflict if another process has written to it since we read it."""
        pen = Pen(tx, line.thread or "", self.engine.means, self.actor)
        if line.head is not None and pen.state.head != line.head:
            raise ImportConflict
        return pen

    # -- a line that exists already --------------------------------------------------------------------------

    def _past_the_known(self, line: ImportBranch, items: Iterator[Kept]) -> Iterator[Kept]:
        """Walk along what the last import left and apply differences; return the items that come after it."""
        name = line.thread or ""
        side = self.engine.store.read(lambda reader: _side(reader, name, self.actor, whole=line.number == 0))
        line.head = side.head
        return ImportWalk(self, line, side, items).rest()

    def holds(self, source_id: str) -> bool:
        """Return True if the file contains a message with that id, on any line."""
        return source_id in self._router.owner

    def learn(self, line: ImportBranch, item: ForeignMessage, ref: Ref) -> None:
        """Remember where a message was written."""
        if item.source_id is not None:
            line.places[item.source_id] = ref


_COUNTED = {ForeignMessage: "added", Aside: "asides", ForeignCodeChange: "code_changes"}


def _side(reader: Reader, thread: str, actor: str, *, whole: bool) -> EarlierImport:
    state = reader.thread(thread)
    if state is None:
        raise LookupError(f"the thread of an origin is missing: {thread}")
    return imported_side(reader, state, actor, whole=whole)


def _is_plain(item: Kept) -> bool:
    """Return True for a message that is one event."""
    return isinstance(item, ForeignMessage) and len(item.alternatives) < 2


def _put_all(pen: Pen, items: Iterable[Kept]) -> list[tuple[Kept, Ref | None]]:
    """Write a run of messages, each as one event."""
    messages = [item for item in items if isinstance(item, ForeignMessage)]
    written = pen.append_all([speech_of(message) for message in messages], wait=False)
    return [(message, event.id) for message, (event, _) in zip(messages, written, strict=True)]


def _put(pen: Pen, item: Kept) -> Ref | None:
    """Write one item."""
    if isinstance(item, ForeignMessage):
        return add_message(pen, item)
    if isinstance(item, ForeignCodeChange):
        operations.code_change(pen, item.description, item.file_path, said=item.at)
        return None
    head = {"kind": item.kind, **({"said": item.at} if item.at else {})}
    pen.write(Kind.ASIDE, head=head, body=body_of(item))
    return None


def _first_name(branch: ImportBranch) -> str:
    """Return what distinguishes two branches at the same message."""
    for item in branch.items:
        if isinstance(item, ForeignMessage):
            return item.source_id or digest(item.role, hash_media(item.content)).hex()
    return ""


def _batches(items: Iterable[Kept]) -> Iterator[list[Kept]]:
    batch: list[Kept] = []
    weight = 0
    for item in items:
        batch.append(item)
        weight += _weight(item)
        if len(batch) >= _BATCH or weight >= _WEIGHT:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _weight(item: Kept) -> int:
    if isinstance(item, ForeignMessage):
        return len(item.content.text)
    return len(item.raw) if isinstance(item, Aside) else len(item.description)
