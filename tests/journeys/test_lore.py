"""Journeys of a user of a role-play program: a card, a lorebook, and why an entry is in the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.formats.test_cards import V2, picture, text_chunk
from tests.journeys.conftest import Cli

BOOK = {
    "entries": {
        "0": {"uid": 0, "key": ["gravewing"], "keysecondary": [], "comment": "gravewing", "content": "Gravewings are moths of ash."},
        "1": {"uid": 1, "key": ["/(a+)+/"], "keysecondary": [], "comment": "odd", "content": "Odd."},
    }
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A card and a book."""
    (tmp_path / "maren.png").write_bytes(picture(text_chunk("chara", V2)))
    (tmp_path / "moths.json").write_text(json.dumps(BOOK), encoding="utf-8")
    return tmp_path


def test_card_and_lorebook_reach_the_prompt(cli: Cli, files: Path) -> None:
    """The card begins a conversation; the entry is in the prompt, and each place gives the reason."""
    report = cli.ok("import", files / "maren.png", "--json").json["reports"][0]
    assert (report["format"], report["title"], report["counts"]["lore"]) == ("character-card", "Maren", 7)
    thread = report["thread"]
    assert "2 world entries" in cli.ok("lore", thread, files / "moths.json").out
    cli.ok("append", thread, "user", "Who are the Gravewings?")
    states = {e["name"]: e["state"] for e in cli.ok("lore", thread, "--json").json}
    assert (states["gravewing"], states["gull"], states["Maren"], states["odd"]) == (
        "next",
        "asleep",
        "card",
        "asleep",
    )
    assert "gravewing" in cli.ok("lore", thread).out
    assert "could take too long" in cli.ok("lore", thread, "--entry", "odd").out
    prompt = cli.ok("prompt", thread, "--budget", "8000").out
    assert "moths of ash" in prompt
    whole = cli.ok("lore", thread, "--entry", "Gravewing").out
    assert "Gravewings are moths of ash." in whole
    context = cli.ok("context", thread, "--budget", "8000", "--json").json
    assert any("«gravewing»" in item["reason"] for item in context["items"])
    assert "gravewing" in cli.ok("context", thread, "--budget", "8000").out.replace("\n", " ")
    cli.ok("lore", thread, "--drop", "moths")
    assert "moths of ash" not in cli.ok("prompt", thread, "--budget", "8000").out


def test_lore_speaks_chinese(cli: Cli, files: Path) -> None:
    """States, reasons and errors in the user's language."""
    thread = cli.ok("import", files / "maren.png", "--json").json["reports"][0]["thread"]
    cli.ok("append", thread, "user", "the gulls")
    cli.ok("prompt", thread, "--budget", "8000")
    told = cli.ok("lore", thread, BACKSCROLL_LANGUAGE="zh").out
    assert "在提示里" in told
    assert "系统消息" in told
    (files / "bad.png").write_bytes(picture())
    refused = cli("import", files / "bad.png", BACKSCROLL_LANGUAGE="zh")
    assert "没有角色卡的图片" in refused.err


def test_lore_refuses_other_files(cli: Cli, files: Path) -> None:
    """A lorebook imported as a conversation names the right command; a broken picture says what is wrong."""
    refused = cli("import", files / "moths.json")
    assert refused.code == 3
    assert "a lorebook" in refused.err
    assert "backscroll lore" in refused.err
    (files / "cut.png").write_bytes((files / "maren.png").read_bytes()[:80])
    thread = cli.conversation("hello", "hi")
    for command in (
        ("import", files / "cut.png"),
        ("lore", thread, files / "cut.png"),
        ("graph", "world", thread, files / "cut.png"),
    ):
        assert "breaks off" in cli(*command).err
    assert cli.ok("lore", thread).out.startswith("No lorebook")
    assert "not found" in cli("lore", thread, "--entry", "x").err
