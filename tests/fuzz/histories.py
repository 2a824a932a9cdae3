"""Fuzz prompts: any history, any sequence of operations, forks, every wire, every budget. All promises hold after each."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import promises
from tests.fuzz.acts import act
from tests.fuzz.talk import Talk

#: Failed once: a fork without its past, tool blocks without tools, budgets that were not monotone (1); a pinned message that a
#: late result had joined to another reply (4); half an emoji beside Chinese (6).
SEEDS = (1, 4, 6)
OPERATIONS = 40


def fuzz(seed: int, folder: Path) -> None:
    """Do things to conversations and look at their prompts."""
    with Talk(seed, folder / "store.db").told() as talk:
        dice = talk.dice
        name = talk.create(project=dice.choice(("", "harbour")), language=dice.choice(("", "en", "zh")))
        if dice.random() < 0.8:
            talk.say(name, "system", dice.choice((1, 4)))
        for _ in range(dice.choice((0, 2, 6, 18))):
            talk.turn(name)
        for number in range(OPERATIONS):
            touched = act(talk)
            look_at(talk, touched)
            if number % 12 == 11:
                promises.assert_monotone(talk, talk.some_thread(), dice.choice(promises.WIRES))
        for name in talk.lines:
            promises.assert_monotone(talk, name, dice.choice(promises.WIRES))
            talk.assert_lines(name)
        verdict = talk.engine.verify()
        assert verdict.ok, verdict.flaws


def look_at(talk: Talk, name: str) -> None:
    """One prompt of a thread that was just changed, and now and then one of another."""
    dice = talk.dice
    names = [name, talk.some_thread()] if dice.random() < 0.2 else [name]
    for each in names:
        promises.assert_keeps(
            talk, each, dice.choice(promises.BUDGETS), dice.choice(promises.WIRES), tools=dice.random() < 0.4
        )
