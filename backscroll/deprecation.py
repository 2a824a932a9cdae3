"""Old names that still work for one release, with a DeprecationWarning that points at the caller.

Owns the wording and the place of the warning. Refuses: old commands of the command line, which warn on standard error
(`surfaces/cli/command`).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound="Callable[..., Any]")


def warn_renamed(old: str, new: str) -> None:
    """Warn that `old` was renamed to `new`; the warning points to the caller's line outside this package."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("backscroll."):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=level)


def rename_arguments(**names: str) -> Callable[[F], F]:
    """Accept old keyword names of a function; each keyword here maps an old name to its new one."""

    def wrap(function: F) -> F:
        @wraps(function)
        def call(*positional: Any, **named: Any) -> Any:
            for old, new in names.items():
                if old in named:
                    warn_renamed(f"{function.__qualname__}({old}=)", f"{new}=")
                    named[new] = named.pop(old)
            return function(*positional, **named)

        return cast("F", call)

    return wrap
