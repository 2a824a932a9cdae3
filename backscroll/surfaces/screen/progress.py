"""A progress bar on standard error for long operations; none for short ones, or without a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.screen.plain import one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_QUIET = 0.5  # seconds during which nothing is shown


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Call it with the work done, the total (None: unknown) and the current item."""

    def __init__(self, *, wanted: bool = True) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._label = ""

    def __call__(self, done: int, total: int | None = None, label: str = "") -> None:
        """Show the progress."""
        if not self._wanted or time.monotonic() - self._began < _QUIET:
            return
        if self._progress is None:
            self._progress = _create_progress()
            self._progress.start()
        if self._task is None or label != self._label:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._label = label
            self._task = self._progress.add_task(cut(one_line(label), 30), total=total)
        self._progress.update(self._task, completed=done, total=total)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar from the screen."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _create_progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    # Labels are file names: they must not be interpreted as markup.
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
