"""Journeys of a user who views a graph, corrects it, describes its world and exports it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import backscroll
from tests.journeys.conftest import Cli

TALE = (
    ("Who lives in the forest?", "Ellie is a forest elf. Ellie lives in Silverwood."),
    ("Does she have family?", "Toran is Ellie's brother."),
    ("Where is she now?", "Ellie moved to Brackwater."),
    ("And Toran?", "Toran works at Oakmill."),
    ("Is he old?", "Toran is 40 years old."),
)
TALE_ZH = (
    ("谁住在森林里？", "艾莉是森林精灵，住在银林。"),
    ("她现在在哪里？", "艾莉搬到了黑水镇。"),
    ("托兰呢？", "托兰今年四十岁。"),
)
LOREBOOK = {
    "entries": {
        "0": {
            "uid": 0,
            "key": ["forest elf", "forest elves"],
            "keysecondary": [],
            "comment": "Forest elves",
            "content": "Forest elves live in the Mysterious Forest. They are helpful but cautious, belong to no "
            "faction, know every path and pose no threat.",
            "constant": False,
            "disable": False,
        }
    }
}


def told(cli: Cli, tale: tuple[tuple[str, str], ...]) -> str:
    return cli.conversation(*(words for turn in tale for words in turn))


@pytest.fixture
def tale(cli: Cli) -> str:
    """The tale, analysed to its end; gives the id of its thread."""
    thread = told(cli, TALE)
    cli.ok("graph", "flush", thread)
    return thread


def home(cli: Cli, thread: str, who: str = "Ellie") -> list[str]:
    facts = cli.ok("graph", "why", thread, who, "lives_in", "--json").json
    return [fact["object"] for fact in facts]


def number(cli: Cli, thread: str, words: str) -> str:
    """The number of the message with these words, as `show` prints it."""
    with backscroll.open(cli.environment["BACKSCROLL_STORE"], background=False) as store:
        found = [n for n, m in enumerate(store.thread(thread), 1) if m.text == words]
    return str(found[0])


# -- looking -----------------------------------------------------------------------------------------------------


def test_graph_overview(cli: Cli) -> None:
    """An empty graph says what to do; after a flush it lists the nodes, each with its facts."""
    thread = told(cli, TALE[:1])
    empty = cli.ok("graph", "show", thread).out
    assert "graph flush" in empty
    assert "Analyzed 1 pending turn" in cli.ok("graph", "flush", thread).out
    assert "No pending turns" in cli.ok("graph", "flush", thread).out
    listed = cli.ok("graph", "show", thread).out
    assert re.search(r"(?m)^Ellie +person +.*race: forest elf", listed)
    page = cli.ok("graph", "show", thread, "ellie").out
    assert "ellie_forest_elf" in page
    assert re.search(r"lives in +Silverwood +turn 1 +stated", page)
    assert re.search(r"disposition +neutral +turn 1 +assumed", page)
    assert re.search(r"Ellie +lives in +Silverwood", cli.ok("graph", "show", thread, "Silverwood").out)


def test_graph_why_history_and_past(cli: Cli, tale: str) -> None:
    """Every fact has its sentence, speaker and place; past facts stay available."""
    why = cli.ok("graph", "why", tale, "Ellie", "lives in").out
    assert "lives in: Brackwater" in why
    assert "turn 3, assistant: “Ellie moved to Brackwater.”" in why
    past = cli.ok("graph", "history", tale, "Ellie", "lives in").out.splitlines()
    assert re.search(r"Silverwood +turn 1 +turn 3", past[1])
    assert re.search(r"Brackwater +turn 3 +stated", past[2])
    then = cli.ok("graph", "show", tale, "Ellie", "--at", "2", "--json").json
    assert then["base_attributes"]["location"] == "Silverwood"
    assert re.search(r"Ellie +lives in +Brackwater.*Silverwood", cli.ok("graph", "conflicts", tale).out)
    around = cli.ok("graph", "around", tale, "Ellie").out
    assert "Toran" in around
    assert "Oakmill" not in around
    assert "Oakmill" in cli.ok("graph", "around", tale, "Ellie", "--depth", "2").out
    assert "No facts about that" in cli.ok("graph", "why", tale, "Ellie", "shoe size").out


def test_turns_are_listed_with_their_states(cli: Cli) -> None:
    """Waiting, processed, settled, outdated; the window and its target are marked."""
    thread = told(cli, (*TALE, ("And then?", "Nothing.")))
    cli.ok("graph", "show", thread)
    lines = cli.ok("graph", "turns", thread).out.splitlines()
    assert re.search(r"1 +settled +rules", lines[1])
    assert re.search(r"4 +▸ +processed", lines[4])
    assert re.search(r"5 +│ +waiting", lines[5])
    assert lines[-1] == "window: turns 2 to 5"
    cli.ok("edit", thread, number(cli, thread, TALE[2][1]), "Ellie moved to Dunmere.")
    found = cli.ok("graph", "turns", thread, "--json").json
    assert {t["turn"]: t["state"] for t in found["turns"]}[3] == "outdated"
    assert found["window"] == {"first": 2, "last": 5, "target": 4}
    assert home(cli, thread) == ["dunmere"]


def test_graph_follows_the_history(cli: Cli, tale: str) -> None:
    """An edit changes it, a deletion restores the old fact, undo and another alternative apply."""
    message = number(cli, tale, TALE[2][1])
    cli.ok("edit", tale, message, "Ellie moved to Dunmere.")
    assert home(cli, tale) == ["dunmere"]
    assert "Brackwater" not in cli.ok("graph", "export", tale).out
    cli.ok("delete", tale, message)
    assert home(cli, tale) == ["silverwood"]
    cli.ok("undo", tale)
    cli.ok("undo", tale)
    assert home(cli, tale) == ["brackwater"]
    age = number(cli, tale, TALE[4][1])
    cli.ok("regenerate", tale, age, "Toran is 41 years old.")
    assert "41" in cli.ok("graph", "why", tale, "Toran", "age").out
    cli.ok("choose", tale, age, "1")
    assert "age: 40" in cli.ok("graph", "why", tale, "Toran", "age").out


def test_long_lists_are_cut(cli: Cli) -> None:
    """`-n` limits them, the rest is counted, 0 shows all."""
    names = [
        f"{a}{b}" for a in ("Ald", "Bren", "Cor", "Dun", "El", "Fen") for b in ("ric", "win", "mar", "dan")
    ]
    thread = told(cli, tuple((f"Who is {n}?", f"{n} lives in {n}ham.") for n in names))
    assert len(cli.ok("graph", "show", thread, "-n", "5", "--json").json) == 5
    cut = cli.ok("graph", "show", thread, "-n", "5")
    assert "more" in cut.out + cut.err
    assert len(cli.ok("graph", "show", thread, "-n", "0", "--type", "place", "--json").json) > 15
    assert len(cli.ok("graph", "show", thread, "--text", "dunwinham", "--json").json) == 1
    assert "No matching nodes" in cli.ok("graph", "show", thread, "--text", "zzz").out
    silent = told(cli, (("Hm.", "Well."),))
    cli.ok("graph", "flush", silent)
    assert "state no facts" in cli.ok("graph", "show", silent).out


# -- changing ----------------------------------------------------------------------------------------------------


def test_every_kind_of_override_can_be_made(cli: Cli, tale: str) -> None:
    """Each reports what it did, by name; the list numbers them all; lift and undo revert them."""
    assert (
        "Ellie: lives in = Silver Inn"
        in cli.ok("graph", "set", tale, "Ellie", "lives in", "--to", "Silver Inn").out
    )
    assert home(cli, tale) == ["silver inn"]
    assert "age = 40, pinned" in cli.ok("graph", "pin", tale, "Toran", "age").out
    assert "Toran has no works at" in cli.ok("graph", "forbid", tale, "Toran", "works_at", "--any").out
    assert "called Silver Wood" in cli.ok("graph", "rename", tale, "Silverwood", "Silver Wood").out
    assert "added" in cli.ok("graph", "add", tale, "Torry", "--type", "person", "--set", "mood=calm").out
    assert "are the same" in cli.ok("graph", "merge", tale, "Toran", "Torry").out
    assert "split: some turns" in cli.ok("graph", "split", tale, "Ellie", "3", "--name", "Queen Ellie").out
    assert "Oakmill deleted" in cli.ok("graph", "delete", tale, "Oakmill").out
    toran = cli.ok("graph", "show", tale, "Torry", "--json").json
    assert toran["base_attributes"]["mood"] == "calm"
    assert toran["base_attributes"]["age"] == "40"
    assert "Oakmill" not in cli.ok("graph", "show", tale).out
    assert "Queen Ellie" in cli.ok("graph", "show", tale).out
    listed = cli.ok("graph", "overrides", tale, "--json").json
    kinds = ["set", "pin", "forbid", "rename", "add", "set", "merge", "split", "delete"]
    assert [made["change"] for made in listed] == kinds
    assert {made["author"] for made in listed} == {"user"}
    cli.ok("undo", tale)
    assert "Oakmill" in cli.ok("graph", "show", tale).out
    first = str(listed[0]["id"])
    assert "Removed change" in cli.ok("graph", "lift", tale, first).out
    assert home(cli, tale, "Queen Ellie") == ["brackwater"]
    table = cli.ok("graph", "overrides", tale).out
    assert "Silver Inn" not in table
    assert "is now called Silver Wood" in table


def test_override_wins_over_the_text(cli: Cli, tale: str) -> None:
    """After an override the text's value is shown beside it, and a question is raised."""
    cli.ok("graph", "set", tale, "Ellie", "lives_in", "--to", "Silver Inn")
    cli.ok("append", tale, "user", "And now?")
    cli.ok("append", tale, "assistant", "Ellie lives in Greywick.")
    cli.ok("graph", "flush", tale)
    assert home(cli, tale) == ["silver inn"]
    why = cli.ok("graph", "why", tale, "Ellie", "lives_in").out
    assert "the text says otherwise" in why
    assert "Ellie lives in Greywick." in why
    asked = cli.ok("graph", "questions", tale).out
    assert "the text now contradicts you" in asked
    assert "your change" in cli.ok("graph", "history", tale, "Ellie", "lives_in").out
    assert "`graph set`" in cli.ok("graph", "questions", tale).out + cli.ok("graph", "questions", tale).err


