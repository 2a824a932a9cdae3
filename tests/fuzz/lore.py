"""Lorebooks made by chance, for the fuzzers: keys that the texts of the fuzzers hold, and every rule an entry can have."""

from __future__ import annotations

import json
import random
from typing import Any

KEYS = (
    "fox",
    "Ellie",
    "艾莉",
    "cache",
    "tests",
    "日志",
    "/wor(k|ks)/i",
    "我们",
    "berth",
    "Mira",
    "/(a+)+$/",
    "old cache",
)
BOOKS = ("Bergen", "卑尔根")


def some_book(dice: random.Random) -> str:
    """A book in SillyTavern's shape, or the book of a card's."""
    entries = [_entry(dice, n) for n in range(dice.randrange(1, 6))]
    if dice.random() < 0.3:
        rows = [_as_card_has_it(row, dice) for row in entries]
        return json.dumps(
            {
                "name": "Bergen",
                "scan_depth": dice.choice((None, 0, 3)),
                "token_budget": dice.choice((None, 60)),
                "entries": rows,
            }
        )
    return json.dumps({"entries": {str(n): row for n, row in enumerate(entries)}})


def _entry(dice: random.Random, number: int) -> dict[str, Any]:
    other = dice.choice(KEYS)
    return {
        "uid": number,
        "comment": dice.choice(("", f"entry {number}", "条目")),
        "key": dice.sample(KEYS, dice.randrange(0, 3)),
        "keysecondary": dice.sample(KEYS, dice.choice((0, 0, 1, 2))),
        "selective": dice.random() < 0.9,
        "selectiveLogic": dice.randrange(4),
        "content": dice.choice(
            (
                f"{{{{char}}}} knows {other} and {{{{user}}}}, number {dice.randrange(40)}.",
                f"卑尔根的{other}。" * dice.choice((1, 60)),
                "",
            )
        ),
        "constant": dice.random() < 0.2,
        "disable": dice.random() < 0.1,
        "order": dice.choice((1, 100, 100, 250)),
        "position": dice.choice((0, 1, 4, 7)),
        "probability": dice.choice((100, 100, 50, 0)),
        "group": dice.choice(("", "", "weather")),
        "excludeRecursion": dice.random() < 0.2,
        "preventRecursion": dice.random() < 0.2,
        "delayUntilRecursion": dice.choice((False, False, True, 2)),
        "scanDepth": dice.choice((None, None, 0, 5)),
        "sticky": dice.choice((0, 3)),
        "delay": dice.choice((0, 0, 4)),
        "ignoreBudget": dice.random() < 0.1,
    }


def _as_card_has_it(row: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    return {
        "keys": row["key"],
        "secondary_keys": row["keysecondary"],
        "name": row["comment"],
        "content": row["content"],
        "enabled": not row["disable"],
        "constant": row["constant"],
        "insertion_order": row["order"],
        "position": dice.choice(("before_char", "after_char")),
        "extensions": {"probability": row["probability"], "group": row["group"], "depth": 2},
    }
