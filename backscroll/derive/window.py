"""The window and the delay: which turns are ready for analysis, and which are settled.

Users edit, delete and regenerate recent turns all the time, so a turn is analysed only when `processing_delay` later turns
follow the next one, and one that has left the window of the last `size` turns is pinned to the words it had
then. Both follow from the log alone: `TurnMarks` folds the events about openings of turns one by one, so a rebuild
gives the same marks. Owns no text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from backscroll.config import Settings
from backscroll.record.derived import TurnMark
from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class Window:
    """The settings of window and delay."""

    size: int = 4
    delay: int = 1
    settled_edits: str = "ignore"
    settled_deletes: str = "retract"

    @property
    def rule(self) -> str:
        """The name under which marks with these settings are stored."""
        return f"{self.size}.{self.delay}.{self.settled_edits}.{self.settled_deletes}"

    @property
    def freezes(self) -> bool:
        """True if later edits of settled turns are ignored."""
        return self.settled_edits == "ignore"

    def target(self, newest: int) -> int | None:
        """Return the turn to analyse when turn `newest` is sent; None if there is none yet."""
        turn = newest - 1 - self.delay
        return turn if turn >= 0 else None

    def span(self, newest: int) -> tuple[int, int]:
        """Return the first and last turn of the window when turn `newest` is sent."""
        return max(0, newest - self.size), max(0, newest - 1)

    def holds(self, turn: int, newest: int) -> bool:
        """Return True if changes of a turn still affect the graph."""
        return turn >= newest - self.size


def window_of(settings: Settings) -> Window:
    """Return the window for these settings."""
    return Window(
        settings.sliding_window_size,
        settings.sliding_window_processing_delay,
        settings.conflict_resolution_settled_edits,
        settings.conflict_resolution_settled_deletes,
    )


class TurnMarks:
    """The marks of a thread, folded event by event. Starting from only the newest marks, new turns can be added at the end."""

    def __init__(self, window: Window, thread: str, marks: Iterable[TurnMark] = ()) -> None:
        self.window, self.thread = window, thread
        self.changed: dict[Ref, None] = {}  # openings whose mark changed, new ones included
        self._marks: dict[Ref, TurnMark] = {}
        self._order: list[tuple[bytes, Ref]] = []  # of turns that are in the history
        self._restless: set[Ref] = set()  # turns that wait, or are not settled
        for mark in marks:
            self._marks[mark.opening] = mark
            if not mark.gone:
                insort(self._order, (mark.position, mark.opening))
                if not (mark.due and mark.pinned):
                    self._restless.add(mark.opening)

    # -- reading ---------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[TurnMark]:
        """Iterate over all marks by position, including those of turns whose opening is gone."""
        return iter(sorted(self._marks.values(), key=lambda m: (m.position, m.opening)))

    def __len__(self) -> int:
        return len(self._order)

    def get(self, opening: Ref) -> TurnMark | None:
        """Return the mark of a turn."""
        return self._marks.get(opening)

    def around(self, position: bytes) -> list[TurnMark]:
        """Return the current turn that contains a position; if it is the very beginning of one, the turn before it too."""
        high = bisect_right(self._order, (position, _LAST))
        low = bisect_left(self._order, (position, _FIRST))
        return [self._marks[opening] for _, opening in self._order[max(0, low - 1) : high]]

    def pinned_over(self, position: bytes) -> list[TurnMark]:
        """Return settled turns that contained a position when they left the window."""
        return [m for m in self._marks.values() if m.pinned and m.position <= position and position < m.ends]

    def after(self, opening: Ref) -> bytes | None:
        """Return where the turn after a turn of the history begins; None after the last one."""
        at = self._place(opening)
        return None if at is None or at + 1 >= len(self._order) else self._order[at + 1][0]

    def rank(self, opening: Ref) -> int | None:
        """Return how many turns follow a turn; None if it is not in the history."""
        at = self._place(opening)
        return None if at is None else len(self._order) - 1 - at

    def _place(self, opening: Ref) -> int | None:
        mark = self._marks.get(opening)
        if mark is None or mark.gone:
            return None
        at = bisect_left(self._order, (mark.position, opening))
        return at if at < len(self._order) and self._order[at] == (mark.position, opening) else None

    # -- events ----------------------------------------------------------------------------------------------

    def add(self, opening: Ref, position: bytes) -> None:
        """Add a turn to the history: new, restored or moved. Call `settle` after each event."""
        mark = self._marks.get(opening)
        if mark is not None and not mark.gone:
            self._take_out(mark)
        known = mark or TurnMark(self.thread, self.window.rule, opening, position)
        if (
            known.position != position
        ):  # a moved turn is another turn: with the words that it has at the new place
            known = replace(known, pinned=0, ends=b"")
        self._put(replace(known, position=position, gone=False))
        insort(self._order, (position, opening))
        self._restless.add(opening)

    def remove(self, opening: Ref) -> None:
        """Remove a turn whose opening left the history; its marks are kept in case it returns."""
        mark = self._marks.get(opening)
        if mark is None or mark.gone:
            return
        self._take_out(mark)
        self._restless.discard(opening)
        if mark.due or mark.pinned:
            self._put(replace(mark, gone=True))
        else:
            del self._marks[opening]
            self.changed[opening] = None

    def flush(self, seq: int) -> None:
        """Make every turn so far ready for analysis."""
        for opening in list(self._restless):
            mark = self._marks[opening]
            if not mark.due:
                self._put(replace(mark, due=seq))

    def content(self, opening: Ref, version: str, key: bytes, sources: tuple[Ref, ...]) -> None:
        """Record the content that the analysis of a turn depends on."""
        mark = self._marks[opening]
        if (mark.version, mark.key, mark.sources) != (version, key, sources):
            self._put(replace(mark, version=version, key=key, sources=sources))

    def settle(self, seq: int) -> None:
        """Update states after event `seq`: turns become due and settled as others follow, and reopen inside the window."""
        last = len(self._order)
        for opening in sorted(self._restless):
            mark, at = self._marks[opening], self._place(opening)
            assert at is not None
            rank = last - 1 - at
            due = mark.due or (seq if rank > self.window.delay else 0)
            out = rank > self.window.size
            pinned, ends = mark.pinned, mark.ends
            if out and not pinned:
                pinned, ends = seq, self._order[at + 1][0]
            if (due, pinned) != (mark.due, mark.pinned):
                self._put(replace(mark, due=due, pinned=pinned, ends=ends))
            if due and pinned and out:
                self._restless.discard(opening)
        for _, opening in self._order[-(self.window.size + 1) :]:
            mark = self._marks[opening]
            if mark.pinned:
                self._put(replace(mark, pinned=0, ends=b""))
            self._restless.add(opening)

    def _put(self, mark: TurnMark) -> None:
        if self._marks.get(mark.opening) != mark:
            self._marks[mark.opening] = mark
            self.changed[mark.opening] = None

    def _take_out(self, mark: TurnMark) -> None:
        at = self._place(mark.opening)
        if at is not None:
            del self._order[at]


_FIRST = Ref("", 0)
_LAST = Ref("g", 0)  # after every thread: their names are hex digits
