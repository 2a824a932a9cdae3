"""Lorebooks and cards in a thread: what prompts hold, what receipts say, and what edits, undo, drops and compactions do to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput
from backscroll.graph.view import Rank
from tests.formats.test_cards import DATA, V2, archive, picture, text_chunk

BOOK: dict[str, Any] = {
    "entries": {
        "0": {"uid": 0, "key": ["gravewing", "moth"], "keysecondary": [], "comment": "gravewing", "order": 100,
              "content": '{{user}}: "What are Gravewings?"\n{{char}}: *She shivers.* "The Gravewings are moths of ash, pale creatures that eat light."'},
        "1": {"uid": 1, "key": ["lamp"], "keysecondary": [], "comment": "lamp", "order": 50, "content": "The lamp of Skarholm burns whale oil."},
        "2": {"uid": 2, "key": [], "keysecondary": [], "comment": "tide", "constant": True, "content": "The tide comes twice a day.", "order": 10},
        "3": {"uid": 3, "key": ["whale"], "keysecondary": ["song"], "selective": True, "comment": "whales", "content": "Whales sing at dusk."},
        "4": {"uid": 4, "key": ["lamp"], "keysecondary": [], "comment": "unused", "disable": True, "content": "Never shown."},
    }
}  # fmt: skip
PLAIN: dict[str, Any] = {key: DATA[key] for key in ("name", "description", "first_mes")}


@pytest.fixture(
    params=[
        pytest.param("sqlite_url", id="sqlite"),
        pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
    ]
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An empty store of each kind."""
    with backscroll.open(request.getfixturevalue(request.param), background=False) as opened:
        yield opened


@pytest.fixture
def thread(engine: Engine) -> Thread:
    """A conversation with a book."""
    made = engine.create("Skarholm", kind="roleplay", language="en")
    made.append("system", "You keep the lighthouse.")
    made.lore.add("Skarholm", json.dumps(BOOK))
    return made


def lore(prompt: Any) -> list[str]:
    """The entries in a prompt, by their names, in order."""
    return [b.text.split("\n")[0].split(": ", 1)[1].rstrip("]") for b in prompt.blocks if b.section == "lore"]


def reasons(prompt: Any) -> list[str]:
    return [item.reason for item in prompt.receipt.items if item.section == "lore"]


def test_matching_question_adds_an_entry_and_the_receipt_names_it(thread: Thread) -> None:
    """The entry follows the question once; the receipt names the entry and its matching key."""
    thread.append("user", "Who are the Gravewings?", author="Ann")
    prompt = thread.prompt(8000)
    assert lore(prompt) == ["tide", "gravewing"]
    assert reasons(prompt) == [
        "lorebook entry «tide» of «Skarholm»: always",
        "lorebook entry «gravewing» of «Skarholm»: woken by «gravewing»",
    ]
    text = json.dumps(prompt.messages)
    assert text.count("moths of ash") == 1
    assert "Never shown" not in text
    assert 'Ann: \\"What are Gravewings?\\"' in text
    assert "{{" not in text
    assert prompt.receipt.sections()["lore"] > 0


def test_prompts_with_lore_only_grow(thread: Thread) -> None:
    """Placed entries stay and are not repeated; entries that match later are appended."""
    thread.append("user", "Who are the Gravewings?")
    first = thread.prompt(8000)
    assert thread.prompt(8000).messages == first.messages
    thread.append("assistant", "Moths. They fear the lamp.")
    thread.append("user", "And the moths eat light?")
    second = thread.prompt(8000)
    assert second.messages[: len(first.messages)] == first.messages
    assert lore(second) == ["tide", "gravewing", "lamp"]
    assert reasons(second)[-1].endswith("woken by «lamp»")
    assert second.receipt.broken == {}


def test_recursive_entry_names_the_entry_that_matched(thread: Thread) -> None:
    """The text of one entry activates another."""
    thread.append("user", "Light the lamp and sing a song.")
    prompt = thread.prompt(8000)
    assert "lorebook entry «whales» of «Skarholm»: woken by «whale» in entry «lamp»" in reasons(prompt)