def test_shell_completes_graph_names(cli: Cli, tale: str) -> None:
    """Nodes of the thread, and the facts of a node."""
    words = f"backscroll graph show {tale[:8]} El"
    offered = cli("", COMP_WORDS=words, COMP_CWORD="4", _BACKSCROLL_COMPLETE="bash_complete").out
    assert "Ellie" in offered
    assert "Toran" not in offered
    words = f"backscroll graph why {tale[:8]} Ellie li"
    known = cli("", COMP_WORDS=words, COMP_CWORD="5", _BACKSCROLL_COMPLETE="bash_complete").out
    assert "lives_in" in known


# -- the world ---------------------------------------------------------------------------------------------------


def test_lorebook_completes_a_node(cli: Cli, tmp_path: Path) -> None:
    """From a SillyTavern file; inferred facts are marked and explained, can be dropped and restored."""
    thread = told(cli, (("Who is there?", "Ellie is a forest elf."),))
    cli.ok("graph", "flush", thread)
    book = tmp_path / "elves.json"
    book.write_text(json.dumps(LOREBOOK), encoding="utf-8")
    assert "1 world entry" in cli.ok("graph", "world", thread, book).out
    ellie = cli.ok("graph", "show", thread, "Ellie", "--json").json
    assert ellie["node_id"] == "ellie_forest_elf"
    assert ellie["type"] == "character"
    assert ellie["base_attributes"] == {
        "name": "Ellie",
        "race": "forest elf",
        "location": "Mysterious Forest",
        "disposition": "helpful but cautious",
        "knowledge_level": "local expert",
    }
    about = ellie["world_context_attributes"]
    assert (about["faction"], about["threat_level"]) == ("neutral", "low")
    assert about["interaction_history"] == [{"turn": 1, "line": "Ellie is a forest elf."}]
    assert set(ellie["inferred"]) == {"location", "disposition", "knowledge_level", "faction", "threat_level"}
    assert "Forest elves" in cli.ok("graph", "world", thread).out
    assert "world: elves: Forest elves" in cli.ok("graph", "why", thread, "Ellie", "disposition").out
    cli.ok("append", thread, "user", "And now?")
    cli.ok("append", thread, "assistant", "Ellie lives in Silverwood.")
    cli.ok("graph", "flush", thread)
    assert home(cli, thread) == ["silverwood"], "what is said ranks higher"
    cli.ok("graph", "world", thread, "--drop", "elves")
    assert "assumed from the world description" not in cli.ok("graph", "show", thread, "Ellie").out
    cli.ok("undo", thread)
    assert "helpful but cautious" in cli.ok("graph", "show", thread, "Ellie").out


