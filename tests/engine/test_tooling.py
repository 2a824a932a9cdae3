"""Recent operations and tool history: found through the index or one turn, live words only, results from memory or store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.folder.recent_operations import operations
from backscroll.engine.folder.result_memory import ResultMemory, memory_of
from backscroll.engine.folder.tool_uses import same_tool, tool_history
from backscroll.errors import Forgotten, InvalidInput, NotFound
from backscroll.vocab.part import Media, Text, ToolCall, ToolResult


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """An empty store."""
    with backscroll.open(tmp_path / "store.db") as opened:
        yield opened


def use(
    thread: backscroll.Thread, number: int | str, name: str, arguments: object, result: str | None
) -> tuple[backscroll.Message, backscroll.Message | None]:
    """One reply with one call, and its result."""
    call = thread.append("assistant", [ToolCall(f"c{number}", name, arguments)])
    if result is None:
        return call, None
    return call, thread.append("tool", [ToolResult(f"c{number}", (Text(result),))])


@pytest.fixture
def thread(engine: backscroll.Engine) -> backscroll.Thread:
    """Three turns with tools, English and Chinese."""
    made = engine.create("work")
    made.append("user", "Why does the login fail?")
    use(made, 1, "Read", {"file_path": "src/login.py"}, "def login():\n    return check()\n" * 40)
    use(made, 2, "Bash", {"command": "pytest -q tests/login"}, "E   ValueError: bad token\n1 failed in 0.2s")
    made.append("assistant", "The token is bad.")
    made.append("user", "修好它")
    use(made, 3, "Edit", {"file_path": "src/login.py", "old_string": "a", "new_string": "b"}, "File updated.")
    use(
        made,
        4,
        "mcp__tickets__get_ticket",
        {"id": "T-81"},
        '{"id": "T-81", "status": "open", "标题": "登录失败"}',
    )
    made.append("user", "and the weather?")
    use(made, 5, "weather", {"city": "杭州"}, "晴，气温 21 度")
    made.append("assistant", "Sunny.")
    return made


class TestOperations:
    def test_operations_are_listed_oldest_first_with_handles(self, thread: backscroll.Thread) -> None:
        found = operations(thread)
        assert [d.tool_name for d in found] == ["Read", "Bash", "Edit", "mcp__tickets__get_ticket", "weather"]
        assert all(d.result is not None and d.handle == f"[bs:{d.result.seq}]" for d in found)

    def test_operations_of_the_last_rounds(self, thread: backscroll.Thread) -> None:
        assert [d.tool_name for d in operations(thread, 1)] == ["weather"]
        assert len(operations(thread, 2)) == 3

    def test_last_operations_across_rounds(self, thread: backscroll.Thread) -> None:
        thread.append("user", "thanks")
        assert [d.tool_name for d in operations(thread, last=2)] == ["mcp__tickets__get_ticket", "weather"]

    def test_operations_are_limited_by_the_settings(self, tmp_path: Path) -> None:
        with backscroll.open(tmp_path / "few.db", max_summaries=3) as engine:
            made = engine.create()
            made.append("user", "go")
            for n in range(8):
                use(made, n, "Bash", {"command": f"step {n}"}, "ok")
            assert [d.target for d in operations(made)] == ["step 5", "step 6", "step 7"]

    def test_zero_operations_can_be_requested(self, thread: backscroll.Thread) -> None:
        assert operations(thread, 0) == []
        assert operations(thread, last=0) == []

    @pytest.mark.parametrize("wrong", [{"rounds": -1}, {"last": -3}])
    def test_negative_numbers_are_refused(self, thread: backscroll.Thread, wrong: dict[str, int]) -> None:
        with pytest.raises(InvalidInput, match="cannot list -"):
            operations(thread, **wrong)

    def test_hidden_and_deleted_messages_are_not_listed(self, thread: backscroll.Thread) -> None:
        last = operations(thread, 1)[0]
        assert last.result is not None
        thread.delete(last.call, last.result)
        assert operations(thread, 1) == []
        thread.undo()
        assert len(operations(thread, 1)) == 1
        thread.hide(last.call, last.result)
        assert operations(thread, 1) == []

    def test_edited_result_changes_its_operation_line(self, thread: backscroll.Thread) -> None:
        weather = operations(thread, 1)[0]
        assert weather.result is not None
        thread.edit(weather.result, [ToolResult("c5", (Text("雨，气温 9 度"),))])
        assert operations(thread, 1)[0].summary == "雨，气温 9 度"

    def test_call_without_a_result_is_listed(self, thread: backscroll.Thread) -> None:
        thread.append("user", "go on")
        use(thread, 9, "Bash", {"command": "make"}, None)
        assert operations(thread, 1)[0].summary == "no result yet"

    def test_operations_read_a_long_turn_from_its_end(
        self, engine: backscroll.Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A turn of many steps is read from its end."""
        made = engine.create()
        made.append("user", "go")
        for n in range(300):
            use(made, n, "Bash", {"command": f"step {n}"}, "ok")
        from backscroll.engine.folder import recent_operations as tooling

        seen: list[int] = []
        real = tooling.message_of
        monkeypatch.setattr(tooling, "message_of", lambda *row: seen.append(1) or real(*row))
        assert [d.target for d in operations(made)][-1] == "step 299"
        assert len(seen) < 100

    def test_fork_has_the_operations_of_its_past(self, thread: backscroll.Thread) -> None:
        fork = thread.fork()
        use(fork, 6, "Bash", {"command": "ls"}, "a.txt")
        assert [d.tool_name for d in operations(fork, 1)] == ["weather", "Bash"]
        assert [d.tool_name for d in operations(thread, 1)] == ["weather"]


