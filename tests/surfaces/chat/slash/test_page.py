"""The page of slash commands is generated from the catalogue, and correct."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from backscroll.surfaces.chat.input import attachments as attaching
from backscroll.surfaces.chat.slash import registry
from tests.house import tree

DOCS = tree.ROOT / "docs"


def generator() -> ModuleType:
    """The program that writes the page."""
    spec = importlib.util.spec_from_file_location("generate_slash", DOCS / "generate_slash.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/generate_slash.py` writes it."""
    monkeypatch.setattr(sys, "argv", ["generate_slash.py", "--check"])
    assert generator().main() == 0


def test_page_lists_every_command_and_alias() -> None:
    """So that no one has to read the source to find one."""
    page = (DOCS / "slash.md").read_text(encoding="utf-8")
    for slash in registry.all():
        assert f"`{slash.call.replace('|', chr(92) + '|')}`" in page
        assert all(f"`/{name}`" in page for name in slash.aliases)


def test_figures_of_the_page_are_those_of_the_program() -> None:
    """The limits it names are the real ones."""
    page = (DOCS / "slash.md").read_text(encoding="utf-8")
    assert f"{attaching.LONGEST:,} characters" in page
    assert f"({attaching.TOGETHER:,} for all" in page
    assert f"up to {attaching.LARGEST // 1_000_000} MB" in page


def test_generating_the_page_twice_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte."""
    module = generator()
    monkeypatch.setattr(module, "PAGE", tmp_path / "slash.md")
    monkeypatch.setattr(sys, "argv", ["generate_slash.py"])
    module.main()
    assert (tmp_path / "slash.md").read_bytes() == (DOCS / "slash.md").read_bytes()
