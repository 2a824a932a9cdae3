"""One contract for all tools, and an ill-formed one is refused with what is missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import Toolbox, tool
from backscroll.agent.tools import standard_tools
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.vocab.prompt import WIRES
from tests.agent.workbench import Bench, bench


@pytest.fixture
def at(tmp_path: Path) -> Any:
    with bench(tmp_path) as made:
        yield made


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


class Weather:
    """Tell the weather of a place."""

    effect = "network"

    def run(self, here: ToolContext, place: str, days: int = 1) -> dict[str, Any]:
        return {"place": place, "days": days, "in": here.root.name}


class Whole:
    """Follows the protocol to the letter."""

    name = "whole"
    description = "Do it."
    parameters: Mapping[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}}
    effect = "none"

    def preview(self, context: ToolContext, arguments: Mapping[str, Any]) -> Preview:
        return Preview(f"do {arguments['x']}")

    def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput(f"did {arguments['x']}")


def test_decorated_function_is_a_tool_and_stays_callable(at: Bench) -> None:
    at.toolbox.add(add)
    assert add(2, 3) == 5
    assert at.call("add", a="2").text == "3"
    assert add.description == "Add two numbers."
    assert add.parameters["properties"]["a"]["description"] == "The first."


def test_plain_functions_and_classes_become_tools(at: Bench) -> None:
    def shout(text: str) -> str:
        """Say it loudly."""
        return text.upper()

    for given in (shout, Weather, Whole()):
        at.toolbox.add(given)
    assert at.call("shout", text="hi").text == "HI"
    assert json.loads(at.call("weather", place="Oslo").text) == {"place": "Oslo", "days": 1, "in": "work"}
    assert at.toolbox.get("weather").effect == "network"
    assert at.call("whole", x=1).text == "did 1"
    assert at.preview("whole", x=1).line == "do 1"


def test_async_function_is_run_to_completion(at: Bench) -> None:
    @tool
    async def later(text: str) -> str:
        """Say it later."""
        await asyncio.sleep(0)
        return text

    at.toolbox.add(later)
    assert at.call("later", text="now").text == "now"

    async def inside() -> str:
        return later.run(at.context(), {"text": "also where a loop runs"}).text

    assert asyncio.run(inside()) == "also where a loop runs"


def test_return_values_become_text(at: Bench) -> None:
    @dataclass
    class Row:
        name: str

    @tool
    def give(which: str) -> Any:
        """Give something."""
        return {"none": None, "row": Row("艾莉"), "list": [1, "二"], "bytes": b"\xff\xfe"}[which]

    at.toolbox.add(give)
    assert at.call("give", which="none").text == "done"
    assert at.call("give", which="row").text == '{"name": "艾莉"}'
    assert at.call("give", which="list").text == '[1, "二"]'
    assert at.call("give", which="bytes").text == "\ufffd\ufffd"


def test_default_preview_names_the_arguments(at: Bench) -> None:
    at.toolbox.add(add)
    assert at.preview("add", a=2).line == "add(a=2, b=1)"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "two words", "letters, digits"),
        ("name", "", "letters, digits"),
        ("name", "x" * 65, "letters, digits"),
        ("description", " ", "no description"),
        ("description", "x" * 5000, "longer than"),
        ("effect", "explode", "effect 'explode' is none of"),
        ("parameters", [], "no JSON Schema"),
        ("parameters", {"type": "string"}, "schema of an object"),
        ("parameters", {"type": "object", "properties": {}, "required": ["x"]}, "requires 'x'"),
        ("parameters", {"type": "object", "properties": {"x": {"default": {1, 2}}}}, "not valid JSON"),
        ("run", None, "no method run"),
        ("preview", lambda: None, "preview does not take"),
    ],
)
def test_invalid_tool_is_refused_with_the_reason(field: str, value: Any, said: str) -> None:
    wrong = type("Wrong", (Whole,), {field: value})
    with pytest.raises(InvalidInput, match=said):
        Toolbox([wrong()])


def test_error_lists_everything_a_tool_lacks() -> None:
    class Empty:
        parameters = None

        def run(self) -> None: ...

    with pytest.raises(InvalidInput) as caught:
        Toolbox([Empty()])
    assert all(
        word in caught.value.message for word in ("name", "description", "effect", "JSON Schema", "preview")
    )


def test_function_without_docstring_or_hints_is_refused() -> None:
    def mute(text: str) -> str:
        return text

    def loose(text) -> str:
        """Say."""
        return text

    with pytest.raises(InvalidInput, match="no description"):
        Toolbox([mute])
    with pytest.raises(InvalidInput, match="'text' has no type"):
        Toolbox([loose])


def test_value_that_is_not_a_tool_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is not a tool"):
        Toolbox([3])  # type: ignore[list-item]


def test_duplicate_tool_name_is_refused() -> None:
    with pytest.raises(Conflict, match="duplicate tool name 'add'"):
        Toolbox([add, add])


def test_unknown_tool_name_suggests_similar_ones() -> None:
    with pytest.raises(NotFound) as caught:
        Toolbox([add, Whole()]).get("hole")
    assert "whole" in caught.value.hint


@pytest.mark.parametrize("wire", WIRES)
def test_tool_specs_are_identical_every_time(wire: Any) -> None:
    """They start every prompt: one changed byte invalidates the whole cache."""
    first = json.dumps(Toolbox(standard_tools(Path())).specs(wire))
    assert first == json.dumps(Toolbox(standard_tools(Path())).specs(wire))
    one = json.loads(first)[0]
    inner = one["function"] if wire == "openai-chat" else one
    assert inner["name"] == "read_file"
    schema = inner["input_schema" if wire == "anthropic" else "parameters"]
    assert schema["type"] == "object"
    assert schema["required"] == ["path"]
    assert "additionalProperties" not in first


def test_built_in_tools_and_their_parameters_are_described() -> None:
    """Every tool and every parameter has a description."""
    for each in Toolbox(standard_tools(Path())):
        assert len(each.description) > 60, each.name
        for name, rules in each.parameters["properties"].items():
            assert rules.get("description"), f"{each.name}.{name}"
