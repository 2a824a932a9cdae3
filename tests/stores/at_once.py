"""Several things at once, and whether everything is sound afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable

from backscroll.engine.engine import Engine
from backscroll.engine.log.verification import verify_store

Opener = Callable[..., Engine]


def together(*work: Callable[[], object]) -> None:
    """Run several things at once, and raise what one of them raised."""
    errors: list[BaseException] = []
    gate = threading.Barrier(len(work))

    def run(one: Callable[[], object]) -> None:
        gate.wait()
        try:
            one()
        except BaseException as error:  # noqa: BLE001 - it is raised below, in the thread of the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if errors:
        raise errors[0]


def sound(engine: Engine) -> None:
    """Log, history and index of everything agree."""
    assert engine.store.read(lambda r: verify_store(r, None)).flaws == []
