"""Type hints become a schema, and checked arguments become the values that the hints promise."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest

from backscroll.agent.arguments import check_arguments
from backscroll.agent.schema import signature_of
from backscroll.agent.tool import ToolContext
from backscroll.errors import InvalidInput


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Point:
    """A place.

    Args:
        x: To the right.
    """

    x: int
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


class Options(TypedDict):
    deep: bool
    name: NotRequired[str]


def shape(function: Callable[..., object]) -> Mapping[str, Any]:
    return signature_of(function).schema["properties"]


def test_schema_of_every_kind_of_type_hint() -> None:
    def f(
        text: str,
        whole: int,
        number: float,
        yes: bool,
        names: list[str],
        pairs: dict[str, int],
        way: Literal["up", "down"],
        colour: Colour,
        maybe: Optional[str],  # noqa: UP045 - the old way of writing it is still written
        either: int | list[int],
        place: Path,
        row: Sequence[float],
        fixed: tuple[str, int],
        anything: Any,
        annotated: Annotated[int, "how many"],
    ) -> None: ...

    assert shape(f) == {
        "text": {"type": "string"},
        "whole": {"type": "integer"},
        "number": {"type": "number"},
        "yes": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "pairs": {"type": "object", "additionalProperties": {"type": "integer"}},
        "way": {"type": "string", "enum": ["up", "down"]},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "maybe": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "place": {"type": "string"},
        "row": {"type": "array", "items": {"type": "number"}},
        "fixed": {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "anything": {},
        "annotated": {"type": "integer", "description": "how many"},
    }


def test_defaults_make_parameters_optional() -> None:
    def f(a: str, b: int = 3, c: str | None = None, d: Colour = Colour.RED) -> None: ...

    schema = signature_of(f).schema
    assert schema["required"] == ["a"]
    assert schema["properties"]["b"]["default"] == 3
    assert schema["properties"]["c"] == {"type": "string"}  # what may be left out need not be null
    assert schema["properties"]["d"]["default"] == "red"


def test_dataclasses_and_typed_dicts_become_objects() -> None:
    def f(point: Point, options: Options) -> None: ...

    point, options = shape(f)["point"], shape(f)["options"]
    assert point["required"] == ["x"]
    assert point["properties"]["x"] == {"type": "integer", "description": "To the right."}
    assert options["required"] == ["deep"]
    assert set(options["properties"]) == {"deep", "name"}


def test_context_parameter_is_not_part_of_the_schema() -> None:
    def f(here: ToolContext, a: str) -> None: ...

    read = signature_of(f)
    assert read.context == "here"
    assert list(read.schema["properties"]) == ["a"]


def test_arguments_are_converted_to_their_type_hints() -> None:
    def f(
        colour: Colour,
        point: Point,
        points: list[Point],
        place: Path,
        either: int | Point,
        pair: tuple[int, str],
    ) -> None: ...

    read = signature_of(f)
    given = {
        "colour": "blue",
        "point": {"x": "3"},
        "points": [{"x": 1, "y": 2}],
        "place": "a/b",
        "either": {"x": 9},
        "pair": [1, "a"],
    }
    values = read.values(check_arguments(read.schema, given))
    assert values == {
        "colour": Colour.BLUE,
        "point": Point(3),
        "points": [Point(1, 2.0)],
        "place": Path("a/b"),
        "either": Point(9),
        "pair": (1, "a"),
    }


def test_parameter_without_a_type_is_refused_by_name() -> None:
    def f(good: str, bad) -> None: ...

    with pytest.raises(InvalidInput, match="'bad' has no type"):
        signature_of(f)


def test_parameter_with_a_non_json_type_is_refused_by_name() -> None:
    def f(strange: Callable[[], int]) -> None: ...

    with pytest.raises(InvalidInput, match="'strange' has a type that has no shape in JSON"):
        signature_of(f)


def test_variadic_parameters_are_refused() -> None:
    def f(*rest: str) -> None: ...

    with pytest.raises(InvalidInput, match="'rest' cannot be given by name"):
        signature_of(f)


@dataclass
class Endless:
    inner: Endless


def test_recursive_type_is_refused() -> None:
    def f(value: Endless) -> None: ...

    with pytest.raises(InvalidInput, match="holds itself"):
        signature_of(f)
