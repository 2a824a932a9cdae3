"""Tools with which a model looks up what its prompt does not show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Thread, Wire
from backscroll.assemble.view.handles import offers_expand
from backscroll.errors import InvalidInput
from backscroll.vocab.prompt import WIRES


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "store.db", background=False) as store:
        made = store.create("Harbour")
        made.append("user", "The secret berth of Captain Vale is number 12.")
        made.append("assistant", "Noted.")
        yield made


@pytest.mark.parametrize("wire", WIRES)
def test_history_tools_have_the_form_of_the_wire(thread: Thread, wire: Wire) -> None:
    """And prompts with them name handles."""
    tools = list(thread.tools(wire))
    assert offers_expand(tools)
    made = thread.prompt(8000, wire=wire, tools=tools, handles=None, reserve=0)
    assert not backscroll.check(made.messages, wire, system=made.system, tools=list(made.tools))
    names = {str((t.get("function") or t)["name"]) for t in tools}
    assert names == {"expand_history", "recall_history"}
    assert all(name in thread.tools(wire) for name in names)
    assert "look" not in thread.tools(wire)


@pytest.mark.parametrize(
    "arguments", [{"handle": "[bs:2]"}, '{"handle": "bs:2"}', {"handle": "[bs:2]", "part": 1}]
)
def test_expand_history_opens_a_handle(thread: Thread, arguments: Any) -> None:
    assert "Captain Vale is number 12" in thread.tools().answer("expand_history", arguments)


def test_recall_history_searches_the_thread(thread: Thread) -> None:
    assert "Captain Vale is number 12" in thread.tools().answer(
        "recall_history", {"query": "Which berth is Vale's?"}
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("expand_history", {"handle": "[bs:99]"}),
        ("expand_history", {"handle": "nonsense"}),
        ("expand_history", {"handle": "[bs:2]", "part": 7}),
        ("expand_history", {"handle": "[bs:2]", "part": "x"}),
        ("expand_history", "not json"),
        ("expand_history", [1]),
        ("expand_history", None),
        ("expand_history", ""),
        ("recall_history", {}),
    ],
)
def test_invalid_tool_calls_get_an_error_result(thread: Thread, name: str, arguments: Any) -> None:
    assert thread.tools().answer(name, arguments).startswith("error: ")


def test_unknown_tool_names_are_refused(thread: Thread) -> None:
    with pytest.raises(InvalidInput, match="not a tool of the history"):
        thread.tools().answer("look", {})
