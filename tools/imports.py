"""List the imports between the modules of the package, and the cycles that they form.

    python tools/imports.py [--cycles] [--local] [--json]

The table has a row for each folder whose modules and sub-folders import each other in a circle, and the totals below.
An import counts as one of three kinds: import-time (run when the module is loaded), local (inside a function) or typing
(under `if TYPE_CHECKING`). The columns add up: a cycle that closes only through typing is counted in the last one alone.
`--cycles` names the siblings of each cycle and the imports that close it; `--local` lists the local imports without a reason.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "backscroll"
SKIPPED = {"samples"}  # data, not code
KINDS = ("import-time", "local", "typing")
REASON = "# start-up:"  # the comment that says why an import stays inside a function


@dataclass(frozen=True, order=True)
class Import:
    """One module of the package importing another."""

    importer: str
    imported: str
    line: int
    kind: str
    reason: str = ""


@cache
def module_names(root: Path = ROOT) -> Mapping[str, Path]:
    """Map the dotted name of each module of the package to its file."""
    named = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if not SKIPPED.intersection(parts):
            named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def all_imports(root: Path = ROOT) -> tuple[Import, ...]:
    """List every import of one module of the package by another."""
    return _read_imports(root)


@cache
def _read_imports(root: Path) -> tuple[Import, ...]:
    named = module_names(root)
    return tuple(found for name, path in named.items() for found in module_imports(name, path, named))


def module_imports(name: str, path: Path, named: Mapping[str, Path]) -> Iterator[Import]:
    """List the imports of one module, each once per place."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, kind in _statements(ast.parse(text, filename=str(path)), "import-time"):
        reason = _reason(lines, node) if kind == "local" else ""
        for target in sorted(set(_targets(node, package, named))):
            if target != name:
                yield Import(name, target, node.lineno, kind, reason)


