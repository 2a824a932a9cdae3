"""Validation of a call's arguments against the tool's schema.

Owns reading what a model wrote (a JSON text or a value), the lenient corrections that models need (`"3"` for 3, a JSON text for an
object, a single item for a list, null for an optional value), and reporting all errors at once, in a way that a
model can act on. Refuses: running anything.
"""

from __future__ import annotations

import difflib
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json

_SHOWN = 6  # errors that are reported at once
_DEEPEST = 24  # levels; third-party schemas may be recursive
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_LIMITS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.lt, "at least"),
    "maximum": (operator.gt, "at most"),
    "exclusiveMinimum": (operator.le, "more than"),
    "exclusiveMaximum": (operator.ge, "less than"),
}
_TRUTH = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


class _BadValue(Exception):
    """An invalid value; collected, never shown as is."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


def read_arguments(given: Json) -> dict[str, Json]:
    """Return the arguments that a model wrote as an object; empty if it wrote nothing."""
    value = given
    for _ in range(2):  # some models wrap the JSON in a JSON string
        if isinstance(value, str):
            value = _parse_json(value)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"the arguments are {_kind(value)}, not an object", hint="write them as a JSON object"
        )
    return {str(k): v for k, v in cast("Mapping[Any, Json]", value).items()}


def _parse_json(text: str) -> Json:
    body = text.strip()
    if not body:
        return None
    if body.startswith("```"):  # a code fence around it
        body = body.strip("`").removeprefix("json").strip()
    try:
        return json.loads(body, strict=False)  # models write raw line breaks inside strings
    except (ValueError, RecursionError) as error:
        place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        cut = " (the text seems to be cut off)" if body[-1:] not in ("}", "]", '"') else ""
        raise InvalidInput(
            f"the arguments are not valid JSON{place}{cut}", hint="send the whole call again, as valid JSON"
        ) from error


def check_arguments(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments as the schema requires, defaults filled in; all errors are reported at once."""
    try:
        done = _SchemaWalk(schema).object(schema, dict(arguments), "", 0)
    except _BadValue as bad:
        more = len(bad.problems) - _SHOWN
        told = "; ".join(bad.problems[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise InvalidInput(f"the arguments do not fit: {told}", hint=_usage(schema)) from bad
    return done


def fits(schema: Mapping[str, Json], value: Json) -> bool:
    """Return True if a value is valid as it is."""
    try:
        return _SchemaWalk(schema).value(schema, value, "", 0) == value
    except _BadValue:
        return False


def _usage(schema: Mapping[str, Json]) -> str:
    """Return the parameters on one line."""
    needed = set(cast("list[str]", schema.get("required") or ()))
    properties = cast("Mapping[str, Json]", schema.get("properties") or {})
    names = [name if name in needed else f"{name}?" for name in properties]
    return f"it takes: {', '.join(names)}" if names else "it takes no arguments"


def _kind(value: Json) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return next((_NAMES[name] for name, kinds in _TYPES.items() if isinstance(value, kinds)), "no JSON")


def _near(name: str, known: Mapping[str, Json]) -> str:
    close = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""


class _SchemaWalk:
    """A walk through a value alongside its schema."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self.root = root

    def object(
        self, schema: Mapping[str, Json], value: dict[str, Json], at: str, depth: int
    ) -> dict[str, Json]:
        """Return an object: each entry checked by its own schema, defaults filled in."""
        properties = cast("Mapping[str, Json]", schema.get("properties") or {})
        needed = cast("list[str]", schema.get("required") or [])
        rest = schema.get("additionalProperties", True)
        out: dict[str, Json] = {}
        problems: list[str] = []
        for name, each in value.items():
            where = f"{at}.{name}" if at else name
            inner = properties.get(name, rest if isinstance(rest, Mapping) else {})
            if name not in properties and rest is False:
                problems.append(f"there is no argument {where!r}{_near(name, properties)}")
            elif each is None and name not in needed and not self._allows_null(inner, depth):
                continue  # models send null for omitted values
            else:
                try:
                    out[name] = self.value(cast("Mapping[str, Json]", inner), each, where, depth + 1)
                except _BadValue as bad:
                    problems += bad.problems
        problems += [
            f"{f'{at}.{name}' if at else name!r} is missing"
            for name in needed
            if name not in out and name not in value
        ]
        if problems:
            raise _BadValue(*problems)
        for name, inner in properties.items():
            if name not in out and isinstance(inner, Mapping) and "default" in inner:
                out[name] = cast("Mapping[str, Json]", inner)["default"]
        return out

    def value(self, schema: Json, value: Json, at: str, depth: int) -> Json:
        """Return a value as its schema requires."""
        if depth > _DEEPEST or not isinstance(schema, Mapping) or not schema:
            return value  # true, {} or too deep to check: the tool itself reports errors
        rules = self._resolve_ref(cast("Mapping[str, Json]", schema))
        for several in ("anyOf", "oneOf"):
            if isinstance(rules.get(several), list):
                value = self._one_of(cast("list[Json]", rules[several]), value, at, depth)
        if isinstance(rules.get("allOf"), list):
            for each in cast("list[Json]", rules["allOf"]):
                value = self.value(each, value, at, depth + 1)
        kinds = self._kinds(rules)
        if kinds:
            value = self._check_type(kinds, rules, value, at)
        if "enum" in rules and value not in rules["enum"]:
            value = self._match_choice(cast("list[Json]", rules["enum"]), value, at)
        if "const" in rules and value != rules["const"]:
            raise _BadValue(f"{at or 'it'} has to be {_format_value(rules['const'])}")
        problems = list(_bounds(rules, value, at))
        if problems:
            raise _BadValue(*problems)
        return self._inside(rules, value, at, depth)

    def _inside(self, rules: Mapping[str, Json], value: Any, at: str, depth: int) -> Json:
        """Return a list or an object with its contents checked by their own schemas."""
        done: Json = value
        if isinstance(value, list):
            done = self._items(rules, cast("list[Json]", value), at, depth)
        elif isinstance(value, dict) and ("properties" in rules or "additionalProperties" in rules):
            done = self.object(rules, cast("dict[str, Json]", value), at, depth)
        return done

    def _resolve_ref(self, schema: Mapping[str, Json]) -> Mapping[str, Json]:
        for _ in range(_DEEPEST):
            link = schema.get("$ref")
            if not isinstance(link, str) or not link.startswith("#/"):
                return schema
            found: Json = self.root
            for step in link[2:].split("/"):
                key = step.replace("~1", "/").replace("~0", "~")
                found = cast("Mapping[str, Json]", found).get(key) if isinstance(found, Mapping) else None
            if not isinstance(found, Mapping):
                return {}
            schema = cast("Mapping[str, Json]", found)
        return {}

    def _kinds(self, rules: Mapping[str, Json]) -> list[str]:
        given = rules.get("type")
        kinds = [given] if isinstance(given, str) else cast("list[str]", given or [])
        return [*kinds, "null"] if kinds and rules.get("nullable") is True else kinds

    def _allows_null(self, schema: Json, depth: int) -> bool:
        try:
            self.value(schema, None, "", depth + 1)
        except _BadValue:
            return False
        return True

    def _one_of(self, several: list[Json], value: Json, at: str, depth: int) -> Json:
        problems: list[str] = []
        for exact in (True, False):  # a choice that fits as is goes before one that needs correction
            for each in several:
                try:
                    done = self.value(each, value, at, depth + 1)
                except _BadValue as bad:
                    problems += bad.problems
                    continue
                if not exact or (done == value and type(done) is type(value)):
                    return done
        raise _BadValue(*dict.fromkeys(problems[:3]))

    def _check_type(self, kinds: list[str], rules: Mapping[str, Json], value: Json, at: str) -> Json:
        for kind in kinds:
            if _is(kind, value):
                return int(value) if kind == "integer" and isinstance(value, float) else value
        for kind in kinds:
            changed, done = _correct_type(kind, rules, value)
            if done:
                return changed
        names = " or ".join(_NAMES.get(kind, kind) for kind in kinds)
        raise _BadValue(f"{at or 'it'} has to be {names}, not {_format_value(value)}")

    def _match_choice(self, choices: list[Json], value: Json, at: str) -> Json:
        """Return a choice given in another case or type, if the match is unique."""
        same = [c for c in choices if str(c).casefold() == str(value).strip().casefold()]
        if len(same) == 1:
            return same[0]
        raise _BadValue(
            f"{at or 'it'} has to be one of {', '.join(map(_format_value, choices))}, not {_format_value(value)}"
        )

    def _items(self, rules: Mapping[str, Json], value: list[Json], at: str, depth: int) -> list[Json]:
        first = cast("list[Json]", rules.get("prefixItems") or [])
        out: list[Json] = []
        problems: list[str] = []
        for number, each in enumerate(value):
            inner = first[number] if number < len(first) else rules.get("items", {})
            try:
                out.append(self.value(inner, each, f"{at}[{number}]", depth + 1))
            except _BadValue as bad:
                problems += bad.problems
        if problems:
            raise _BadValue(*problems)
        return out


def _is(kind: str, value: Json) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if kind == "number":
        return isinstance(value, int | float)
    return isinstance(value, _TYPES.get(kind, (object,)))


def _correct_type(kind: str, rules: Mapping[str, Json], value: Json) -> tuple[Json, bool]:
    """Return a value converted to the right type, and whether that was possible without guessing."""
    if kind in ("integer", "number") and isinstance(value, str):
        return _number(value.strip(), kind)
    if kind == "boolean" and isinstance(value, str | int) and str(value).strip().lower() in _TRUTH:
        return _TRUTH[str(value).strip().lower()], True
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value), True
    if kind in ("object", "array") and isinstance(value, str):
        try:
            read = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            read = None
        if _is(kind, read):
            return read, True
    if kind == "array" and value is not None:
        items = rules.get("items")
        wanted = cast("Mapping[str, Json]", items).get("type") if isinstance(items, Mapping) else None
        if isinstance(wanted, str) and wanted != "array" and _is(wanted, value):
            return [value], True  # a single item where a list is expected
    return value, False


def _number(text: str, kind: str) -> tuple[Json, bool]:
    try:
        number = float(text)
    except ValueError:
        return text, False
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is not equal to itself
        return text, False
    if number.is_integer() and (kind == "integer" or "." not in text):
        return int(number), True
    return (number, True) if kind == "number" else (text, False)


def _bounds(rules: Mapping[str, Json], value: Json, at: str) -> Iterator[str]:
    """Yield which bounds a value violates: too small, too large, too short or too long."""
    name = at or "it"
    if isinstance(value, int | float) and not isinstance(value, bool):
        for key, (wrong, words) in _LIMITS.items():
            limit = rules.get(key)
            if isinstance(limit, int | float) and not isinstance(limit, bool) and wrong(value, limit):
                yield f"{name} has to be {words} {limit}, not {value}"
    size = len(cast("list[Json]", value)) if isinstance(value, str | list) else None
    if size is not None:
        low, high = ("minLength", "maxLength") if isinstance(value, str) else ("minItems", "maxItems")
        unit = "characters" if isinstance(value, str) else "entries"
        if isinstance(rules.get(low), int) and size < rules[low]:
            yield f"{name} needs at least {rules[low]} {unit}, not {size}"
        if isinstance(rules.get(high), int) and size > rules[high]:
            yield f"{name} may have at most {rules[high]} {unit}, not {size}"


def _format_value(value: Json) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
