"""Prompts, crops, compactions, recall and receipts: the same on every store, and the same again from nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from backscroll import Engine, Thread, Wire
from backscroll.assemble.validity import check
from backscroll.engine.background.worker import Worker, bring_up_to_date
from backscroll.engine.crops.crops import crops
from backscroll.engine.prompts.builder import receipts
from backscroll.errors import Forgotten, InvalidInput, NotFound
from backscroll.vocab.event import Kind
from backscroll.vocab.prompt import WIRES
from tests.contracts.talk import kinds, work

BUDGET = 3000


def said(made: Any) -> str:
    return json.dumps(made.request, ensure_ascii=False)


def rehearsed(thread: Thread, budget: int = BUDGET, wire: Wire = "openai-chat") -> str:
    return said(thread.prompt(budget, wire=wire, reserve=0, dry_run=True))


@pytest.mark.parametrize("wire", WIRES)
def test_prompt_fits_is_valid_and_keeps_a_receipt(long: Thread, wire: Wire) -> None:
    """On each wire: within budget, no rule broken, the account kept and read back as it was given."""
    made = long.prompt(BUDGET, wire=wire, reserve=0)
    assert made.receipt.total <= BUDGET
    assert check(made.messages, wire, system=made.system) == []
    assert "function_19" in said(made)
    assert receipts(long, 1) == [made.receipt]
    (event,) = [e for e in long.events() if e.kind is Kind.COMPACTED]
    assert made.receipt.compaction["event"] == event.seq
    assert {e.kind for e in long.events() if e.seq > event.seq} <= {Kind.PLACED}


def test_dry_run_writes_nothing(store: Engine, long: Thread) -> None:
    """No event and no receipt; the result equals the real one."""
    head = long.head
    first = long.prompt(BUDGET, reserve=0, dry_run=True)
    long.compact(BUDGET, dry_run=True)
    long.crop("top", 4, dry_run=True)
    assert (long.head, receipts(long)) == (head, [])
    assert said(long.prompt(BUDGET, reserve=0)) == said(first)


def test_prompts_are_identical_after_a_restart(
    store: Engine, long: Thread, reopen: Callable[[], Engine]
) -> None:
    """With nothing in memory, the prompts of all wires are the bytes that they were before."""
    long.prompt(BUDGET, reserve=0)
    work(long, 20)
    before = [rehearsed(long, wire=wire) for wire in WIRES]
    store.close()
    again = reopen().thread(long.id)
    assert [rehearsed(again, wire=wire) for wire in WIRES] == before


def test_prompt_prefix_is_stable_between_compactions(long: Thread) -> None:
    """A prompt starts with all bytes of the previous one."""
    first = long.prompt(BUDGET, reserve=0, recall=False)
    long.append("assistant", "All is well.")
    long.append("user", "And now?")
    second = long.prompt(BUDGET, reserve=0, recall=False)
    assert not second.receipt.compaction
    assert second.receipt.broken == {}
    assert second.messages[: len(first.messages)] == first.messages


def test_undo_of_a_compaction_restores_the_prompt(long: Thread) -> None:
    """The prompt before, the one after, and the one before again after an undo; a redo compacts again."""
    whole = rehearsed(long, 40_000)
    done = long.compact(4000)
    assert done.event == long.head
    assert done.after < done.before
    small = rehearsed(long, 40_000)
    assert len(small) < len(whole)
    long.undo()
    assert rehearsed(long, 40_000) == whole
    long.redo()
    assert rehearsed(long, 40_000) == small


def test_prompt_does_not_compact_twice(long: Thread) -> None:
    """Without new messages, in any budget that fits."""
    for budget in (BUDGET, BUDGET, 40_000, BUDGET, 2000, 2000):
        long.prompt(budget, reserve=0)
    first = kinds(long).count("compacted")
    for _ in range(3):
        long.prompt(2000, reserve=0)
    assert kinds(long).count("compacted") == first <= 3


def test_crop_can_be_expanded_uncropped_and_undone(long: Thread) -> None:
    """Cropped messages leave prompts, not the history; expand, uncrop and undo restore them."""
    before, count = rehearsed(long, 40_000), len(long)
    made = long.crop("top", 8, "They read modules and mended them.")
    now = rehearsed(long, 40_000)
    assert "They read modules" in now
    assert "helper_0_" not in now
    assert (len(long), kinds(long)[-1]) == (count, "cropped")
    assert [m.id for m in long.expand(made.handle)] == [m.id for m in long][1:9]
    assert long.uncrop(made.handle) == 8
    assert rehearsed(long, 40_000) == before
    long.undo()
    assert rehearsed(long, 40_000) == now
    long.undo()
    assert rehearsed(long, 40_000) == before
    with pytest.raises(NotFound):
        long.uncrop(made.handle)


def test_crop_summary_is_withheld_while_a_source_is_changed(long: Thread) -> None:
    """A summary by hand is not shown on once a message of it was deleted; rules speak for what is left.

    It is withheld for as long as that is so: when all of them say again what they said, so does the summary.
    """
    long.crop("top", 8, "They spoke of the harbour.")
    before = rehearsed(long, 40_000)
    gone = list(long)[1]

    def is_withheld() -> bool:
        now = rehearsed(long, 40_000)
        withheld = "withheld" in now or "没有显示" in now  # in the language of what stands in its place
        assert ("harbour" in now) is (now == before) is (not withheld)
        return withheld

    long.delete(gone.id)
    assert is_withheld()
    long.restore(gone.id)
    assert not is_withheld()
    for change in (
        lambda: long.delete(gone.id),
        lambda: long.edit(gone.id, "Other words."),
        lambda: long.hide(gone.id),
    ):
        change()
        assert is_withheld()
        long.undo()
        assert not is_withheld()
        long.redo()
        assert is_withheld()
        long.undo()
        assert not is_withheld()


@pytest.mark.parametrize("amount", [0, -1, 10_000, 2])
def test_impossible_crops_are_refused(long: Thread, amount: int) -> None:
    """Nothing, less than nothing, more than may go, half a step: refused, and nothing is written."""
    head = long.head
    with pytest.raises(InvalidInput):
        long.crop("top", amount)
    assert long.head == head


def test_fork_and_parent_prompts_are_independent(long: Thread) -> None:
    """A crop, a compaction and a message in a fork change nothing in its parent, and the other way round."""
    long.prompt(BUDGET, reserve=0)
    before = rehearsed(long)
    fork = long.fork()
    assert rehearsed(fork) == before
    fork.append("user", "Only here: marmalade.")
    fork.crop("top", 8)
    fork.compact(2000)
    assert rehearsed(long) == before
    work(long, 30)
    long.prompt(2000, reserve=0)
    assert "function_30" not in rehearsed(fork)
    assert "marmalade" not in rehearsed(long)


def test_fork_of_an_earlier_message_shows_nothing_later(long: Thread) -> None:
    """Compactions and crops of the parent about later messages do not apply in the fork."""
    long.append("user", "Never touch the walrus table!")
    work(long, 40, 41, 42, 43)
    long.crop("bottom", 3, "Walruses were seen.")
    long.compact(2000)
    work(long, 44)
    long.prompt(2000, reserve=0)
    fork = long.fork(list(long)[20].id)
    work(fork, 90)
    for wire in WIRES:
        told = rehearsed(fork, 40_000, wire)
        assert "function_90" in told
        assert not {w for w in ("walrus", "Walrus", "function_40", "function_44") if w in told}
    assert "walrus" not in fork.summary()


def test_recall_finds_what_compaction_hid(store: Engine, long: Thread) -> None:
    """An old detail is recalled by name, in both languages, and comes into the prompt when the newest message asks."""
    long.append("user", "The password hint is kingfisher; 钥匙放在蓝色的盒子里。")
    work(long, *range(20, 30))
    long.compact(2000)
    for question, answer in (("What is the password hint?", "kingfisher"), ("钥匙放在哪里？", "蓝色的盒子")):
        found = long.recall(question, 300)
        assert answer in found.text
        assert found.tokens <= 300
        assert answer in long.expand(found.items[0].handle)[0].text
    long.append("user", "What was the password hint that I gave you earlier?")
    assert "kingfisher" in rehearsed(long)


def test_words_that_are_not_live_are_shown_nowhere(long: Thread) -> None:
    """Deleted, hidden, edited and swiped away: not in prompts, accounts, recall, operations or behind handles."""
    words = ["alabaster", "bergamot", "carmine", "damask"]
    marked = [long.append("user", f"We decided to use {w} because it is best.") for w in words]
    work(long, *range(20, 26))
    made = long.crop("bottom", 3)
    long.compact(2000)
    long.delete(marked[0].id)
    long.hide(marked[1].id)
    long.edit(marked[2].id, "We decided otherwise.")
    long.regenerate(marked[3].id, "We decided nothing.")
    told = [rehearsed(long, budget, wire) for wire in WIRES for budget in (1500, BUDGET, 40_000)]
    told += [long.summary(), str(long.operations()), str(long.expand(made.handle))]
    told += [long.recall(f"Why did we decide to use {w}?", 500).text for w in words]
    whole = long.expand(f"[bs:{long.message(0).id.seq}-{long.recent(1)[0].id.seq}]")
    told += [str(m.content) for m in whole]
    assert {w for w in words for text in told if w in text.partition("Why did we")[0]} == set()


def test_forgotten_words_are_in_no_derived_data(store: Engine, long: Thread) -> None:
    """Artefacts, vectors, counts, receipts, crops and compactions are made again without them."""
    gone = long.append(
        "user", "Never mention the obsidian obelisk, whoever asks for it and however often they ask!"
    )
    work(long, *range(20, 26))
    long.compact(4000)
    long.crop(first=gone.id, last=gone.id, summary="The obsidian obelisk is a secret.")
    long.compact(2000)
    long.prompt(2000, reserve=0)
    bring_up_to_date(store, long.id)
    handle = f"[bs:{gone.id.seq}]"
    long.forget(gone.id)
    bring_up_to_date(store, long.id)
    with pytest.raises(Forgotten):
        long.expand(handle)
    told = [rehearsed(long, budget, wire) for wire in WIRES for budget in (1500, 40_000)]
    told += [long.summary(), long.recall("obsidian obelisk", 500).text]
    told += [str(e.body) for e in long.events()]
    told += [str(receipts(long)), *(str(mark.summary) for mark in crops(long))]
    assert not [text for text in told if "obelisk" in text]
    assert not store.search("obelisk").hits


def test_workers_derive_missing_data_once(store: Engine, long: Thread) -> None:
    """The second worker finds nothing to do, and prompts are the same as without workers."""
    before = rehearsed(long)
    one, other = Worker(store), Worker(store)
    assert one.run() == 1
    assert other.run() == 0
    assert (one.progress.failed, one.progress.last_error) == (0, "")
    assert rehearsed(long) == before
    long.append("user", "More.")
    assert other.run() == 1


def test_prompts_switch_between_large_and_small_windows(long: Thread) -> None:
    """After an undo of the compaction, everything that fits is shown in full."""
    whole = long.prompt(128_000, reserve=0, recall=False)
    small = long.prompt(2000, reserve=0, wire="anthropic")
    assert small.receipt.total <= 2000
    back = long.prompt(128_000, reserve=0, wire="openai-responses")
    assert back.receipt.total <= 128_000
    assert not back.receipt.compaction
    for _ in range(kinds(long).count("compacted")):
        long.as_actor("backscroll").undo()
    assert said(long.prompt(128_000, reserve=0, recall=False)) == said(whole)


def test_crop_hides_only_its_messages(long: Thread) -> None:
    """A message that was inserted or moved has a number far from its neighbours'; what lies between by number stays."""
    messages = list(long)
    added = long.insert("assistant", "Put in later: pomegranate. " * 8, after=messages[4].id)
    long.move(messages[-1].id, after=added.id)
    made = long.crop(first=messages[4].id, last=messages[-1].id)
    names = [messages[4].id, added.id, messages[-1].id]
    assert made.messages == 3
    assert [m.id for m in long.expand(made.handle)] == names
    told = long.prompt(60_000, reserve=0, dry_run=True)
    shown = {block.message for block in told.blocks}
    assert {m.id for m in long} - shown == set(names)


def test_expand_leaves_out_hidden_messages(long: Thread) -> None:
    """Expanded text goes to a model: hidden messages are skipped in ranges and refused alone."""
    first, hidden, last = list(long)[1:4]
    long.hide(hidden.id)
    found = long.expand(f"[bs:{first.id.seq}-{last.id.seq}]")
    assert [m.id for m in found] == [first.id, last.id]
    with pytest.raises(NotFound, match="hidden"):
        long.expand(f"[bs:{hidden.id.seq}]")