def _statements(tree: ast.AST, kind: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, kind
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            for inner in node.body:
                yield from _statements(ast.Module([inner], []), "typing")
            for inner in node.orelse:
                yield from _statements(ast.Module([inner], []), kind)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _statements(node, "local")
        elif not isinstance(node, ast.expr):  # no expression holds an import
            yield from _statements(node, kind)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _targets(node: ast.Import | ast.ImportFrom, package: str, named: Mapping[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (_known(alias.name, named) for alias in node.names if _known(alias.name, named))
        return
    start = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
    module = ".".join(part for part in (start, node.module or "") if part)
    for alias in node.names:
        if target := _known(f"{module}.{alias.name}", named):
            yield target


def _known(name: str, named: Mapping[str, Path]) -> str:
    """Return the module of a dotted name: itself, or the nearest one that contains it."""
    while name and name not in named:
        name = name.rpartition(".")[0]
    return name


def _reason(lines: list[str], node: ast.stmt) -> str:
    """The reason in the comment on the line of an import, or on the lines just above it."""
    above = node.lineno - 2
    while above >= 0 and lines[above].strip().startswith(("#", "from ", "import ")):
        if lines[above].strip().startswith(REASON):
            return lines[above].strip().removeprefix(REASON).strip()
        if REASON in lines[above]:
            return lines[above].partition(REASON)[2].strip()
        above -= 1
    for line in lines[node.lineno - 1 : node.end_lineno]:
        if REASON in line:
            return line.partition(REASON)[2].strip()
    return ""


# -- cycles ------------------------------------------------------------------------------------------------------


def sibling_imports(imports: Iterable[Import]) -> dict[str, dict[tuple[str, str], list[Import]]]:
    """Group imports by the folder that holds both ends, and there by the two siblings that they join."""
    folders: dict[str, dict[tuple[str, str], list[Import]]] = defaultdict(lambda: defaultdict(list))
    for found in imports:
        ours, theirs = found.importer.split("."), found.imported.split(".")
        shared = 0
        while shared < min(len(ours), len(theirs)) and ours[shared] == theirs[shared]:
            shared += 1
        if shared < len(ours) and shared < len(theirs):
            folders[".".join(ours[:shared])][ours[shared], theirs[shared]].append(found)
    return folders


def cycles(imports: Iterable[Import], kinds: Iterable[str] = KINDS) -> dict[str, list[list[str]]]:
    """For each folder the groups of siblings that import each other in a circle, by imports of these kinds."""
    allowed = set(kinds)
    found = {}
    for folder, edges in sorted(sibling_imports(each for each in imports if each.kind in allowed).items()):
        groups = _components(edges)
        if groups:
            found[folder] = groups
    return found


def _components(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The strongly connected components of more than one member (Tarjan)."""
    after: dict[str, set[str]] = defaultdict(set)
    for start, end in edges:
        after[start].add(end)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in sorted(after[node]):
            if following not in index:
                visit(following)
                low[node] = min(low[node], low[following])
            elif following in stack:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(after):
        if node not in index:
            visit(node)
    return sorted(groups)


# -- the table ---------------------------------------------------------------------------------------------------


def table(root: Path = ROOT) -> dict[str, dict[str, list[int]]]:
    """For each folder with a cycle: how many siblings are in one, by kinds of imports, each column with those before it."""
    imports = all_imports(root)
    rows: dict[str, dict[str, list[int]]] = {}
    for upto in range(len(KINDS)):
        for folder, groups in cycles(imports, KINDS[: upto + 1]).items():
            row = rows.setdefault(folder, {"cycles": [0, 0, 0], "siblings": [0, 0, 0]})
            row["cycles"][upto] = len(groups)
            row["siblings"][upto] = sum(map(len, groups))
    return dict(sorted(rows.items()))


def counts(root: Path = ROOT) -> dict[str, dict[str, int]]:
    """For each room the number of local imports, of those that give a reason, and of typing imports."""
    rooms: dict[str, dict[str, int]] = {}
    for found in all_imports(root):
        room = [*found.importer.split("."), "."][1]
        row = rooms.setdefault(room, {"local": 0, "with a reason": 0, "typing": 0})
        if found.kind == "local":
            row["local"] += 1
            row["with a reason"] += bool(found.reason)
        elif found.kind == "typing":
            row["typing"] += 1
    return dict(sorted(rooms.items()))


def show(*, with_cycles: bool, with_local: bool) -> None:
    """Print the tables."""
    print(f"{'cycles between siblings':44} import-time  + local  + typing   (siblings in them)")
    totals = [[0, 0, 0], [0, 0, 0]]
    for folder, row in table().items():
        numbers, members = row["cycles"], row["siblings"]
        totals = [
            [a + b for a, b in zip(x, y, strict=True)]
            for x, y in zip(totals, (numbers, members), strict=True)
        ]
        print(f"{folder:44} {numbers[0]:11} {numbers[1]:8} {numbers[2]:9}   {members}")
    print(f"{'all':44} {totals[0][0]:11} {totals[0][1]:8} {totals[0][2]:9}   {totals[1]}")
    print(f"\n{'imports':44} {'local':>11} {'reason':>8} {'typing':>9}")
    sums = [0, 0, 0]
    for room, row in counts().items():
        numbers = [row["local"], row["with a reason"], row["typing"]]
        sums = [a + b for a, b in zip(sums, numbers, strict=True)]
        if any(numbers):
            print(f"{room:44} {numbers[0]:11} {numbers[1]:8} {numbers[2]:9}")
    print(f"{'all':44} {sums[0]:11} {sums[1]:8} {sums[2]:9}")
    if with_cycles:
        _show_cycles()
    if with_local:
        for found in all_imports():
            if found.kind == "local" and not found.reason:
                print(f"{found.importer}:{found.line} {found.imported}")


def _show_cycles() -> None:
    edges = sibling_imports(all_imports())
    for folder, groups in cycles(all_imports()).items():
        for group in groups:
            print(f"\n{folder}: {' '.join(group)}")
            for (start, end), found in sorted(edges[folder].items()):
                if start in group and end in group:
                    print(f"  {start} -> {end}")
                    for each in found:
                        print(f"      {each.kind:11} {each.importer}:{each.line} {each.imported}")


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(
        description="List import cycles between siblings, local and typing imports."
    )
    parser.add_argument(
        "--cycles", action="store_true", help="name the members of each cycle and their imports"
    )
    parser.add_argument("--local", action="store_true", help="list the local imports that give no reason")
    parser.add_argument("--json", action="store_true", help="print the tables as one JSON document")
    given = parser.parse_args()
    if given.json:
        print(json.dumps({"cycles": table(), "imports": counts()}, indent=2))
    else:
        show(with_cycles=given.cycles, with_local=given.local)


if __name__ == "__main__":
    main()
