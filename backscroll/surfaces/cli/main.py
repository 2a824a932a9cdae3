"""The entry point: chooses the language, answers `--help` and `--version`, and leaves the rest to `surfaces/cli/runner`.

`--help` and `--version` alone need no command and no library. Everything else loads what it needs.
"""

from __future__ import annotations

import io
import os
import sys

from backscroll.surfaces import i18n
from backscroll.surfaces.cli.language import choose_language
from backscroll.surfaces.garbage import pause_collection

_QUICK = ({"--help"}, {"-h"}, {"--version"})


def main() -> None:
    """Run the `backscroll` command."""
    pause_collection()
    arguments = sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal's encoding lacks become escapes instead of a crash.
            stream.reconfigure(errors="backslashreplace")
    i18n.use(choose_language(arguments, os.environ))
    if _plain(arguments) in _QUICK and "_BACKSCROLL_COMPLETE" not in os.environ:
        sys.stdout.write(_quick_answer(arguments))
        code = 0
    else:
        # start-up: not needed for the quick answers
        from backscroll.surfaces.cli.runner import run

        code = run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # start-up: as above
        from backscroll.surfaces.cli.runner import closed_pipe

        code = closed_pipe()
    sys.exit(code)


def _plain(arguments: list[str]) -> set[str]:
    """Return the arguments without a valid choice of language."""
    asked = i18n.asked_for(arguments)
    if asked is None or i18n.find_language(asked) is None:
        return set(arguments)
    return set(arguments) - {"--lang", asked, f"--lang={asked}"}


def _quick_answer(arguments: list[str]) -> str:
    if "--version" in arguments:
        # start-up: not needed for the help page
        from backscroll import __version__

        return f"backscroll {__version__}\n"
    # start-up: for the help page alone
    from backscroll.surfaces.cli.help_page import of_program

    return of_program()
