"""The summary tree follows the history: incremental equals rebuilt, and nothing that is gone is told."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.config import Settings
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.summaries.gist import Gist
from backscroll.derive.summaries.tree import PROGRESS
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.lineage import View
from backscroll.engine.engine import Engine
from backscroll.engine.tree.texts import Texts
from backscroll.engine.tree.tree import (
    TreePass,
    catch_up,
    far_summaries,
    node_summaries,
    rebuild,
    text_of_node,
)
from backscroll.errors import BackscrollError, NotFound
from backscroll.record.derived import SummaryNode
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text, ToolCall, ToolResult

PHRASES = [
    "Never change the {w} table.",
    "Let's use {w} because it is quick.",
    "TODO: write about {w}.",
    "It fails with {w} in src/{w}.py.",
    "我们决定用 {w}，因为简单。",
    "不要删除 {w}。",
    "The weather speaks of {w} again.",
    "What about {w}?",
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """An empty store, without a worker of its own."""
    with engine_with(1, tmp_path / "store.db") as opened:
        yield opened


def engine_with(seed: int, file: Path) -> backscroll.Engine:
    """An engine whose ids are the same every time, because they decide where spans are cut."""
    random_bytes = random.Random(seed).randbytes
    return Engine(SqliteStore(file), Settings(background=False), ClockAndIds(random=random_bytes))


def tree_of(thread: backscroll.Thread) -> list[tuple[SummaryNode, Gist]]:
    """Every node of every level with what it says."""

    def look(view: View) -> list[tuple[SummaryNode, Gist]]:
        texts = Texts("", view.reader, view)
        out: list[tuple[SummaryNode, Gist]] = []
        level = 0
        while nodes := view.reader.nodes(thread.id, level):
            out += [(node, texts.of(node)) for node in nodes]
            level += 1
        return out

    return thread.reading(look)


def told(tree: list[tuple[SummaryNode, Gist]]) -> set[str]:
    """The planted words in everything that a tree holds, words for machines included."""
    return set(re.findall(r"w\d+x", " ".join(str(gist) for _, gist in tree)))


def shown(thread: backscroll.Thread) -> set[str]:
    """The planted words of the messages that may be told."""
    live = [m for m in thread if not m.hidden and m.role != "system"]
    return {w for m in live for w in re.findall(r"w\d+x", str(m.content))}


class Hands:
    """Somebody who does all sorts of things to threads, each message with a word of its own."""

    def __init__(self, engine: backscroll.Engine, seed: int) -> None:
        self.engine, self.draw, self.words = engine, random.Random(seed), 0
        self.threads = [engine.create("a talk")]

    def text(self) -> str:
        self.words += 1
        return " ".join(
            self.draw.choice(PHRASES).format(w=f"w{self.words}x") for _ in range(self.draw.randint(1, 3))
        )

    def append(self, thread: backscroll.Thread) -> None:
        for _ in range(self.draw.randint(1, 6)):
            what = self.draw.random()
            if what < 0.15:
                call = ToolCall(f"c{self.words}", "Bash", {"command": self.text()})
                thread.append("assistant", [Text(self.text()), call])
                thread.append("tool", ToolResult(call.id, (Text(f"error: {self.text()}"),), what < 0.07))
            else:
                thread.append(
                    self.draw.choice(["user", "user", "assistant", "assistant", "system"]), self.text()
                )

    def act(self, what: str) -> None:
        thread = self.draw.choice(self.threads)
        there = list(thread.messages(deleted=True))
        if what == "append" or not there:
            self.append(thread)
            return
        ref, other = self.draw.choice(there).id, self.draw.choice([None, self.draw.choice(there).id])
        doing = {
            "edit": lambda: thread.edit(ref, self.text()),
            "regenerate": lambda: thread.regenerate(ref, self.text()),
            "move": lambda: thread.move(ref, after=other),
            "insert": lambda: thread.insert(self.draw.choice(["user", "assistant"]), self.text(), after=ref),
            "undo": thread.undo,
            "fork": lambda: self.threads.append(thread.fork(ref)),
            "crop": lambda: thread.crop("top", self.draw.randint(1, 4)),
            "look": lambda: catch_up(self.engine, thread.id, self.draw.choice([1, 3, 7, None])),
        }
        flags = {name: lambda name=name: getattr(thread, name)(ref) for name in FLAGS}
        (doing | flags)[what]()


FLAGS = "delete restore hide unhide pin forget".split()
ACTS = ["append"] * 5 + (
    "edit regenerate delete delete restore hide unhide pin move insert undo fork crop forget look look".split()
)


@given(st.integers(0, 2**32), st.lists(st.sampled_from(ACTS), min_size=5, max_size=45))
@settings(max_examples=12, deadline=None)
def test_after_any_history_the_tree_is_the_one_that_a_rebuild_gives(seed: int, acts: list[str]) -> None:
    """Nodes and texts are equal, and no word of a deleted, hidden or forgotten message is in any of them."""
    with tempfile.TemporaryDirectory() as folder, engine_with(seed, Path(folder) / "a.db") as engine:
        hands = Hands(engine, seed)
        for what in acts:
            try:
                hands.act(what)
            except BackscrollError:
                continue  # not everything can be done to everything
        for thread in hands.threads:
            catch_up(engine, thread.id)
            incremental = tree_of(thread)
            assert told(incremental) <= shown(thread)
            rebuild(engine, thread.id)
            assert tree_of(thread) == incremental
            check_far(thread)


def check_far(thread: backscroll.Thread) -> None:
    """Whatever the budget: within it, in order, the same when told again."""
    last = thread.recent(1)
    for budget in (25, 120, 600):
        far = far_summaries(thread, last[0].position if last else None, budget, rough_count)
        assert sum(f.tokens for f in far) <= budget
        assert set(re.findall(r"w\d+x", " ".join(f.text for f in far))) <= shown(thread)
        again = node_summaries(thread, [(f.level, f.opening) for f in far])
        assert [(f.text, f.handle) for f in again] == [(f.text, f.handle) for f in far]


def long_talk(engine: backscroll.Engine, turns: int) -> backscroll.Thread:
    thread = engine.create("long")
    messages = [
        {"role": role, "content": f"{role} speaks of w{turn}x and of nothing else in turn {turn}."}
        for turn in range(turns)
        for role in ("user", "assistant")
    ]
    thread.sync(messages)
    catch_up(engine, thread.id)
    return thread


def test_edit_changes_one_path_of_the_tree(engine: backscroll.Engine) -> None:
    """Of all nodes only those above the edited message get another version."""
    thread = long_talk(engine, 200)
    before = {(n.level, n.opening): n.version for n, _ in tree_of(thread)}
    thread.edit(thread.message(151).id, "something else")
    catch_up(engine, thread.id)
    after = {(n.level, n.opening): n.version for n, _ in tree_of(thread)}
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    levels = {level for level, _ in after}
    assert len(changed) == len(levels) == max(levels) + 1


def test_deleting_a_turn_changes_no_distant_span(engine: backscroll.Engine) -> None:
    """Spans far from the deleted turn keep their openings, their versions and their texts."""
    thread = long_talk(engine, 200)
    before = {(n.level, n.opening, n.version) for n, _ in tree_of(thread) if n.level < 2}
    turn = thread.turn(100)
    thread.delete(*(m.id for m in turn.messages))
    catch_up(engine, thread.id)
    after = {(n.level, n.opening, n.version) for n, _ in tree_of(thread) if n.level < 2}
    assert len(before ^ after) <= 6


def test_long_turn_is_summarized_in_pieces(engine: backscroll.Engine) -> None:
    """One user message and hundreds of steps: pieces, spans above them, and a far past before any step."""
    thread = engine.create("agent")
    thread.append("user", "Rename everything in src/app.py.")
    for step in range(150):
        thread.append(
            "assistant", [Text(f"Step w{step}x."), ToolCall(f"c{step}", "Read", {"path": f"src/f{step}.py"})]
        )
        thread.append("tool", ToolResult(f"c{step}", (Text("x = 1\n" * 40),)))
    catch_up(engine, thread.id)
    levels = [n.level for n, _ in tree_of(thread)]
    assert levels.count(0) > 4
    assert max(levels) >= 1
    middle = thread.message(200)
    far = far_summaries(thread, middle.position, 2000, rough_count)
    text = "\n".join(f.text for f in far)
    assert "Rename everything in src/app.py." in text
    assert "w140x" not in text
    assert far[-1].end == thread.message(200).id


def test_far_summaries_are_finer_for_newer_parts(engine: backscroll.Engine) -> None:
    """A budget for a fraction of the history: parts cover it without a gap, with levels that only go down."""
    thread = long_talk(engine, 400)
    far = far_summaries(thread, thread.message(-9).position, 3000, rough_count)
    levels = [f.level for f in far if f.level >= 0]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] > 0
    assert levels[-1] == 0
    places = {m.id: n for n, m in enumerate(thread)}
    edges = [(places[f.opening], places[f.end]) for f in far]
    assert edges[0][0] == 0
    assert all(b[0] == a[1] + 1 for a, b in pairwise(edges))
    assert edges[-1][1] == len(thread) - 9


def test_far_summaries_are_stable_as_the_history_grows(engine: backscroll.Engine) -> None:
    """Byte for byte after new turns; changed only if the summarized messages change."""
    thread = long_talk(engine, 120)
    far = far_summaries(thread, thread.message(-5).position, 1500, rough_count)
    named = [(f.level, f.opening) for f in far]
    first = [f.text for f in node_summaries(thread, named)]
    for number in range(30):
        thread.append("user", f"More of y{number}.")
        thread.append("assistant", "Yes.")
    catch_up(engine, thread.id)
    assert [f.text for f in node_summaries(thread, named)] == first
    engine.memo.clear()
    assert [f.text for f in node_summaries(thread, named)] == first


def test_deleted_message_leaves_summaries_at_once(engine: backscroll.Engine) -> None:
    """Changed spans are left out until the tree catches up."""
    thread = long_talk(engine, 60)
    far = far_summaries(thread, thread.message(-1).position, 10_000, rough_count)
    named = [(f.level, f.opening) for f in far]
    assert "w30x" in " ".join(f.text for f in node_summaries(thread, named))
    thread.delete(thread.message(60).id, thread.message(61).id)
    assert "w30x" not in " ".join(f.text for f in far_summaries(thread, None, 10_000, rough_count))
    again = " ".join(f.text for f in node_summaries(thread, named))
    assert "w30x" not in again
    assert "w29x" in again
    thread.undo()
    assert "w30x" in " ".join(f.text for f in node_summaries(thread, named))


def test_far_summaries_leave_out_cropped_messages(engine: backscroll.Engine) -> None:
    """Uncropping includes them again."""
    thread = long_talk(engine, 40)
    crop = thread.crop("top", 20)
    text = " ".join(f.text for f in far_summaries(thread, thread.message(-1).position, 10_000, rough_count))
    assert "w3x" not in text
    assert "w25x" in text
    thread.uncrop(crop.handle)
    text = " ".join(f.text for f in far_summaries(thread, thread.message(-1).position, 10_000, rough_count))
    assert "w3x" in text


def test_fork_reuses_the_tree_of_its_parent(engine: backscroll.Engine) -> None:
    """The shared past has the same keys."""
    thread = long_talk(engine, 80)
    fork = thread.fork(thread.message(100).id)
    fork.append("user", "Another way: w999x.")
    fork.append("assistant", "Fine.")
    catch_up(engine, fork.id)
    ours, theirs = ({n.key for n, _ in tree_of(t) if n.level == 0} for t in (thread, fork))
    assert len(theirs - ours) <= 2
    assert "w70x" not in told(tree_of(fork))
    assert "w999x" not in told(tree_of(thread))


def test_concurrent_catch_ups_write_once(engine: backscroll.Engine) -> None:
    """The second one finds the work done and writes nothing."""
    thread = engine.create("t")
    thread.append("user", "Hello.")

    def planned() -> TreePass:
        def plan(view: View) -> TreePass:
            step = TreePass(engine, view.reader, view.state, 0, view.as_of)
            step.plan()
            return step

        return thread.reading(plan)

    first, second = planned(), planned()
    assert engine.store.write(first.write)
    assert not engine.store.write(second.write)
    assert engine.store.read(lambda reader: reader.progress(thread.id, PROGRESS)) == thread.head


def test_catch_up_respects_its_limit(engine: backscroll.Engine) -> None:
    """It returns 0 when there is nothing left."""
    thread = engine.create("t")
    for number in range(10):
        thread.append("user", f"Number {number}.")
    assert catch_up(engine, thread.id, 4) == 4
    assert catch_up(engine, thread.id, 100) == 7
    assert catch_up(engine, thread.id, 100) == 0
    assert len([n for n, _ in tree_of(thread) if n.level == 0]) == 10


def test_forgotten_words_leave_the_tree(engine: backscroll.Engine) -> None:
    thread = long_talk(engine, 30)
    thread.forget(thread.message(20).id, thread.message(21).id)
    catch_up(engine, thread.id)
    assert "w10x" not in told(tree_of(thread))
    assert "w11x" in told(tree_of(thread))


def test_text_of_node(engine: backscroll.Engine) -> None:
    thread = long_talk(engine, 4)
    opening = thread.message(2).id
    assert "w1x" in text_of_node(thread, 0, opening)
    assert text_of_node(thread, 5, opening) == ""
    assert text_of_node(thread, 0, Ref("f" * 32, 1)) == ""


def test_tree_of_a_missing_and_an_empty_thread(engine: backscroll.Engine) -> None:
    with pytest.raises(NotFound):
        catch_up(engine, "f" * 32)
    empty = engine.create("empty")
    assert catch_up(engine, empty.id) == 1
    assert far_summaries(empty, None, 1000, rough_count) == []
    assert far_summaries(empty, None, 0, rough_count) == []


def test_tree_is_the_same_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    """The same acts on both stores: the same nodes, the same texts, the same far past, also after a rebuild."""
    from backscroll.stores.postgres.store import PostgresStore

    trees: list[object] = []
    for store in (SqliteStore(tmp_path / "a.db"), PostgresStore(postgres_url, tenant="tree")):
        with Engine(
            store, Settings(background=False), ClockAndIds(random=random.Random(7).randbytes)
        ) as engine:
            hands = Hands(engine, 7)
            for what in [*ACTS, *ACTS, "append", "append", "append"]:
                try:
                    hands.act(what)
                except BackscrollError:
                    continue
            for thread in hands.threads:
                catch_up(engine, thread.id)
            told_now = [tree_of(thread) for thread in hands.threads]
            rebuild(engine, hands.threads[0].id)
            assert tree_of(hands.threads[0]) == told_now[0]
            far = [far_summaries(t, None, 400, rough_count) for t in hands.threads]
            trees.append((told_now, far))
    assert trees[0] == trees[1]


def test_texts_over_the_memory_limit_are_read_again(
    engine: backscroll.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The summaries are the same with any limit."""
    thread = long_talk(engine, 30)
    before = tree_of(thread)
    monkeypatch.setattr("backscroll.engine.tree.texts._HELD", 100)
    other = engine.create("again")
    other.sync([{"role": m.role, "content": m.text} for m in thread])
    catch_up(engine, other.id)
    assert told(tree_of(other)) >= {f"w{n}x" for n in range(29)}
    rebuild(engine, thread.id)
    assert tree_of(thread) == before


def test_withheld_summary_returns_with_the_next_compaction(
    engine: backscroll.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the tree is behind, a changed span is only named; the next compaction summarizes it."""
    thread = long_talk(engine, 40)
    named = [
        (f.level, f.opening) for f in far_summaries(thread, thread.message(-1).position, 10_000, rough_count)
    ]
    for number in range(10):
        thread.append("user", f"y{number}")
    thread.edit(thread.message(20).id, "The new words are w777x.")
    monkeypatch.setattr("backscroll.engine.tree.tree._SOON", 3)
    monkeypatch.setattr("backscroll.engine.tree.tree._SLICE", 3)
    withheld = " ".join(f.text for f in node_summaries(thread, named))
    assert "w777x" not in withheld
    assert "user speaks of w10x" not in withheld
    catch_up(engine, thread.id)
    assert " ".join(f.text for f in node_summaries(thread, named)) == withheld
    later = node_summaries(thread, named, upto=engine.means.now())
    assert "w777x" in " ".join(f.text for f in later)
