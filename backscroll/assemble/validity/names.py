"""Valid ids of calls and names of tools on the wires.

Owns: one new id for each call whose own is invalid or was used before, always the same one for the same call, never one for
two. Not here: clocks and randomness: a new id depends on the old one and on how often it occurred before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from backscroll.assemble.validity.draft import mint_digits

_NAME_LETTERS = re.compile(r"[^a-zA-Z0-9_-]")
_NINE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

#: Any text that OpenAI's services accept.
CHAT_ID = re.compile(r".{1,40}", re.DOTALL)
RESPONSES_ID = re.compile(r".{1,64}", re.DOTALL)
PLAIN_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")


class Ids:
    """Assigns every call of a prompt an id of its own, in the order of the prompt.

    `taken` are ids reserved for later calls; without them, each id depends on the calls before it alone.
    """

    def __init__(self, allowed: re.Pattern[str], taken: Iterable[str] = ()) -> None:
        self._allowed = allowed
        self._confirm_unseen: Counter[str] = Counter()
        self._taken = {id for id in taken if allowed.fullmatch(id)}
        self._used: set[str] = set()  # ids already assigned

    def next(self, given: str) -> str:
        """Return the id for the next call with this id: its own if that is valid and unused."""
        times = self._confirm_unseen[given]
        self._confirm_unseen[given] += 1
        if times == 0 and self._allowed.fullmatch(given) and given not in self._used:
            self._used.add(given)
            return given
        attempt = 0
        while (made := self._mint_id(given, times, attempt)) in self._used or made in self._taken:
            attempt += 1
        self._used.add(made)
        return made

    def _mint_id(self, given: str, times: int, attempt: int) -> str:
        digits = mint_digits(given, str(times), *([str(attempt)] if attempt else []))
        if self._allowed is MISTRAL_ID:
            number, out = int(digits, 16), ""
            for _ in range(9):
                number, rest = divmod(number, len(_NINE))
                out += _NINE[rest]
            return out
        return f"call_{digits[:24]}"


def is_tool_name(name: str, longest: int) -> bool:
    """Return True for a valid tool name on the wires."""
    return 0 < len(name) <= longest and not _NAME_LETTERS.search(name)


def tool_name(name: str) -> str:
    """Return a valid tool name, different for different names."""
    plain = _NAME_LETTERS.sub("_", name)[:50]
    return f"{plain}_{mint_digits(name)[:8]}"
