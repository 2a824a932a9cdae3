"""The registry of tools: one contract for built-in and user tools.

Owns making a tool of a function (`@tool`) or of a class with a typed `run`, rejecting an ill-formed one at registration with what is
missing, the list of tools for each wire (in the order of registration: it is part of the cached prefix), and checking
arguments. Refuses: running (`agent/loop/calls`).
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, cast, get_args, overload

from backscroll.agent.arguments import check_arguments, read_arguments
from backscroll.agent.person import Effect, Preview
from backscroll.agent.schema import Signature, signature_of
from backscroll.agent.tool import Tool, ToolContext, ToolLike, ToolOutput, Tools
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

#: The characters of tool names, on every wire.
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
EFFECTS: tuple[str, ...] = get_args(Effect)
_LINE = 160  # characters of a one-line preview
_LONGEST = 4_000  # characters of a description; every prompt pays for it

Previewing = Callable[[ToolContext, Mapping[str, Json]], Preview]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionTool:
    """A tool made from a function; calling it calls the function."""

    function: Callable[..., object]
    signature: Signature
    name: str
    description: str
    effect: Effect
    seconds: float | None = None  # its time limit; None: that of a command, 0: it keeps time itself
    previewing: Previewing | None = None

    @property
    def parameters(self) -> Mapping[str, Json]:
        """JSON Schema of the arguments."""
        return self.signature.schema

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, for programs."""
        return self.function(*args, **kwargs)

    def preview(self, context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
        """Return the tool's own preview, else the call on one line."""
        if self.previewing is not None:
            return self.previewing(context, arguments)
        return plain_preview(self.name, arguments)

    def run(self, context: ToolContext, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call the function; an async one is run to completion."""
        values = self.signature.values(arguments)
        if self.signature.context:
            values[self.signature.context] = context
        return output_of(await_result(self.function(**values)))


def await_result(value: object) -> object:
    """Return a function's result; await it if it is awaitable."""
    if inspect.isawaitable(value):
        import asyncio

        async def await_value() -> object:
            return await value

        made: Coroutine[Any, Any, object] = await_value()
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(made)
        with ThreadPoolExecutor(
            1, "tool"
        ) as beside:  # this thread already has an event loop, which must not wait for itself
            return beside.submit(asyncio.run, made).result()
    return value


def output_of(value: object) -> ToolOutput:
    """Convert whatever a function returns to a result."""
    if isinstance(value, ToolOutput):
        return value
    if value is None:
        return ToolOutput("done")
    if isinstance(value, str):
        return ToolOutput(value)
    if isinstance(value, bytes | bytearray):
        return ToolOutput(bytes(value).decode("utf-8", "replace"))
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    return ToolOutput(json.dumps(value, ensure_ascii=False, default=str))


def plain_preview(name: str, arguments: Mapping[str, Json]) -> Preview:
    """Return a preview with the call on one line, for tools without their own; if it is cut, the text holds all arguments."""
    short = ", ".join(f"{key}={_dump_json(value)}" for key, value in arguments.items())
    line = f"{name}({short})"
    whole = json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str) if arguments else ""
    cut = line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"
    return Preview(" ".join(cut.split()), text=whole if len(line) > _LINE else "")


def _dump_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# -- making tools ------------------------------------------------------------------------------------------------


@overload
def tool(function: Callable[..., object], /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    effect: Effect = "none",
    seconds: float | None = None,
    preview: Previewing | None = None,
) -> Callable[[Callable[..., object]], FunctionTool]: ...
def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    effect: Effect = "none",
    seconds: float | None = None,
    preview: Previewing | None = None,
) -> FunctionTool | Callable[[Callable[..., object]], FunctionTool]:
    """Make a tool of a function with type hints and a docstring.

    `effect` says what it does outside the conversation, and so when the user is asked: a function without one runs unasked. `preview`
    shows the user what a call would do. A parameter with the hint `ToolContext` is passed in.
    """

    def decorate(inner: Callable[..., object]) -> FunctionTool:
        signature = signature_of(inner, name)
        made = FunctionTool(
            inner,
            signature,
            signature.name,
            (description or signature.description).strip(),
            effect,
            seconds,
            preview,
        )
        verify(made)
        return made

    return decorate if function is None else decorate(function)


def as_tool(given: ToolLike | type) -> Tool:
    """Convert whatever a caller passes to a tool: a tool, a function, a class with a typed `run`, or an object of one."""
    if isinstance(given, FunctionTool):
        return given
    made = _create_tool(given) if isinstance(given, type) else given
    if inspect.isroutine(made) or not hasattr(made, "run"):
        if callable(made):
            return tool(cast("Callable[..., object]", made))
        raise InvalidInput(
            f"{type(made).__name__} is not a tool: it cannot be called and has no `run`",
            hint="decorate a function with @tool, or write a class with name, description and run",
        )
    if _has_contract(made):
        verify(made)
        return cast("Tool", made)
    return _of_class(made)


def _create_tool(kind: type) -> object:
    try:
        return kind()
    except TypeError as error:
        raise InvalidInput(
            f"the tool {kind.__name__} cannot be made without arguments: {error}", hint="pass an object of it"
        ) from error


def _has_contract(made: object) -> bool:
    """Return True for an object that follows the protocol: its `run` takes a context and the arguments as one mapping."""
    return hasattr(made, "parameters")


