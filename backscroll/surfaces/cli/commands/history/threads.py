"""`threads`: list the threads of the store, the most recently changed first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from backscroll.engine.core.damage import unreadable
from backscroll.surfaces.cli.command import command, limit_option, option
from backscroll.surfaces.cli.families.overview import first_steps
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words import shapes
from backscroll.surfaces.words.conversation import kind_name, project_name, title_of

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.vocab.thread import ThreadInfo


@command(
    "threads",
    option("--project", metavar="NAME"),
    option("--user", metavar="NAME"),
    option("--kind", metavar="KIND"),
    option("--tag", metavar="TAG", multiple=True),
    limit_option(30),
)
def threads_command(
    session: CliSession,
    project: str | None,
    user: str | None,
    kind: str | None,
    tag: tuple[str, ...],
    limit: int,
) -> None:
    """List threads."""
    screen = session.screen
    if not session.has_store and not session.as_json:
        first_steps(session)
        return
    with session.engine() as engine:
        wanted = _filter_threads(engine, project, user, kind, tag)
        if screen.as_json:
            screen.json_list(shapes.of_thread(info) for info in islice(wanted, limit or None))
            return
        found = list(islice(wanted, limit + 1 if limit else None))
        lost = unreadable(engine)
    if lost:
        screen.remark(count("threads.unreadable", len(lost)), "warn")
    if not found:
        if project or user or kind or tag:
            screen.line(t("threads.none_fit"))
        else:
            first_steps(session)
        return
    more = limit and len(found) > limit
    _print(session, found[: limit or None])
    if more:
        screen.remark(t("threads.more", limit=limit), "dim")


def _filter_threads(
    engine: Engine, project: str | None, user: str | None, kind: str | None, tags: tuple[str, ...]
) -> Iterator[ThreadInfo]:
    for info in engine.threads(project=project, user=user, kind=kind):
        if set(tags) <= set(info.tags):
            yield info


def _print(session: CliSession, found: list[ThreadInfo]) -> None:
    columns = [
        Column(t("columns.id"), style="strong"),
        Column(t("columns.title"), shrinks=True),
        Column(t("columns.messages"), right=True),
        Column(t("columns.kind")),
        Column(t("columns.project"), shrinks=True, style="dim"),
        Column(t("columns.tags"), shrinks=True),
        Column(t("columns.changed"), style="dim"),
    ]
    rows = [
        (
            i.id[:8],
            ("⑂ " if i.parent else "") + title_of(i),
            str(i.messages),
            kind_name(i.kind),
            project_name(i.project),
            " ".join(f"#{tag}" for tag in i.tags),
            format_time(i.updated_at, short=True),
        )
        for i in found
    ]
    session.screen.lines(table(session.screen, columns, rows))
