"""A user as callers hold one: facts with their sources, conflicts, corrections, export, forget; graphs of projects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import backscroll
from backscroll import Engine, Thread
from backscroll.errors import InvalidInput, NotFound


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "store.db", background=False) as engine:
        yield engine


def says(store: Engine, text: str, **about: str) -> Thread:
    thread = store.create(user=about.get("user", "ann"), project=about.get("project", ""))
    thread.append("user", text)
    return thread


def sent(thread: Thread) -> str:
    return json.dumps(thread.prompt(8000).request, ensure_ascii=False)


def values(store: Engine, predicate: str) -> list[str]:
    return [fact.value for fact in store.user("ann").facts() if fact.predicate == predicate]


def test_newest_fact_wins_and_history_keeps_both(store: Engine) -> None:
    one = says(store, "I live in Lisbon.")
    two = says(store, "I moved to Porto.")
    ann = store.user("ann")
    assert values(store, "lives_in") == ["Porto"]
    assert [(f.value, f.current) for f in ann.history("lives_in")] == [("Lisbon", False), ("Porto", True)]
    assert [(c.predicate, c.kind) for c in ann.conflicts()] == [("lives_in", "superseded")]
    one.append("user", "Actually I live in Faro now.")  # the older thread speaks last
    assert values(store, "lives_in") == ["Faro"]
    two.delete(next(iter(two)).id)
    assert [f.value for f in ann.history("lives_in")] == ["Lisbon", "Faro"]


def test_facts_name_their_sources(store: Engine) -> None:
    one = says(store, "I live in Lisbon.")
    two = says(store, "I still live in Lisbon.")
    (fact,) = [f for f in store.user("ann").facts() if f.predicate == "lives_in"]
    assert [(s.thread, s.message) for s in fact.sources] == [
        (one.id, next(iter(one)).id),
        (two.id, next(iter(two)).id),
    ]
    assert fact.sources[0].quote == "I live in Lisbon."


def test_correction_overrides_the_text_and_reaches_prompts(store: Engine) -> None:
    one = says(store, "I live in Lisbon.")
    other = says(store, "Suggest a dinner.")
    assert "Lisbon" in sent(other)
    ann = store.user("ann")
    ann.correct("lives_in", "Braga")
    assert "Lisbon" not in sent(other)
    assert "Braga (set by the user)" in sent(other)
    one.append("user", "I live in Coimbra.")
    assert values(store, "lives_in") == ["Braga"]
    ann.graph.lift(ann.graph.overrides()[-1].id or 0)
    assert "Braga" not in sent(other)
    assert values(store, "lives_in") == ["Coimbra"]
    ann.reject("lives_in", "Coimbra")
    assert "Coimbra" not in sent(other)
    ann.reject("lives_in")
    assert values(store, "lives_in") == []
    cast("backscroll.Thread", ann.graph.thread).undo()
    assert values(store, "lives_in") == ["Lisbon"]


def test_correction_works_without_known_facts(store: Engine) -> None:
    store.create(user="ann")
    store.user("ann").correct("diet", "vegan")
    other = says(store, "Suggest a dinner.")
    assert "vegan" in sent(other)
    store.user("ann").remember("Calls on Mondays only.")
    assert "Mondays" in sent(other)


def test_pin_is_erased_with_its_source(store: Engine) -> None:
    one = says(store, "I live in Lisbon.")
    ann = store.user("ann")
    ann.graph.pin("user", "lives_in")
    says(store, "I moved to Porto.")
    assert values(store, "lives_in") == ["Lisbon"]
    one.forget(next(iter(one)).id)
    assert values(store, "lives_in") == ["Porto"]
    assert "Lisbon" not in repr([e.body for info in store.threads() for e in store.thread(info.id).events()])


def test_correction_is_erased_with_the_name_of_its_node(store: Engine) -> None:
    """The name of a node comes from the message that introduced it, in the profile thread too."""
    one = says(store, "My sister Wilhelmina works as a nurse.")
    ann = store.user("ann")
    ann.graph.set("Wilhelmina", "occupation", "doctor")
    assert "wilhelmina" in repr([e.body for e in ann.graph.thread.events()]).casefold()
    one.forget(next(iter(one)).id)
    assert "wilhelmina" not in repr([e.body for e in ann.graph.thread.events()]).casefold()
    assert not any("ilhelmina" in node.name for node in ann.graph.nodes())
    assert store.verify().flaws == []


def test_pronouns_do_not_refer_across_threads(store: Engine) -> None:
    says(store, "Mia Torres is a cook.")
    says(store, "She lives in Faro.")
    assert not any(f.predicate == "lives_in" for f in store.user("ann").graph.node("Mia Torres").relations)
    says(store, "Mia Torres is a friend of mine. She lives in Evora.")
    assert store.user("ann").graph.history("Mia Torres", "lives_in")


def test_project_graph_keeps_users_apart(store: Engine) -> None:
    says(store, "I live in Lisbon.", user="ann", project="p")
    says(store, "I live in Porto.", user="bob", project="p")
    graph = store.graph(project="p")
    assert [f.object for f in graph.node("ann").relations] == ["lisbon"]
    assert [f.object for f in graph.node("bob").relations] == ["porto"]
    graph.set("bob", "occupation", "baker")
    assert store.graph(project="p").node("bob").attribute("occupation") == "baker"
    assert store.graph(user="bob").node("bob").attribute("occupation") == ""
    with pytest.raises(InvalidInput):
        store.graph()
    with pytest.raises(InvalidInput):
        store.graph(project="p", user="ann")


def test_fork_does_not_duplicate_facts_and_can_change_them(store: Engine) -> None:
    one = says(store, "I live in Lisbon.")
    fork = one.fork()
    (fact,) = [f for f in store.user("ann").facts() if f.predicate == "lives_in"]
    assert len(fact.sources) == 1
    fork.edit(next(iter(fork)).id, "I live in Porto.")
    assert values(store, "lives_in") == ["Porto"]
    one.edit(next(iter(one)).id, "I live in Faro.")
    assert values(store, "lives_in") == ["Faro"]


def test_profile_follows_edits_of_settled_turns(store: Engine) -> None:
    """Unlike the graph of a thread."""
    one = says(store, "I live in Lisbon.")
    for n in range(8):
        one.append("assistant", f"Answer {n}.")
        one.append("user", f"Question {n}?")
    one.graph.flush()
    assert one.graph.current().history("user", "lives_in")
    assert values(store, "lives_in") == ["Lisbon"]
    first = next(iter(one))
    one.edit(first.id, "I live in Porto.")
    assert values(store, "lives_in") == ["Porto"]
    one.delete(first.id)
    assert values(store, "lives_in") == []
    one.restore(first.id)
    assert values(store, "lives_in") == ["Porto"]


def test_large_thread_enters_the_profile_over_several_prompts(tmp_path: Path) -> None:
    """Each prompt reads a bounded part; nothing is lost."""
    with backscroll.open(tmp_path / "s.db", background=False) as store:
        one = store.create(user="ann")
        for n in range(90):
            one.append("user", f"I hate gravel{n:02}." if n else "I am allergic to nuts.")
        other = says(store, "Suggest a dinner.")
        for _ in range(4):
            if "nuts" in sent(other):
                break
            other.append("assistant", "Hm.")
            other.append("user", "And another one?")
        assert "nuts" in sent(other)


def test_profile_is_exported_and_forgotten_as_a_whole(store: Engine, tmp_path: Path) -> None:
    says(store, "I live in Lisbon.")
    bob = says(store, "I live in Braga.", user="bob")
    ann = store.user("ann")
    ann.correct("diet", "vegan")
    ann.export(tmp_path / "ann.jsonl")
    assert "Braga" not in (tmp_path / "ann.jsonl").read_text(encoding="utf-8")
    assert ann.forget(dry_run=True).messages == 1
    assert values(store, "lives_in") == ["Lisbon"]
    ann.forget()
    assert (ann.facts(), ann.preferences(), store.users()) == ([], [], ["bob"])
    everything = repr([e.body for info in store.threads() for e in store.thread(info.id).events()])
    assert "Lisbon" not in everything
    assert "ann" not in everything
    assert "Braga" in bob.message(0).text
    with pytest.raises(NotFound):
        ann.export()
    with pytest.raises(InvalidInput):
        store.user(" ")