class TestHistory:
    def test_tool_history_is_newest_first_with_full_results(self, thread: backscroll.Thread) -> None:
        uses = tool_history(thread)
        assert [u.digest.tool_name for u in uses] == [
            "weather",
            "mcp__tickets__get_ticket",
            "Edit",
            "Bash",
            "Read",
        ]
        assert uses[-1].result == "def login():\n    return check()\n" * 40
        assert [u.turn for u in uses] == [3, 2, 2, 1, 1]

    def test_tool_history_by_tool(self, thread: backscroll.Thread) -> None:
        assert [u.digest.tool_name for u in tool_history(thread, tool="Read")] == ["Read"]
        assert [u.digest.tool_name for u in tool_history(thread, tool="read")] == ["Read"]
        assert [u.digest.target for u in tool_history(thread, tool="get_ticket")] == ["T-81"]
        assert tool_history(thread, tool="Write") == []

    def test_tool_history_by_target(self, thread: backscroll.Thread) -> None:
        assert [u.digest.tool_name for u in tool_history(thread, target="login.py")] == ["Edit", "Read"]
        assert [u.digest.tool_name for u in tool_history(thread, target="杭州")] == ["weather"]

    def test_tool_history_by_words_of_the_result(self, thread: backscroll.Thread) -> None:
        assert [u.digest.tool_name for u in tool_history(thread, text='"bad token"')] == ["Bash"]
        assert [u.arguments for u in tool_history(thread, text="登录失败")] == [{"id": "T-81"}]

    def test_tool_history_matches_words_of_call_and_result(self, thread: backscroll.Thread) -> None:
        assert [u.digest.tool_name for u in tool_history(thread, text="pytest ValueError")] == ["Bash"]

    def test_tool_history_by_turn(self, thread: backscroll.Thread) -> None:
        assert [u.digest.tool_name for u in tool_history(thread, turn=2)] == [
            "mcp__tickets__get_ticket",
            "Edit",
        ]
        with pytest.raises(NotFound):
            tool_history(thread, turn=99)

    def test_tool_history_combines_filters(self, thread: backscroll.Thread) -> None:
        assert [u.turn for u in tool_history(thread, tool="Read", target="login", text="check", turn=1)] == [
            1
        ]
        assert tool_history(thread, tool="Read", text="token") == []

    def test_tool_history_limit(self, thread: backscroll.Thread) -> None:
        assert len(tool_history(thread, limit=2)) == 2
        assert tool_history(thread, limit=0) == []
        with pytest.raises(InvalidInput, match="tool calls"):
            tool_history(thread, limit=-1)

    def test_tool_history_refuses_a_query_without_words(self, thread: backscroll.Thread) -> None:
        with pytest.raises(InvalidInput):
            tool_history(thread, text="!!!")

    def test_tool_history_leaves_out_deleted_messages(self, thread: backscroll.Thread) -> None:
        bash = tool_history(thread, tool="Bash")[0].digest
        assert bash.result is not None
        thread.delete(bash.call, bash.result)
        assert tool_history(thread, tool="Bash") == []
        assert tool_history(thread, text="token") == []
        thread.undo()
        assert len(tool_history(thread, tool="Bash")) == 1

    def test_tool_history_finds_live_text_of_an_edited_result(self, thread: backscroll.Thread) -> None:
        bash = tool_history(thread, tool="Bash")[0].digest
        assert bash.result is not None
        thread.edit(bash.result, [ToolResult("c2", (Text("all green"),))])
        assert tool_history(thread, text="token") == []
        assert [u.result for u in tool_history(thread, text="green")] == ["all green"]

    def test_tool_history_pairs_parallel_calls(self, engine: backscroll.Engine) -> None:
        """Several calls in one reply, several results in one message."""
        made = engine.create()
        made.append("user", "both")
        made.append(
            "assistant",
            [ToolCall("a", "Read", {"file_path": "a.py"}), ToolCall("b", "Read", {"file_path": "b.py"})],
        )
        made.append("tool", [ToolResult("b", (Text("beta words"),)), ToolResult("a", (Text("alpha words"),))])
        assert [(u.digest.target, u.result) for u in tool_history(made, text="alpha")] == [
            ("a.py", "alpha words")
        ]
        assert [u.digest.target for u in tool_history(made, tool="Read")] == ["b.py", "a.py"]

    @pytest.mark.parametrize(
        "asked", [{}, {"tool": "Read"}, {"target": "a.py"}, {"text": "alpha"}, {"turn": 1}]
    )
    def test_tool_history_pairs_parallel_calls_in_separate_replies(
        self, engine: backscroll.Engine, asked: dict[str, Any]
    ) -> None:
        """Claude Code writes each parallel call as a message, and the results after all of them."""
        made = engine.create()
        made.append("user", "both")
        for name in ("a", "b", "c"):
            made.append("assistant", [ToolCall(name, "Read", {"file_path": f"{name}.py"})])
        for name, words in (("b", "beta"), ("a", "alpha"), ("c", "gamma")):
            made.append("tool", [ToolResult(name, (Text(words),))])
        made.append("assistant", "done")
        uses = {u.digest.target: u.result for u in tool_history(made, **asked)}
        assert uses["a.py"] == "alpha"
        assert all(u.digest.tool_name == "Read" for u in tool_history(made, **asked))

    def test_tool_history_of_a_fork_excludes_siblings(self, thread: backscroll.Thread) -> None:
        fork = thread.fork()
        use(fork, 7, "Bash", {"command": "ls"}, "only in the fork")
        assert len(tool_history(fork, tool="Bash")) == 2
        assert len(tool_history(thread, tool="Bash")) == 1

    def test_tool_history_of_image_results(self, engine: backscroll.Engine) -> None:
        made = engine.create()
        made.append("user", "look")
        made.append("assistant", [ToolCall("p", "view_image", {"path": "a.png"})])
        made.append("tool", [ToolResult("p", (Media("image/png", url="https://x.test/a.png"),))])
        (found,) = tool_history(made)
        assert found.result == ""
        assert "image/png" in found.digest.summary


