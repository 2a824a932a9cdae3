"""The rules of the wires: named, with what they mean, and what a prompt that breaks one gets told.

Owns: the table of rules (`rules.toml`), flaws and changes. Refuses: looking at prompts. After: `draft`, one module per wire.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

#: `error`: the service refuses the prompt or misreads it. `cost`: it works, and costs more than it should or surprises.
Severity: TypeAlias = Literal["error", "cost"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `wire` is empty where it holds on every wire."""

    id: str
    title: str
    wire: str
    severity: Severity
    explanation: str
    hint: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """One place where a prompt breaks a rule. `where` is a path: `messages[3].content[1]`."""

    rule: Rule
    where: str
    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that repair did, and why."""

    rule: Rule
    where: str
    what: str
    did: str


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its id, in the order of the table."""
    text = files("backscroll.assemble.validity").joinpath("rules.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return MappingProxyType(
        {
            id: Rule(id, r["title"], r.get("wire", ""), r["severity"], r["explanation"], r["hint"])
            for id, r in table.items()
        }
    )
