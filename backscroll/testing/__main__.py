"""Serve a scripted model until interrupted: `python -m backscroll.testing SCENARIO [PORT] [--log FILE]`."""

from __future__ import annotations

import sys

from backscroll.errors import BackscrollError
from backscroll.testing.scenario import load_scenario
from backscroll.testing.server import ScriptedServer

_USAGE = "usage: python -m backscroll.testing SCENARIO [PORT] [--log FILE]"
_FLAWED = 3


def main(arguments: list[str]) -> int:
    """Serve a scenario; return the exit code: 3 if prompts were flawed."""
    given = list(arguments)
    if given[:1] in (["--help"], ["-h"]):
        sys.stdout.write(f"{_USAGE}\n")
        return 0
    log: str | None = None
    if "--log" in given[:-1]:
        at = given.index("--log")
        log = given[at + 1]
        del given[at : at + 2]
    if not 1 <= len(given) <= 2 or not (given[1:] or ["0"])[0].isdecimal():
        sys.stderr.write(f"{_USAGE}\n")
        return 2
    try:
        server = ScriptedServer(load_scenario(given[0]), port=int((given[1:] or ["0"])[0]), log=log)
    except (BackscrollError, OSError, OverflowError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    try:
        server.serve()
    except KeyboardInterrupt:
        for flaw in server.flaws:
            sys.stderr.write(f"{flaw}\n")
        return _FLAWED if server.flaws else 0
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
