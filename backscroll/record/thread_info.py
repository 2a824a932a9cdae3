"""Fold the description of a thread from its log: title, tags, project, forks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from backscroll.errors import InvalidInput
from backscroll.record.chain import DAMAGE, from_bytes, make_corrupt_error
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.part import Json
from backscroll.vocab.values.moment import microseconds


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class ThreadDescription:
    """The descriptive fields of a thread; all of them erasable."""

    title: str = ""
    project: str = ""
    kind: str = "chat"
    language: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=_none)
    user: str = ""  # the user: facts are shared across all threads of this user, and no others
    key: str = ""  # the caller's key for it (`Engine.thread_for`)

    def __post_init__(self) -> None:
        """Reject non-text values: callers are not always type-checked."""
        words: list[Any] = [
            self.title,
            self.project,
            self.kind,
            self.language,
            self.user,
            self.key,
            *self.tags,
        ]
        if not all(isinstance(word, str) for word in words):
            raise InvalidInput("title, project, user, key, kind, language and tags of a thread must be text")
        metadata: Any = self.metadata
        if not isinstance(metadata, Mapping):
            raise InvalidInput("the metadata of a thread must be names with values")

    def to_json(self) -> dict[str, Json]:
        """Return the sealed form; a thread without user or key is written as before these fields existed."""
        return {name: value for name, value in self.fields().items() if value or name not in ("user", "key")}

    def fields(self) -> dict[str, Json]:
        """Return every field by its name."""
        return {
            "title": self.title,
            "project": self.project,
            "kind": self.kind,
            "language": self.language,
            "tags": list(self.tags),
            "metadata": self.metadata,
            "user": self.user,
            "key": self.key,
        }


@lru_cache(maxsize=512)
def about_from_bytes(data: bytes) -> ThreadDescription:
    """Return the description from the bytes in a row, cached: every write reads its thread's row, which rarely changes."""
    return about_from_json(from_bytes(data))


def about_from_json(data: Mapping[str, Json]) -> ThreadDescription:
    """Return the description that `to_json` wrote; missing fields keep their defaults."""
    blank = ThreadDescription()
    return ThreadDescription(
        data.get("title", blank.title),
        data.get("project", blank.project),
        data.get("kind", blank.kind),
        data.get("language", blank.language),
        tuple(data.get("tags", ())),
        data.get("metadata") or {},
        data.get("user", blank.user),
        data.get("key", blank.key),
    )


#: Events about the thread as a whole; of undo, redo and forget, those with a body.
TELLING = frozenset(
    {
        Kind.CREATED,
        Kind.FORKED,
        Kind.RENAMED,
        Kind.TAGGED,
        Kind.UNTAGGED,
        Kind.DESCRIBED,
        Kind.UNDONE,
        Kind.REDONE,
        Kind.FORGOTTEN,
    }
)


#: Events whose own time counts, not the time of logging.
_TIMED = frozenset(
    {Kind.CREATED, Kind.APPENDED, Kind.INSERTED, Kind.REGENERATED, Kind.CODE_CHANGED, Kind.NOTED}
)


def last_change(before: str, event: Event) -> str:
    """Return the time of a thread's last change: an imported conversation keeps its own times."""
    moment: str = event.head.get("said", event.at) if event.kind in _TIMED else event.at
    if event.kind in (Kind.ASIDE, Kind.PLACED) or before == moment:
        return before
    if len(before) == len(moment) and before[-6:] == moment[-6:]:  # same format and zone: compare as text
        return max(before, moment)
    return moment if microseconds(moment) > microseconds(before) else before


def after(about: ThreadDescription, event: Event) -> ThreadDescription:
    """Return the description after an event."""
    if event.kind is Kind.FORGOTTEN and event.head.get("thread"):
        return ThreadDescription()  # later readers of the log cannot know the former value
    if event.kind not in TELLING:
        return about
    if event.body is None:
        return replace(about, title="") if event.forgotten else about
    data = cast("dict[str, Json]", from_bytes(event.body))
    try:
        return _apply_about(about, event.kind, data)
    except DAMAGE as error:
        raise make_corrupt_error("what is said about a thread", error) from error


def _apply_about(about: ThreadDescription, kind: Kind, data: Mapping[str, Json]) -> ThreadDescription:
    if kind is Kind.TAGGED:
        return replace(about, tags=(*(t for t in about.tags if t != data["tag"]), data["tag"]))
    if kind is Kind.UNTAGGED:
        return replace(about, tags=tuple(t for t in about.tags if t != data["tag"]))
    if "about" in data:
        return about_from_json({**about.to_json(), **data["about"]})
    return about


def fold_about(start: ThreadDescription, events: Iterable[Event]) -> ThreadDescription:
    """Return the description after all these events."""
    for event in events:
        start = after(start, event)
    return start
