"""The tools that every agent has, in the order in which models see them.

Owns the list; the order never changes, because it is part of the cached prefix of every prompt.
"""

from __future__ import annotations

from pathlib import Path

from backscroll.agent.tool import Tool
from backscroll.agent.tools.ask_followup_question import ask_followup_question
from backscroll.agent.tools.attempt_completion import attempt_completion
from backscroll.agent.tools.files.apply_patch import apply_patch
from backscroll.agent.tools.files.edit_file import edit_file
from backscroll.agent.tools.files.list_files import list_files
from backscroll.agent.tools.files.read_file import read_file
from backscroll.agent.tools.files.search_files import search_files
from backscroll.agent.tools.files.write_file import write_file
from backscroll.agent.tools.memory.expand import expand
from backscroll.agent.tools.memory.graph_lookup import graph_lookup
from backscroll.agent.tools.memory.recall import recall
from backscroll.agent.tools.memory.remember import remember
from backscroll.agent.tools.memory.smart_context_cropper import smart_context_cropper
from backscroll.agent.tools.memory.tool_history import tool_history
from backscroll.agent.tools.run_command import run_command
from backscroll.agent.tools.start_new_task import start_new_task
from backscroll.agent.tools.update_todos import update_todos


def standard_tools(root: Path | None = None) -> list[Tool]:
    """Return the built-in tools; without a folder, only those that need none."""
    files: list[Tool] = [
        read_file,
        list_files,
        search_files,
        edit_file,
        write_file,
        apply_patch,
        run_command,
    ]
    rest: list[Tool] = [
        recall,
        expand,
        tool_history,
        graph_lookup,
        remember,
        update_todos,
        smart_context_cropper,
        ask_followup_question,
        start_new_task,
        attempt_completion,
    ]
    return rest if root is None else [*files, *rest]
