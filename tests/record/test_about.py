"""Thread information, folded from the log."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput, StoreCorrupt
from backscroll.record.chain import to_bytes
from backscroll.record.thread_info import (
    TELLING,
    ThreadDescription,
    about_from_bytes,
    about_from_json,
    after,
    fold_about,
)
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from tests.vocab.drawn import extras, json_values, texts

THREAD = "a" * 32
KNOWN = ThreadDescription("旧标题", "caves", "roleplay", "zh", ("a", "b"), {"origin": {"n": 1}})

abouts = st.builds(
    ThreadDescription, texts, texts, texts, texts, st.lists(texts, max_size=3).map(tuple), extras
)


def told(kind: Kind, body: Json = None, *, erased: bool = False, **head: Json) -> Event:
    """An event that says something about a thread, or whose words were erased."""
    data = None if body is None else to_bytes(body)
    return Event(
        THREAD, 1, kind, "user:ann", "now", None, head, data, commit=b"seal" if data or erased else b""
    )


@given(abouts)
def test_description_round_trips(about: ThreadDescription) -> None:
    """Whatever characters it contains."""
    assert about_from_json(about.to_json()) == about
    assert about_from_bytes(to_bytes(about.to_json())) == about


def test_missing_fields_have_defaults() -> None:
    """A row of an earlier version is read as far as it goes."""
    assert about_from_json({"title": "x"}) == ThreadDescription("x")
    assert about_from_json({}) == ThreadDescription()
    assert ThreadDescription().kind == "chat"


@pytest.mark.parametrize(
    "wrong",
    [{"title": None}, {"title": 3}, {"project": b"x"}, {"kind": None}, {"language": 1}, {"tags": ("a", 1)}],
    ids=str,
)
def test_title_that_is_not_text_is_refused(wrong: dict[str, Any]) -> None:
    """Callers are not always type-checked."""
    with pytest.raises(InvalidInput, match="must be text"):
        ThreadDescription(**wrong)


@pytest.mark.parametrize("wrong", [None, [], "x", 1])
def test_metadata_must_have_names(wrong: Any) -> None:
    """Anything else could not be looked up again."""
    with pytest.raises(InvalidInput, match="names with values"):
        ThreadDescription(metadata=wrong)


@given(abouts, abouts, st.sampled_from([Kind.CREATED, Kind.FORKED]))
def test_a_thread_begins_with_what_is_said_at_its_beginning(
    start: ThreadDescription, about: ThreadDescription, kind: Kind
) -> None:
    """Creation and fork say everything, whatever stood there."""
    assert after(start, told(kind, {"about": about.to_json()})) == about


@pytest.mark.parametrize("kind", [Kind.RENAMED, Kind.DESCRIBED, Kind.UNDONE, Kind.REDONE, Kind.FORGOTTEN])
@given(abouts, abouts, st.sets(st.sampled_from(sorted(ThreadDescription().to_json()))))
def test_only_what_is_named_changes(
    kind: Kind, start: ThreadDescription, other: ThreadDescription, named: set[str]
) -> None:
    """Renaming, describing, undo, redo and a forget that names the thread anew leave the other fields alone."""
    said = {key: value for key, value in other.to_json().items() if key in named}
    now = after(start, told(kind, {"about": said}))
    assert now.to_json() == {**start.to_json(), **said}


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc你")), max_size=12))
def test_tags_are_a_set_in_the_order_of_tagging(changes: list[tuple[bool, str]]) -> None:
    """A tag is listed once, at its newest place; taking off what is not on changes nothing."""
    about = ThreadDescription("t", tags=("a", "b"))
    wanted = dict.fromkeys(about.tags)
    for on, tag in changes:
        about = after(about, told(Kind.TAGGED if on else Kind.UNTAGGED, {"tag": tag}))
        wanted.pop(tag, None)
        if on:
            wanted[tag] = None
        assert about == ThreadDescription("t", tags=tuple(wanted))


def test_undo_of_a_tag_restores_all_tags() -> None:
    """An undo records the whole list as it was before."""
    tagged = after(KNOWN, told(Kind.TAGGED, {"tag": "a"}))
    assert tagged.tags == ("b", "a")
    assert after(tagged, told(Kind.UNDONE, {"about": {"tags": ["a", "b"]}})) == KNOWN


def test_forgotten_thread_has_no_title() -> None:
    """Everything known is gone, even if the event names something."""
    assert after(KNOWN, told(Kind.FORGOTTEN, thread=True)) == ThreadDescription()
    assert after(KNOWN, told(Kind.FORGOTTEN, {"about": {"title": "x"}}, thread=True)) == ThreadDescription()


def test_forgetting_messages_keeps_the_title() -> None:
    """An event that forgets only messages says nothing about the thread."""
    assert after(KNOWN, told(Kind.FORGOTTEN, messages=[{"message": f"{THREAD}.1"}])) is KNOWN


@pytest.mark.parametrize("kind", sorted(TELLING))
def test_erased_event_hides_the_title(kind: Kind) -> None:
    """Its text is unknown, so the earlier title is not shown either; the rest stays."""
    now = after(KNOWN, told(kind, erased=True))
    assert now == ThreadDescription("", KNOWN.project, KNOWN.kind, KNOWN.language, KNOWN.tags, KNOWN.metadata)


@pytest.mark.parametrize("kind", list(Kind))
def test_event_without_a_body_changes_nothing(kind: Kind) -> None:
    """Where there never was a body, everything stays as it was."""
    assert after(KNOWN, told(kind)) is KNOWN


@pytest.mark.parametrize("kind", sorted(set(Kind) - TELLING))
def test_message_text_does_not_describe_the_thread(kind: Kind) -> None:
    """Messages, asides and code changes are not read for it."""
    assert after(KNOWN, told(kind, {"about": {"title": "x"}, "tag": "x"})) is KNOWN


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (Kind.TAGGED, {}),
        (Kind.UNTAGGED, []),
        (Kind.TAGGED, {"tag": 5}),
        (Kind.RENAMED, {"about": 5}),
        (Kind.RENAMED, {"about": {"title": 5}}),
        (Kind.DESCRIBED, {"about": {"metadata": [1]}}),
        (Kind.CREATED, 5),
        (Kind.CREATED, {"about": {"tags": 5}}),
    ],
)
def test_unreadable_body_is_damage(kind: Kind, body: Json) -> None:
    """The store is at fault, not the caller."""
    with pytest.raises(StoreCorrupt, match="about a thread"):
        after(KNOWN, told(kind, body))


@given(st.sampled_from(sorted(TELLING)), json_values)
def test_any_body_is_understood_or_called_damaged(kind: Kind, body: Json) -> None:
    """A random log raises no other error."""
    with contextlib.suppress(StoreCorrupt):
        assert isinstance(after(KNOWN, told(kind, body)), ThreadDescription)


def test_thread_info_is_folded_over_a_whole_life() -> None:
    """Created, renamed, tagged, undone, described again after a forget, forgotten."""
    events = [
        told(Kind.CREATED, {"about": ThreadDescription("one", "p", tags=("t",)).to_json()}),
        Event(THREAD, 2, Kind.APPENDED, "user:ann", "now", None, {"role": "user"}, b"{}"),
        told(Kind.RENAMED, {"about": {"title": "two"}}),
        told(Kind.TAGGED, {"tag": "u"}),
        told(Kind.UNDONE, {"about": {"tags": ["t"]}}),
        told(Kind.REDONE, {"about": {"tags": ["t", "u"]}}),
        told(Kind.FORGOTTEN, {"about": {"title": ""}}, messages=[{"message": str(Ref(THREAD, 2))}]),
        told(Kind.DESCRIBED, {"about": {"language": "en"}}),
    ]
    steps = list(itertools.accumulate(events, after, initial=ThreadDescription()))
    assert (
        fold_about(ThreadDescription(), events)
        == steps[-1]
        == ThreadDescription("", "p", "chat", "en", ("t", "u"))
    )
    assert [about.title for about in steps] == ["", "one", "one", "two", "two", "two", "two", "", ""]
    assert (
        fold_about(ThreadDescription(), [*events, told(Kind.FORGOTTEN, thread=True)]) == ThreadDescription()
    )
    assert fold_about(KNOWN, []) is KNOWN
