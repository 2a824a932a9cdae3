"""`learned`: what was requested again after it had been condensed, and the resulting weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time

if TYPE_CHECKING:
    from backscroll.engine.inputs.lessons import FeatureWorth


@command("learned", thread_argument(required=False), flag("--reset"), flag("--all", "everything"))
def learned_command(session: CliSession, thread: str | None, reset: bool, everything: bool) -> None:
    """Show what was learned, or reset it."""
    # start-up: loaded when the command runs
    from backscroll.engine.inputs import lessons as learning

    if reset and everything == (thread is not None):
        raise InvalidInput(t("learned.which"), hint=t("learned.which_hint"))
    with session.engine() as engine:
        wanted = None if thread is None else thread_named(engine, thread).id
        if reset:
            gone = learning.reset(engine, wanted)
            if session.as_json:
                session.screen.json({"dropped": gone})
            else:
                session.screen.line(count("learned.dropped", gone))
            return
        rows = learning.list_lessons(engine, wanted)
    if session.as_json:
        session.screen.json(
            [{"feature": r.feature, "weight": r.weight, "lessons": r.lessons, "last": r.last} for r in rows]
        )
    elif not rows:
        session.screen.line(t("learned.nothing"))
    else:
        _print(session, rows)


def _print(session: CliSession, rows: list[FeatureWorth]) -> None:
    columns = [
        Column(t("learned.feature"), shrinks=True),
        Column(t("learned.weight"), right=True),
        Column(t("learned.lessons"), right=True),
        Column(t("learned.last"), style="dim"),
    ]
    cells = [[r.feature, f"×{r.weight:.2f}", str(r.lessons), format_time(r.last)] for r in rows]
    session.screen.lines(table(session.screen, columns, cells))
