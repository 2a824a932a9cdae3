"""`work`: derive ahead of time, here and now, or as one of several workers on a shared store."""

from __future__ import annotations

import time

from backscroll.surfaces.cli.command import command, flag
from backscroll.surfaces.cli.session import Session
from backscroll.surfaces.i18n import count, t

_REST = 2.0  # seconds between two looks


@command("work", flag("--follow"))
def work_command(session: Session, follow: bool) -> None:
    """Bring summaries and vectors up to date."""
    from backscroll.engine.background import Worker

    screen = session.screen
    with session.engine() as engine:
        worker = Worker(engine)
        worker.run()
        if follow:
            screen.remark(t("working.following"), "dim")
            while True:
                time.sleep(_REST)
                worker.run()
        done = worker.progress
        document = {
            "threads": done.threads,
            "made": done.made,
            "failed": done.failed,
            "error": done.last_error,
        }
    if screen.as_json:
        screen.json(document)
        return
    screen.line(count("working.done", done.threads, made=done.made))
    if done.failed:
        screen.remark(count("working.failed", done.failed, error=done.last_error), "bad")
        session.exit_code = 1
