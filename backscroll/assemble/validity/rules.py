"""The rules of the wires: ids, meanings, and the message for a prompt that breaks one.

Owns: the table of rules (`rules.toml`), flaws and changes. Not here: reading prompts.
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

#: `error`: the service refuses the prompt or misreads it. `cost`: it works, but costs more than it should or behaves unexpectedly.
Severity: TypeAlias = Literal["error", "cost"]


@dataclass(frozen=True, slots=True)
class ValidityRule:
    """One rule. `wire` is empty if it applies to every wire."""

    id: str
    title: str
    wire: str
    severity: Severity
    explanation: str
    hint: str


@dataclass(frozen=True, slots=True)
class PromptFlaw:
    """One place where a prompt breaks a rule. `where` is a path: `messages[3].content[1]`."""

    rule: ValidityRule
    where: str
    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class RepairAction:
    """One repair, and the reason."""

    rule: ValidityRule
    where: str
    what: str
    did: str


@cache
def rules() -> Mapping[str, ValidityRule]:
    """Return every rule by its id, in the order of the table."""
    text = files("backscroll.assemble.validity").joinpath("rules.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return MappingProxyType(
        {
            id: ValidityRule(id, r["title"], r.get("wire", ""), r["severity"], r["explanation"], r["hint"])
            for id, r in table.items()
        }
    )
