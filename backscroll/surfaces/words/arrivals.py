"""The report of an import: a table of conversations, then problems with their lines, then secrets, masked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import count, find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.screen import Screen
from backscroll.surfaces.screen.table import Column, table

if TYPE_CHECKING:
    from backscroll.engine.exchange.imports import ImportReport
    from backscroll.vocab.foreign import Problem
    from backscroll.vocab.part import Json

#: Counts in the order in which they are reported; unchanged items come last.
ORDER = (
    "added", "inserted", "edited", "regenerated", "alternatives", "chosen", "deleted", "restored", "moved", "hidden",
    "unhidden", "branches", "asides", "code_changes", "lore", "forgotten_skipped", "unchanged",
)  # fmt: skip
_SHOWN = 20
_PLACES = 4


def select_nonzero(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that are not zero, in order, under their stable names."""
    known = {name: counts[name] for name in ORDER if counts.get(name)}
    return known | {name: number for name, number in counts.items() if number and name not in known}


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts as text."""
    said = [
        count(f"counts.{name}", number) if find(f"counts.{name}.other") else f"{name} {number}"
        for name, number in select_nonzero(counts).items()
    ]
    return t("words.comma").join(said) or t("importing.nothing")


def shape(report: ImportReport) -> dict[str, Json]:
    """Return a report as JSON."""
    return {
        "thread": report.thread,
        "title": report.title,
        "format": report.format,
        "source": report.source,
        "new": report.new,
        "dry_run": report.dry_run,
        "counts": select_nonzero(report.counts),
        "notes": [say(note) for note in report.notes],
        "problems": [problem_shape(problem) for problem in report.problems],
        "secrets": [{"kind": s.kind, "shown": s.shown, "line": s.line} for s in report.secrets],
    }


def problem_shape(problem: Problem) -> dict[str, Json]:
    """Return a problem as JSON."""
    return {"what": say(problem.what), "line": problem.line, "where": say(problem.where)}


def summary(screen: Screen, reports: Sequence[ImportReport]) -> Iterator[str]:
    """Yield the table of what was imported."""
    columns = [
        Column(t("columns.id"), style="strong"),
        Column(t("columns.title"), shrinks=True),
        Column(t("columns.format"), style="dim"),
        Column(t("columns.came_in"), shrinks=True),
    ]
    rows = [
        (
            (report.thread or t("importing.no_id"))[:8],
            report.title or t("words.untitled"),
            report.format,
            ("" if report.new else t("importing.known") + " ") + in_words(report.counts),
        )
        for report in reports
    ]
    yield from table(screen, columns, rows)


def remarks(screen: Screen, reports: Sequence[ImportReport]) -> None:
    """Print notes, problems and secrets, beside the result."""
    for report in reports:
        for note in report.notes:
            screen.remark(f"  {one_line(say(note))}", "dim")
    problems = [(report.source, problem) for report in reports for problem in report.problems]
    if problems:
        screen.remark("\n" + count("importing.problems", len(problems)), "warn")
        for line in problem_lines((PurePath(source).name, problem) for source, problem in problems):
            screen.remark(f"  {line}")
    secrets = [(report.source, secret) for report in reports for secret in report.secrets]
    if secrets:
        screen.remark("\n" + count("importing.secrets", len(secrets)), "warn")
        for source, secret in secrets[:_SHOWN]:
            line = "" if secret.line is None else ":" + str(secret.line)
            screen.remark(
                f"  {one_line(PurePath(source).name)}{line}  {secret.kind}  {one_line(secret.shown)}"
            )
        if len(secrets) > _SHOWN:
            screen.remark("  " + t("importing.and_more", n=len(secrets) - _SHOWN), "dim")
        screen.remark("  " + t("importing.secrets_hint"))


def problem_lines(problems: Iterable[tuple[str, Problem]]) -> Iterator[str]:
    """Yield problems with their places, each sentence once; the file is named if a problem has no other place."""
    places: dict[str, list[str]] = {}
    for name, problem in problems:
        where = one_line(say(problem.where) or name)
        if problem.line is not None:
            where += f":{problem.line}"
        places.setdefault(one_line(say(problem.what)), []).append(where)
    for index, (text, found) in enumerate(places.items()):
        if index == _SHOWN:
            yield t("importing.and_more", n=len(places) - _SHOWN)
            return
        named = t("words.comma").join(dict.fromkeys(filter(None, found[:_PLACES])))
        more = t("importing.more_places", n=len(found) - _PLACES) if len(found) > _PLACES else ""
        yield f"{named}{more}  {text}" if named else text