def test_removing_the_matching_message_removes_the_entry(thread: Thread) -> None:
    """Edited or deleted text matches nothing; undo adds the entry again."""
    asked = thread.append("user", "Who are the Gravewings?")
    thread.append("assistant", "You will see.")
    before = thread.prompt(8000)
    assert "gravewing" in lore(before)
    thread.edit(asked.id, "Who are they?")
    assert lore(thread.prompt(8000)) == ["tide"]
    thread.undo()
    assert thread.prompt(8000).messages == before.messages
    thread.delete(asked.id)
    assert lore(thread.prompt(8000)) == ["tide"]


def test_dropped_lorebook_leaves_the_next_prompt(thread: Thread) -> None:
    """Undo restores the same prompt; another lorebook of that name does not."""
    thread.append("user", "Who are the Gravewings?")
    before = thread.prompt(8000)
    thread.lore.drop("Skarholm")
    after = thread.prompt(8000)
    assert lore(after) == []
    assert "moths of ash" not in json.dumps(after.messages)
    assert after.receipt.broken["cause"] == "world"
    thread.undo()
    assert thread.prompt(8000).messages == before.messages
    other = json.loads(json.dumps(BOOK))
    other["entries"]["0"]["content"] = "Gravewings are harmless."
    thread.lore.add("Skarholm", json.dumps(other))
    changed = json.dumps(thread.prompt(8000).messages)
    assert "moths of ash" not in changed
    assert "Gravewings are harmless." in changed


def test_compaction_places_active_entries_again(thread: Thread) -> None:
    """Constant entries and entries that match the newest messages are placed again."""
    thread.append("user", "Who are the Gravewings?")
    thread.prompt(3000)
    for n in range(40):
        thread.append("assistant", f"Story {n}: " + "the sea was grey and the night was long. " * 20)
        thread.append("user", f"Go on, {n}.")
    thread.append("assistant", "The lamp went out.")
    thread.append("user", "Then?")
    prompt = thread.prompt(3000)
    assert prompt.receipt.compaction
    assert lore(prompt) == ["tide", "lamp"]
    assert prompt.receipt.total <= 3000


def test_lore_budget_prefers_constant_entries_and_order(thread: Thread, engine: Engine) -> None:
    """Constant entries first, then by order; entries that do not fit are listed."""
    many = {
        str(n): {
            "uid": n,
            "key": ["gate"],
            "keysecondary": [],
            "comment": f"e{n}",
            "order": n,
            "content": f"Gate {n}. " * 60,
        }
        for n in range(10)
    }
    many["10"] = {
        "uid": 10,
        "key": ["gate"],
        "keysecondary": [],
        "comment": "must",
        "order": 0,
        "ignoreBudget": True,
        "content": "Must.",
    }
    thread.lore.add("Gates", json.dumps({"entries": many}))
    thread.append("user", "the gate")
    states = {e.name: e.state for e in thread.lore.entries(4000)}
    prompt = thread.prompt(4000)
    shown = lore(prompt)
    assert "tide" in shown
    assert "e9" in shown
    assert "must" in shown
    assert "e0" not in shown
    assert states["e0"] == "budget"
    assert states["e9"] == "next"
    ordered = [name for name in shown if name.startswith("e")]
    assert ordered == sorted(ordered)
    used = sum(i.tokens for i in prompt.receipt.items if i.section == "lore")
    assert used <= engine.settings.share_lore * 4000 + 20
    assert {e.name: e.state for e in thread.lore.entries(4000)}["e9"] == "shown"


def test_lorebook_budget_limits_its_entries(thread: Thread) -> None:
    """A book of a card may say how much all of its entries may take."""
    rows = [
        {"keys": ["gate"], "content": f"Gate {n}. " * 20, "name": f"g{n}", "insertion_order": n}
        for n in range(5)
    ]
    thread.lore.add("Gates", json.dumps({"name": "Gates", "token_budget": 150, "entries": rows}))
    thread.append("user", "the gate")
    assert [name for name in lore(thread.prompt(8000)) if name.startswith("g")] == ["g4"]


