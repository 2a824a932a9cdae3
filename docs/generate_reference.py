"""Write the pages of `reference/` from the public surface of the package, so that no class or method is missing.

    python docs/generate_reference.py          # write them
    python docs/generate_reference.py --check  # exit with 1 if they are out of date

A page holds one directive per object (`::: backscroll.Thread`); `make docs` turns it into signatures and docstrings.
The types that public methods return are found from annotations and follow on the page of the method.
`tests/docs/test_reference.py` runs the check.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import backscroll

FOLDER = Path(__file__).with_name("reference")
PACKAGE = "backscroll"
#: Modules besides `backscroll` that programs import from.
MODULES = ("tool", "testing", "langchain", "openai_agents", "pydantic_ai")
#: What some methods return and programs do not touch: the inside of the engine.
INSIDE = tuple(
    f"{PACKAGE}.{name}" for name in ("engine.core.pen", "engine.core.clock", "engine.core.lineage", "record")
)


@dataclass(frozen=True)
class Page:
    """One page: its title, what it is for, and the objects on it; `Thread.graph` represents the type that it returns."""

    name: str
    title: str
    about: str
    objects: tuple[str, ...]
    returned: tuple[str, ...] = ()


PAGES = (
    Page("store", "Stores", "Open a store; create, find, search, import, export and verify threads.", ("open", "Engine")),
    Page("thread", "Threads", "Append, edit, undo, fork, recall and prompt.", ("Thread", "History")),
    Page(
        "messages",
        "Messages and events",
        "The values that threads and stores return.",
        ("Message", "Revision", "Content", "Role", "Text", "Media", "Reasoning", "ToolCall", "ToolResult", "Opaque", "Turn", "Step", "ThreadInfo", "Scope", "Event", "Kind", "Ref"),
    ),
    Page("prompts", "Prompts", "Prompts, receipts, and the rules of each API.", ("Prompt", "Receipt", "Wire", "check", "repair")),
    Page("graph", "Knowledge graph", "`thread.graph`, `store.graph()`, `thread.window` and `thread.lore`.", ("Thread.graph", "Engine.graph", "Thread.window", "Thread.lore")),
    Page("tasks", "Tasks", "`thread.tasks`.", ("Thread.tasks",)),
    Page("memory", "Memory and users", "`thread.memory` and `store.user()`.", ("Thread.memory", "Engine.user")),
    Page("changes", "Code changes", "`thread.workroom()`: changes, blame, rewind and commit.", ("Thread.workroom",)),
    Page("agent", "Agent and tools", "The agent, and tools of your own.", ("Agent", "tool.*")),
    Page("programs", "Other programs", "`wrap`, and adapters for other frameworks.", ("wrap", "openai_agents.*", "langchain.*", "pydantic_ai.*")),
    Page("testing", "Testing", "A scripted model service for tests.", ("testing.*",)),
    Page("errors", "Errors", "Every error that Backscroll raises is a `BackscrollError`.", tuple(
        name for name in backscroll.__all__ if inspect.isclass(getattr(backscroll, name)) and issubclass(getattr(backscroll, name), Exception)
    )),
)  # fmt: skip


def exported() -> dict[str, object]:
    """Every name that programs may import, by its dotted path."""
    found = {
        f"{PACKAGE}.{name}": getattr(backscroll, name) for name in backscroll.__all__ if name not in MODULES
    }
    for module in MODULES:
        path = f"{PACKAGE}.{module}"
        opened = import_module(path)
        found |= {f"{path}.{name}": getattr(opened, name) for name in opened.__all__}
    return found


def members(kind: type) -> list[str]:
    """The public attributes of a class that the package itself defines, inherited ones included."""
    own = [base for base in kind.__mro__ if base.__module__.split(".")[0] == PACKAGE]
    names = {name for base in own for name in (*vars(base), *getattr(base, "__annotations__", {}))}
    return sorted(name for name in names if not name.startswith("_"))


def listed() -> list[Page]:
    """The pages with every object as a dotted path, each on one page only."""
    top = exported()
    seen = {id(value) for value in top.values()}
    pages = [
        replace(page, objects=tuple(p for name in page.objects for p in _resolved(name, top, seen)))
        for page in PAGES
    ]
    return [replace(page, returned=tuple(_returned(page.objects, seen))) for page in pages]


def _resolved(name: str, top: dict[str, object], seen: set[int]) -> list[str]:
    owner, _, last = name.partition(".")
    if last == "*":
        return [path for path in top if path.startswith(f"{PACKAGE}.{owner}.")]
    if not last:
        return [f"{PACKAGE}.{name}"]
    (kind,) = _returned_by(getattr(backscroll, owner), last)
    seen.add(id(kind))
    return [path_of(kind)]


def path_of(kind: type) -> str:
    """Where a class is defined."""
    return f"{kind.__module__}.{kind.__qualname__}"


def look_up(path: str) -> Any:
    """The object of a dotted path."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _returned(objects: Iterable[str], seen: set[int]) -> Iterator[str]:
    """The classes of the package that public methods of these classes return, then what those return."""
    waiting = list(objects)
    while waiting:
        kind = look_up(waiting.pop(0))
        for member in members(kind) if inspect.isclass(kind) else ():
            for returned in _returned_by(kind, member):
                if id(returned) not in seen:
                    seen.add(id(returned))
                    waiting.append(path_of(returned))
                    yield path_of(returned)


