"""Type hints to JSON Schema, and validated arguments back to Python values.

Owns which hints are understood: text, numbers, truth values, lists, dictionaries, `Literal`, `Enum`, `Optional` and unions,
dataclasses, `TypedDict`, `Path`, `Annotated[…, "words"]`. Refuses: a parameter without a hint, and hints that have no JSON shape,
with the name of the parameter.
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, cast, get_args, get_origin, is_typeddict

from backscroll.agent.arguments import fits
from backscroll.agent.docstrings import parse_docstring
from backscroll.agent.tool import ToolContext
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json

_PLAIN: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ROWS = (list, tuple, set, frozenset, Sequence, MutableSequence, AbstractSet)
_MAPS = (dict, Mapping, MutableMapping)
_DEEPEST = 12  # nesting of hints; a recursive type would never end


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function, as a schema and as its own hints."""

    name: str
    description: str
    schema: Mapping[str, Json]
    hints: Mapping[str, Any]
    context: str = ""  # the parameter that is a ToolContext; it is passed in and not part of the schema

    def values(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Return checked arguments as the values that the function expects."""
        return {
            name: build_value(self.hints[name], value)
            for name, value in arguments.items()
            if name in self.hints
        }


def signature_of(function: Callable[..., object], name: str = "") -> Signature:
    """Read a function's signature; what cannot be offered to a model is an error with the name of the parameter."""
    called = name or getattr(function, "__name__", type(function).__name__)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"tool {called}: its parameters cannot be read", hint="wrap it in a function of your own"
        ) from error
    hints, words = _hints(function, called), parse_docstring(inspect.getdoc(function))
    properties: dict[str, Json] = {}
    required: list[str] = []
    taken: dict[str, Any] = {}
    context = ""
    for each in signature.parameters.values():
        hint = hints.get(each.name, inspect.Parameter.empty)
        if hint is ToolContext:
            context = each.name
            continue
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise InvalidInput(
                f"tool {called}: the parameter {each.name!r} cannot be given by name",
                hint="a tool takes named parameters, each with a type",
            )
        if hint is inspect.Parameter.empty:
            raise InvalidInput(
                f"tool {called}: the parameter {each.name!r} has no type",
                hint=f"write {each.name}: str, or whatever it is",
            )
        where = f"tool {called}: the parameter {each.name!r}"
        shape = schema_of(_without_none(hint) if each.default is None else hint, where)
        if told := words.parameters.get(each.name):
            shape = {**shape, "description": told}
        if each.default is inspect.Parameter.empty:
            required.append(each.name)
        elif (usual := plain(each.default)) not in (None, "", False):  # redundant keywords cost tokens
            shape = {**shape, "default": usual}
        properties[each.name] = shape
        taken[each.name] = hint
    schema: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return Signature(called, words.text, schema, taken, context)


def _without_none(hint: Any) -> Any:
    """Return a hint without its None: an optional value need not be declared nullable."""
    if get_origin(hint) is typing.Annotated:
        return typing.Annotated[_without_none(get_args(hint)[0]), *get_args(hint)[1:]]
    if get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    rest = [each for each in get_args(hint) if each is not type(None)]
    return rest[0] if len(rest) == 1 else hint


def _hints(function: Callable[..., object], called: str) -> dict[str, Any]:
    """Return the hints, with names resolved where the function was defined."""
    inner = inspect.unwrap(function)
    around: dict[str, Any] = {"ToolContext": ToolContext}  # usually imported for the type checker only
    if inspect.isfunction(inner):
        with contextlib.suppress(ValueError):  # a variable of the enclosing function has no value yet
            around |= inspect.getclosurevars(inner).nonlocals
    try:
        return typing.get_type_hints(inner, localns=around, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"tool {called}: a type cannot be read: {error}",
            hint="use types that are known where the function is written",
        ) from error


# -- hints to schema ---------------------------------------------------------------------------------------------


def schema_of(hint: Any, where: str, depth: int = 0) -> dict[str, Json]:
    """Return the JSON Schema of a hint; `where` names its owner in errors."""
    if depth > _DEEPEST:
        raise InvalidInput(f"{where} holds itself", hint="use a type that ends")
    if hint in (Any, object):
        return {}
    if hint in (None, type(None)):
        return {"type": "null"}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, inside = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        told = next((w for w in inside[1:] if isinstance(w, str)), "")
        return schema_of(inside[0], where, depth) | ({"description": told} if told else {})
    if origin in (typing.Union, types.UnionType):
        return _union(inside, where, depth)
    if origin is Literal:
        return _choice(list(inside))
    if origin in (typing.Required, typing.NotRequired):
        return schema_of(inside[0], where, depth)
    return _build_container_schema(hint, origin or hint, inside, where, depth)


def _build_container_schema(
    hint: Any, kind: Any, inside: tuple[Any, ...], where: str, depth: int
) -> dict[str, Json]:
    """Return the schema of a container."""
    if kind in _ROWS:
        return _row(kind, inside, where, depth)
    if kind in _MAPS:
        if inside and inside[0] not in (str, Any):
            raise InvalidInput(f"{where}: keys are always text in JSON", hint="use dict[str, …]")
        rest = schema_of(inside[1], where, depth + 1) if len(inside) == 2 else {}
        return {"type": "object", **({"additionalProperties": rest} if rest else {})}
    if is_typeddict(hint) or (isinstance(hint, type) and is_dataclass(hint)):
        return _record(hint, where, depth)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice([member.value for member in hint])
    if isinstance(hint, type) and issubclass(hint, PurePath):
        return {"type": "string"}
    raise InvalidInput(
        f"{where} has a type that has no shape in JSON: {hint!r}",
        hint="use text, numbers, bool, list, dict, Literal, Enum, a dataclass or a TypedDict",
    )


