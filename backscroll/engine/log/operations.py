"""Operations on a history, each written as one or a few events.

Every function gets a `Pen` (one thread, one transaction) and writes through it. Invalid operations are rejected with a
clear error before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from backscroll.engine.core.lineage import reach, visible_revisions
from backscroll.engine.core.pen import MessageDraft, Pen
from backscroll.errors import Conflict, Forgotten, InvalidInput, NotFound
from backscroll.record.content import original
from backscroll.record.history import DELETED, FORGOTTEN, HIDDEN, PINNED, Entry
from backscroll.record.order import at_end, between
from backscroll.record.thread_info import about_from_json
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, checked_role
from backscroll.vocab.part import Json

_FLAGS = {
    Kind.DELETED: (DELETED, True),
    Kind.RESTORED: (DELETED, False),
    Kind.HIDDEN: (HIDDEN, True),
    Kind.UNHIDDEN: (HIDDEN, False),
    Kind.PINNED: (PINNED, True),
    Kind.UNPINNED: (PINNED, False),
}


def standing(pen: Pen, message: Ref, *, deleted: bool = False) -> Entry:
    """Return the entry of a message that can be changed, or raise."""
    entry = pen.entry(message)
    if entry is None:
        raise _unknown(pen, message)
    if entry.flags & FORGOTTEN:
        raise Forgotten(f"message {message.short} was forgotten", hint="its content cannot be restored")
    if entry.flags & DELETED and not deleted:
        raise Conflict(f"message {message.short} is deleted", hint="restore it first")
    return entry


def _unknown(pen: Pen, message: Ref) -> NotFound:
    return NotFound(
        f"message {message.short} not found in thread {pen.state.id[:8]}",
        hint="run `backscroll show` to list messages",
    )


def append(
    pen: Pen,
    role: str,
    content: Content,
    *,
    said: str | None = None,
    head: Mapping[str, Json] | None = None,
    flags: int = 0,
    at: str | None = None,
) -> Event:
    """Append a message."""
    return pen.write(
        Kind.APPENDED, head=facts_of(role, said, flags, head), speech=MessageDraft(role, content), at=at
    )


def facts_of(
    role: str, said: str | None = None, flags: int = 0, head: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """Return the head of a message that is appended."""
    facts: dict[str, Json] = {"role": checked_role(role), **(head or {})}
    if said is not None:
        facts["said"] = said
    if flags:
        facts["flags"] = flags
    return facts


def insert(
    pen: Pen,
    role: str,
    content: Content,
    after: Ref | None,
    *,
    said: str | None = None,
    head: Mapping[str, Json] | None = None,
    flags: int = 0,
) -> Event:
    """Insert a message after another; `after` None inserts it at the beginning."""
    facts: dict[str, Json] = {
        "role": checked_role(role),
        "position": _place(pen, after).hex(),
        **(head or {}),
    }
    if said is not None:
        facts["said"] = said
    if flags:
        facts["flags"] = flags
    return pen.write(Kind.INSERTED, head=facts, speech=MessageDraft(role, content))


def move(
    pen: Pen,
    message: Ref,
    after: Ref | None,
    *,
    head: Mapping[str, Json] | None = None,
    deleted: bool = False,
) -> Event:
    """Move a message after another one; `after` None moves it to the beginning."""
    standing(pen, message, deleted=deleted)
    if message == after:
        raise InvalidInput("a message cannot be moved after itself")
    return pen.write(Kind.MOVED, target=message, head={"position": _place(pen, after).hex(), **(head or {})})


def _place(pen: Pen, after: Ref | None) -> bytes:
    """Return a free position right after a message."""
    low = keeping_place(pen, after).position if after is not None else b""
    following = pen.view.page(1, after=low or None, gone=True)
    seq = pen.state.head + 1
    return between(low, following[0][0].position, seq) if following else at_end(seq)


def keeping_place(pen: Pen, message: Ref) -> Entry:
    """Return the entry of a message in any state: a deleted or forgotten one keeps its place."""
    entry = pen.entry(message)
    if entry is None:
        raise _unknown(pen, message)
    return entry


def one_before(pen: Pen, message: Ref) -> Ref | None:
    """Return the message right before another one; None if that is the first."""
    entry = keeping_place(pen, message)
    rows = pen.view.page(1, before=entry.position, newest_first=True, gone=True)
    return rows[0][0].message if rows else None


def edit(
    pen: Pen,
    message: Ref,
    content: Content,
    *,
    seen: Ref | None = None,
    head: Mapping[str, Json] | None = None,
    deleted: bool = False,
) -> Event | None:
    """Replace the content of a message; None if it is unchanged. `seen` names the revision that the editor read.

    Author and metadata stay the same unless the new content specifies them.
    """
    entry = standing(pen, message, deleted=deleted)
    unchanged_since(entry, seen)
    spoken = pen.tx.read_spoken([entry.revision]).get(entry.revision)
    now = None if spoken is None or spoken.body is None else original(spoken.body)
    wanted = inherit_author(content, now, metadata=True)
    if wanted == now:
        return None
    facts: dict[str, Json] = {"base": str(entry.revision), "alternative": entry.alternative, **(head or {})}
    if spoken is not None:
        facts["said"] = spoken.said
    return pen.write(Kind.EDITED, target=message, head=facts, speech=MessageDraft(entry.role, wanted))


def inherit_author(content: Content, now: Content | None, *, metadata: bool) -> Content:
    """Return the content with the previous author and, for an edit, metadata, unless it specifies them."""
    if now is None:
        return content
    return Content(
        content.parts,
        content.author if content.author is not None else now.author,
        content.metadata if content.metadata or not metadata else now.metadata,
    )


def regenerate(
    pen: Pen,
    message: Ref,
    content: Content,
    *,
    live: bool = True,
    said: str | None = None,
    seen: Ref | None = None,
    head: Mapping[str, Json] | None = None,
    deleted: bool = False,
    sign: bool = False,
) -> Event:
    """Add an alternative to a message; it becomes the live one unless `live` is False.

    With `sign`, content without an author gets the author of the live one.
    """
    entry = standing(pen, message, deleted=deleted)
    unchanged_since(entry, seen)
    if sign:
        content = inherit_author(content, _words_of(pen, entry), metadata=False)
    facts: dict[str, Json] = {"base": str(entry.revision), "alternative": entry.alternatives, **(head or {})}
    if not live:
        facts["aside"] = True
    if said is not None:
        facts["said"] = said
    return pen.write(Kind.REGENERATED, target=message, head=facts, speech=MessageDraft(entry.role, content))


def choose(
    pen: Pen,
    message: Ref,
    which: Ref | int,
    *,
    head: Mapping[str, Json] | None = None,
    deleted: bool = False,
) -> Event | None:
    """Make another revision the live one: by its id, or by the number of an alternative (its newest revision)."""
    entry = standing(pen, message, deleted=deleted)
    options = revisions(pen, message)
    if isinstance(which, int):
        fitting = [e for e in options if e.head.get("alternative", 0) == which]
        if not fitting:
            raise NotFound(
                f"message {message.short} has no alternative {which}",
                hint=f"it has {entry.alternatives}, counted from 0",
            )
        chosen = fitting[-1]
    else:
        chosen = next((e for e in options if e.id == which), None)
        if chosen is None:
            raise NotFound(
                f"message {message.short} has no revision {which.short}",
                hint="run `backscroll log` to list events",
            )
    if chosen.id == entry.revision:
        return None
    number: int = chosen.head.get("alternative", 0)
    facts = {"revision": str(chosen.id), "alternative": number, **(head or {})}
    return pen.write(Kind.CHOSEN, target=message, head=facts)


def revisions(pen: Pen, message: Ref) -> list[Event]:
    """Return every revision of a message visible to this thread, oldest first, without forgotten ones."""
    return visible_revisions(pen.tx.events_about(message), reach(pen.tx, pen.state))


def set_flag(
    pen: Pen, kind: Kind, message: Ref, *, head: Mapping[str, Json] | None = None, deleted: bool = False
) -> Event | None:
    """Delete, restore, hide, unhide, pin or unpin a message; None if nothing changes."""
    flag, on = _FLAGS[kind]
    entry = standing(pen, message, deleted=deleted or kind in (Kind.RESTORED, Kind.DELETED))
    if bool(entry.flags & flag) is on:
        return None
    return pen.write(kind, target=message, head=head)


def rename(pen: Pen, title: str) -> Event | None:
    """Set the title of the thread."""
    replace(pen.state.about, title=title)  # rejects an invalid title
    if title == pen.state.about.title:
        return None
    return pen.write(Kind.RENAMED, body={"about": {"title": title}})


def describe(pen: Pen, changes: Mapping[str, Json]) -> Event | None:
    """Change project, user, kind, language or metadata of the thread."""
    unknown = set(changes) - {"project", "user", "kind", "language", "metadata"}
    if unknown:
        raise InvalidInput(
            f"a thread has no {', '.join(sorted(unknown))}", hint="project, user, kind, language or metadata"
        )
    now = pen.state.about.fields()
    about_from_json({**now, **changes})  # rejects invalid values
    if all(now[key] == value for key, value in changes.items()):
        return None
    return pen.write(Kind.DESCRIBED, body={"about": dict(changes)})


def tag(pen: Pen, name: str, *, on: bool = True, head: Mapping[str, Json] | None = None) -> Event | None:
    """Add a tag to the thread, or remove it."""
    given: Any = name
    if not isinstance(given, str) or not name.strip():
        raise InvalidInput("a tag needs a name", hint="use a word or two")
    if (name in pen.state.about.tags) is on:
        return None
    return pen.write(Kind.TAGGED if on else Kind.UNTAGGED, head=head, body={"tag": name})


def code_change(
    pen: Pen,
    description: str,
    file_path: str,
    *,
    said: str | None = None,
    details: Mapping[str, Json] | None = None,
    head: Mapping[str, Json] | None = None,
) -> Event:
    """Record a code change."""
    given: tuple[Any, Any] = description, file_path
    if not any(given) or not all(isinstance(text, str) for text in given):
        raise InvalidInput("a code change needs a description or a file", hint="both as text")
    body = {"description": description, "file": file_path, **({"details": details} if details else {})}
    facts = {**(head or {}), **({"said": said} if said else {})}
    return pen.write(Kind.CODE_CHANGED, head=facts, body=body)


def unchanged_since(entry: Entry, seen: Ref | None) -> None:
    """Raise Conflict if the message changed since the revision `seen`."""
    if seen is not None and seen != entry.revision:
        raise Conflict(
            f"message {entry.message.short} was changed since: its live revision is {entry.revision.short}, "
            f"you saw {seen.short}",
            hint="read it again, then decide",
            live=str(entry.revision),
        )


def _words_of(pen: Pen, entry: Entry) -> Content | None:
    """Return the live content of a message; None once forgotten."""
    spoken = pen.tx.read_spoken([entry.revision]).get(entry.revision)
    return None if spoken is None or spoken.body is None else original(spoken.body)
