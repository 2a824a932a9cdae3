"""The single values inside JSON and inside our own values: for tests that nothing of a foreign record was lost."""

from __future__ import annotations

import dataclasses
import json
from typing import Any


def leaves(value: Any) -> set[str]:
    """Every string, number and truth value in it, as text; JSON inside strings is looked into as well."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return leaves({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, dict):
        return set[str]().union(*(leaves(each) for each in value.values()))
    if isinstance(value, list | tuple | set):
        return set[str]().union(*map(leaves, value))
    if value is None:
        return set()
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return {value} | leaves(json.loads(value))
        except ValueError:
            return {value}
    return {str(value)}
