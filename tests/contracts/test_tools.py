"""What tools did, found on every store."""

from __future__ import annotations

import backscroll
from backscroll import Text, ToolCall, ToolResult


def use(thread: backscroll.Thread, number: int, name: str, target: str, words: str) -> None:
    thread.append("assistant", [ToolCall(f"c{number}", name, {"path": target})])
    thread.append("tool", [ToolResult(f"c{number}", (Text(words),))])


def test_tool_history_filters_by_tool_target_text_and_turn(thread: backscroll.Thread) -> None:
    thread.append("user", "look")
    use(thread, 1, "Read", "src/login.py", "def check(): ...")
    use(thread, 2, "Grep", "登录", "三处匹配：会话过期")
    thread.append("user", "again")
    use(thread, 3, "read", "src/logout.py", "nothing")
    assert [u.digest.target for u in thread.tool_history(tool="Read")] == ["src/login.py"]
    assert [u.digest.target for u in thread.tool_history(tool="READ")] == ["src/logout.py", "src/login.py"]
    assert [u.result for u in thread.tool_history(target="login.py")] == ["def check(): ..."]
    assert [u.digest.tool_name for u in thread.tool_history(text="会话过期")] == ["Grep"]
    assert [u.turn for u in thread.tool_history()] == [2, 1, 1]
    assert [u.digest.target for u in thread.tool_history(turn=2)] == ["src/logout.py"]
    assert [d.target for d in thread.operations(1)] == ["src/logout.py"]


def test_tool_history_shows_live_calls_only(thread: backscroll.Thread) -> None:
    thread.append("user", "look")
    use(thread, 1, "Read", "a.py", "secret plans")
    found = thread.tool_history(text="secret")[0].digest
    assert found.result is not None
    thread.edit(found.result, [ToolResult("c1", (Text("public plans"),))])
    assert thread.tool_history(text="secret") == []
    assert [u.result for u in thread.tool_history(text="public")] == ["public plans"]
    thread.delete(found.call, found.result)
    assert thread.tool_history() == []
    assert thread.operations() == []


def test_tool_history_of_a_fork_is_its_own(thread: backscroll.Thread) -> None:
    thread.append("user", "look")
    use(thread, 1, "Read", "a.py", "shared")
    fork = thread.fork()
    use(thread, 2, "Read", "b.py", "parent only")
    use(fork, 3, "Read", "c.py", "fork only")
    assert [u.digest.target for u in fork.tool_history(tool="Read")] == ["c.py", "a.py"]
    assert fork.tool_history(text="parent") == []