# -- elsewhere ---------------------------------------------------------------------------------------------------


def test_exports_are_valid(cli: Cli, tale: str, tmp_path: Path) -> None:
    """JSON, GraphML, Mermaid, a lorebook that reads back as a world, and a page that loads nothing."""
    exported = {}
    for shape in ("json", "graphml", "mermaid", "lorebook", "html"):
        file = tmp_path / f"graph.{shape}"
        assert "Wrote" in cli.ok("graph", "export", tale, "--format", shape, "-o", file).out
        exported[shape] = file.read_text(encoding="utf-8")
    nodes = json.loads(exported["json"])["nodes"]
    assert {"Ellie", "Toran", "Silverwood", "Brackwater", "Oakmill"} <= {n["name"] for n in nodes}
    space = "{http://graphml.graphdrawing.org/xmlns}"
    drawn = ET.fromstring(exported["graphml"])
    ids = {n.attrib["id"] for n in drawn.iter(f"{space}node")}
    assert len(ids) == len(nodes)
    assert all({e.attrib["source"], e.attrib["target"]} <= ids for e in drawn.iter(f"{space}edge"))
    first, *lines = exported["mermaid"].splitlines()
    assert first == "graph LR"
    assert all(re.match(r"  n\d+(\[\"| -->\|\")", line) for line in lines)
    page = exported["html"]
    assert "Brackwater" in page
    assert not re.search(r"(?:src|href|action)\s*=\s*[\"']?(?:https?:)?//|@import|url\(", page)
    assert "http-equiv" in page
    near = cli.ok("graph", "export", tale, "--around", "Oakmill", "--format", "json").json
    assert "Silverwood" not in {n["name"] for n in near["nodes"]}
    other = told(cli, (("Who is there?", "Toran is a smith."),))
    cli.ok("graph", "flush", other)
    cli.ok("graph", "world", other, tmp_path / "graph.lorebook")
    assert "40" in cli.ok("graph", "show", other, "Toran").out


