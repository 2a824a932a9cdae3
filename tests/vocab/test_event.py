"""Events: which message they are about, and whether their text is gone."""

from __future__ import annotations

import pytest

from backscroll.vocab.event import DELIBERATE, SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref

THREAD = "a" * 32
MESSAGE = Ref("b" * 32, 3)
AT = "2024-05-01T10:00:00+00:00"


def an_event(kind: Kind, target: Ref | None = None, **sealed: bytes | None) -> Event:
    """The fifth event of a thread."""
    return Event(
        THREAD,
        5,
        kind,
        "user:ann",
        AT,
        target,
        body=sealed.get("body"),
        salt=sealed.get("salt"),
        commit=sealed.get("commit") or b"",
    )


@pytest.mark.parametrize("kind", list(Kind))
def test_event_is_about_its_target(kind: Kind) -> None:
    """In whatever thread the message was said."""
    event = an_event(kind, MESSAGE)
    assert event.id == Ref(THREAD, 5)
    assert event.message == MESSAGE


@pytest.mark.parametrize("kind", list(Kind))
def test_new_message_is_its_own_subject(kind: Kind) -> None:
    """Without a target, an event that adds a message is about it, any other about none."""
    is_new = kind in (Kind.APPENDED, Kind.INSERTED)
    assert an_event(kind).message == (Ref(THREAD, 5) if is_new else None)


@pytest.mark.parametrize(
    ("body", "commit", "forgotten"),
    [
        (b"{}", b"seal", False),
        (None, b"seal", True),
        (None, b"", False),
        (b"{}", b"", False),
        (b"", b"s", False),
    ],
)
def test_sealed_event_without_a_body_is_forgotten(body: bytes | None, commit: bytes, forgotten: bool) -> None:
    """A seal without a body means that there was text; without a seal there never was any."""
    assert an_event(Kind.EDITED, MESSAGE, body=body, commit=commit).forgotten is forgotten


def test_names_of_kinds_never_change() -> None:
    """The hash of an event covers the name of its kind, so renaming one would break every log."""
    assert [kind.value for kind in Kind] == (
        "created forked renamed tagged untagged described appended inserted edited regenerated chosen deleted "
        "restored hidden unhidden pinned unpinned moved code_changed rewound cropped uncropped compacted placed flushed "
        "overridden lifted world_told tasked remembered aside noted undone redone forgotten"
    ).split()


def test_only_operations_can_be_undone() -> None:
    """Not new messages, records, undo itself, or forget."""
    assert set(Kind) - DELIBERATE == {
        Kind.CREATED,
        Kind.FORKED,
        Kind.APPENDED,
        Kind.CODE_CHANGED,
        Kind.PLACED,
        Kind.FLUSHED,
        Kind.ASIDE,
        Kind.NOTED,
        Kind.UNDONE,
        Kind.REDONE,
        Kind.FORGOTTEN,
    }


def test_four_kinds_add_text_of_a_message() -> None:
    """Append, insert, edit and regenerate make revisions; nothing else does."""
    assert {"appended", "inserted", "edited", "regenerated"} == SPEAKING
