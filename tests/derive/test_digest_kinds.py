"""Which kind a tool is, and what its call was aimed at, in every convention of names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.digest import kind_of
from backscroll.derive.digests.calls import parse_call, plain_name

#: Tools as their programs call them, with arguments of the usual shape.
TOOLS: list[tuple[str, Any, str]] = [
    # Claude Code
    ("Read", {"file_path": "a.py"}, "read"),
    ("Write", {"file_path": "a.py", "content": ""}, "write"),
    ("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "edit"),
    ("MultiEdit", {"file_path": "a.py", "edits": []}, "edit"),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "1"}, "edit"),
    ("Grep", {"pattern": "x"}, "search"),
    ("Glob", {"pattern": "**/*.py"}, "list"),
    ("LS", {"path": "/"}, "list"),
    ("Bash", {"command": "ls"}, "command"),
    ("BashOutput", {"bash_id": "1"}, "command"),
    ("KillShell", {"shell_id": "1"}, "command"),
    ("WebFetch", {"url": "https://a.test", "prompt": "what"}, "web"),
    ("WebSearch", {"query": "what"}, "web"),
    ("Task", {"description": "look", "prompt": "look"}, "task"),
    ("Agent", {"description": "look", "prompt": "look"}, "task"),
    ("TodoWrite", {"todos": []}, "todo"),
    # Codex
    ("shell", {"command": ["bash", "-lc", "ls"]}, "command"),
    ("exec_command", {"cmd": "ls"}, "command"),
    ("apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch", "edit"),
    ("update_plan", {"plan": []}, "todo"),
    ("view_image", {"path": "a.png"}, "read"),
    # Cline and Roo
    ("read_file", {"path": "a.py"}, "read"),
    ("write_to_file", {"path": "a.py", "content": "x"}, "write"),
    ("replace_in_file", {"path": "a.py", "diff": ""}, "edit"),
    ("apply_diff", {"path": "a.py", "diff": ""}, "edit"),
    ("search_files", {"path": ".", "regex": "x"}, "search"),
    ("list_files", {"path": "."}, "list"),
    ("list_code_definition_names", {"path": "."}, "list"),
    ("execute_command", {"command": "ls"}, "command"),
    ("browser_action", {"action": "launch", "url": "https://a.test"}, "web"),
    ("use_mcp_tool", {"server_name": "gh", "tool_name": "get_file", "arguments": '{"path": "a"}'}, "read"),
    ("attempt_completion", {"result": "done"}, "other"),
    # OpenHands and SWE-agent
    ("str_replace_editor", {"command": "view", "path": "a.py"}, "read"),
    ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x"}, "write"),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "a.py", "old_str": "a", "new_str": "b"},
        "edit",
    ),
    ("str_replace_editor", {"path": "a.py"}, "read"),
    ("execute_bash", {"command": "ls"}, "command"),
    ("open", {"path": "a.py"}, "read"),
    ("goto", {"line_number": 3}, "read"),
    ("find_file", {"file_name": "a.py"}, "search"),
    # Gemini CLI, OpenAI
    ("run_shell_command", {"command": "ls"}, "command"),
    ("search_file_content", {"pattern": "x"}, "search"),
    ("google_web_search", {"query": "x"}, "web"),
    ("web_search", {"query": "x"}, "web"),
    ("file_search", {"queries": ["x"]}, "search"),
    ("code_interpreter", {"code": "1+1"}, "command"),
    # servers in front
    ("mcp__github__get_file_contents", {"path": "a.py"}, "read"),
    ("mcp__pg__query", {"sql": "select 1"}, "database"),
    ("files.read_file", {"path": "a.py"}, "read"),
    ("functions.shell", {"command": ["ls"]}, "command"),
    ("browser:navigate", {"url": "https://a.test"}, "web"),
    # unknown tools: by words and arguments
    ("execute_sql_statement", {"statement": "select 1"}, "database"),
    ("getFileText", {"filePath": "a.py"}, "read"),
    ("search_direct_flight", {"origin": "A"}, "search"),
    ("list_pull_requests", {"repo": "a"}, "list"),
    ("update_reservation", {"reservation_id": "A1"}, "other"),
    ("modify_document", {"path": "a.md", "text": "x"}, "edit"),
    ("zzz", {"command": "ls"}, "command"),
    ("zzz", {"url": "https://a.test"}, "web"),
    ("zzz", {"file_path": "a", "content": "b"}, "write"),
    ("读取文件", {"路径": "a.txt"}, "read"),
    ("搜索资料", {"关键词": "茶"}, "search"),
    ("执行命令", {"命令": "ls"}, "command"),
    ("get_weather", {"city": "Oslo"}, "other"),
    ("", None, "other"),
]


@pytest.mark.parametrize(("name", "arguments", "kind"), TOOLS, ids=[f"{t[0]}-{t[2]}" for t in TOOLS])
def test_known_tools_have_a_kind(name: str, arguments: Any, kind: str) -> None:
    assert kind_of(name, arguments) == kind


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("mcp__server__getFile", "get_file"),
        ("server.get-file", "get_file"),
        ("HTTPRequest", "http_request"),
        ("Read", "read"),
        ("a/b/list", "list"),
        ("__", "__"),
    ],
)
def test_plain_name_drops_the_server(name: str, plain: str) -> None:
    assert plain_name(name) == plain.strip("_")


@pytest.mark.parametrize(
    ("name", "arguments", "target"),
    [
        ("Read", {"file_path": "src/app.py", "offset": 10}, "src/app.py"),
        ("Read", '{"file_path": "src/app.py"}', "src/app.py"),
        ("Grep", {"pattern": "def main", "path": "src"}, "def main in src"),
        ("Glob", {"pattern": "**/*.py", "path": "src"}, "**/*.py"),
        ("shell", {"command": ["bash", "-lc", "pytest -q"], "workdir": "/x"}, "pytest -q"),
        ("Bash", {"command": "cd a &&\n  make", "description": "Build"}, "cd a && make"),
        ("WebFetch", {"url": "https://a.test/x", "prompt": "read"}, "https://a.test/x"),
        ("query", {"sql": "select *\nfrom t"}, "select * from t"),
        ("Task", {"description": "find it", "prompt": "long"}, "find it"),
        ("apply_patch", "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n", "a.py +1"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: b.py\n@@\n"}, "b.py"),
        ("get_order", {"order_id": "#W12", "reason": "the user wants it"}, "#W12"),
        ("book", {"passenger": {"name": "Li Lei"}}, "Li Lei"),
        ("天气", {"城市": "杭州"}, "杭州"),
        ("TodoWrite", {"todos": [{"content": "a"}]}, ""),
        ("action", "ls -la\nmore", "ls -la"),
        ("action", None, ""),
        ("action", [1, "two"], "1"),
    ],
)
def test_target_of_a_call(name: str, arguments: Any, target: str) -> None:
    assert parse_call(name, arguments).target == target


def test_long_path_keeps_its_end() -> None:
    """Paths differ at the end."""
    target = parse_call("Read", {"file_path": "/very/long/" + "folder/" * 30 + "app.py"}).target
    assert target.endswith("folder/app.py")
    assert len(target) <= 90


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(name=st.text(max_size=30), arguments=JSON)
def test_any_call_is_understood(name: str, arguments: Any) -> None:
    """No name and no arguments make an error, and the target is one line."""
    found = parse_call(name, arguments)
    assert "\n" not in found.target
    assert found == parse_call(name, arguments)
