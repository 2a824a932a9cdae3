"""The card and the lorebook that every user of SillyTavern begins with, where somebody has them.

They are not part of this repository (AGPL). `npm pack sillytavern`, unpack it, and set BACKSCROLL_TEST_TAVERN to its folder `default/content`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import backscroll

FOLDER = Path(os.environ.get("BACKSCROLL_TEST_TAVERN", "") or "/nonexistent")
CARD, BOOK = FOLDER / "default_Seraphina.png", FOLDER / "Eldoria.json"
pytestmark = pytest.mark.skipif(
    not (CARD.is_file() and BOOK.is_file()),
    reason="BACKSCROLL_TEST_TAVERN does not name the folder default/content of the npm package sillytavern",
)


def test_sillytavern_default_card_works_end_to_end(sqlite_url: str) -> None:
    """Import the card, match an entry, check the receipt and the graph."""
    with backscroll.open(sqlite_url, background=False) as store:
        (report,) = store.import_path(str(CARD))
        assert (report.title, report.problems) == ("Seraphina", [])
        thread = store.thread(report.thread or "")
        thread.append("user", "Who are the Shadowfangs?")
        prompt = thread.prompt(8000)
        woken = [item.reason for item in prompt.receipt.items if item.section == "lore"]
        assert any("«shadowfang»" in reason and "woken by «shadowfang»" in reason for reason in woken)
        assert "beasts of darkness" in json.dumps(prompt.messages)
        for _ in range(3):
            thread.append("assistant", "I am tired.")
            thread.append("user", "Rest.")
        known = {(f.predicate, f.value) for f in thread.graph.node("Seraphina").attributes}
        assert {("occupation", "guardian"), ("skill", "healing")} <= known
        assert any(predicate == "appearance" and "amber eyes" in value for predicate, value in known)
        fangs = {(f.predicate, f.value) for f in thread.graph.node("Shadowfangs").attributes}
        assert ("kind", "beasts of darkness") in fangs
        assert not any(node.name.casefold() == "assistant" for node in thread.graph.nodes())


def test_sillytavern_lorebook_can_be_added_alone(sqlite_url: str) -> None:
    """Without the card, to an existing thread."""
    with backscroll.open(sqlite_url, background=False) as store:
        thread = store.create("Eldoria", kind="roleplay")
        assert len(thread.lore.add("Eldoria", BOOK.read_bytes())) == 4
        thread.append("user", "Who are the Shadowfangs?")
        names = [
            item.reason.split("»")[0].split("«")[1]
            for item in thread.prompt(8000).receipt.items
            if item.section == "lore"
        ]
        assert "shadowfang" in names
