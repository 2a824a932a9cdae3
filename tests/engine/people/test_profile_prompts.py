"""What one conversation says of its user is known in the next one, and in no conversation of anybody else."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Engine, Thread

SAID = {
    "en": "I am vegetarian and allergic to nuts, so be careful. I live in Lisbon.",
    "zh": "我吃素，对坚果过敏，所以要小心。我住在里斯本。",
}
ASKED = {"en": "Suggest a dinner for tonight.", "zh": "今晚吃什么好？推荐一下。"}
KNOWN = {"en": ("vegetarian", "nuts", "Lisbon"), "zh": ("吃素", "坚果", "里斯本")}
SEEN = Path(__file__).parent / "statements_seen.toml"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "store.db", background=False) as engine:
        yield engine


def sent(thread: Thread, budget: int = 8000, **more: Any) -> str:
    return json.dumps(thread.prompt(budget, **more).request, ensure_ascii=False)


def lines(thread: Thread) -> list[str]:
    """What the profile sections of a prompt tell."""
    return [line for line in sent(thread).replace("\\n", "\n").split("\n") if line.startswith("- ")]


def two(store: Engine, language: str = "en", **about: Any) -> tuple[Thread, Thread]:
    """A conversation that says something, and one that asks."""
    one = store.create("One", language=language, **about)
    one.append("user", SAID[language])
    one.append("assistant", "好的。" if language == "zh" else "Noted.")
    other = store.create("Two", language=language, **about)
    other.append("user", ASKED[language])
    return one, other


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("about", [{"user": "ann"}, {"project": "kitchen"}])
def test_new_thread_of_a_user_gets_the_profile(store: Engine, language: str, about: dict[str, str]) -> None:
    one, other = two(store, language, **about)
    made = other.prompt(8000)
    for word in KNOWN[language]:
        assert word in json.dumps(made.request, ensure_ascii=False)
    item = next(item for item in made.receipt.items if item.section == "profile")
    said = next(iter(one))
    assert item.sources == (f"[bs:{one.id[:8]}.{said.id.seq}]",)
    assert [m.id for m in other.expand(item.sources[0])] == [said.id]
    assert made.receipt.sections()["profile"] <= 0.05 * 8000


def test_profile_section_only_grows(store: Engine) -> None:
    _, other = two(store, user="ann")
    first = other.prompt(8000)
    other.append("assistant", "Grilled aubergines.")
    other.append("user", "And tomorrow?")
    second = other.prompt(8000)
    assert second.messages[: len(first.messages)] == first.messages
    assert json.dumps(second.request).count("Lisbon") == 1
    store.create(user="ann").append("user", "I moved to Porto.")
    third = other.prompt(8000)
    text = json.dumps(third.request)
    assert text.index("Lisbon") < text.index("Porto")
    assert third.messages[: len(first.messages)] == first.messages


def test_facts_shown_in_the_history_are_left_out(store: Engine) -> None:
    one, _ = two(store, user="ann")
    one.append("user", ASKED["en"])
    assert "profile" not in one.prompt(8000).receipt.sections()


@pytest.mark.parametrize(
    "how", ["delete", "edit", "regenerate", "hide", "forget", "undo", "forget_thread", "move"]
)
def test_fact_removed_in_one_thread_leaves_prompts_of_others(store: Engine, how: str) -> None:
    """Although it was in the prompt before."""
    one, other = two(store, user="ann")
    said = next(iter(one))
    before = sent(other)
    assert "nuts" in before
    if how == "undo":
        one.edit(said.id, "I eat everything.")
        one.undo()
        assert "nuts" in sent(other)
        one.redo()
    elif how == "edit":
        one.edit(said.id, "I eat everything.")
    elif how == "regenerate":
        one.regenerate(said.id, "I eat everything.")
    elif how == "forget_thread":
        store.forget_thread(one.id, actor="user")
    elif how == "move":
        one.describe(user="bob")
    else:
        getattr(one, how)(said.id)
    assert not any(word in sent(other) for word in KNOWN["en"])
    assert not any(word in repr(store.user("ann").facts()) for word in KNOWN["en"])
    if how in ("forget", "forget_thread"):
        assert all(word not in repr([e.body for e in other.events()]) for word in KNOWN["en"])


def test_restored_fact_returns_to_the_prompt(store: Engine) -> None:
    one, other = two(store, user="ann")
    before = sent(other)
    said = next(iter(one))
    one.delete(said.id)
    assert "nuts" not in sent(other)
    one.restore(said.id)
    assert sent(other) == before


def test_fact_with_two_sources_survives_deletion_of_one(store: Engine) -> None:
    one, other = two(store, user="ann")
    again = store.create(user="ann")
    last = again.append("user", "As I said, I live in Lisbon.")
    assert "Lisbon" in sent(other)
    again.delete(last.id)
    assert "Lisbon" in sent(other)
    one.delete(next(iter(one)).id)
    assert "Lisbon" not in sent(other)


def test_profile_is_not_shown_to_other_users(store: Engine) -> None:
    """Nor to threads without a user, nor to another project."""
    one, _ = two(store, user="ann", project="kitchen")
    abouts: list[dict[str, Any]] = [
        {"user": "bob"},
        {"user": "bob", "project": "kitchen"},
        {},
        {"project": "kitchen"},
        {"project": "garden"},
    ]
    for about in abouts:
        other = store.create("Other", **about)
        other.append("user", ASKED["en"])
        made = other.prompt(8000)
        assert made.messages == [{"role": "user", "content": ASKED["en"]}], about
        for scope in ("user", "project", "all"):
            assert "nuts" not in other.recall("What about nuts in Lisbon?", 500, scope=scope).text
            assert not any("nuts" in memory.text for memory in other.memory.list(scope=scope))
        with pytest.raises(backscroll.NotFound):
            other.expand(f"[bs:{one.id[:8]}.2]")


def test_thread_moved_to_another_user_loses_the_profile(store: Engine) -> None:
    _, other = two(store, user="ann")
    assert "nuts" in sent(other)
    other.describe(user="bob")
    assert "nuts" not in sent(other)
    other.describe(user="ann")
    assert "nuts" in sent(other)


def test_thread_of_a_user_also_gets_project_facts(store: Engine) -> None:
    shared = store.create(project="kitchen")
    shared.append("user", "Mia Torres is our cook. She lives in Faro.")
    other = store.create(user="ann", project="kitchen")
    other.append("user", "Where does Mia Torres live?")
    assert "Faro" in sent(other)


def test_preferences_reach_other_threads_at_once(store: Engine) -> None:
    other = store.create("Older", user="ann")
    other.append("user", "Hello.")
    other.prompt(8000)
    one = store.create("Newer", user="ann")
    said = one.append("user", "Please always answer in French.")
    other.append("assistant", "Hello!")
    other.append("user", "What is the capital of Peru?")
    assert "answer in French" in sent(other)
    one.delete(said.id)
    assert "answer in French" not in sent(other)


def test_forgotten_memory_leaves_the_profile(store: Engine) -> None:
    one, other = two(store, user="ann")
    memory = one.memory.add("Ann sings in a choir called Lumina.")
    assert "Lumina" in sent(other)
    one.memory.forget(memory.id)
    assert "Lumina" not in sent(other)


def test_profile_is_repeated_after_a_compaction(store: Engine) -> None:
    _, other = two(store, user="ann")
    sent(other)
    for n in range(60):
        other.append("assistant", f"Dish {n}: " + "with beans and rice and more " * 20)
        other.append("user", f"Another one, number {n}?")
    made = other.prompt(6000)
    assert made.receipt.compaction
    assert "nuts" in json.dumps(made.request)


def test_profile_can_be_switched_off(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db", background=False, share_profile=0.0) as store:
        _, other = two(store, user="ann")
        assert "profile" not in other.prompt(8000).receipt.sections()


def test_relevant_facts_are_chosen_from_many(store: Engine) -> None:
    one = store.create(user="ann")
    for n in range(40):
        one.append("user", f"I like marzipan{n:02}. I hate gravel{n:02}.")
        one.append("assistant", "Noted.")
    one.append("user", "I have a nut allergy.")
    other = store.create(user="ann")
    other.append("user", "What do I think about gravel07?")
    told = "\n".join(lines(other))
    assert "gravel07" in told
    assert "nut" in told
    assert told.count("\n") < 40


def test_profile_facts_of_the_development_texts(store: Engine) -> None:
    """Every fact of the development texts is found; false facts are limited to those of other readers."""
    data = tomllib.loads(SEEN.read_text(encoding="utf-8"))
    missed: list[str] = []
    false: list[str] = []
    for number, (language, text, words) in enumerate(
        [(lang, *pair) for lang in ("en", "zh") for pair in data[lang]["facts"]]
        + [(lang, text, []) for lang in ("en", "zh") for text in data[lang]["others"]]
    ):
        one = store.create(user=f"u{number}", language=language)
        one.append("user", text)
        other = store.create(user=f"u{number}", language=language)
        other.append("user", ASKED[language])
        told = "\n".join(lines(other))
        if words and not all(word in told for word in words):
            missed.append(text)
        if not words and told:
            false.append(text)
    assert missed == []
    assert len(false) <= 1
