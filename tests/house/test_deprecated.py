"""Old names work for one release, with a warning."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from backscroll import old_paths

OLD_NAMES = [
    ("backscroll.llm.scripted", "ScriptedServer", "backscroll.testing", "ScriptedServer"),
    ("backscroll.testing.scenario", "Called", "backscroll.testing.scenario", "ScriptedCall"),
    ("backscroll.agent.events", "Step", "backscroll.agent.events", "RunStep"),
    (
        "backscroll.engine.knowledge.graph_shapes",
        "written",
        "backscroll.engine.knowledge.graph_shapes",
        "render_graph",
    ),
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
    with pytest.warns(DeprecationWarning, match=f"{name} is deprecated") as caught:
        getattr(importlib.import_module(module), name)
    assert caught[0].filename == __file__


#: Paths that the documentation of the version before showed, and a name in each.
OLD_PATHS = [
    ("backscroll.act.agent", "Agent", "backscroll.agent.agent"),
    ("backscroll.act.approval.approval", "Rules", "backscroll.agent.approval.approval"),
    ("backscroll.act.approval.refusals", "refusal_text", "backscroll.agent.approval.refusals"),
    ("backscroll.act.loop.calls", "call", "backscroll.agent.loop.calls"),
    ("backscroll.act.loop.events", "Finished", "backscroll.agent.events"),
    ("backscroll.act.loop.instructions", "system_text", "backscroll.agent.loop.instructions"),
    ("backscroll.act.loop.stopping", "Stop", "backscroll.agent.stop_switch"),
    ("backscroll.act.person", "Decision", "backscroll.agent.person"),
    ("backscroll.act.toolbox", "Toolbox", "backscroll.agent.toolbox"),
    ("backscroll.act.tools", "standard_tools", "backscroll.agent.tools"),
    ("backscroll.agent.loop.events", "Called", "backscroll.agent.events"),
    ("backscroll.assemble.validity.between", "Sent", "backscroll.assemble.validity.binding"),
    ("backscroll.engine.models.costs", "spending", "backscroll.engine.budget.costs"),
]


@pytest.mark.parametrize(("module", "name", "new_module"), OLD_PATHS)
def test_old_path_gives_the_new_object_and_warns(module: str, name: str, new_module: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{module} is deprecated: import {name} from {new_module}$"):
        old = getattr(importlib.import_module(module), name)
    assert old is getattr(importlib.import_module(new_module), name)


def test_old_name_behind_an_old_path_warns_at_the_line_of_the_caller() -> None:
    """Both warnings name this file, not the modules of the package in between."""
    with pytest.warns(DeprecationWarning, match="is deprecated") as caught:
        _ = importlib.import_module("backscroll.agent.loop.events").Step
    assert [warning.filename for warning in caught] == [__file__, __file__]


def test_every_old_path_leads_to_a_module() -> None:
    assert {old: new for old, new in old_paths.MOVED.items() if importlib.util.find_spec(new) is None} == {}
    assert [old for old in old_paths.MOVED if importlib.util.find_spec(old) is None] == []


@pytest.mark.parametrize(
    "name", ["backscroll.nonsense", "backscroll.act.nonsense", "backscroll.act.person.no"]
)
def test_path_that_never_was_is_an_error(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)


def test_old_path_has_no_names_that_the_new_one_lacks() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = importlib.import_module("backscroll.act.person").nonsense


def test_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = importlib.import_module("backscroll.testing.scenario").Nonsense
