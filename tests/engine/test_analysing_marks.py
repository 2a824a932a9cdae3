"""Long threads in which things happen far back: the marks that a step reads are enough for what a rebuild would give."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.derive.window import window_of
from backscroll.engine.engine import Engine
from backscroll.engine.knowledge.analysis import catch_up, rebuild
from backscroll.errors import BackscrollError
from backscroll.record.derived import TurnMark
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.ids import Ref

_TURNS = 40


def _marks(thread: backscroll.Thread) -> list[TurnMark]:
    rule = window_of(thread.engine.settings).rule
    return thread.store.read(lambda reader: reader.turn_marks(thread.id, rule))


def _something(thread: backscroll.Thread, chance: random.Random, gone: list[Ref]) -> None:
    """One act, mostly far from the end."""
    messages = list(thread.messages())
    one = chance.choice(messages).id
    act = chance.randrange(8)
    if act == 0:
        at = chance.randrange(len(messages))
        some = [m.id for m in messages[at : at + chance.choice((1, 2, 5))]]
        thread.delete(*some)
        gone += some
    elif act == 1 and gone:
        thread.restore(gone.pop(chance.randrange(len(gone))))
    elif act == 2:
        thread.insert(chance.choice(("user", "assistant")), "Anna lives in Dunmere.", after=one)
    elif act == 3:
        thread.move(one, after=chance.choice([None, *(m.id for m in messages if m.id != one)]))
    elif act == 4:
        thread.edit(one, f"Anna is {chance.randrange(90)} years old.")
    elif act == 5:
        thread.undo()
    elif act == 6:
        last = messages[-chance.randrange(1, 9) :]
        thread.delete(*(m.id for m in last))
        gone += [m.id for m in last]
    else:
        thread.append("user", "And now?")


@pytest.mark.parametrize("edits", ["ignore", "reconcile"])
@pytest.mark.parametrize("deletes", ["retract", "ignore"])
@pytest.mark.parametrize("seed", range(3))
def test_distant_changes_give_the_same_marks_as_a_rebuild(
    tmp_path: Path, seed: int, edits: str, deletes: str
) -> None:
    """Deletes, restores, inserts, moves, edits and undo in a thread longer than the window."""
    settings = Settings(
        background=False,
        sliding_window_size=3,
        conflict_resolution_settled_edits=edits,
        conflict_resolution_settled_deletes=deletes,
    )
    chance = random.Random(seed)
    with Engine(SqliteStore(tmp_path / "store.db"), settings) as engine:
        thread = engine.create("long")
        for n in range(_TURNS):
            thread.append("user", f"What about Anna on day {n}?")
            thread.append("assistant", f"Anna lives in Place{n % 7}.")
        catch_up(engine, thread.id)
        gone: list[Ref] = []
        for _ in range(25):
            for _ in range(chance.choice((1, 1, 3))):
                try:
                    _something(thread, chance, gone)
                except BackscrollError:
                    continue  # nothing to undo, or it is back already
            catch_up(engine, thread.id)
            held = _marks(thread)
            rebuild(engine, thread.id)
            assert held == _marks(thread)
