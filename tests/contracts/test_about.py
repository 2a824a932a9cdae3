"""What is known about a thread as a whole: title, tags, project and kin, code changes, and the list of threads."""

from __future__ import annotations

import pytest

import backscroll
from tests.contracts.talk import kinds, say


def test_new_thread_keeps_its_description(store: backscroll.Engine) -> None:
    """Title, project, kind, language, tags and metadata are stored."""
    made = store.create(
        "夜班车",
        project="/home/ann/trains",
        kind="agent",
        language="zh",
        tags=["b", "a"],
        metadata={"source": {"line": [1, None, "é"]}},
    )
    info = store.thread(made.id).info
    assert (info.title, info.project, info.kind, info.language) == (
        "夜班车",
        "/home/ann/trains",
        "agent",
        "zh",
    )
    assert (info.tags, info.metadata) == (("b", "a"), {"source": {"line": [1, None, "é"]}})
    assert (info.messages, info.turns, info.events, info.parent, info.forgotten) == (0, 0, 1, None, False)
    assert info.created_at == info.updated_at


def test_rename_tag_and_describe(thread: backscroll.Thread) -> None:
    """Each change is an event; a call that changes nothing adds none."""
    thread.rename("Day train")
    thread.rename("Day train")
    thread.tag("a", "b")
    thread.tag("b", "c")
    thread.untag("a", "x")
    thread.describe(project="rails", metadata={"n": 1})
    thread.describe(project="rails")
    info = thread.info
    assert (info.title, info.tags, info.project, info.metadata) == (
        "Day train",
        ("b", "c"),
        "rails",
        {"n": 1},
    )
    assert kinds(thread) == ["created", "renamed", "tagged", "tagged", "tagged", "untagged", "described"]


@pytest.mark.parametrize(
    "work",
    [
        lambda t: t.tag(" "),
        lambda t: t.tag(5),
        lambda t: t.rename(None),
        lambda t: t.describe(title="no"),
        lambda t: t.describe(project=5),
        lambda t: t.describe(kind=None),
        lambda t: t.describe(metadata=[1]),
        lambda t: t.describe(metadata={"a": {1, 2}}),
        lambda t: t.log_code_change("", ""),
        lambda t: t.log_code_change(None, 5),
        lambda t: t.as_actor("two\nlines").rename("x"),
        lambda t: t.as_actor("\0").rename("x"),
    ],
)
def test_invalid_thread_details_are_refused(thread: backscroll.Thread, work: object) -> None:
    """Invalid titles, tags, projects and actors are refused, and nothing is written."""
    assert callable(work)
    with pytest.raises(backscroll.InvalidInput):
        work(thread)
    assert kinds(thread) == ["created"]


def test_any_text_is_a_valid_title(thread: backscroll.Thread) -> None:
    """NUL, lone surrogates, line breaks and right-to-left text round-trip."""
    odd = "a\0b\ud800\nשלום\U0001f683"
    thread.rename(odd)
    thread.tag(odd)
    thread.describe(project=odd, metadata={odd: odd})
    info = thread.engine.thread(thread.id).info
    assert (info.title, info.tags, info.project, info.metadata) == (odd, (odd,), odd, {odd: odd})
    assert [t.id for t in thread.engine.threads(project=odd)] == [thread.id]


def test_code_changes_are_events_outside_the_history(thread: backscroll.Thread) -> None:
    """Code changes are events with a description, a file and a time, and no part of the history."""
    first = thread.log_code_change("Fix the brakes", "src/brakes.py", at="2025-01-01T00:00:00+00:00")
    thread.log_code_change("车厢", "车厢.py", details={"lines": [1, 2]})
    found = list(thread.code_changes())
    assert [(c.description, c.file_path) for c in found] == [
        ("Fix the brakes", "src/brakes.py"),
        ("车厢", "车厢.py"),
    ]
    assert (found[0], found[0].at) == (first, "2025-01-01T00:00:00+00:00")
    assert len(thread) == 0
    assert [c.id for c in thread.fork().code_changes()] == [c.id for c in found]


def test_threads_are_listed_newest_first_with_filters(store: backscroll.Engine) -> None:
    """Threads are listed with the most recently changed first, by project and kind, and as many as wanted."""
    made = [store.create(str(n), project=f"p{n % 2}", kind="agent" if n > 2 else "chat") for n in range(5)]
    say(made[1], "u latest")
    order = [1, 4, 3, 2, 0]
    assert [t.title for t in store.threads()] == [str(n) for n in order]
    assert [t.title for t in store.threads(project="p0")] == ["4", "2", "0"]
    assert [t.title for t in store.threads(kind="agent", project="p1")] == ["3"]
    assert [t.title for t in store.threads(limit=2)] == ["1", "4"]
    assert list(store.threads(limit=0)) == []
    assert list(store.threads(project="nowhere")) == []


def test_long_list_of_threads_shows_each_once_during_changes(store: backscroll.Engine) -> None:
    """Even if the thread listed last is changed during the iteration."""
    made = {store.create(str(n)).id for n in range(250)}
    seen: list[str] = []
    for info in store.threads():
        seen.append(info.id)
        if len(seen) in (100, 200):
            store.thread(info.id).rename("changed")
    assert len(seen) == len(set(seen)) == 250
    assert set(seen) == made


def test_threads_are_found_by_id_prefix(store: backscroll.Engine) -> None:
    """A unique prefix is enough; otherwise the error says what to do."""
    made = [store.create(str(n)) for n in range(40)]
    first = made[0]
    unique = next(first.id[:n] for n in range(2, 33) if sum(t.id.startswith(first.id[:n]) for t in made) == 1)
    assert store.thread(f" {unique.upper()} ").id == first.id
    assert store.thread(first.id).id == first.id
    assert store.resolve_ref(f"{first.id[:12]}.1") == (first.id, 1)
    crowded = next(i.id for i in made if sum(t.id.startswith(i.id[:1]) for t in made) > 1)
    for wrong in (crowded[:1], "zz", "", ".", "f" * 33, "0" * 32, "\ud800\ud800", first.id + ".1"):
        with pytest.raises(backscroll.NotFound) as refused:
            store.thread(wrong)
        assert refused.value.hint
    for wrong in (first.id, "x.1", f"{first.id}.0", f"{first.id}.-1", f"{first.id}.x", f"{first.id}.1²"):
        with pytest.raises(backscroll.NotFound):
            store.resolve_ref(wrong)


def test_ambiguous_thread_prefix_is_an_error(store: backscroll.Engine) -> None:
    """Two digits that fit several threads are ambiguous, and the error shows which."""
    made = [store.create() for _ in range(300)]
    beginnings = [t.id[:2] for t in made]
    shared = next(b for b in beginnings if beginnings.count(b) > 1)
    with pytest.raises(backscroll.NotFound, match="several") as refused:
        store.thread(shared)
    assert type(refused.value).__name__ == "Ambiguous"
