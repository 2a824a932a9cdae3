"""Which compaction is in force, and what stands in for messages that it or a crop took out of the prompt: cases that chance seldom meets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.folder.rewind import rewind_words
from backscroll.engine.inputs.lessons import note_all
from backscroll.engine.tree.tree import catch_up, node_summaries
from backscroll.vocab.ids import Ref

WORDS = "The quick brown fox reads src/module.py and decides to keep it. "


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    with backscroll.open(tmp_path / "store.db", background=False) as opened:
        yield opened


def said(thread: backscroll.Thread, budget: int = 200_000) -> str:
    made = thread.prompt(budget, reserve=0, dry_run=True, recall=False)
    return json.dumps([made.messages, made.system], ensure_ascii=False)


def talk(thread: backscroll.Thread, count: int, start: int = 0) -> list[Ref]:
    """Messages of user and assistant in turn, each with a word of its own."""
    roles = ("user", "assistant")
    return [thread.append(roles[n % 2], f"qz{n}zq {WORDS}").id for n in range(start, start + count)]


def test_missing_tree_level_is_summarized_from_lower_levels(engine: backscroll.Engine) -> None:
    """A fork names the nodes of its parent; its own tree has fewer levels, and nothing of the far past is lost for that."""
    thread = engine.create("long")
    ids = talk(thread, 120)
    catch_up(engine, thread.id)
    level = 1
    assert engine.store.read(lambda reader: reader.nodes(thread.id, level))
    fork = thread.fork(ids[0])
    catch_up(engine, fork.id)
    assert not engine.store.read(lambda reader: reader.nodes(fork.id, level))
    edge = fork.message(ids[0]).position
    found = node_summaries(fork, [(level, ids[0])], "", edge)
    assert [(f.first, f.last) for f in found] == [(edge, edge)]
    assert found[0].text


def test_summary_node_stops_at_the_edge_of_the_window(engine: backscroll.Engine) -> None:
    """Messages shown in the window are not summarized again."""
    thread = engine.create("long")
    talk(thread, 40)
    catch_up(engine, thread.id)
    nodes = engine.store.read(lambda reader: reader.nodes(thread.id, 0))
    node = next(n for n in nodes if n.messages > 1)
    (whole,) = node_summaries(thread, [(0, node.opening)], "", node.end)
    (found,) = node_summaries(thread, [(0, node.opening)], "", node.position)
    assert (whole.first, whole.last) == (node.position, node.end)
    assert (found.first, found.last) == (node.position, node.position)


def test_message_restored_inside_a_crop_is_shown(engine: backscroll.Engine) -> None:
    """It was deleted at the time of the crop, so it is not part of it; this holds for long crops too."""
    thread = engine.create("long")
    ids = talk(thread, 1_400)
    thread.delete(ids[300])
    thread.crop("top", 1_300)
    thread.restore(ids[300])
    assert "qz300zq" in said(thread)
    receipt = thread.prompt(200_000, reserve=0, dry_run=True, recall=False).receipt
    assert (receipt.messages, receipt.summarised, receipt.unseen) == (1_400, 1_300, 0)


def test_message_pinned_after_a_crop_is_shown(engine: backscroll.Engine) -> None:
    """Pins are in every prompt."""
    thread = engine.create("pins")
    ids = talk(thread, 12)
    thread.crop("top", 8, "as said")
    assert "qz3zq" not in said(thread)
    thread.pin(ids[3])
    assert f"qz3zq {WORDS}".strip() in said(thread)


def test_crop_summary_copied_by_a_rewind_keeps_its_age(
    engine: backscroll.Engine,
) -> None:
    """A message of it was changed in between: its old words do not live on in the copy."""
    thread = engine.create("work")
    task = thread.tasks.start("mend the light")
    secret = thread.append("user", "TODO: call the keeper Okwonkwo about the broken lamp.").id
    talk(thread, 6, start=1)
    thread.tasks.start("something else")
    thread.append("user", "Something else.")
    assert "Okwonkwo" in said(thread)
    turns = sum(m.role == "user" for m in thread)
    thread.append("user", "Go on with the light.")
    thread.tasks.resume(task)
    thread.edit(secret, "TODO: call somebody about the lamp.")
    rewind_words(thread, turns + 1)
    assert "Okwonkwo" not in said(thread)


def test_imported_copy_keeps_learned_weights(engine: backscroll.Engine, tmp_path: Path) -> None:
    """What was asked for again weighs more at the next compaction, in a native copy too."""
    thread = engine.create("learns")
    for n in range(40):
        role = ("user", "assistant")[n % 2]
        thread.append(role, f"qz{n}zq " + (f"see ```x = {n}```" if n % 5 == 0 else WORDS) * 3)
    plain = said(thread, 900)
    for _ in range(30):
        note_all(engine, thread.id, [m for m in thread if "```" in m.text][:1])
    learned = said(thread, 900)
    assert learned != plain
    engine.export([thread.id], "native", str(tmp_path / "copy.jsonl"))
    with backscroll.open(tmp_path / "copy.db", background=False) as other:
        assert all(not report.problems for report in other.import_path(tmp_path / "copy.jsonl"))
        assert said(other.thread(thread.id), 900) == learned
