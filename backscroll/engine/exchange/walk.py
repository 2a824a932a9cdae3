"""Compare a foreign line with what an earlier import of it left.

As long as the two agree nothing is done. From the first difference on, both are aligned by `reconcile/plan` and the
differences are applied; what comes after our last message is new and goes back to `engine/exchange/arrivals` to be written.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from backscroll.engine.exchange.comparison import EarlierImport, ours_of, same_words
from backscroll.engine.log.writer import DONE, carry_out
from backscroll.reconcile.operations import (
    Ambiguity,
    Append,
    Delete,
    ForgottenNote,
    Insert,
    Operation,
    OurEntry,
)
from backscroll.reconcile.plan import plan
from backscroll.record.chain import to_bytes
from backscroll.record.history import FORGOTTEN, Entry
from backscroll.record.ports import Writer
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.pen import Pen
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.engine.exchange.lines import ImportBranch, Kept


class ImportTarget(Protocol):
    """The import that a walk is part of."""

    engine: EngineScope
    foreign: ForeignThread
    counts: Counter[str]
    notes: list[str]
    dry_run: bool

    def pen(self, tx: Writer, line: ImportBranch) -> Pen:
        """Return a pen for a line; raises ImportConflict if another process has written to it."""
        ...

    def holds(self, source_id: str) -> bool:
        """Return True if the file contains a message with that id."""
        ...

    def learn(self, line: ImportBranch, item: ForeignMessage, ref: Ref) -> None:
        """Remember where a message was written."""
        ...


class ImportWalk:
    """A foreign line beside what an earlier import of it left."""

    def __init__(
        self, arrival: ImportTarget, line: ImportBranch, side: EarlierImport, items: Iterator[Kept]
    ) -> None:
        self.arrival = arrival
        self.line = line
        self.side = side
        self.items = items
        self.at = 0
        self.last: ForeignMessage | None = None  # the newest one that was equal on both sides

    def rest(self) -> Iterator[Kept]:
        """Return what is new at the end."""
        waiting: list[Kept] = []
        for item in self.items:
            if not isinstance(item, ForeignMessage):
                if not self._seen_before(item):
                    waiting.append(item)
                continue
            entry = self._next(item)
            if entry is None:
                if self.at >= len(self.side.entries):
                    return chain(waiting, [item], self._skip_seen(self.items))
                return chain(waiting, self._align([item, *self.items]))
        if self.at < len(self.side.entries) and any(not e.flags for e in self.side.entries[self.at :]):
            return chain(waiting, self._align([]))
        return iter(waiting)

    def _skip_seen(self, items: Iterable[Kept]) -> Iterator[Kept]:
        return (item for item in items if isinstance(item, ForeignMessage) or not self._seen_before(item))

    def _seen_before(self, item: Aside | ForeignCodeChange) -> bool:
        body = to_bytes(body_of(item))
        name = hashlib.sha256(body).digest()
        if self.side.asides[name] <= 0:
            return self.side.holes.is_forgotten_line(body)
        self.side.asides[name] -= 1
        return True

    def _next(self, item: ForeignMessage) -> Entry | None:
        """Return the entry of this message if it is the next one and unchanged; else None."""
        if self.at >= len(self.side.entries):
            return None
        entry = self.side.entries[self.at]
        check = self.side.holes.check(entry.message)
        if entry.flags & FORGOTTEN:
            if check is None or not check(item):
                return None
            self.arrival.counts["forgotten_skipped"] += 1
        elif not self.arrival.engine.store.read(
            lambda reader: same_words(
                reader, entry, reader.read_spoken([entry.revision]).get(entry.revision), item
            )
        ):
            return None
        else:
            self.arrival.counts["unchanged"] += 1
        self.arrival.learn(self.line, item, entry.message)
        self.at += 1
        self.last = item
        return entry

    def _align(self, items: list[Kept]) -> Iterator[Kept]:
        """Align what is left on both sides from the first difference on, and apply the result."""
        anchor = [] if self.last is None else [self.last]  # tells the planner where the rest attaches
        theirs = [*anchor, *(item for item in items if isinstance(item, ForeignMessage))]
        arrival = self.arrival

        def work(tx: Writer) -> tuple[Counter[str], list[str], dict[int, Ref], int]:
            pen = arrival.pen(tx, self.line)
            ours: list[OurEntry] = []
            for entry in self.side.entries[self.at - len(anchor) :]:
                spoken = tx.read_spoken([entry.revision])[entry.revision]
                ours.append(ours_of(tx, entry, spoken, self.side.lineage, self.side.holes))
            todo = plan(ours, theirs, "full", complete=True)
            moved = {o.id for o in ours if any(arrival.holds(name) for name in o.source_ids)}
            steps, lost = _without_losses(todo.operations, arrival.foreign.format, moved)
            skipped = sum(isinstance(n, ForgottenNote) for n in todo.notes)
            unclear = [f"{n.what}: {n.done}" for n in todo.notes if isinstance(n, Ambiguity)]
            places = {index: ref for ref, index in todo.matched}
            counts = Counter({"forgotten_skipped": skipped, "unchanged": len(todo.matched) - len(anchor)})
            if not arrival.dry_run:
                done, added = carry_out(pen, steps)
                if steps:
                    pen.save()
                counts += done
                news = [op for op in steps if isinstance(op, Append | Insert)]
                places.update({op.theirs: added[op.new.number] for op in news if op.new.number in added})
            else:
                counts += Counter(DONE[type(op)] for op in steps)
            if lost:
                unclear.append(f"{lost} messages are no longer in the file; here they stay")
            return counts, unclear, places, pen.state.head

        before = self.line.head
        counts, unclear, places, self.line.head = arrival.engine.store.write(work)
        self.line.written |= self.line.head != before
        changed = sum(counts[k] for k in ("edited", "regenerated", "chosen", "moved", "restored"))
        counts["unchanged"] = max(0, counts["unchanged"] - changed)
        arrival.counts.update(counts)
        arrival.notes.extend(unclear)
        for index, ref in places.items():
            arrival.learn(self.line, theirs[index], ref)
        return self._skip_seen(item for item in items if not isinstance(item, ForeignMessage))


#: Tools whose files only ever grow; if such a file shrank it lost something, and we keep it.
_LOGS = frozenset({"claude-code", "codex", "cline", "aider", "gemini-cli"})


def _without_losses(
    steps: Sequence[Operation], format_name: str, moved: set[Ref]
) -> tuple[list[Operation], int]:
    """Return the operations to apply, and how many deletions were dropped because a log cannot mean them.

    What the file still has on another branch (`moved`) is not lost: it leaves this line.
    """
    if format_name not in _LOGS:
        return list(steps), 0
    kept: list[Operation] = [step for step in steps if not isinstance(step, Delete) or step.id in moved]
    return kept, len(steps) - len(kept)


def body_of(item: Aside | ForeignCodeChange) -> dict[str, Json]:
    """Return the log's body for an item that is not a message."""
    if isinstance(item, Aside):
        return {"kind": item.kind, "raw": item.raw, **({"src": item.source_id} if item.source_id else {})}
    return {"description": item.description, "file": item.file_path}
