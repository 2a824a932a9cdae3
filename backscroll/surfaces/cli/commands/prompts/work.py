"""`work`: derive ahead of time, here and now, or as one of several workers on a shared store."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from backscroll.surfaces.cli.command import command, flag
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.receipts import number
from backscroll.surfaces.screen.plain import one_line

if TYPE_CHECKING:
    from backscroll.engine.background.worker import Worker
    from backscroll.engine.core.pacing import Progress

_REST = 2.0  # seconds between two polls


@command("work", flag("--follow"))
def work_command(session: CliSession, follow: bool) -> None:
    """Bring summaries and vectors up to date."""
    # start-up: loaded when the command runs
    from backscroll.engine.background.worker import Worker

    with session.engine() as engine:
        worker = Worker(engine, models=True)
        try:
            worker.run()
            if follow:
                _follow(session, worker)
        finally:
            worker.stop()  # the next worker need not wait for the leases held here
        _say(session, worker.progress)


def _follow(session: CliSession, worker: Worker) -> None:
    """Work until interrupted; report each time something was done."""
    session.screen.remark(t("working.following"), "dim")
    told = 0
    while True:
        if worker.progress.threads + worker.progress.failed > told:
            told = worker.progress.threads + worker.progress.failed
            session.screen.remark(_words(worker.progress), "dim")
        time.sleep(_REST)
        worker.run()


def _words(done: Progress) -> str:
    return count("working.done", done.threads, made=number(done.made))


def _say(session: CliSession, done: Progress) -> None:
    screen = session.screen
    if done.failed:
        session.exit_code = 1
    if screen.as_json:
        screen.json(asdict(done))
        return
    screen.line(_words(done))
    if done.failed:
        screen.remark(count("working.failed", done.failed, error=one_line(say(done.last_error))), "bad")