def _of_class(made: object) -> FunctionTool:
    """Make a tool of a class whose `run` has typed parameters of its own: the schema is read from them."""
    kind = type(made)
    name = str(getattr(made, "name", "") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower())
    run = cast("Callable[..., object]", getattr(made, "run"))  # noqa: B009 - its type is unknown
    signature = signature_of(run, name)
    own = inspect.getdoc(kind) if kind.__doc__ else ""
    words = str(getattr(made, "description", "") or own or signature.description)
    ready = FunctionTool(
        run,
        signature,
        name,
        words.strip(),
        cast("Effect", getattr(made, "effect", "none")),
        getattr(made, "seconds", None),
        cast("Previewing | None", getattr(made, "preview", None)),
    )
    verify(ready)
    return ready


# -- the contract ------------------------------------------------------------------------------------------------


def verify(made: object) -> None:
    """Raise an error for an ill-formed tool, naming everything that is missing."""
    name = getattr(made, "name", None)
    called = name if isinstance(name, str) and name else type(made).__name__
    flaws = [*_flaws(made)]
    if flaws:
        raise InvalidInput(
            f"the tool {called} is not well-formed: {'; '.join(flaws)}",
            hint="a tool has name, description, parameters (JSON Schema of an object), effect, preview and run",
        )


def _flaws(made: object) -> Iterator[str]:
    name, words = getattr(made, "name", None), getattr(made, "description", None)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield f"its name {name!r} is not made of 1 to 64 letters, digits, _ and -"
    if not isinstance(words, str) or not words.strip():
        yield "it has no description: say what it does and when to use it (the docstring)"
    elif len(words) > _LONGEST:
        yield f"its description is longer than {_LONGEST} characters"
    if getattr(made, "effect", None) not in EFFECTS:
        yield f"its effect {getattr(made, 'effect', None)!r} is none of {', '.join(EFFECTS)}"
    yield from _schema_flaws(getattr(made, "parameters", None))
    for method in ("preview", "run"):
        yield from _method_flaws(made, method)


def _schema_flaws(schema: object) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        yield "its parameters are no JSON Schema"
        return
    rules = cast("Mapping[str, Json]", schema)
    if rules.get("type") != "object" or not isinstance(rules.get("properties", {}), Mapping):
        yield 'its parameters are not the schema of an object: {"type": "object", "properties": {…}}'
        return
    properties = cast("Mapping[str, Json]", rules.get("properties", {}))
    needed: Any = rules.get("required", [])
    for key in cast("Sequence[Any]", needed if isinstance(needed, list | tuple) else ()):
        if key not in properties:
            yield f"it requires {key!r}, which is not among its parameters"
    try:
        json.dumps(dict(rules))
    except (TypeError, ValueError) as error:
        yield f"its schema is not valid JSON: {error}"


def _method_flaws(made: object, method: str) -> Iterator[str]:
    found = getattr(made, method, None)
    if not callable(found):
        yield f"it has no method {method}(context, arguments)"
        return
    try:
        inspect.signature(found).bind(None, {})
    except TypeError:
        yield f"its method {method} does not take (context, arguments)"
    except ValueError:  # a method without even `self`, or one written in C, which cannot be inspected
        if inspect.ismethod(found):
            yield f"its method {method} does not take (context, arguments)"


# -- the registry ------------------------------------------------------------------------------------------------


class Toolbox:
    """The tools of an agent, in the order of registration."""

    def __init__(self, tools: Tools = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for each in tools:
            self.add(each)

    def add(self, given: ToolLike | type) -> Tool:
        """Register a tool; raise an error if it is ill-formed or its name is taken."""
        made = as_tool(given)
        if made.name in self._tools:
            raise Conflict(f"duplicate tool name {made.name!r}", hint="give one of them another name")
        self._tools[made.name] = made
        return made

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def names(self) -> list[str]:
        """The names of the tools, in order."""
        return list(self._tools)

    def get(self, name: str) -> Tool:
        """Return a tool by its name; the error for an unknown one suggests similar names."""
        found = self._tools.get(name)
        if found is None:
            near = difflib.get_close_matches(name, self.names, 3, 0.5)
            hint = (
                f"similar names: {', '.join(near)}"
                if near
                else f"there are: {', '.join(self.names) or 'none'}"
            )
            raise NotFound(f"there is no tool called {name!r}", hint=hint)
        return found

    def check(self, name: str, arguments: Json) -> dict[str, Json]:
        """Return the arguments as a tool expects them, from whatever a model wrote; else raise an error that says what is wrong."""
        made = self.get(name)
        return check_arguments(made.parameters, read_arguments(arguments))

    def specs(self, wire: Wire = "openai-chat") -> list[dict[str, Json]]:
        """Return the list of tools in a wire's format; the same bytes every time."""
        return [spec(each, wire) for each in self]


def spec(made: Tool, wire: Wire) -> dict[str, Json]:
    """Return one tool in a wire's format."""
    words: dict[str, Json] = {"name": made.name, "description": made.description}
    schema = cast("dict[str, Json]", _lean(made.parameters))
    schema.setdefault("properties", {})  # some servers require it even if it is empty
    match wire:
        case "anthropic":
            return {**words, "input_schema": schema}
        case "openai-responses":
            return {"type": "function", **words, "parameters": schema, "strict": False}
        case _:
            return {"type": "function", "function": {**words, "parameters": schema}}


def _lean(schema: Json) -> Json:
    """Return a schema without the parts that only we use and every prompt would pay for."""
    if isinstance(schema, Mapping):
        rules = cast("Mapping[str, Json]", schema)
        return {
            key: _lean(value)
            for key, value in rules.items()
            if not (key == "additionalProperties" and value is False)
        }
    if isinstance(schema, list):
        return [_lean(each) for each in cast("list[Json]", schema)]
    return schema
