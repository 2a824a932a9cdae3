"""The graph as a page: one file, only its own script may run, text stays text, and it can be used."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.graph.view import Fact, NodeView
from backscroll.surfaces.i18n import LANGUAGES, Language, section
from backscroll.surfaces.pages import graph as graph_page
from backscroll.surfaces.pages.graph import page
from tests.graph.graphs import HOSTILE, graph, number
from tests.surfaces.test_pages import read

SCRIPT = Path(graph_page.__file__).with_name("graph.js")
DOM = Path(__file__).with_name("graph_page_dom.js")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node here to run the page's script with")


def made(words: str = "calm", title: str = "Tides", language: Language = "en") -> str:
    nodes, relations = graph(words)
    return page(nodes, relations, title=title, number=number, language=language, history={"ellie": relations})


def data_of(text: str) -> Any:
    """The data that the page carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_is_self_contained(language: Language) -> None:
    """It loads nothing, is well formed, and in the language asked for."""
    text = made(language=language)
    reader = read(text)
    assert not {"link", "iframe", "object", "img", "form", "base"} & set(reader.tags)
    assert not re.search(r"https?://|url\(|@import|\bimport\(|fetch\(|XMLHttpRequest|eval\(|innerHTML", text)
    assert ("lang", "zh-CN" if language == "zh" else "en") in reader.attributes
    assert reader.shown["h1"] == ["Knowledge graph: Tides" if language == "en" else "已知内容：Tides"]
    assert data_of(text)["words"] == section("graph_page", language)


def test_only_the_pages_own_script_may_run() -> None:
    """The policy names the hash of that script and allows nothing else."""
    text = made(HOSTILE)
    (policy,) = [value for _, value in read(text).attributes if value.startswith("default-src")]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not [name for name, _ in read(text).attributes if name.startswith("on")]


def test_hostile_text_stays_data() -> None:
    """Markup in names, values, quotes and titles neither ends the data nor becomes a tag; nothing is lost."""
    text = made(HOSTILE, HOSTILE)
    text.encode()
    reader = read(text)
    assert reader.tags.count("script") == 2
    assert "img" not in reader.tags
    quote = data_of(text)["nodes"][0]["facts"][0]["why"][0]["quote"]
    assert "</script><img src=x onerror=alert(1)>" in quote
    assert not {"\x00", "\u202e", "\x1b", "\u2028"} & set(text)


@given(st.text(max_size=40))
@settings(max_examples=40)
def test_any_words_give_a_sound_page(words: str) -> None:
    text = made(words, words)
    text.encode()
    assert len(data_of(text)["nodes"]) == 3
    assert read(text).tags.count("script") == 2


def test_script_never_sets_markup() -> None:
    """Text is inserted as text: the script has no call that parses markup."""
    source = SCRIPT.read_text(encoding="utf-8")
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "setTimeout(",
        ".src",
        ".href",
        "srcdoc",
    ):
        assert way not in source, way
    assert "</script" not in source
    assert len(source.splitlines()) <= 470


def test_empty_graph_is_reported() -> None:
    text = page([], [], title="t", number=number, language="en")
    assert "The graph is empty." in text
    assert data_of(text)["nodes"] == []


def test_same_graph_gives_the_same_page() -> None:
    assert made() == made()


