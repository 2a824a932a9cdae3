"""Handles of several threads: expanding one gives the message it was shown for."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.errors import Ambiguous
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from backscroll.vocab.handle import IN_TEXT
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.agent.workbench import bench

#: One plain word for each message, of which none contains another.
MARKS = [f"{a}{b}{c}" for a in "bdfg" for b in "aeio" for c in ("lk", "mp", "nt", "rz")]
_MARK = re.compile("|".join(MARKS))


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=2, max_size=4), st.booleans())
@settings(max_examples=25)
def test_every_handle_leads_to_the_message_it_was_shown_for(threads: list[list[bool]], fork: bool) -> None:
    marks = iter(MARKS)
    with (
        tempfile.TemporaryDirectory() as folder,
        backscroll.open(Path(folder) / "s.db", background=False) as store,
    ):
        for number, messages in enumerate(threads):
            thread = store.create(f"talk {number}", project="p")
            for with_tool in messages:
                thread.append("user", f"The harbour master said {next(marks)} about the anchor")
                if with_tool:
                    name = next(marks)
                    thread.append("assistant", [ToolCall(f"c{name}", "read_file", {"path": f"{name}.txt"})])
                    thread.append(
                        "tool", [ToolResult(f"c{name}", (Text(f"anchor {name}"),), name="read_file")]
                    )
            if fork:
                thread.fork().append("user", f"The anchor of the fork is {next(marks)}")
        memory = MemoryTools(store)
        told = [
            memory.search("anchor", limit=100),
            memory.recall("What did the harbour master say about the anchor?", budget=4000),
            *(memory.recent_operations(thread=info.id) for info in store.threads()),
        ]
        seen = 0
        for line in "\n".join(told).splitlines():
            handle, mark = IN_TEXT.search(line), _MARK.search(line)
            if handle and mark and "such as" not in line:
                seen += 1
                assert "." in handle[0], line
                assert mark[0] in memory.expand(handle[0]), line
        assert seen >= 2


def test_handle_without_a_thread_is_refused_if_ambiguous(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db", background=False) as store:
        first = store.create("one")
        first.append("user", "the first words")
        assert "the first words" in MemoryTools(store).expand("[bs:2]")
        store.create("two").append("user", "the second words")
        with pytest.raises(Ambiguous, match="does not name its conversation"):
            MemoryTools(store).expand("[bs:2]")
        assert "the first words" in MemoryTools(store).expand("[bs:2]", thread=first.id)
        assert "the first words" in MemoryTools(store, thread=first.id).expand("2")
        assert "the first words" in MemoryTools(store).expand(f"[bs:{first.id[:8]}.2]")


def test_handle_of_another_thread_can_be_expanded_again(tmp_path: Path) -> None:
    with bench(tmp_path) as at:
        other = at.thread.engine.create("other")
        said = other.append("user", "words of another thread")
        at.thread.append("user", "words of this thread")
        output = at.call("expand", handle=f"[bs:{other.id[:8]}.{said.id.seq}]").text
        [again] = IN_TEXT.findall(output)
        assert "words of another thread" in at.call("expand", handle=again).text
