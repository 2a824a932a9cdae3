"""`config key`: keys in the system's keyring. Read without echo or from a pipe, never given on the command line, never shown."""

from __future__ import annotations

import sys

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.words.done import report_result

_ACTIONS = ("list", "set", "remove")
_LONGEST = 20_000


def key_action(session: CliSession, action: str, name: str | None) -> None:
    """Run one of the actions on keys."""
    if action not in _ACTIONS or (name is None) != (action == "list"):
        raise InvalidInput(t("configuring.key_use"), hint=t("configuring.key_use_hint"))
    # start-up: loaded when the command runs
    from backscroll.llm.keys import check_safe, names, remove_key, store_key

    if action == "list":
        found = names()
        report_result(session.screen, {"keys": found}, "\n".join(found) or t("configuring.no_keys"))
    elif action == "set":
        check_safe()
        store_key(name or "", _read_key(session, name or ""))
        report_result(session.screen, {"name": name, "stored": True}, t("configuring.key_stored", name=name))
    else:
        gone = remove_key(name or "")
        key = "configuring.key_removed" if gone else "configuring.key_not_there"
        report_result(session.screen, {"name": name, "removed": gone}, t(key, name=name))


def _read_key(session: CliSession, name: str) -> str:
    """Read the key from the keyboard without echo; or from a pipe, which keeps it out of the shell history."""
    if session.screen.can_ask:
        import getpass

        return getpass.getpass(t("configuring.ask_key", name=name), stream=sys.stderr)
    if sys.stdin.isatty():
        raise InvalidInput(t("configuring.key_use"), hint=t("configuring.key_use_hint"))
    return sys.stdin.readline(_LONGEST)
