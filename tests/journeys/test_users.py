"""Users on the command line: who owns a new thread, and that no one continues another user's."""

from __future__ import annotations

from pathlib import Path

import backscroll
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from tests.journeys.conftest import SAMPLES, Cli


def owners(cli: Cli) -> set[str]:
    with backscroll.open(cli.store, background=False) as store:
        return {info.user for info in store.threads()}


def test_import_and_run_create_threads_of_a_user(cli: Cli) -> None:
    cli.ok("import", SAMPLES / "coding-agent.jsonl", "--user", "ann")
    assert owners(cli) == {"ann"}
    # Imported again for somebody else, it stays whose it was.
    cli.ok("import", SAMPLES / "coding-agent.jsonl", "--user", "bo")
    assert owners(cli) == {"ann"}
    cli.ok("run", "What is the code of the gate?", "--user", "小安")
    assert owners(cli) == {"ann", "小安"}


def test_user_cannot_continue_a_thread_of_another_user(cli: Cli) -> None:
    mine = cli.ok("new", "mine", "--user", "ann").out.strip()
    done = cli("run", "hello", "--user", "bo", "--thread", mine[:8])
    assert done.code
    assert f"thread {mine[:8]} does not belong to user bo" in done.err
    assert "backscroll threads --user bo" in done.err
    zh = cli("run", "hello", "--user", "bo", "--thread", "last", BACKSCROLL_LANGUAGE="zh")
    assert zh.code
    chinese = cli("run", "hello", "--user", "bo", "--thread", mine, BACKSCROLL_LANGUAGE="zh")
    assert f"对话 {mine[:8]} 不属于用户 bo" in chinese.err
    assert owners(cli) == {"ann"}


def test_mcp_server_serves_the_threads_of_one_user(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db", background=False) as store:
        ann, bo = store.create("ann", user="ann"), store.create("bo", user="bo")
        ann.append("user", "The gate code is 4711.")
        said = bo.append("user", "The gate code is 8822.")
        memory = MemoryTools(store, user="ann")
        answers = [memory.recall("What is the gate code?"), memory.search("gate"), memory.threads()]
        assert [("4711" in a or ann.id[:8] in a) for a in answers] == [True] * 3
        assert not any("8822" in a or bo.id[:8] in a for a in answers)
        for ask in (
            lambda: memory.recall("gate", thread=bo.id),
            lambda: memory.search("gate", thread=bo.id),
            lambda: memory.expand(f"[bs:{bo.id[:8]}.{said.id.seq}]"),
            lambda: memory.task_status(bo.id),
            lambda: memory.recent_operations(bo.id),
        ):
            try:
                got = ask()
            except backscroll.NotFound:
                continue
            raise AssertionError(got)
