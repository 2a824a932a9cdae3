"""The state of a prompt during check and repair.

Owns: entries with their origins, and the list of findings. One walk both finds and repairs, so that
`check` and `repair` can never disagree. Not here: changing a message in place: a valid one stays the same
object.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from backscroll.assemble.validity.rules import PromptFlaw, RepairAction, rules
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, without
from backscroll.vocab.part import Json

#: The placeholder for a missing result.
NO_RESULT = "no result was recorded: interrupted"
#: The placeholder before a reply if a wire requires the user to begin.
OPENING = "(the conversation begins)"
#: The placeholder after a reply if a wire requires the user to have the last word.
GO_ON = "(continue)"
#: The placeholder for a missing reply if a wire requires one before the user speaks again.
NO_REPLY = "(no reply)"
#: Markers of a reply that was cut off.
ABORTED = frozenset(
    {
        "aborted",
        "cancelled",
        "canceled",
        "error",
        "errored",
        "failed",
        "incomplete",
        "in_progress",
        "interrupted",
    }
)
_SHORT_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_ENDINGS = ("status", "stop_reason", "finish_reason", "stopReason")


class DraftMessage(NamedTuple):
    """One wire message and its indexes in the given list (none: it was added)."""

    message: Json
    origins: tuple[int, ...]


def _no_changes() -> list[RepairAction]:
    return []


def _no_flaws() -> list[PromptFlaw]:
    return []


def _no_entries() -> list[DraftMessage]:
    return []


def _no_ids() -> set[str]:
    return set()


@dataclass(slots=True)
class PromptDraft:
    """A prompt being checked. Steps replace `entries`, `system`, `tools` and `options`; they change nothing in place."""

    list_name: str  # the name of the list on the wire: messages, input
    entries: list[DraftMessage] = field(default_factory=_no_entries)
    system: Json = None
    tools: Sequence[Json] | None = None  # None: unknown
    model: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
    same_model: bool = True  # False: another model made the replies, so its proofs of thinking are invalid
    changes: list[RepairAction] = field(default_factory=_no_changes)
    remarks: list[PromptFlaw] = field(default_factory=_no_flaws)  # what cannot be repaired automatically
    aborted: set[str] = field(default_factory=_no_ids)  # calls of removed replies

    def note(self, rule: str, where: str, what: str, did: str = "") -> None:
        """Record a broken rule and its repair; if nothing was done, only the sender can fix it."""
        found = rules()[rule]
        if did:
            self.changes.append(RepairAction(found, where, what, did))
        else:
            self.remarks.append(PromptFlaw(found, where, what, found.hint))

    def at(self, entry: DraftMessage, path: str = "") -> str:
        """Return the index of an entry in the given list."""
        place = f"[{entry.origins[0]}]" if entry.origins else ""
        return f"{self.list_name}{place}{path}"


def words_of(value: Json) -> str:
    """Return any value as text: text unchanged, everything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else dumps(value)


def is_empty(value: Json) -> bool:
    """Return True for an empty value."""
    return value is None or value in ("", [], {})


def is_aborted(message: Mapping[str, Json]) -> bool:
    """Return True for a reply marked as cut off."""
    return any(isinstance(end := message.get(key), str) and end.lower() in ABORTED for key in _ENDINGS)


def with_role(
    draft: PromptDraft, entry: DraftMessage, message: Mapping[str, Json], wanted: str
) -> DraftMessage:
    """Return a message with a valid role in place of an unknown one."""
    draft.note(
        "S1",
        draft.at(entry),
        "a message with a role that this wire does not know",
        f"the role is now {wanted}",
    )
    if "content" not in message:
        return DraftMessage({"role": wanted, "content": dumps(without(message, "role"))}, entry.origins)
    return DraftMessage({**without(message, "role"), "role": wanted}, entry.origins)


def no_message(draft: PromptDraft, entry: DraftMessage) -> DraftMessage:
    """Return the replacement for an entry that is not a message: its text, from the user, or nothing."""
    if is_empty(entry.message):
        draft.note("S1", draft.at(entry), "an empty entry that is not a message", "it was removed")
        return DraftMessage(None, entry.origins)
    draft.note("S1", draft.at(entry), "an entry that is not a message", "its words became the user's")
    return DraftMessage({"role": "user", "content": words_of(entry.message)}, entry.origins)


def with_parts(draft: PromptDraft, where: str, content: Json, mended: Callable[[Json], Json]) -> Json:
    """Return a content as text or a list of valid parts; None if it is empty."""
    if content is None or isinstance(content, str):
        return content or None
    items = as_array(content)
    if items is None:
        draft.note("S2", where, "a content that is neither text nor a list", "it became a list")
        items = [content]
    out: list[Json] = []
    for number, item in enumerate(items):
        part = mended(item)
        if part is None:
            draft.note("V4", f"{where}[{number}]", "a part that says nothing", "it was removed")
            continue
        if part is not item:
            did = "it became text, or the shape that the wire has"
            draft.note("S2", f"{where}[{number}]", "a part that is not allowed here", did)
        out.append(part)
    if not out:
        return None
    same = len(out) == len(items) and all(a is b for a, b in zip(out, items, strict=True))
    return content if same and items is content else out


def mint_digits(*seed: str) -> str:
    """Return hex digits derived from the seed alone."""
    return hashlib.sha256(dumps(list(seed)).encode()).hexdigest()


def orphan_text(id: str, content: str) -> str:
    """Return a result without a call as text; with the name of the call if that is short and plain."""
    name = f" {id}" if _SHORT_ID.fullmatch(id) else ""
    return f"[result of a tool call that is not part of this prompt{name}]\n{content}"
