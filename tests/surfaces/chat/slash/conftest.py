"""Talks for the tests of slash commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.surfaces import i18n
from tests.surfaces.chat.slash.hand import HandTalk


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings, stores or permissions of whoever runs the tests; English afterwards."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    yield
    i18n.use("en")


@pytest.fixture
def make_talk(tmp_path: Path) -> Iterator[Callable[..., HandTalk]]:
    """Makes a talk over a store of its own."""
    made: list[HandTalk] = []

    def make(*turns: tuple[str, str], **more: object) -> HandTalk:
        engine = backscroll.open(tmp_path / f"store{len(made)}.db", background=False)
        root = tmp_path / f"work{len(made)}"
        root.mkdir()
        thread = engine.create("Trip", project=str(root), metadata={"workspace": str(root)})
        for asked, answered in turns:
            thread.append("user", asked)
            thread.append("assistant", answered)
        talk = HandTalk(engine, thread, root, **more)  # type: ignore[arg-type]
        made.append(talk)
        return talk

    yield make
    for talk in made:
        talk.agent.close()
        talk.engine.close()


@pytest.fixture
def talk(make_talk: Callable[..., HandTalk]) -> HandTalk:
    """Three turns."""
    return make_talk(
        ("Where shall we go?", "To the sea."), ("And when?", "In May."), ("How far is it?", "Two hours.")
    )


@pytest.fixture
def empty(make_talk: Callable[..., HandTalk]) -> HandTalk:
    """Nothing was said."""
    return make_talk()