def test_entry_positions_order_the_prompt(thread: Thread) -> None:
    """Before the character, after it, far from the answer, near the answer."""
    thread.lore.drop("Skarholm")
    rows = {
        str(n): {
            "uid": n,
            "key": ["gate"],
            "keysecondary": [],
            "comment": name,
            "position": position,
            "depth": depth,
            "content": name,
        }
        for n, (name, position, depth) in enumerate(
            (("near", 4, 1), ("after", 1, 4), ("far", 4, 8), ("before", 0, 4))
        )
    }
    thread.lore.add("Gates", json.dumps({"entries": rows}))
    thread.append("user", "the gate")
    assert lore(thread.prompt(8000)) == ["before", "after", "far", "near"]


def test_entry_states_give_a_reason(thread: Thread) -> None:
    """Every entry with its state: in prompts, next, asleep, off; a key that cannot be used is named."""
    bad = {
        "entries": {"0": {"uid": 0, "key": ["/(a+)+/"], "keysecondary": [], "comment": "bad", "content": "x"}}
    }
    thread.lore.add("Bad", json.dumps(bad))
    thread.append("user", "Tell me about moths.")
    known = {e.name: e for e in thread.lore.entries(8000)}
    assert {name: e.state for name, e in known.items()} == {
        "gravewing": "next", "lamp": "asleep", "tide": "next", "whales": "asleep", "unused": "off", "bad": "asleep",
    }  # fmt: skip
    assert "could take too long" in known["bad"].why
    thread.prompt(8000)
    assert {e.name: e.state for e in thread.lore.entries(8000)}["gravewing"] == "shown"


def test_chinese_lorebook_matches_without_word_boundaries(engine: Engine) -> None:
    """Keys without word boundaries, and a heading in Chinese."""
    thread = engine.create("天阙", kind="roleplay", language="zh")
    rows = {
        "0": {
            "uid": 0,
            "key": ["赤羽卫"],
            "keysecondary": [],
            "comment": "赤羽卫",
            "content": "赤羽卫是天阙城的禁军。",
        }
    }
    thread.lore.add("天阙", json.dumps({"entries": rows}, ensure_ascii=False))
    thread.append("user", "我听说赤羽卫昨晚出城了？")
    prompt = thread.prompt(8000)
    assert reasons(prompt) == ["lorebook entry «赤羽卫» of «天阙»: woken by «赤羽卫»"]
    assert "[世界书：赤羽卫]\\n赤羽卫是天阙城的禁军。" in json.dumps(prompt.messages, ensure_ascii=False)
    thread.append("assistant", "是的。")
    thread.append("user", "往哪里去了？")
    node = thread.graph.node("赤羽卫")
    assert node.attributes


# -- cards ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["maren.png", "maren.charx", "maren.json"])
def test_imported_card_brings_its_lorebook(engine: Engine, tmp_path: Path, name: str) -> None:
    """A conversation that begins with the card; its book wakes; importing it again changes nothing."""
    raw = json.dumps(V2).encode()
    data = {
        "maren.png": picture(text_chunk("chara", V2)),
        "maren.charx": archive({"card.json": raw}),
        "maren.json": raw,
    }[name]
    file = tmp_path / name
    file.write_bytes(data)
    (report,) = engine.import_path(str(file))
    assert (report.format, report.title, report.problems) == ("character-card", "Maren", [])
    thread = engine.thread(report.thread or "")
    told, greeting = list(thread)
    assert told.text.startswith(
        "Stay in the scene.\n\nMaren keeps the lighthouse of Skarholm. User is a guest."
    )
    assert (greeting.text, greeting.author) == ("*The lamp turns.* Come in, User.", "Maren")
    assert len(thread.revisions(greeting.id)) == 2
    thread.append("user", "What do the gulls do?")
    prompt = thread.prompt(8000)
    assert lore(prompt) == ["gull", "Maren: note", "Maren: post-history instructions"]
    assert prompt.blocks[-1].text.endswith("Answer in three sentences.")
    assert json.dumps(prompt.messages).count("keeps the lighthouse") == 1
    assert {e.name: e.state for e in thread.lore.entries(8000)}["Maren"] == "card"
    head = thread.head
    (again,) = engine.import_path(str(file))
    assert (again.thread, again.new, again.counts.get("lore", 0)) == (thread.id, False, 0)
    assert thread.head == head


