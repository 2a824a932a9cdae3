"""Tokens are counted once per revision, stored behind the work, and corrected by what vendors report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.budget import counts as counting
from backscroll.engine.budget.counts import (
    calibration_of,
    correction,
    counts_for,
    flush_counts,
    flush_if_many,
    usable,
)
from backscroll.errors import InvalidInput, StoreError
from backscroll.llm.prices.families import plain_name
from backscroll.llm.tokens.calibration import key_of, restore_calibration, update_calibration
from backscroll.llm.tokens.overhead import message_tokens
from backscroll.llm.tokens.tokens import Tokenizer, tokenizer_for
from backscroll.record.ports import Writer
from backscroll.vocab.message import Message
from backscroll.vocab.part import Media, Text, ToolCall, ToolResult
from tests.llm.pictures import png

KEY = "o200k/openai-chat/2"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """An empty store."""
    with backscroll.open(tmp_path / "store.db") as opened:
        yield opened


class Watched(Tokenizer):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__("o200k", "o200k", exact=True)
        self.asked = 0

    def count(self, text: str) -> int:
        self.asked += 1
        return super().count(text)


def messages(thread: backscroll.Thread) -> list[Message]:
    return list(thread.messages())


def talk(engine: backscroll.Engine, n: int = 6) -> backscroll.Thread:
    thread = engine.create("Talk")
    for i in range(n):
        thread.append("assistant" if i % 2 else "user", f"words {i} 潮汐")
    return thread


def test_counts_match_the_messages(engine: backscroll.Engine) -> None:
    thread = talk(engine)
    thread.append("assistant", [Text("let me look"), ToolCall("c1", "read", {"path": "a.py"})])
    thread.append("tool", ToolResult("c1", (Text("x = 1"),)))
    counter = tokenizer_for("gpt-5")
    found = counts_for(engine, messages(thread), counter, "openai-chat")
    assert found == {
        m.revision: message_tokens(m.parts, m.role, counter, "openai-chat", author=m.author)
        for m in messages(thread)
    }


def test_counts_are_cached(engine: backscroll.Engine) -> None:
    thread, counter = talk(engine), Watched()
    first = counts_for(engine, messages(thread), counter)
    asked = counter.asked
    assert counts_for(engine, messages(thread), counter) == first
    assert counter.asked == asked > 0


def test_counts_are_stored_for_the_next_process(tmp_path: Path) -> None:
    """Closing the store writes counts still in memory."""
    with backscroll.open(tmp_path / "store.db") as engine:
        thread = talk(engine)
        first = counts_for(engine, messages(thread), tokenizer_for())
    with backscroll.open(tmp_path / "store.db") as engine:
        assert engine.tokens(list(first), KEY) == first
        counter = Watched()
        assert counts_for(engine, messages(engine.thread(thread.id)), counter) == first
        assert counter.asked == 0


def test_only_an_edited_message_is_counted_again(engine: backscroll.Engine) -> None:
    thread, counter = talk(engine, 1), Watched()
    before = counts_for(engine, messages(thread), counter)
    thread.edit(messages(thread)[0].id, "many more words than there were before")
    after = counts_for(engine, messages(thread), counter)
    assert set(before).isdisjoint(after)
    thread.undo()
    asked = counter.asked
    assert counts_for(engine, messages(thread), counter) == before
    assert counter.asked == asked


def test_counts_are_kept_per_wire_and_tokenizer(engine: backscroll.Engine) -> None:
    thread = talk(engine, 2)
    found = {
        (name, wire): sum(counts_for(engine, messages(thread), tokenizer_for(name), wire).values())
        for name in ("gpt-5", "gpt-4", "claude-opus-5")
        for wire in ("openai-chat", "anthropic")
    }
    again = {
        (name, wire): sum(counts_for(engine, messages(thread), tokenizer_for(name), wire).values())
        for name, wire in reversed(found)
    }
    assert again == found
    assert len(set(found.values())) > 3


def test_count_writes_are_batched(engine: backscroll.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that asks for a prompt after every message does not pay a write each time."""
    monkeypatch.setattr(counting, "_TOGETHER", 5)
    thread = engine.create("Talk")
    stored: list[int] = []
    for i in range(12):
        thread.append("user", f"message {i}")
        revisions = [m.revision for m in messages(thread)]
        counts_for(engine, messages(thread), tokenizer_for())
        flush_if_many(engine)
        stored.append(len(engine.tokens(revisions, KEY)))
    assert stored == [0, 0, 0, 0, 5, 5, 5, 5, 5, 10, 10, 10]
    assert flush_counts(engine) == 2
    assert flush_counts(engine) == 0


