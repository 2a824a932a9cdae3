"""No block of a prompt weighs less than what it consists of: signed, cut, out of its place, or filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll import Content, Media, Text, ToolCall, ToolResult, Wire
from backscroll.assemble.compaction.last_resort import cut_block
from backscroll.engine.budget.counts import kept_bytes
from backscroll.engine.budget.request import check_request
from backscroll.engine.prompts.composition.composer import read_composer
from backscroll.llm.tokens.overhead import message_tokens
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.prompt import Block, Level

WIRES = ("openai-chat", "openai-responses", "anthropic")
AUTHOR = "Ada-Lovelace_1843-of-the-Analytical-Engine"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    with backscroll.open(tmp_path / "store.db", background=False) as opened:
        yield opened


def assert_weighed(engine: backscroll.Engine, blocks: Iterable[Block], wire: Wire) -> None:
    for block in blocks:
        told = message_tokens(
            block.parts,
            block.role,
            tokenizer_for(""),
            wire,
            author=block.author,
            bytes_of=kept_bytes(engine),
        )
        assert told <= block.tokens, f"{block.reason}: {told} tokens, taken for {block.tokens}"


@pytest.mark.parametrize("wire", WIRES)
def test_cut_message_keeps_its_author(engine: backscroll.Engine, wire: Wire) -> None:
    thread = engine.create("Talk")
    thread.append("user", "read it", author=AUTHOR)
    words = Text("wind, sails\n" * 90)
    thread.append("assistant", [words, ToolCall("c1", "Read", {"path": "log" * 90})], author=AUTHOR)
    thread.append("tool", [ToolResult("c1", (Text("a line of the log\n" * 200),))])
    thread.pin(thread.append("assistant", "keep this", author=AUTHOR).id)
    composer = read_composer(thread, check_request(engine, 9000, wire=wire, reserve=0))
    faded = composer.lens.show_unit(composer.units[1], Level.DIGEST, {})
    assert not isinstance(faded, str)
    cut = [cut_block(block, 80, composer.meter) for block in composer.blocks(None)]
    assert {block.reason for block in (*faded, *cut)} >= {"digest", "cut"}
    assert_weighed(engine, [*faded, *cut, *composer.least()], wire)


@pytest.mark.parametrize("wire", WIRES)
def test_cut_open_call_is_counted_as_shown(engine: backscroll.Engine, wire: Wire) -> None:
    """Only its beginning is shown, at any position."""
    thread = engine.create("Talk")
    thread.append("user", "write it")
    call = ToolCall("c1", "write_file", {"path": "a.py", "content": "x = 1\n" * 2000})
    said = thread.append("assistant", Content((call,), metadata={"act": {"cut": True, "cut_calls": ["c1"]}}))
    least = read_composer(thread, check_request(engine, 900, wire=wire, reserve=0)).least()
    assert_weighed(engine, least, wire)
    made = thread.prompt(900, wire=wire, reserve=0, dry_run=True)
    assert any(block.message == said.id for block in made.blocks)


@pytest.mark.parametrize("wire", WIRES)
def test_filled_system_placeholder_is_counted_at_its_maximum(engine: backscroll.Engine, wire: Wire) -> None:
    thread = engine.create("Talk")
    thread.append("user", "hello")
    thread.append("system", "You sail. {recent_operations}")
    made = thread.prompt(2000, wire=wire, reserve=0, dry_run=True)
    assert_weighed(engine, made.blocks, wire)


@pytest.mark.parametrize("wire", WIRES)
def test_file_beside_a_giant_result_is_counted_by_its_bytes(engine: backscroll.Engine, wire: Wire) -> None:
    thread = engine.create("Talk")
    thread.append("user", "read them")
    thread.append("assistant", [ToolCall("c1", "Read", {})])
    file = Media("text/plain", data=("the wind blows 风\n" * 6000).encode())
    thread.append("tool", [ToolResult("c1", (Text("line\n" * 60_000), file))])
    made = thread.prompt(200_000, wire=wire, reserve=0, dry_run=True)
    assert_weighed(engine, made.blocks, wire)
    assert any(block.reason == "shown in part" for block in made.blocks)
