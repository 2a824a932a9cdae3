"""Finds every sentence that the rooms below the surfaces may say to a user: errors, hints, problems, flaws, notes.

Reads the source, runs nothing. An f-string becomes a template with `{}` for what is filled in. What is put together from
variables alone cannot be found this way; the tables behind such variables are listed in `TABLES`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from backscroll import errors
from tests.house import tree

ERRORS = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)
}
#: Other things that carry words for people: name of the class -> which positional arguments those are.
CARRIERS = {
    "Problem": (0,),
    "PromptFlaw": (2,),
    "StoreFlaw": (2,),
    "DoctorCheck": (2, 3),
    "Ambiguity": (0, 1, 2),
    "InjectionNote": (2,),
    "ExportLosses": (0,),
}
CARRYING_KEYWORDS = {"hint", "what", "done", "why", "detail", "where"}
#: Functions that take a sentence.
TAKERS = {"note", "_note", "_make_injected", "_sentence"}
#: Lists to which sentences are appended.
LISTS = {"notes", "unclear", "left"}
#: Variables that hold a sentence, or a part of one, on its way into one of the above.
HOLDERS = {"done", "why", "what", "hint", "detail"}
#: Functions that give sentences back.
TELLERS = {"flaws", "_describe_note", "_describe_source", "_read_error_body", "_text_seen"}
#: Tables whose strings are put into messages.
TABLES = {"_SAYS"}


#: Functions whose first argument is no sentence: a type, a pattern.
SILENT = {"cast", "compile"}
#: Strings beside sentences that are no sentences: states of PostgreSQL.
CODES = {"3D000", "3F000", "42P01", "42P05", "55P03", "57P04", "57P", "XX001", "XX002"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A template and where it stands."""

    template: str
    place: str


def sentences() -> list[Sentence]:
    """Every sentence of the package that is not in the surfaces, once each."""
    found: dict[str, Sentence] = {}
    for path in tree.modules():
        name = tree.name(path)
        if name.startswith("backscroll/surfaces/"):
            continue
        for node, line in _spoken(tree.parsed(path)):
            for template in _templates(node):
                if _says_something(template) and template not in CODES:
                    found.setdefault(template, Sentence(template, f"{name}:{line}"))
    return sorted(found.values(), key=lambda s: s.place)


def _says_something(template: str) -> bool:
    """False for what is all holes, or no sentence at all."""
    return any(c.isalpha() for c in template.replace("{}", ""))


def _spoken(module: ast.Module) -> Iterator[tuple[ast.expr, int]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            yield from ((value, node.lineno) for value in _of_call(node))
        elif isinstance(node, ast.FunctionDef) and node.name in TELLERS:
            yield from ((value, line) for value, line in _of_teller(node) if _has_a_space(value))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and _assigned_to(node) in TABLES | LISTS:
            yield from ((value, node.lineno) for value in _strings(node.value))
        elif isinstance(node, ast.Assign) and _assigned_to(node) in HOLDERS:
            yield from ((value, node.lineno) for value in _strings(node.value) if _has_a_space(value))


def _of_call(node: ast.Call) -> Iterator[ast.expr]:
    name = _called(node)
    if name in ERRORS:
        yield from node.args[:1]
    if name in CARRIERS:
        yield from (node.args[i] for i in CARRIERS[name] if i < len(node.args))
    if name in ERRORS or name in CARRIERS:
        yield from (k.value for k in node.keywords if k.arg in CARRYING_KEYWORDS)
    if name in TAKERS:
        yield from (value for value in node.args if _has_a_space(value))
    if name in {"append", "extend"} and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        owner_name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        if owner_name in LISTS:
            yield from node.args


def _of_teller(node: ast.FunctionDef) -> Iterator[tuple[ast.expr, int]]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Return | ast.Yield) and inner.value is not None:
            yield from ((value, inner.lineno) for value in _strings(inner.value))
        elif isinstance(inner, ast.Call) and getattr(inner.func, "attr", "") == "append":
            yield from ((value, inner.lineno) for value in inner.args)


def _has_a_space(node: ast.expr) -> bool:
    return any(" " in template for template in _templates(node))


def _assigned_to(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _strings(node: ast.AST | None) -> Iterator[ast.expr]:
    if node is None or isinstance(node, ast.Compare):  # what is compared with is not said
        return
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node
        return
    if isinstance(node, ast.Call) and _called(node) in SILENT:
        yield from (string for child in node.args[1:] for string in _strings(child))
        return
    for child in ast.iter_child_nodes(node):
        yield from _strings(child)


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _templates(node: ast.expr) -> Iterator[str]:
    """The templates that an expression can give."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            yield "".join(_piece(value) for value in values)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _templates(body)
            yield from _templates(orelse)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for first in _templates(left):
                for second in _templates(right):
                    yield first + second
        case _:
            return


def _piece(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else "{}"
