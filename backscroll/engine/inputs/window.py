"""The window of a prompt: visible messages, read back from the end as far as a budget can need them.

Cropped messages are skipped, long runs of them at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from backscroll.assemble.compaction.marks import cap
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.inputs.changes import CropMark
from backscroll.engine.inputs.rows import Row, RowCaches, Sized, Strides, Telling, WindowRows
from backscroll.record.history import FORGOTTEN, HIDDEN, Entry
from backscroll.record.ports import RevisionBody
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import ToolCall, ToolResult

_PAGE = 256
#: How many times the tokens that fit are read, if there are more: a compaction needs a choice.
PLENTY = 1.25


class InputWindow:
    """Reads back from the end."""

    def __init__(
        self,
        view: View,
        crops: Sequence[CropMark],
        strides: Strides,
        told: Telling,
        kept: RowCaches | None = None,
        without: Collection[Ref] = (),
    ) -> None:
        self.view, self.crops, self._told, self.strides = view, crops, told, strides
        self.without = without  # treated as if they did not exist yet
        self.kept = kept or RowCaches({}, "")
        self.sizes: dict[Ref, int] = {}

    def measure_messages(self, rows: Sequence[Row]) -> list[Sized]:
        """Return rows as messages, with their tokens."""
        found = self._told(rows)
        self.sizes.update((message.revision, tokens) for message, tokens in found)
        return found

    def read(
        self, after: bytes | None, room: float, known: int = 0, deep: float = 0.0
    ) -> tuple[list[Message], bytes | None, bool]:
        """Return visible messages in order, the position before them, and whether `after` was reached.

        What existed at event `known` is shown condensed, so more of it may be read: up to `deep`. A giant result counts as
        what the next compaction may leave of it: otherwise one step of parallel reads would push everything condensed
        before it out of the window. The newest reply is always read, with all of its results.
        """
        giant = cap(int(room / PLENTY), 0)
        newest = room / PLENTY / 2  # upper limit for the results of the newest reply, all together
        out: list[Message] = []  # newest first
        waiting: set[str] = set()  # calls whose results were read before the calls themselves
        fresh, old, replied = 0.0, 0, False
        rows = WindowRows(self.view, self._told, self.visible, self.strides)
        for message, tokens in rows.back(after, self.kept):
            full = fresh > room or old > deep
            far = replied and (fresh > 2 * room or old > 2 * deep)
            if full and (not waiting or far):  # no result without its call
                return list(reversed(out)), message.position, False
            out.append(message)
            self.sizes[message.revision] = tokens
            waiting.update(p.call_id for p in message.parts if isinstance(p, ToolResult))
            waiting.difference_update(p.id for p in message.parts if isinstance(p, ToolCall))
            replied = replied or message.role == "assistant"
            if message.role == "tool" and not replied:
                left = min(tokens, newest)
                fresh, newest = fresh + left, newest - left
            elif message.id.seq < known:
                old += tokens
            else:
                left = min(tokens, giant) if message.role == "tool" else tokens
                fresh, old = fresh + left, old + tokens - left
        return list(reversed(out)), after, True

    def visible(self, entry: Entry, spoken: RevisionBody) -> bool:
        """Return False for what no prompt shows."""
        if entry.flags & (HIDDEN | FORGOTTEN) or spoken.body is None or entry.message in self.without:
            return False
        return not any(crop.holds(entry.message) for crop in self.crops)

    def visible_message(self, ref: Ref) -> Message | None:
        """Return a message by its id; None if it is deleted, or no prompt shows it."""
        entry = self.view.entry(ref)
        if entry is None or not entry.live:
            return None
        spoken = self.view.reader.read_spoken([entry.revision]).get(entry.revision)
        return None if spoken is None or not self.visible(entry, spoken) else message_of(entry, spoken)

    def turn_before(self, before: bytes | None) -> Iterator[Message]:
        """Yield the visible messages before a position, newest first, back to the last user message."""
        while rows := self.view.page(_PAGE, before=before, newest_first=True):
            for message, _ in self.measure_messages([row for row in rows if self.visible(*row)]):
                if is_spoken_by_user(message):
                    return
                yield message
            before = rows[-1][0].position

    def asked_before(self, before: bytes) -> Message | None:
        """Return the user's newest message before a position: a long turn may begin far before the window."""
        while rows := self.view.page(_PAGE, before=before, newest_first=True):
            for row in rows:
                if (
                    row[0].role == "user"
                    and self.visible(*row)
                    and is_spoken_by_user(found := message_of(*row))
                ):
                    return found
            before = rows[-1][0].position
        return None
