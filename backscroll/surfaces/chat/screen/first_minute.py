"""First-minute hints, one at a time, for a user whose store is still empty.

Owns which hint comes when: one at the beginning, one after each of the first turns, then never again. No hint requires
an action, and none is shown twice. Refuses: everything that is not a hint.
"""

from __future__ import annotations

from backscroll.surfaces.i18n import t

#: After the welcome: one hint after every turn.
HINTS = ("context", "command", "mention", "task", "more")


class FirstMinute:
    """The hints that were not shown yet."""

    def __init__(self, *, new: bool) -> None:
        self._get_remaining_pause = list(HINTS) if new else []
        self._new = new

    def welcome(self, *, offline: bool) -> list[str]:
        """Return the hints for the beginning."""
        if not self._new:
            return []
        return [t("chat.first_welcome"), t("chat.first_offline") if offline else t("chat.first_ask")]

    def after_turn(self) -> str:
        """Return the next hint; empty if all were shown."""
        return t(f"chat.first_{self._get_remaining_pause.pop(0)}") if self._get_remaining_pause else ""
