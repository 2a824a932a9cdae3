"""Old names work for one release, with a warning."""

from __future__ import annotations

import importlib

import pytest

OLD_NAMES = [
    ("backscroll.llm.scripted", "ScriptedServer", "backscroll.testing", "ScriptedServer"),
    ("backscroll.testing.scenario", "Called", "backscroll.testing.scenario", "ScriptedCall"),
    ("backscroll.agent.events", "Step", "backscroll.agent.events", "RunStep"),
]


@pytest.mark.parametrize(("module", "name", "new_module", "new_name"), OLD_NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_name_is_the_new_object(module: str, name: str, new_module: str, new_name: str) -> None:
    assert getattr(importlib.import_module(module), name) is getattr(
        importlib.import_module(new_module), new_name
    )


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for m, n, *_ in OLD_NAMES if m != "backscroll.llm.scripted"]
)
def test_old_name_warns(module: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{name} is deprecated"):
        getattr(importlib.import_module(module), name)


def test_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = importlib.import_module("backscroll.testing.scenario").Nonsense
