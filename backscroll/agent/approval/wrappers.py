"""Commands that only run another command: `timeout 30 make test`, `nice rg x`, `bash -lc "make test"`.

Owns how many words such a wrapper takes, and the line that a shell is given. Unknown options leave the wrapper in place:
then the line is in doubt, as with every command that runs another one. `sudo` and `xargs` are looked through as well, so that rules
that forbid see the command behind them, but nothing is allowed there: the one changes rights, the other arguments. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FOLDERS = ("", "/bin/", "/usr/bin/", "/usr/local/bin/")
_SHELLS = frozenset({"sh", "bash", "dash"})
#: Shell options: exit on error, unset names are errors, a login shell, tracing; and the line itself.
_SHELL_LETTERS = frozenset("eulxc")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_NUMBER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to separate the words of a wrapper from those of the command behind it."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()  # options with a value, in the same word or the next
    first: re.Pattern[str] | None = None  # a word that must come before the command
    shorthand: re.Pattern[str] | None = None  # an option of another shape: `nice -5`
    opaque: bool = False  # the command behind it is seen, but never allowed with it


_WRAPPERS = {
    "timeout": Wrapper(
        frozenset({"--foreground", "--preserve-status", "-v", "--verbose"}),
        frozenset({"-k", "--kill-after", "-s", "--signal"}),
        first=_DURATION,
    ),
    "nice": Wrapper(valued=frozenset({"-n", "--adjustment"}), shorthand=re.compile(r"-\d+")),
    "ionice": Wrapper(frozenset({"-t"}), frozenset({"-c", "-n"})),
    "nohup": Wrapper(),
    "stdbuf": Wrapper(valued=frozenset({"-i", "-o", "-e"})),
    "time": Wrapper(frozenset({"-p"})),
    "env": Wrapper(),
    "command": Wrapper(),
    "sudo": Wrapper(
        frozenset({"-E", "-H", "-n", "-b", "-k", "-S"}),
        frozenset({"-u", "--user", "-g", "--group"}),
        opaque=True,
    ),
    "doas": Wrapper(frozenset({"-n"}), frozenset({"-u"}), opaque=True),
    "xargs": Wrapper(
        frozenset({"-0", "-r", "-t", "--null", "--no-run-if-empty"}),
        frozenset({"-n", "-P", "-I", "-L", "-d", "--max-args", "--max-procs", "--delimiter"}),
        opaque=True,
    ),
}


def match_wrapper(words: Sequence[str]) -> tuple[int, str, bool] | None:
    """Return how many words belong to a wrapper, its name, and whether nothing may be allowed behind it; None if there is no wrapper to remove."""
    name = _find_program(words[0], frozenset(_WRAPPERS))
    if name is None:
        return None
    wrapper, at = _WRAPPERS[name], 1
    while at < len(words) and words[at].startswith("-"):
        taken = _option(wrapper, words, at)
        if taken == 0:
            return None
        at += taken
    if wrapper.first is not None:
        if at >= len(words) or not wrapper.first.fullmatch(words[at]):
            return None
        at += 1
    behind = words[at] if at < len(words) else ""
    if not behind or behind.startswith("-") or "=" in behind or (name == "command" and behind == "cd"):
        return None
    return at, name, wrapper.opaque


def _option(wrapper: Wrapper, words: Sequence[str], at: int) -> int:
    """Return how many words an option of a wrapper takes; 0 for an unknown one."""
    word = words[at]
    if word in wrapper.flags or (wrapper.shorthand is not None and wrapper.shorthand.fullmatch(word)):
        return 1
    if word in wrapper.valued:
        return 2 if at + 1 < len(words) else 0
    name, mark, _ = word.partition("=")
    if mark and name.startswith("--") and name in wrapper.valued:
        return 1
    short = word[:2]
    return 1 if not word.startswith("--") and len(word) > 2 and short in wrapper.valued else 0


def line_of_shell(words: Sequence[str]) -> str | None:
    """Return the line that `sh -c LINE` runs; None for any other use of a shell."""
    if _find_program(words[0], _SHELLS) is None or len(words) < 3:
        return None
    options, line = words[1:-1], words[-1]
    pending = list(options)
    seen = False
    while pending:
        word = pending.pop(0)
        if word == "-o" and pending and pending[0] == "pipefail":
            pending.pop(0)
            continue
        letters = word.removeprefix("-")
        if not word.startswith("-") or not letters:
            return None
        if letters.endswith("o") and pending and pending[0] == "pipefail":
            pending.pop(0)
            letters = letters[:-1]
        if not set(letters) <= _SHELL_LETTERS or (seen := "c" in letters) != (not pending):
            return None  # the line directly follows the option that announces it
    return line if seen else None


def _find_program(word: str, names: frozenset[str]) -> str | None:
    """Return the name of a system program: bare, or in one of the usual folders; `./bash` could be anything."""
    folder, _, name = word.rpartition("/")
    return name if name in names and (f"{folder}/" if "/" in word else "") in _FOLDERS else None