def test_forgotten_message_gets_no_count(engine: backscroll.Engine) -> None:
    """Not even the length of erased words is written down afterwards."""
    thread = talk(engine, 3)
    gone, *_ = messages(thread)
    counts_for(engine, messages(thread), tokenizer_for())
    thread.forget(gone.id)
    assert flush_counts(engine) == 2
    assert engine.tokens([gone.revision], KEY) == {}


def test_forgotten_thread_gets_no_counts(engine: backscroll.Engine) -> None:
    thread = talk(engine, 3)
    counts_for(engine, messages(thread), tokenizer_for())
    thread.forget_thread()
    assert flush_counts(engine) == 0


def test_counting_works_if_the_store_cannot_be_written(
    engine: backscroll.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = talk(engine, 3)
    monkeypatch.setattr(counting, "_TOGETHER", 1)

    def refuse(work: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(engine.store, "write", refuse)
    assert len(counts_for(engine, messages(thread), tokenizer_for())) == 3


def test_count_cache_is_bounded(engine: backscroll.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_KEPT", 4)
    thread = talk(engine, 9)
    whole = {
        m.revision: n for m in messages(thread) for n in counts_for(engine, [m], tokenizer_for()).values()
    }
    assert len(counting._counts(engine).known) <= 4
    assert counts_for(engine, messages(thread), tokenizer_for()) == whole


def test_stored_image_is_counted_by_its_size(engine: backscroll.Engine) -> None:
    thread = engine.create("Pictures")
    thread.append("user", [Media("image/png", data=png(200, 200))])
    thread.append("user", [Media("image/png", url="https://example.org/a.png")])
    small, unknown = counts_for(engine, messages(thread), tokenizer_for(), "anthropic").values()
    assert small < 100 < unknown


def test_unknown_wire_is_refused(engine: backscroll.Engine) -> None:
    with pytest.raises(InvalidInput, match="unknown wire"):
        counts_for(engine, [], tokenizer_for(), "telegraph")


# -- correcting estimates ----------------------------------------------------------------------------------------


def observe(engine: backscroll.Engine, model: str, *, counted: int, reported: int) -> None:
    """Learn from a call, as the ledger does: we counted so many tokens of prompt, the vendor reported so many."""

    def work(tx: Writer) -> None:
        key = key_of(plain_name(model))
        before = restore_calibration(tx.meta(key))
        tx.set_meta(key, update_calibration(before, counted=counted, reported=reported).to_json())

    engine.store.write(work)


def test_estimates_are_corrected_by_reported_usage(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "store.db") as engine:
        assert correction(engine, "claude-opus-5") == 1.0
        observe(engine, "anthropic/claude-opus-5", counted=10_000, reported=12_000)
    with backscroll.open(tmp_path / "store.db") as engine:
        assert correction(engine, "claude-opus-5") == 1.2
        assert calibration_of(engine, "claude-opus-5").calls == 1
        assert usable(engine, "claude-opus-5", 120_000) == 100_000
        assert correction(engine, "claude-sonnet-5") == 1.0


def test_exact_counts_are_not_corrected(engine: backscroll.Engine) -> None:
    observe(engine, "gpt-5", counted=10_000, reported=12_000)
    assert correction(engine, "gpt-5") == 1.0
    assert correction(engine, "") == 1.0


def test_negative_reported_usage_is_refused(engine: backscroll.Engine) -> None:
    with pytest.raises(InvalidInput):
        observe(engine, "claude-opus-5", counted=10, reported=-1)
