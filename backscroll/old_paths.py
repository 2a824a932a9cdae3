"""Old module paths that were documented: they work for one release, with a DeprecationWarning.

Owns the table of what moved, and the modules that stand for the old ones. The package has Python ask here only for modules that it
finds nowhere else. Refuses: old names in modules that still exist; these have a `__getattr__` of their own.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

#: Old module → new module. An entry holds for the modules inside it too, unless they have one of their own.
MOVED = {
    "backscroll.act": "backscroll.agent",
    "backscroll.act.loop.events": "backscroll.agent.events",
    "backscroll.act.loop.stopping": "backscroll.agent.stop_switch",
    "backscroll.agent.loop.events": "backscroll.agent.events",
    "backscroll.assemble.validity.between": "backscroll.assemble.validity.binding",
    "backscroll.engine.models.costs": "backscroll.engine.budget.costs",
}


def new_path(name: str) -> str | None:
    """Return where the module with this old path is now; None for a path that never was."""
    if name in MOVED:
        return MOVED[name]
    package, _, module = name.rpartition(".")
    parent = new_path(package) if package.startswith("backscroll.") else None
    if parent is None or not hasattr(import_module(parent), "__path__"):
        return None
    found = f"{parent}.{module}"
    return found if find_spec(found) is not None else None


def spec_of(name: str) -> ModuleSpec | None:
    """Return how to load a module by its old path; None for a path that never was."""
    new = new_path(name)
    return None if new is None else ModuleSpec(name, _OldModule(new), is_package=True)


class _OldModule(Loader):
    """Loads a module that takes every name from the new one, and says so."""

    def __init__(self, new: str) -> None:
        self._new = new

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave making the module to Python."""
        del spec

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names."""
        old, new = module.__name__, self._new

        def find_name(name: str) -> object:
            if name.startswith("__"):
                raise AttributeError(f"module {old!r} has no attribute {name!r}")
            value = getattr(import_module(new), name)
            warnings.warn(f"{old} is deprecated: import {name} from {new}", DeprecationWarning, stacklevel=2)
            return value

        module.__dict__["__getattr__"] = find_name
