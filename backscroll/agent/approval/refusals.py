"""Refused calls: recognising repeats, and the text that the model reads.

Owns fingerprints of calls, finding an earlier refusal in the history, and the text of a refusal. A refusal is a message of role
`tool` whose `Content.metadata["act"]` says `refused` (the reason) and `fingerprint`; one that was deleted or undone no longer
counts. Refuses: asking (`agent/approval/approval`).
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from backscroll.engine.core.history import message_of
from backscroll.vocab.event import BESIDE, Kind
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.lineage import View
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread

#: Metadata key of a message about a call; only the agent reads it.
ACT = "act"
_COMMAND = "command"
_PAGE = 200
_FEW = 8  # first page of an incremental read: about what a step adds
_PAGES = 5  # older refusals are ignored: a person would have forgotten them too
_CARRIERS = ("sudo", "command", "env", "nohup", "time", "exec")
_MARK = b'"refused"'
#: Events that are frequent while an agent works and change no message.
_QUIET = BESIDE | {Kind.COMPACTED, Kind.CODE_CHANGED}


# -- recognising -------------------------------------------------------------------------------------------------


def fingerprint(tool: str, arguments: Mapping[str, Json] | str) -> str:
    """Return a short name of a call. The part before the dot is the exact call (except for blanks in a command), the part after
    it, where there is one, all commands like it: the same words in the same order, whatever the options."""
    known = _arguments(arguments)
    exact = _hash([tool, {key: _calm(key, value) for key, value in known.items()}])[:16]
    alike = _alike(known.get(_COMMAND))
    return f"{exact}.{_hash([tool, alike])[:12]}" if alike else exact


def same(one: str, other: str) -> bool:
    """Return True if two fingerprints are of the same call, or of nearly identical commands."""
    if not one or not other:
        return False
    (exact, _, alike), (exact_other, _, alike_other) = one.partition("."), other.partition(".")
    return exact == exact_other or (bool(alike) and alike == alike_other)


def _arguments(given: Mapping[str, Json] | str) -> Mapping[str, Json]:
    if not isinstance(given, str):
        return given
    try:
        read: Json = json.loads(given)
    except (ValueError, RecursionError):
        return {"": given}
    return cast("Mapping[str, Json]", read) if isinstance(read, dict) else {"": read}


def _calm(key: str, value: Json) -> Json:
    return " ".join(value.split()) if key == _COMMAND and isinstance(value, str) else value


def _alike(command: Json) -> list[str]:
    """Return the words of a command without its options; empty if there are too few to distinguish commands."""
    if not isinstance(command, str):
        return []
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    plain = [word for word in words if not word.startswith("-")]
    while plain and plain[0] in _CARRIERS:
        plain.pop(0)
    return plain if len(plain) > 1 else []


def _hash(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()


# -- finding -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _RefusalRecord:
    fingerprint: str
    reason: str


@dataclass(frozen=True, slots=True)
class _RefusalCache:
    """The refusals found up to an event of a thread."""

    head: int
    found: tuple[tuple[int, _RefusalRecord], ...]  # newest first, with the messages after each


#: Queried at every call: only what is new since the last time is read.
_FOUND: WeakKeyDictionary[Engine, dict[str, _RefusalCache]] = WeakKeyDictionary()


def refused_before(thread: Thread, tool: str, arguments: Mapping[str, Json] | str) -> str | None:
    """Return the reason given when the same call (or a nearly identical command) was refused before; None if it was not.

    Reads the last thousand messages that are in the history.
    """
    wanted = fingerprint(tool, arguments)
    return next((r.reason for r in _refusals(thread) if same(r.fingerprint, wanted)), None)


def _refusals(thread: Thread) -> tuple[_RefusalRecord, ...]:
    threads = _FOUND.setdefault(thread.engine, {})
    known = threads.get(thread.id)
    if known is None or known.head != thread.head:
        known = threads[thread.id] = thread.reading(lambda view: _update_refusals(view, known))
    return tuple(refused for _, refused in known.found)


def _update_refusals(view: View, known: _RefusalCache | None) -> _RefusalCache:
    """Return the refusals, newest first. If only new messages arrived since the last call, only those are read."""
    if known is None or any(event.kind not in _QUIET for event in view.others(known.head)):
        found, _ = _read(view, None)
        return _RefusalCache(view.as_of, tuple(found))
    found, new = _read(view, known.head)
    old = ((age + new, refused) for age, refused in known.found if age + new < _PAGE * _PAGES)
    return _RefusalCache(view.as_of, (*found, *old))


def _read(view: View, since: int | None) -> tuple[list[tuple[int, _RefusalRecord]], int]:
    """Return the refusals among the last messages (or those after an event), and how many messages were read."""
    out: list[tuple[int, _RefusalRecord]] = []
    before: bytes | None = None
    age, most, size = 0, _PAGE * _PAGES, _PAGE if since is None else _FEW
    while age < most:
        rows = view.page(min(size, most - age), before=before, newest_first=True)
        for entry, spoken in rows:
            if since is not None and (entry.message.thread != view.state.id or entry.message.seq <= since):
                return out, age
            # Searching the bytes for the word avoids parsing every message.
            if entry.role == "tool" and spoken.body is not None and _MARK in spoken.body:
                found = _parse_refusal(message_of(entry, spoken).content.metadata)
                out += [(age, found)] if found is not None else []
            age += 1
        if len(rows) < size:
            break
        before, size = rows[-1][0].position, _PAGE
    return out, age


def _parse_refusal(metadata: Mapping[str, Json]) -> _RefusalRecord | None:
    facts: Json = metadata.get(ACT)
    if not isinstance(facts, dict):
        return None
    told = cast("dict[str, Json]", facts)
    if told.get("by", "person") != "person":
        return None  # a rule, or no user was present: not the user's opinion
    reason, print_ = told.get("refused"), told.get("fingerprint")
    return _RefusalRecord(print_, reason) if isinstance(reason, str) and isinstance(print_, str) else None


# -- reporting ---------------------------------------------------------------------------------------------------


def refusal_text(
    tool: str, reason: str = "", before: str | None = None, *, language: str = "en", by: str = "person"
) -> str:
    """Return the result text of a refused call, in the language of the conversation; `by` is that of the decision."""
    words = _words()["zh" if language.startswith("zh") else "en"]
    reason = " ".join(reason.split())
    kind = "rule" if by != "person" and reason else "reason" if reason else "plain"
    said = [words[kind].format(reason=reason)]
    if before is not None:
        said.append(
            words["before" if before.strip() else "before_plain"].format(before=" ".join(before.split()))
        )
    said.append(words["next"])
    return f"[{tool}] " + "\n".join(said)


@cache
def _words() -> dict[str, dict[str, str]]:
    return tomllib.loads((files("backscroll.agent") / "refusals.toml").read_text(encoding="utf-8"))
