"""Journeys of a user who summarizes a conversation and what was learned from it."""

from __future__ import annotations

import pytest

import backscroll
from backscroll.engine.inputs.lessons import note
from backscroll.surfaces.screen.cells import width
from tests.journeys.conftest import Cli


@pytest.fixture
def talk(cli: Cli) -> Cli:
    """A store with one conversation."""
    with backscroll.open(cli.store) as engine:
        thread = engine.create("Tide tables")
        thread.append("user", "Show the tides of Saint-Malo. The page must load within 2 seconds.")
        thread.append("assistant", "Let's cache the table in Redis because it changes once a day.")
        thread.append("user", "TODO: ask the harbour for the new table.")
        thread.append("assistant", "Noted.")
    return cli


def test_summary_lists_constraints_decisions_and_to_dos(talk: Cli) -> None:
    """A decision with its reason, and the last exchange, each with its handle."""
    shown = talk.ok("summary", "last").out
    assert "Tide tables (2 turns, 4 messages)" in shown
    assert "The page must load within 2 seconds. [bs:2]" in shown
    assert "Let's cache the table in Redis because it changes once a day. [bs:3]" in shown
    assert "TODO: ask the harbour for the new table." in shown
    assert talk.ok("summary", "last", "--json").json["summary"].startswith("Tide tables")


def test_summary_fits_the_terminal(talk: Cli) -> None:
    shown = talk.ok("summary", "last", COLUMNS="60").out
    assert [line for line in shown.splitlines() if width(line) > 60] == []


def test_too_small_budget_is_refused(talk: Cli) -> None:
    """In both languages, with the value to give."""
    done = talk("summary", "last", "--budget", "5")
    assert done.code == 2
    assert "give a whole number of 60 or more" in done.err
    assert "不小于 60" in talk("summary", "last", "--budget", "5", "--lang", "zh").err


def test_learned_notes_are_shown_and_dropped(talk: Cli) -> None:
    assert "Nothing learned yet" in talk.ok("learned").out
    with backscroll.open(talk.store) as engine:
        thread = engine.thread(next(engine.threads()).id)
        note(engine, thread.id, thread.message(0))
    shown = talk.ok("learned").out
    assert "role:user" in shown
    assert "×1." in shown
    rows = talk.ok("learned", "last", "--json").json
    assert {row["feature"] for row in rows} >= {"role:user", "content:constraint"}
    assert "Dropped " in talk.ok("learned", "--reset", "--all").out
    assert talk.ok("learned", "--json").json == []
    assert "清除了 0 条记录" in talk.ok("learned", "--reset", "--all", "--lang", "zh").out
