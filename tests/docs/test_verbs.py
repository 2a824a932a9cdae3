"""`docs/verbs.md` against the real catalogues: every command, slash command, MCP tool and Python method, and nothing else."""

from __future__ import annotations

import re

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.folder.workroom import Workroom
from backscroll.engine.knowledge.graph import ThreadGraph
from backscroll.engine.prompts.thread_lore import ThreadLore
from backscroll.engine.thread import Thread
from backscroll.engine.user import User
from backscroll.engine.work.memory.thread_memory import ThreadMemory
from backscroll.engine.work.tasks import Tasks
from backscroll.surfaces.chat.slash.catalogue import SLASHES
from backscroll.surfaces.cli.catalogue import MODULES, RENAMED
from backscroll.surfaces.mcp.server import NAMES
from tests.docs.pages import prose
from tests.house import tree
from tests.surfaces.test_blank_arguments import commands

PAGE = tree.ROOT / "docs" / "verbs.md"
CLASSES = {
    "backscroll": backscroll,
    "store": Engine,
    "thread": Thread,
    "thread.graph": ThreadGraph,
    "thread.tasks": Tasks,
    "thread.memory": ThreadMemory,
    "thread.lore": ThreadLore,
    "user": User,
    "room": Workroom,
}
#: What is no act of a user: handles to the classes above, plumbing for other surfaces, names of the design notes, old names.
BESIDE = {
    "store": "at_work begin begin_once blob close forget_acts fork notify_change on_change on_close put_blob resolve resolve_ref"
    " save_aside set_tokens tokens",
    "thread": "append_many as_actor auto_detect_code_changes context_summary engine graph head info legible log_code_change lore"
    " mark_processed memory messages_from place reading save_dialogue stroke tasks window workroom",
    "thread.graph": "numbers view write_changes",
    "thread.tasks": "put_before tiers title",
    "thread.memory": "plan questions",
    "room": "alone auto_detect_code_changes draft everywhere finish_interrupted inside keeper keepers look looked note note_programs out_of_reach"
    " read_change read_known recover",
}


def column(number: int) -> set[str]:
    """The names in one column of the tables of acts."""
    rows = [row.split("|")[1:-1] for row in prose(PAGE).splitlines() if row.startswith("|")]
    cells = [row[number] for row in rows if len(row) == 5]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_command_is_listed() -> None:
    """The command line, member by member."""
    assert column(1) == {" ".join(words) for words, _ in commands()}


def test_every_slash_command_is_listed() -> None:
    """The chat."""
    assert column(2) == {f"/{command.name}" for command in SLASHES}


def test_every_mcp_tool_is_listed() -> None:
    """MCP."""
    assert column(3) == set(NAMES)


def test_every_method_is_listed() -> None:
    """What users hold in Python, and nothing that does not exist."""
    listed = column(4)
    for name in listed:
        where, _, attribute = name.rpartition(".")
        assert hasattr(CLASSES[where], attribute), name
    for where, held in CLASSES.items():
        if where == "backscroll":
            continue
        public = {name for name in dir(held) if not name.startswith("_")}
        here = {name.rpartition(".")[2] for name in listed if name.rpartition(".")[0] == where}
        beside = set(BESIDE.get(where, "").split())
        assert not here & beside, where
        assert public == here | beside, f"{where}: {sorted(public ^ (here | beside))}"


def test_command_and_method_share_their_verb() -> None:
    """Unless the page gives a reason to differ."""
    differ = {
        "chat", "check", "cost", "demo", "import", "learned", "log", "lore", "new", "run", "show", "work", "user list", "user show",
        "graph show", "task status", "task show", "memory show", "memory relevant",
    }  # fmt: skip
    rows = [row.split("|")[1:-1] for row in prose(PAGE).splitlines() if row.startswith("|")]
    for act, typed, _, _, python in (row for row in rows if len(row) == 5):
        names = re.findall(r"`([^`]+)`", python)
        for command in re.findall(r"`([^`]+)`", typed):
            verb = command.split()[-1].replace("-", "_")
            verbs = {name.rpartition(".")[2].split("_")[0] for name in names}
            if names and command not in differ and "forget a file" not in act:
                assert verb in verbs, f"{command}: {names}"


def test_renamed_commands_are_listed() -> None:
    """Every old command has a row, and its new name exists."""
    text = prose(PAGE)
    known = {" ".join(words) for words, _ in commands()}
    for old, new in RENAMED.items():
        assert f"| `backscroll {old}` | `backscroll {new}`" in text
        assert new in known
        assert old not in MODULES