class TestMemory:
    def test_result_cache_drops_the_oldest_first(self, thread: backscroll.Thread) -> None:
        memory = ResultMemory(thread.store, 3_000)
        for n in range(6):
            _, result = use(thread, f"m{n}", "Read", {"file_path": f"{n}"}, "x" * 1000)
            assert result is not None
            assert memory.text(result.revision, f"cm{n}") == "x" * 1000
        assert 0 < memory.size <= 3_000
        assert len(memory) == 2

    def test_result_larger_than_the_cache_is_not_cached(self, thread: backscroll.Thread) -> None:
        memory = ResultMemory(thread.store, 100)
        _, result = use(thread, "m", "Read", {}, "x" * 1000)
        assert result is not None
        assert memory.text(result.revision, "cm") == "x" * 1000
        assert memory.size == 0

    def test_forgotten_result_is_not_returned(self, thread: backscroll.Thread) -> None:
        bash = tool_history(thread, tool="Bash")[0]
        assert "bad token" in bash.result
        assert len(memory_of(thread.engine)) == 1
        assert bash.digest.result is not None
        thread.forget(bash.digest.result)
        with pytest.raises(Forgotten):
            _ = bash.result
        assert len(memory_of(thread.engine)) == 0


@pytest.mark.parametrize(
    ("wanted", "name", "same"),
    [
        ("read_file", "mcp__fs__read_file", True),
        ("ReadFile", "read_file", True),
        ("read", "Read", True),
        ("read", "read_file", False),
    ],
)
def test_tool_names_are_compared_by_normalised_spelling(wanted: str, name: str, same: bool) -> None:
    assert same_tool(wanted, name) is same
