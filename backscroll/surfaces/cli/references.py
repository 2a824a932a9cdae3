"""References to threads and messages: `last`, an id prefix, a number as `show` prints it, `3f2a9c1e.17`,
or `.17` within a known thread.

Numbers count live messages from 1. Resolves a reference for the engine, or raises an error that says why it cannot.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.i18n import t
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.history import History
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread

LAST = "last"
_NUMBER = re.compile(r"#?(\d{1,10})")
_RANGE = re.compile(r"#?(\d{0,10})(?::|-|\.\.)#?(\d{0,10})")


def thread_named(engine: Engine, name: str, user: str | None = None) -> Thread:
    """Find a thread by an id prefix, or the one that changed last; with `user`, only one of this user."""
    if name != LAST:
        found = engine.thread(name)
        if user is not None and found.info.user != user:
            raise NotFound(
                t("addresses.not_of_user", id=found.id[:8], user=user),
                hint=t("addresses.not_of_user_hint", user=user),
            )
        return found
    for info in engine.threads(user=user):
        if not info.forgotten:
            return engine.thread(info.id)
    raise NotFound(t("addresses.no_threads"), hint=t("addresses.no_threads_hint"))


def message_named(engine: Engine, history: History, name: str) -> Ref:
    """Find a message by its number, its id, or `last`."""
    if name == LAST:
        return history.message(-1).id
    if found := _NUMBER.fullmatch(name):
        return _at(history, int(found[1]))
    return ref_named(engine, history, name)


def ref_named(engine: Engine, history: History, name: str) -> Ref:
    """Find a message, revision or event by its id; `.17` is short for one of this thread."""
    return engine.resolve_ref(f"{history.id}{name}" if name.startswith(".") else name)


def messages_named(engine: Engine, history: History, names: Sequence[str]) -> list[Ref]:
    """Find several messages, ranges of numbers such as 4:9 included, each once and in the order given."""
    out: dict[Ref, None] = {}
    for name in names:
        if _RANGE.fullmatch(name) and name not in {":", "-", ".."}:
            first, last = span(name)
            held = len(history)
            if (last or 0) > held or first > held:
                raise _no_number(max(first, last or 0), held)
            out.update(dict.fromkeys(m.id for m in history.messages(first - 1, last)))
        else:
            out[message_named(engine, history, name)] = None
    return list(out)


def span(text: str) -> tuple[int, int | None]:
    """Parse a range of message numbers: `4:9`, `4:`, `:9`, or one number; both ends included, counted from 1."""
    if single := _NUMBER.fullmatch(text):
        return int(single[1]), int(single[1])
    found = _RANGE.fullmatch(text)
    if found is None or not (found[1] or found[2]):
        raise InvalidInput(t("addresses.bad_range", text=text), hint=t("addresses.bad_range_hint"))
    first, last = int(found[1] or 1), int(found[2]) if found[2] else None
    if first < 1 or (last is not None and last < first):
        raise InvalidInput(t("addresses.bad_range", text=text), hint=t("addresses.bad_range_hint"))
    return first, last


def deleted_named(engine: Engine, thread: Thread, names: Sequence[str]) -> list[Ref]:
    """Find deleted messages: they have no number, so by id, or `last` for the one that was deleted last."""
    out: list[Ref] = []
    for name in names:
        if name == LAST:
            out.append(_deleted_last(thread))
        elif _NUMBER.fullmatch(name):
            raise InvalidInput(t("addresses.no_number_when_deleted"), hint=t("addresses.ids_of_deleted"))
        else:
            out.append(ref_named(engine, thread, name))
    return out


def event_number(text: str) -> int:
    """Parse an event of a thread: its number in the log, or its id."""
    number = text.rpartition(".")[2].removeprefix("#")
    if not (number.isdecimal() and number.isascii()):
        raise InvalidInput(t("addresses.bad_event", text=text), hint=t("addresses.bad_event_hint"))
    return int(number)


def _at(history: History, number: int) -> Ref:
    held = len(history)
    if not 1 <= number <= held:
        raise _no_number(number, held)
    return history.message(number - 1).id


def _no_number(number: int, held: int) -> NotFound:
    return NotFound(t("addresses.no_number", number=number), hint=t("addresses.no_number_hint", held=held))


def _deleted_last(thread: Thread) -> Ref:
    for event in thread.events(newest_first=True):
        if event.kind is Kind.DELETED and event.target is not None and thread.message(event.target).deleted:
            return event.target
    raise NotFound(t("addresses.none_deleted"))