def _returned_by(kind: type, member: str) -> list[type]:
    """The public classes of the package in the annotation of a method, property or field."""
    for base in kind.__mro__:
        value = vars(base).get(member)
        value = inspect.unwrap(value.fget) if isinstance(value, property) and value.fget else value
        value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        said = vars(base).get("__annotations__", {}).get(member)
        if inspect.isfunction(value):
            said = inspect.unwrap(value).__annotations__.get("return")
        if isinstance(said, str):
            return list(_classes(said, base.__module__))
    return []


def _classes(annotation: str, module: str) -> Iterator[type]:
    if module.split(".", maxsplit=1)[0] != PACKAGE:
        return
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        if isinstance(node, ast.Name | ast.Attribute):
            value = _named(ast.unparse(node), module)
            if inspect.isclass(value) and _is_shown(value):
                yield value


def _is_shown(kind: type) -> bool:
    own = kind.__module__.split(".")[0] == PACKAGE and not kind.__name__.startswith("_")
    return own and not getattr(kind, "_is_protocol", False) and not kind.__module__.startswith(INSIDE)


def _named(name: str, module: str) -> object:
    """What a name in an annotation means there, imports for the type checker included."""
    first, *rest = name.split(".")
    value = vars(sys.modules[module]).get(first)
    if value is None and first in (imports := _imports(module)):
        home, name = imports[first]
        opened = import_module(home)
        value = getattr(opened, name, None) or import_module(f"{home}.{name}")
    for part in rest:
        value = getattr(value, part, None)
    return value


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    source = Path(sys.modules[module].__file__ or "").read_text(encoding="utf-8")
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE
        for alias in node.names
    }


def public_paths() -> list[str]:
    """Every class, method, property, field and function that the site has to show, by its dotted path."""
    shown: list[str] = []
    for path in (path for page in listed() for path in (*page.objects, *page.returned)):
        kind = look_up(path)
        shown += [path, *(f"{path}.{name}" for name in (members(kind) if inspect.isclass(kind) else ()))]
    return shown


def written() -> dict[str, str]:
    """Every page by its file name."""
    pages = listed()
    made = {f"{page.name}.md": _page(page) for page in pages}
    rows = "\n".join(f"| [{page.title}]({page.name}.md) | {page.about} |" for page in pages)
    opening = (
        "# API reference\n\nThese pages are generated by `docs/generate_reference.py`; do not edit them. `make docs` fills them with the\n"
        "signatures and docstrings of every public class and method. For a guide with examples, see [the library](../library.md).\n\n"
    )
    return {"index.md": f"{opening}| page | contents |\n| --- | --- |\n{rows}\n", **made}


def _page(page: Page) -> str:
    parts = [f"# {page.title}\n\n{page.about}\n", *(f"::: {path}\n" for path in page.objects)]
    if page.returned:
        parts += [
            "## Returned types\n",
            *(f"::: {path}\n    options:\n      heading_level: 3\n" for path in page.returned),
        ]
    return "\n".join(parts)


def main() -> None:
    """Write the pages, or check them."""
    pages = written()
    if "--check" in sys.argv[1:]:
        there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
        if there != pages:
            sys.exit("docs/reference is out of date: run python docs/generate_reference.py")
        return
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
