"""The old path of `backscroll.testing`: deprecated, kept for one release."""

from __future__ import annotations

import importlib
import sys
import warnings

warnings.warn(
    "backscroll.llm.scripted is deprecated: import backscroll.testing", DeprecationWarning, stacklevel=2
)

for _module in ("scenario", "server"):
    sys.modules[f"{__name__}.{_module}"] = importlib.import_module(f"backscroll.testing.{_module}")

_testing = importlib.import_module("backscroll.testing")


def __getattr__(name: str) -> object:
    return getattr(_testing, name)