def _union(inside: tuple[Any, ...], where: str, depth: int) -> dict[str, Json]:
    rest = [schema_of(each, where, depth + 1) for each in inside if each is not type(None)]
    if len(rest) == 1 and len(inside) == 2 and "enum" not in rest[0] and isinstance(rest[0].get("type"), str):
        return {**rest[0], "type": [rest[0]["type"], "null"]}
    return {"anyOf": [*rest, *([{"type": "null"}] if type(None) in inside else [])]}


def _choice(values: list[Any]) -> dict[str, Json]:
    kinds = {_PLAIN.get(type(value)) for value in values}
    kind = {"type": kinds.pop()} if len(kinds) == 1 and None not in kinds else {}
    return {**kind, "enum": values}


def _row(kind: Any, inside: tuple[Any, ...], where: str, depth: int) -> dict[str, Json]:
    several = kind is tuple and inside and inside[-1] is not Ellipsis
    if several and len(set(inside)) > 1:
        return {
            "type": "array",
            "prefixItems": [schema_of(each, where, depth + 1) for each in inside],
            "minItems": len(inside),
            "maxItems": len(inside),
        }
    out: dict[str, Json] = {
        "type": "array",
        "items": schema_of(inside[0], where, depth + 1) if inside else {},
    }
    if several:
        out |= {"minItems": len(inside), "maxItems": len(inside)}
    if kind in (set, frozenset, AbstractSet):
        out["uniqueItems"] = True
    return out


def _record(hint: Any, where: str, depth: int) -> dict[str, Json]:
    """Return the schema of a dataclass or a TypedDict: an object with named entries."""
    words = parse_docstring(inspect.getdoc(hint)).parameters
    properties: dict[str, Json] = {}
    required: list[str] = []
    for name, inner, needed in _entries(hint, where):
        shape = schema_of(inner, f"{where}, entry {name!r}", depth + 1)
        properties[name] = {**shape, "description": words[name]} if words.get(name) else shape
        if needed:
            required.append(name)
    out: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**out, "required": required} if required else out


def _entries(hint: Any, where: str) -> list[tuple[str, Any, bool]]:
    try:
        hints = typing.get_type_hints(hint, include_extras=True)
    except (NameError, TypeError) as error:
        raise InvalidInput(
            f"{where}: a type cannot be read: {error}",
            hint="use types that are known where the function is written",
        ) from error
    if is_typeddict(hint):
        needed = cast("frozenset[str]", hint.__required_keys__)
        # Hints written as strings hide which entries may be missing; resolved, they show it.
        return [(n, h, get_origin(h) is not typing.NotRequired and n in needed) for n, h in hints.items()]
    return [
        (f.name, hints[f.name], f.default is MISSING and f.default_factory is MISSING)
        for f in fields(hint)
        if f.init
    ]


# -- values ------------------------------------------------------------------------------------------------------


def build_value(hint: Any, value: Json) -> Any:
    """Convert a checked JSON value to the type of its hint: an Enum member, a dataclass, a Path, a tuple."""
    origin, inside = get_origin(hint), get_args(hint)
    if value is None or hint in (Any, object):
        return value
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return build_value(inside[0], value)
    if origin in (typing.Union, types.UnionType):
        return build_value(_fitting(inside, value), value)
    kind = origin or hint
    if kind in _ROWS and isinstance(value, list):
        return _made_row(kind, inside, cast("list[Json]", value))
    if isinstance(value, dict):
        return _made_record(hint, kind, inside, cast("dict[str, Json]", value))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    if isinstance(hint, type) and issubclass(hint, PurePath):
        return (Path if hint is PurePath else hint)(str(value))
    return float(value) if hint is float and isinstance(value, int) else value


def _made_row(kind: Any, inside: tuple[Any, ...], value: list[Json]) -> Any:
    if kind is tuple and inside and inside[-1] is not Ellipsis:
        return tuple(build_value(hint, each) for hint, each in zip(inside, value, strict=True))
    rows = [build_value(inside[0], each) for each in value] if inside else value
    if kind is tuple:
        return tuple(rows)
    return frozenset(rows) if kind is frozenset else set(rows) if kind in (set, AbstractSet) else rows


def _made_record(hint: Any, kind: Any, inside: tuple[Any, ...], value: dict[str, Json]) -> Any:
    if kind in _MAPS:
        return {k: build_value(inside[1], v) for k, v in value.items()} if len(inside) == 2 else value
    if not (is_typeddict(hint) or (isinstance(hint, type) and is_dataclass(hint))):
        return value
    hints = {name: inner for name, inner, _ in _entries(hint, "")}
    entries = {name: build_value(hints[name], each) for name, each in value.items() if name in hints}
    return entries if is_typeddict(hint) else hint(**entries)


def _fitting(inside: tuple[Any, ...], value: Json) -> Any:
    """Return which of several hints a value was meant for: the first whose schema it fits."""
    rest = [each for each in inside if each is not type(None)]
    return next((each for each in rest if fits(schema_of(each, ""), value)), rest[0] if rest else Any)


def plain(value: Any) -> Json:
    """Return a default as JSON; None if it cannot be expressed, or is None."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in cast("dict[Any, Any]", value).items()}
    return None