def test_dropped_lorebook_does_not_return_on_reimport(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "maren.json"
    file.write_text(json.dumps(V2))
    (report,) = engine.import_path(str(file))
    thread = engine.thread(report.thread or "")
    thread.lore.drop("Maren")
    engine.import_path(str(file))
    assert thread.lore.entries(8000) == []


def test_card_can_be_added_to_an_existing_thread(engine: Engine) -> None:
    """Its description becomes a constant entry."""
    thread = engine.create("Harbour", kind="roleplay")
    thread.lore.add("maren", picture(text_chunk("chara", V2)))
    thread.append("user", "Hello.")
    prompt = thread.prompt(8000)
    assert lore(prompt) == [
        "Maren: system prompt", "Maren", "Maren: scenario", "Maren: examples", "Maren: note", "Maren: post-history instructions",
    ]  # fmt: skip
    assert "keeps the lighthouse" in json.dumps(prompt.messages)
    with pytest.raises(InvalidInput, match="neither text nor a character card"):
        thread.lore.add("x", b"\xff\x00\xfe")


def test_character_of_a_card_is_the_assistant(engine: Engine, tmp_path: Path) -> None:
    """The card gives the node its attributes with their source; there is no node `assistant`."""
    card = {
        "name": "Maren",
        "description": '[Maren\'s Personality= "dry", "patient"]\n[Maren\'s body= "grey hair", "amber eyes"]\n<START>\n{{user}}: "Describe yourself."\n'
        '{{char}}: *Maren shrugs, her green eyes narrow.* "I am the warden of this lighthouse. I can mend nets and read the stars."',
        "first_mes": "I live in Skarholm. *She nods.*",
        "character_book": BOOK | {"entries": list(BOOK["entries"].values())},
    }
    file = tmp_path / "maren.png"
    file.write_bytes(picture(text_chunk("chara", card)))
    (report,) = engine.import_path(str(file))
    thread = engine.thread(report.thread or "")
    for asked in ("Who are the Gravewings?", "Go on.", "And then?", "Well."):
        thread.append("user", asked)
        thread.append("assistant", "I am tired. I live in Skarholm.")
    thread.append("user", "Good night.")
    names = {node.name for node in thread.graph.nodes()}
    assert "assistant" not in {name.casefold() for name in names}
    maren = thread.graph.node("Maren")
    known = {(f.predicate, f.value) for f in maren.attributes}
    assert ("occupation", "warden") in known
    assert ("appearance", "grey hair, amber eyes") in known
    assert ("personality", "dry, patient") in known
    assert {("skill", "mend nets"), ("skill", "read the stars")} <= known
    assert not any("green" in value for _, value in known)  # the card states another colour
    fact = next(f for f in maren.attributes if f.predicate == "occupation")
    assert (fact.rank, fact.evidence[0].note) == (Rank.WORLD, "world: Maren")
    moths = thread.graph.node("Gravewings")
    assert ("kind", "moths of ash") in {(f.predicate, f.value) for f in moths.attributes}
    assert any(f.evidence[0].note == "world: Maren: gravewing" for f in moths.attributes)


def test_nodes_known_only_from_lore(thread: Thread) -> None:
    """They can be looked up and deleted, and disappear with their lorebook."""
    assert thread.graph.node("gravewing").attribute("kind") == "moths of ash"
    assert "Gravewing" in {n.name for n in thread.graph.nodes()}
    thread.graph.delete("Gravewing")
    assert "Gravewing" not in {n.name for n in thread.graph.nodes()}
    thread.undo()
    thread.lore.drop("Skarholm")
    assert thread.graph.nodes() == []


def test_forks_and_copies_keep_lorebooks(thread: Thread, engine: Engine, tmp_path: Path) -> None:
    """A native copy gives the same prompt, byte for byte."""
    thread.append("user", "Who are the Gravewings?")
    prompt = thread.prompt(8000)
    assert lore(thread.fork().prompt(8000)) == lore(prompt)
    copy = tmp_path / "copy.jsonl"
    engine.export([thread.id], "native", str(copy))
    with backscroll.open(str(tmp_path / "other.db"), background=False) as other:
        (report,) = other.import_path(str(copy))
        assert other.thread(report.thread or "").prompt(8000).messages == prompt.messages
