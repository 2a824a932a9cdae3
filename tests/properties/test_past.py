"""The past of a thread that was condensed: whatever is done to it, every prompt holds what it owes to the history.

The latest user message, system messages, pins and waiting calls are in every prompt; whatever is live is shown, summed up or counted as
unseen, exactly; a prompt is a function of log, settings and clock.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.vocab.event import Kind
from tests.properties.past import OPERATIONS, Act, World

numbers = st.integers(0, 99)
steps = st.tuples(st.sampled_from(OPERATIONS), numbers, numbers)
#: What takes the end of a condensed history away, or begins before it.
parting = st.tuples(
    st.sampled_from(["fork", "fork_early", "delete_end", "rewind", "hide", "crop", "undo", "say"]),
    numbers,
    numbers,
)
quiet: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@contextmanager
def lived(talk: int, acts: Sequence[Act], **more: Any) -> Iterator[World]:
    """A world after some operations, gone at the end."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), **more)
        try:
            world.begin(talk, acts)
            yield world
        finally:
            world.close()


@settings(max_examples=20, **quiet)
@given(talk=st.integers(20, 29), acts=st.lists(parting, min_size=1, max_size=5))
def test_a_condensed_history_that_lost_its_end_keeps_its_past(talk: int, acts: list[Act]) -> None:
    """A fork before the end of a compaction, a rewind behind it, its newest messages deleted, hidden or cropped."""
    with lived(talk, acts) as world:
        world.owed_everywhere()


@settings(max_examples=20, **quiet)
@given(talk=st.integers(20, 29), acts=st.lists(steps, min_size=1, max_size=14))
def test_every_prompt_holds_what_it_owes(talk: int, acts: list[Act]) -> None:
    """Over all operations."""
    with lived(talk, acts) as world:
        world.owed_everywhere()


@settings(max_examples=12, **quiet)
@given(talk=st.integers(20, 29), acts=st.lists(steps, min_size=1, max_size=14))
def test_a_prompt_is_a_function_of_log_settings_and_clock(talk: int, acts: list[Act]) -> None:
    """A second engine and a native copy give the same bytes."""
    with lived(talk, acts) as world:
        world.copies_agree()


@pytest.mark.parametrize("minutes", [1, 29])
def test_cold_cache_is_known_from_the_log(minutes: int) -> None:
    """Whether the cache is cold is decided the same way without any receipt."""
    talk = [("talk", 0, n) for n in (8, 0, 0)]
    with lived(20, talk, high=0.95, low=0.2) as world:
        thread = world.threads[0]
        world.do("wait", 0, minutes)
        told = thread.prompt(8_000, reserve=0, dry_run=True).receipt.compaction
        assert told.get("reason") == ("free" if minutes > 5 else None)
        world.copies_agree()


#: Condensed because somebody asked: that binds every budget, however large.
ASKED: list[Act] = [("talk", 0, 20), ("compact", 0, 0)]


def asked(world: World) -> bool:
    """True where the newest compaction is one that was asked for."""
    found = [e for e in world.threads[0].events() if e.kind is Kind.COMPACTED]
    return found[-1].head["reason"] == "asked"


def test_fork_keeps_the_prefix_of_a_shared_compaction() -> None:
    """It is clipped, not dropped: the provider has it cached. An earlier fork shows its own messages."""
    with lived(29, ASKED) as world:
        thread = world.threads[0]
        assert asked(world)
        messages = list(thread)
        whole = thread.prompt(200_000, reserve=0, dry_run=True)
        assert whole.receipt.summarised
        shared = thread.fork(messages[-2].id).prompt(200_000, reserve=0, dry_run=True)
        assert [i.mark for i in shared.receipt.items][:2] == [i.mark for i in whole.receipt.items][:2]
        early = thread.fork(messages[5].id).prompt(200_000, reserve=0, dry_run=True)
        assert (early.receipt.messages, early.receipt.left_out) == (6, 0)


def test_message_after_a_rewind_does_not_restore_a_compaction() -> None:
    """The prompt before it showed the messages: the next one shows them too."""
    with lived(29, ASKED) as world:
        thread = world.threads[0]
        assert asked(world)
        thread.delete(*(m.id for m in list(thread)[6:]))
        assert thread.prompt(200_000, reserve=0).receipt.left_out == 0
        for _ in range(2):
            world.do("say", 0, 0)
            with world.opened(world.folder / "world.db") as second:  # it remembers nothing
                assert second.thread(thread.id).prompt(200_000, reserve=0).receipt.left_out == 0
