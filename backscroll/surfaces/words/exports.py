"""The output of an export, as text, as JSON, or the exported text itself; shared by every command that exports."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.words.arrivals import problem_lines, problem_shape

if TYPE_CHECKING:
    from backscroll.engine.exchange.exports import ExportReport
    from backscroll.surfaces.screen.screen import Screen


def say_export(screen: Screen, report: ExportReport, format: str) -> None:
    """Print what was exported, or report where it was written."""
    if screen.as_json:
        screen.json(
            {
                "format": format,
                "files": report.files,
                "problems": [problem_shape(problem) for problem in report.problems],
                "text": report.text,
            }
        )
        return
    if report.text is not None:
        # A file or a program gets the text as it is; a terminal must not execute what is in it.
        if screen.terminal:
            screen.raw(safe(report.text))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(report.text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    for name in report.files:
        screen.line(t("exporting.wrote", path=one_line(name)))
    if report.problems:
        screen.remark(count("exporting.unsaid", len(report.problems)), "warn")
        for line in problem_lines(("", problem) for problem in report.problems):
            screen.remark(f"  {line}")