def test_every_graph_command_prints_json(cli: Cli, tale: str) -> None:
    """One JSON document with `--json`."""
    cli.ok("graph", "set", tale, "Ellie", "mood", "glad", "--json")
    for words in (
        ("show", tale),
        ("show", tale, "Ellie"),
        ("around", tale, "Ellie"),
        ("why", tale, "Ellie"),
        ("history", tale, "Ellie"),
        ("conflicts", tale),
        ("questions", tale),
        ("turns", tale),
        ("overrides", tale),
        ("world", tale),
        ("flush", tale),
        ("export", tale),
    ):
        assert cli.ok("graph", *words, "--json").json is not None
    ellie = cli.ok("graph", "show", tale, "Ellie", "--json").json
    assert {f["predicate"] for f in ellie["relations"]} == {"lives_in", "sibling_of"}
    town = cli.ok("graph", "show", tale, "Brackwater", "--json").json
    assert [f["node"] for f in town["relations"]] == ["ellie"]


# -- what goes wrong ---------------------------------------------------------------------------------------------


def test_bad_input_is_refused_with_a_hint(cli: Cli, tale: str, tmp_path: Path) -> None:
    """Unknown names, types, turns, numbers and files, each with its exit code; nothing is written."""
    events = cli.ok("log", tale, "--json").out
    empty, binary = tmp_path / "empty.json", tmp_path / "binary.json"
    empty.write_text("{}", encoding="utf-8")
    binary.write_bytes(b"\xff\xfe\x00")
    for code, words, hint in (
        (4, ("show", tale, "Elie"), "Ellie"),
        (4, ("show", tale, "--at", "99"), "it has 5"),
        (4, ("lift", tale, "99"), "graph overrides"),
        (4, ("pin", tale, "Ellie", "mood"), "graph show"),
        (4, ("world", tale, "--drop", "nothing"), "graph world"),
        (4, ("split", tale, "Ellie", "99"), "it has 5"),
        (2, ("show", tale, "--type", "dragon"), "person"),
        (2, ("add", tale, "Rex", "--type", "dragon"), "animal"),
        (2, ("add", tale, "Rex", "--set", "colour"), "NAME=VALUE"),
        (2, ("split", tale, "Ellie"), "graph split --help"),
        (2, ("split", tale, "Ellie", "4"), "1, 2, 3"),
        (2, ("set", tale, "Ellie", "mood"), "one of the two"),
        (2, ("merge", tale, "Ellie", "ellie"), "nothing to merge"),
        (2, ("export", tale, "--format", "svg"), "graphml"),
        (2, ("export", tale, "-o", tmp_path / "no" / "such.json"), "No such file"),
        (2, ("world", tale, tmp_path / "nowhere.json"), "UTF-8"),
        (2, ("world", tale, binary), "UTF-8"),
        (2, ("world", tale, tmp_path), "UTF-8"),
        (3, ("world", tale, empty), "keys and content"),
        (2, ("read", tale), "backscroll models"),
        (4, ("show", "ffff"), "backscroll threads"),
        (2, ("fly", tale), "--help"),
    ):
        done = cli("graph", *words)
        assert (words[0], done.code) == (words[0], code), done.err
        assert hint in done.err, done.err
        assert "Traceback" not in done.err
    assert cli.ok("log", tale, "--json").out == events