def run(program: list[str], text: str) -> str:
    done = subprocess.run(
        [str(NODE), *program], input=text.encode(), capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@needs_node
def test_page_can_be_used() -> None:
    """Selecting shows facts by rank with quotes, relations can be followed, search and filters work."""
    seen = json.loads(run([str(DOM), "mistw"], made()))
    assert seen["all"] == ["Ellie calm", "Mistwood", "艾莉"]
    assert seen["count"] == "3 of 3 nodes"
    panel = seen["panel"]
    for words in (
        "Set by you",
        "Stated",
        "Assumed",
        "She is calm.",
        "anna",
        "turn 3",
        "since turn 3",
        "Relations",
        "lives in",
        "Earlier",
        "pinned",
        "The text now says otherwise",
        "ellie_forest_elf",
        "default of type person",
    ):
        assert words in panel, words
    assert seen["followed"] == "Mistwood"
    assert seen["found"] == ["Mistwood"]
    assert len(seen["filtered"]) == 2
    assert seen["closed"] is True
    assert seen["drawn"] >= 3


@needs_node
def test_hostile_text_is_shown_as_text() -> None:
    """The script runs to the end and shows it in its own elements."""
    seen = json.loads(run([str(DOM), "onerror"], made(HOSTILE)))
    assert set(seen["tags"]) <= {"button", "h2", "h3", "p", "ul", "li", "span", "details", "summary", "q"}
    assert "<img src=x onerror=alert(1)>" in seen["panel"]
    assert len(seen["found"]) == 2


@needs_node
def test_empty_page_runs() -> None:
    assert json.loads(run([str(DOM)], page([], [], title="t", number=number)))["all"] == []


@needs_node
def test_layout_spreads_and_is_stable() -> None:
    """Two thousand nodes: places are finite and apart, linked ones come nearer, and two runs agree."""
    program = """
const g = require(process.argv[1]);
const n = 2000, links = [];
for (let i = 1; i < n; i++) links.push([i, Math.floor(i / 3)]);
const lay = () => { const p = g.placed(n); for (let i = 0, a = 1; i < 40; i++, a *= 0.985) g.step(p, links, a); return p; };
const one = lay(), two = lay();
const far = (a, b) => Math.hypot(one[a].x - one[b].x, one[a].y - one[b].y);
const mean = (list) => list.reduce((s, x) => s + x, 0) / list.length;
const view = g.fitted(one, one.map((_, i) => i), 800, 600);
const same = g.placed(3); same.forEach((p) => { p.x = 0; p.y = 0; }); for (let i = 0; i < 30; i++) g.step(same, [], 1);
console.log(JSON.stringify({
  finite: one.every((p) => Number.isFinite(p.x) && Number.isFinite(p.y)),
  same: JSON.stringify(one) === JSON.stringify(two),
  linked: mean(links.map(([a, b]) => far(a, b))), apart: mean(links.map(([a], i) => far(a, (a * 7 + i) % n))),
  parted: new Set(same.map((p) => p.x.toFixed(2) + p.y.toFixed(2))).size,
  inside: one.every((p) => p.x * view.k + view.x >= 0 && p.x * view.k + view.x <= 800 && p.y * view.k + view.y >= 0 && p.y * view.k + view.y <= 600),
  hit: g.hit([{ x: 0, y: 0 }, { x: 10, y: 0 }], [0, 1], 9, 0, 5), miss: g.hit([{ x: 0, y: 0 }], [0], 9, 0, 5),
  empty: g.fitted([], [], 800, 600), said: g.say("turn {n} {x}", { n: 3 }),
  found: g.found([{ type: "a", name: "ＥＬＬＩＥ", readable: "", aliases: [], facts: [{ value: "森林精灵" }] }], "ellie 精灵", new Set(["a"])),
}));
"""
    seen = json.loads(run(["-e", program, str(SCRIPT)], ""))
    assert seen["finite"]
    assert seen["same"]
    assert seen["linked"] < seen["apart"] / 2
    assert seen["parted"] == 3
    assert seen["inside"]
    assert (seen["hit"], seen["miss"]) == (1, -1)
    assert seen["empty"] == {"k": 1, "x": 400, "y": 300}
    assert seen["said"] == "turn 3 {x}"
    assert seen["found"] == [0]


def test_omitted_nodes_are_counted() -> None:
    nodes = [NodeView(f"n{i}", f"n{i}", f"N{i}", "thing") for i in range(2003)]
    text = page(nodes, [Fact("n0", "related_to", object="n1")], title="t", number=number, language="en")
    assert "3 less connected nodes are not shown." in text
