"""Loggers: every room with effects has one, nothing is printed by default, no record contains a secret."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from openai import OpenAI

import backscroll
from backscroll.logs import Room
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault, ScriptedCall
from tests.agent.scripted_agent import stage
from tests.house import tree

SECRETS = ("sk-planted-7f3a", "the-planted-words", "planted-file", "planted_argument")


def test_log_records_contain_no_secrets(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "backscroll")
    answers = (
        Line(fault=Fault(status=503, message="the-planted-words"), times=1),
        ScriptedCall("write_file", {"path": "planted-file.txt", "content": "planted_argument"}),
        "the-planted-words, done",
    )
    with stage(tmp_path, *answers, settings={"agent_approval": "all"}) as on:
        on.agent.run("the-planted-words: write planted-file.txt")
        on.thread.extend([("user", "the-planted-words " * 40), ("assistant", "sk-planted-7f3a " * 40)] * 30)
        on.thread.compact(2_000)
    with ScriptedServer(Scenario(lines=(Line(text="x"),))) as server:
        plain = OpenAI(base_url=server.url, api_key="sk-planted-7f3a", max_retries=0)
        store = backscroll.open(tmp_path / "closed.db")
        with backscroll.wrap(plain, store.create("the-planted-words")) as client:
            store.close()
            with pytest.warns(RuntimeWarning, match="could not record"):
                client.chat.completions.create(
                    model="gpt-4o", messages=[{"role": "user", "content": "the-planted-words"}]
                )
    ours = [record for record in caplog.records if record.name.startswith("backscroll")]
    rooms = {record.name.removeprefix("backscroll.") for record in ours}
    assert rooms == set(get_args(Room))
    said = [f"{record.getMessage()} {record.exc_text} {record.args}" for record in ours]
    assert [line for line in said if any(secret in line for secret in (*SECRETS, str(tmp_path)))] == []


def test_nothing_is_logged_unless_the_program_asks_for_it(tmp_path: Path) -> None:
    program = """
import sys, backscroll
with backscroll.open(sys.argv[1]) as store:
    store.create("x").append("user", "hello")
from backscroll.logs import logger_of
logger_of("engine").error("quiet")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "s.db")],
        cwd=tree.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
