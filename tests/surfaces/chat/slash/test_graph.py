"""`/graph` with its editor, `/world`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backscroll.surfaces import i18n
from tests.surfaces.chat.slash.hand import HandTalk


@pytest.fixture
def elves(make_talk: Callable[..., HandTalk]) -> HandTalk:
    """A conversation about people and places."""
    talk = make_talk(
        ("Ellie is a forest elf. Ellie lives in Rivendell.", "Hello."),
        ("Bob is Ellie's brother.", "I see."),
        ("Ellie is happy.", "Good."),
    )
    talk.thread.graph.flush()
    return talk


def test_graph_can_be_viewed(elves: HandTalk) -> None:
    """All nodes, one of them, why, and an empty list of overrides."""
    assert "Rivendell" in elves.run("/graph")
    assert "forest elf" in elves.run("/graph Ellie")
    assert "forest elf" in elves.run("/graph why Ellie race")
    assert elves.run("/graph overrides").strip()
    assert "Nobody" in elves.run("/graph Nobody")
    assert "Ellie" in elves.offers("/graph El")
    assert "Ellie" in elves.offers("/graph edit El")


def test_attribute_is_edited_in_place(elves: HandTalk) -> None:
    """The field has the old value; the change is an override, and undo reverts it."""
    elves.picks = ["race", "edit", None]
    elves.asks = ["wood elf"]
    said = elves.run("/graph edit Ellie")
    assert elves.initials == ["forest elf"]
    assert elves.thread.graph.node("Ellie").attribute("race") == "wood elf"
    assert "1 change" in said
    assert "wood elf" in elves.run("/graph overrides")
    elves.run("/undo")
    assert elves.thread.graph.node("Ellie").attribute("race") == "forest elf"


def test_relation_can_be_retargeted(elves: HandTalk) -> None:
    """The new end holds, the old one does not."""
    elves.picks = ["lives in", "edit", "done"]
    elves.asks = ["Lorien"]
    elves.run("/graph edit Ellie")
    named = {n.id: n.name for n in elves.thread.graph.nodes()}
    ends = [named[f.object] for f in elves.thread.graph.node("Ellie").relations if f.predicate == "lives_in"]
    assert ends == ["Lorien"]


def test_facts_can_be_pinned_forbidden_and_lifted(elves: HandTalk) -> None:
    """Pinned, denied, and the override removed."""
    elves.picks = ["race", "pin,", "race", "remove my change", "race", "this is false", None]
    elves.run("/graph edit Ellie")
    assert [o.change.value for o in elves.thread.graph.overrides()] == ["forbid"]
    assert elves.thread.graph.node("Ellie").attribute("race") == ""


def test_attributes_and_relations_can_be_added(elves: HandTalk) -> None:
    """Missing values are asked for; cancelling in between adds nothing."""
    elves.picks = ["+ an attribute", "+ a relation", "+ an attribute", None]
    elves.asks = ["age", "300", "friend_of", "Bob", "colour", None]
    elves.run("/graph edit Ellie")
    node = elves.thread.graph.node("Ellie")
    assert node.attribute("age") == "300"
    assert any(f.predicate == "friend_of" for f in node.relations)
    assert node.attribute("colour") == ""


def test_node_can_be_renamed_merged_and_deleted(elves: HandTalk) -> None:
    """The node as a whole."""
    elves.picks = ["rename", None]
    elves.asks = ["Eleanor"]
    elves.run("/graph edit Ellie")
    assert elves.thread.graph.node("Eleanor").name == "Eleanor"
    elves.picks = ["merge with another", "Bob", None]
    elves.run("/graph edit Eleanor")
    assert elves.thread.graph.node("Bob").id == elves.thread.graph.node("Eleanor").id
    elves.picks, elves.yeses = ["delete this node"], [True]
    elves.run("/graph edit Rivendell")
    assert elves.thread.graph.current().find("Rivendell") is None
    elves.run("/undo")
    assert elves.thread.graph.current().find("Rivendell") is not None


def test_node_is_picked_or_created_without_a_name(elves: HandTalk) -> None:
    """The last entry of the picker creates one."""
    elves.picks, elves.asks = ["+ a new node", None], ["Gandalf"]
    elves.run("/graph edit")
    assert elves.thread.graph.node("Gandalf").overridden
    elves.picks = ["Bob", None]
    elves.run("/graph edit")
    assert "Bob: what do you want to change?" in elves.questions
    elves.picks = [None]
    elves.run("/graph edit")


def test_failed_change_leaves_the_editor_open(elves: HandTalk) -> None:
    """The error is shown, and another change can be tried."""
    elves.picks = ["+ a relation", "rename", None]
    elves.asks = ["friend_of", "Ellie", "Eleanor"]
    said = elves.run("/graph edit Ellie")
    assert "already the same node" in said
    assert elves.thread.graph.node("Eleanor")


def test_graph_editor_speaks_chinese(make_talk: Callable[..., HandTalk]) -> None:
    """Names and questions."""
    talk = make_talk(("我叫李雷，住在北京。", "你好。"), ("李雷很高兴。", "好。"), ("再见", "再见"))
    talk.thread.graph.flush()
    i18n.use("zh")
    talk.picks, talk.asks = ["+ 添加属性", None], ["职业", "教师"]
    said = talk.run("/图谱 编辑 李雷")
    assert "教师" in said
    assert "李雷：要改什么？" in talk.questions


def test_world_can_be_loaded_from_a_file(elves: HandTalk) -> None:
    """Loaded, shown, dropped; a file that is not text is refused."""
    (elves.root / "realm.md").write_text("# Mordor\nA dark land in the east.\n", encoding="utf-8")
    (elves.root / "bin.dat").write_bytes(b"\x00\x01\x02")
    assert "1" in elves.run("/world realm.md")
    assert "Mordor" in elves.run("/world")
    assert elves.offers("/world drop ") == ["realm"]
    elves.run("/world drop realm")
    assert "Mordor" not in elves.run("/world")
    assert "binary" in elves.run("/world bin.dat")
    assert "no such file" in elves.run("/world nowhere.md")
    assert "is not a regular file" in " ".join(elves.run("/world .").split())
