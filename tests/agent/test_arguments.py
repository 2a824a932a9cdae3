"""Arguments of models are read kindly and checked strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.agent.arguments import check_arguments, fits, read_arguments
from backscroll.errors import InvalidInput

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "first": {"type": "integer", "default": 1, "minimum": 1},
        "share": {"type": "number", "maximum": 1},
        "deep": {"type": "boolean"},
        "way": {"type": "string", "enum": ["top", "bottom"]},
        "names": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("wanted", "written"),
    [
        ({"first": 3}, {"first": "3"}),
        ({"first": 3}, {"first": 3.0}),
        ({"share": 0.5}, {"share": "0.5"}),
        ({"deep": True}, {"deep": "True"}),
        ({"way": "top"}, {"way": "TOP"}),
        ({"names": ["a", "b"]}, {"names": '["a", "b"]'}),
        ({"names": ["a"]}, {"names": "a"}),
        ({"point": {"x": 1}}, {"point": '{"x": "1"}'}),
        ({"path": "7"}, {"path": 7}),
        ({}, {"deep": None}),
    ],
)
def test_slightly_wrong_arguments_are_corrected(wanted: dict[str, Any], written: dict[str, Any]) -> None:
    done = check_arguments(SCHEMA, {"path": "a", **written})
    assert done == {"path": "a", "first": 1, **wanted}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({}, "'path' is missing"),
        ({"path": "a", "fist": 2}, r"no argument 'fist' \(did you mean 'first'\?\)"),
        ({"path": ["a"]}, "path has to be text"),
        ({"path": "a", "first": "three"}, "first has to be a whole number"),
        ({"path": "a", "first": 2.5}, "first has to be a whole number"),
        ({"path": "a", "first": 0}, "first has to be at least 1"),
        ({"path": "a", "share": 2}, "share has to be at most 1"),
        ({"path": "a", "way": "left"}, 'way has to be one of "top", "bottom"'),
        ({"path": "a", "names": [1, "b", "c", "d"]}, "names may have at most 3 entries"),
        ({"path": "a", "point": {}}, "'point.x' is missing"),
        ({"path": "a", "first": True}, "first has to be a whole number"),
    ],
)
def test_error_names_the_wrong_argument(written: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        check_arguments(SCHEMA, written)
    assert "it takes: path, first?" in caught.value.hint


def test_error_names_all_wrong_arguments() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_arguments(SCHEMA, {"first": "x", "nope": 1})
    assert all(word in caught.value.message for word in ("first", "nope", "'path' is missing"))


@pytest.mark.parametrize(
    "text",
    ['{"path": "a"}', ' {"path": "a"} ', '```json\n{"path": "a"}\n```', '"{\\"path\\": \\"a\\"}"'],
)
def test_wrapped_json_is_parsed(text: str) -> None:
    assert read_arguments(text) == {"path": "a"}


def test_raw_line_breaks_in_a_json_string_are_accepted() -> None:
    assert read_arguments('{"text": "one\ntwo"}') == {"text": "one\ntwo"}


@pytest.mark.parametrize("nothing", ["", "  ", None, {}])
def test_missing_arguments_are_an_empty_object(nothing: Any) -> None:
    assert read_arguments(nothing) == {}


def test_truncated_json_is_reported_as_cut_off() -> None:
    with pytest.raises(InvalidInput, match="cut off"):
        read_arguments('{"path": "a')


@pytest.mark.parametrize("wrong", ["[1]", 3, True, '"text"'])
def test_arguments_that_are_not_an_object_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        read_arguments(wrong)


def test_schema_references_to_definitions_are_resolved() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}},
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "below": {"$ref": "#/$defs/node"}},
                "required": ["name"],
            }
        },
    }
    assert (
        check_arguments(schema, {"tree": {"name": "a", "below": {"name": 2}}})["tree"]["below"]["name"] == "2"
    )
    with pytest.raises(InvalidInput, match=r"'tree\.below\.name' is missing"):
        check_arguments(schema, {"tree": {"name": "a", "below": {}}})


def test_unresolvable_schema_references_are_ignored() -> None:
    odd = {
        "type": "object",
        "properties": {"a": {"$ref": "#/nowhere"}, "b": {"$ref": "#/properties/b"}, "c": True},
    }
    assert check_arguments(odd, {"a": 1, "b": 2, "c": 3}) == {"a": 1, "b": 2, "c": 3}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(arguments=st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), JSON))
def test_whatever_is_accepted_fits_the_schema(arguments: dict[str, Any]) -> None:
    """Anything is either refused with an error of ours, or comes out right: checking it again changes nothing."""
    try:
        done = check_arguments(SCHEMA, arguments)
    except InvalidInput:
        return
    assert fits(SCHEMA, done)
    assert check_arguments(SCHEMA, done) == done


@given(arguments=JSON)
def test_reading_never_fails_in_another_way(arguments: Any) -> None:
    """An object comes out as it is, nothing as an empty one, anything else is refused with an error of ours."""
    for given_ in (arguments, json.dumps(arguments)):
        try:
            found = read_arguments(given_)
        except InvalidInput:
            assert not isinstance(arguments, dict)
            continue
        assert isinstance(found, dict)
        if not isinstance(arguments, str):  # a text may be JSON once more
            assert found == (arguments or {})