def test_hostile_text_is_harmless(cli: Cli, tale: str) -> None:
    """Control characters, direction marks, markup and very long names break neither a table nor a page."""
    name = "Ro\x1b[31mbo\u202etron <script>alert(1)</script> " + "x" * 300
    cli.ok("graph", "add", tale, name, "--type", "thing", "--set", "mood=*|`")
    assert "\x1b" not in cli.ok("graph", "show", tale).out
    page = cli.ok("graph", "export", tale, "--format", "html").out
    assert "<script>alert(1)" not in page
    ET.fromstring(cli.ok("graph", "export", tale, "--format", "graphml").out)
    assert "\x1b" not in cli.ok("graph", "overrides", tale).out


# -- Chinese -----------------------------------------------------------------------------------------------------


def test_graph_commands_speak_chinese(cli: Cli, tmp_path: Path) -> None:
    """Commands, states, facts, changes and errors; predicates and types by their Chinese names."""
    thread = told(cli, TALE_ZH)
    speaking = {"BACKSCROLL_LANGUAGE": "zh"}
    assert "图谱是空的" in cli.ok("graph", "show", cli.conversation("嗯"), **speaking).out
    assert "现已分析" in cli.ok("graph", "flush", thread, **speaking).out
    page = cli.ok("graph", "show", thread, "艾莉", **speaking).out
    assert "人物 · 艾莉_森林精灵" in page
    assert re.search(r"住在 +黑水镇 +第 2 轮 +对话所述", page)
    assert re.search(r"性情 +中立 +第 1 轮 +推断", page)
    assert "类型 person 的默认值" in cli.ok("graph", "why", thread, "艾莉", **speaking).out
    assert "已分析" in cli.ok("graph", "turns", thread, **speaking).out
    cli.ok("edit", thread, number(cli, thread, TALE_ZH[1][1]), "艾莉搬到了白石镇。")
    assert home(cli, thread, "艾莉") == ["白石镇"]
    assert (
        "艾莉：住在 = 银林" in cli.ok("graph", "set", thread, "艾莉", "住在", "--to", "银林", **speaking).out
    )
    assert home(cli, thread, "艾莉") == ["银林"]
    assert "年龄 = 四十岁，已固定" in cli.ok("graph", "pin", thread, "托兰", "年龄", **speaking).out
    assert "已添加" in cli.ok("graph", "add", thread, "小白", "--type", "动物", **speaking).out
    assert [n["name"] for n in cli.ok("graph", "show", thread, "--type", "动物", "--json").json] == ["小白"]
    world = tmp_path / "世界.md"
    world.write_text("# 森林精灵\n森林精灵乐于助人但很谨慎，不属于任何阵营，没有威胁。\n", encoding="utf-8")
    assert "1 条世界设定" in cli.ok("graph", "world", thread, world, **speaking).out
    assert "据世界设定推断" in cli.ok("graph", "show", thread, "艾莉", **speaking).out
    assert "乐于助人但很谨慎" in cli.ok("graph", "show", thread, "艾莉", **speaking).out
    unknown = cli("graph", "show", thread, "艾利", **speaking)
    assert unknown.code == 4
    assert "相近的有：艾莉" in unknown.err
    refused = cli("graph", "add", thread, "龙", "--type", "龙", **speaking)
    assert refused.code == 2
    assert "不是节点类型" in refused.err
    assert "没有提到" in cli("graph", "split", thread, "托兰", "1", **speaking).err
    assert "艾莉" in cli.ok("graph", "export", thread, "--format", "mermaid").out
    html = cli.ok("graph", "export", thread, "--format", "html", **speaking).out
    assert '<html lang="zh' in html
