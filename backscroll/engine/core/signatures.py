"""Runtime type checks: compare the arguments of public methods with their signatures before anything is done.

Callers are not always type-checked, and a number in place of an id would fail somewhere deep inside. Owns compiling
annotations into checks, once per method. Values are not judged here: each method decides whether an id, a name or a number
makes sense.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from backscroll.errors import InvalidInput

C = TypeVar("C", bound="type[Any]")
F = TypeVar("F", bound="Callable[..., Any]")
Check: TypeAlias = Callable[[Any], bool]

#: Annotations that stand for several types, or that the method checks itself: everything is allowed.
OPEN: Final = frozenset(
    {
        "Any",
        "Json",
        "ContentLike",
        "object",
        "bool",
        "Literal",
        "T",
        "What",
        "Progress",
        "Ask",
        "Happening",
        "Tools",
        "MessageLike",
        "Role",
        "Wire",
        "Scope",
    }
)
#: Protocols: any object with their methods is allowed, whatever its class.
SHAPES: Final = frozenset({"Client", "Person", "Snapshots", "Store", "Writer"})
#: Parameters that their method checks itself, with a more specific hint.
OWN: Final = frozenset({"ThreadKnowledge.summary.budget", "ThreadKnowledge.context_summary.budget"})
_LISTS: Final = frozenset({"Sequence", "Iterable", "Collection", "list", "tuple", "set", "frozenset"})
_LOOKED_INTO: Final = (list, tuple, set, frozenset)


class ParameterCheck(NamedTuple):
    """The check of one parameter."""

    name: str
    text: str  # the annotation, as it is written
    fits: Check


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_PLAIN: Final[Mapping[str, Check]] = {
    "str": lambda value: isinstance(value, str),
    "int": _is_whole,
    "float": _is_number,
    "bytes": lambda value: isinstance(value, bytes),
    "None": lambda value: value is None,
    "PathLike": lambda value: hasattr(value, "__fspath__"),
    "Mapping": lambda value: isinstance(value, Mapping),
    "dict": lambda value: isinstance(value, Mapping),
    "Callable": callable,
}


def check_of(annotation: str) -> Check | None:
    """Return the check for an annotation; None if it allows everything."""
    return _read(ast.parse(annotation, mode="eval").body)


def _read(node: ast.expr) -> Check | None:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            one, other = _read(left), _read(right)
            return None if one is None or other is None else lambda value: one(value) or other(value)
        case ast.Constant(value=None):
            return _PLAIN["None"]
        case ast.Constant(value=str(text)):
            return check_of(text)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return (
                None
                if name in OPEN | SHAPES
                else _PLAIN.get(name) or _list_of(None, name) or _instance_of(name)
            )
        case ast.Subscript(value=ast.Attribute(attr=name) | ast.Name(id=name), slice=inner):
            items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name in ("Mapping", "dict"):
                return _mapping_of([_read(item) for item in items])
            one = _read(items[0]) if name in _LISTS else None
            return (
                None
                if name in OPEN | SHAPES
                else _list_of(one, name) or _PLAIN.get(name) or _instance_of(name)
            )
        case _:
            return None


def _list_of(item: Check | None, name: str) -> Check | None:
    """Return the check for a list; text and mappings are rejected although they can be iterated."""
    if name not in _LISTS:
        return None

    def fits(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return False
        known = isinstance(value, _LOOKED_INTO)  # anything else may be readable only once
        return item is None or not known or all(map(item, cast("Iterable[Any]", value)))

    return fits


def _mapping_of(items: Sequence[Check | None]) -> Check:
    """Return the check for a mapping, with checks for its keys and values."""
    key, one = (*items, None, None)[:2]

    def fits(value: Any) -> bool:
        if not isinstance(value, Mapping):
            return False
        held = cast("Mapping[Any, Any]", value)
        return (key is None or all(map(key, held))) and (one is None or all(map(one, held.values())))

    return fits


def _instance_of(name: str) -> Check:
    """Return the check for instances of a class by its name: most of them are not imported where they are only named."""
    return lambda value: any(kind.__name__ == name for kind in cast("type[Any]", type(value)).__mro__)


class _SignatureChecks(NamedTuple):
    """The checks of a signature, parameter by parameter."""

    places: tuple[ParameterCheck | None, ...]
    names: Mapping[str, ParameterCheck]
    rest: ParameterCheck | None  # of further positional arguments


def _plan_of(work: Callable[..., Any], label: str) -> _SignatureChecks:
    places: list[ParameterCheck | None] = []
    names: dict[str, ParameterCheck] = {}
    rest: ParameterCheck | None = None
    for parameter in inspect.signature(work).parameters.values():
        own = f"{label}.{parameter.name}" in OWN
        asked = None if own else _make_check(parameter.name, parameter.annotation)
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = asked
        elif parameter.kind is not parameter.VAR_KEYWORD:
            if parameter.kind is not parameter.KEYWORD_ONLY:
                places.append(asked)
            if asked is not None:
                names[parameter.name] = asked
    return _SignatureChecks(tuple(places), names, rest)


def door(work: F, owner: str = "") -> F:
    """Decorate a function: arguments of the wrong type are rejected before it runs."""
    plan: _SignatureChecks | None = None  # compiled on the first call: most methods are never called
    label = f"{owner}.{work.__name__}" if owner else work.__name__

    @wraps(work)
    def check_arguments(*args: Any, **named: Any) -> Any:
        nonlocal plan
        if plan is None:
            plan = _plan_of(work, label)
        places, names, rest = plan
        for number, value in enumerate(args):
            asked = places[number] if number < len(places) else rest
            if asked is not None and not asked.fits(value):
                raise _refusal(_format_call(args), asked, value)
        for name, value in named.items():
            asked = names.get(name)
            if asked is not None and not asked.fits(value):
                raise _refusal(_format_call(args), asked, value)
        return work(*args, **named)

    def _format_call(args: Sequence[Any]) -> str:
        """Return the call as the caller knows it: by the class it was called on, not the one that defines it."""
        return f"{type(args[0]).__name__}.{work.__name__}" if owner and args else label

    return cast("F", check_arguments)


def _make_check(name: str, annotation: object) -> ParameterCheck | None:
    fits = check_of(annotation) if isinstance(annotation, str) else None
    return None if fits is None else ParameterCheck(name, str(annotation), fits)


def _refusal(label: str, asked: ParameterCheck, value: object) -> InvalidInput:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    alone = isinstance(value, str) and asked.text.startswith("Sequence[str]")
    return InvalidInput(
        f"{label}: {asked.name} cannot be {shown} ({type(value).__name__})",
        hint=f"{asked.name} takes {asked.text}" + (f", such as [{shown}]" if alone else ""),
    )


_SHOWN: Final = 80


def doors(owner: C) -> C:
    """Decorate a class: its public methods check their arguments first."""
    for name, work in list(vars(owner).items()):
        if not name.startswith("_") and isinstance(work, FunctionType):
            setattr(owner, name, door(work, owner.__name__))
    return owner
