"""`python -m backscroll.llm.scripted SCENARIO [PORT]`: a scripted model for any client, until it is interrupted."""

from __future__ import annotations

import sys

from backscroll.errors import BackscrollError
from backscroll.llm.scripted.scenario import load_scenario
from backscroll.llm.scripted.server import ScriptedServer

_USAGE = "usage: python -m backscroll.llm.scripted SCENARIO [PORT]"


def main(arguments: list[str]) -> int:
    """Serve a scenario; gives the exit code."""
    if not 1 <= len(arguments) <= 2 or not (arguments[1:] or ["0"])[0].isdecimal():
        sys.stderr.write(f"{_USAGE}\n")
        return 2
    try:
        server = ScriptedServer(load_scenario(arguments[0]), port=int((arguments[1:] or ["0"])[0]))
    except (BackscrollError, OSError, OverflowError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    try:
        server.serve()
    except KeyboardInterrupt:
        return 0
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
