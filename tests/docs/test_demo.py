"""The demonstration of the read-me: recorded from the real program, well-formed, and nothing of one machine in it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pyte
import pytest

from docs.demo.record import COLUMNS, HERE, LANGUAGES, LINES, pictured, record

_SVG = "{http://www.w3.org/2000/svg}"
_MACHINE = re.compile(r"/(?:home|tmp|var|usr|Users|work|root|private)/|demo-\w{6,}|127\.0\.0\.1|localhost")
#: Words without which the demonstration would not show what it is there for.
_SHOWN = {
    "en": (
        "The tide at midnight is listed twice",
        "allowed",
        "refused: the cache is still needed",
        "asked:",
        "redo",
    ),
    "zh": ("午夜的潮汐列出了两次", "已允许", "已拒绝：缓存还要用", "当时的要求", "redo"),
}


def _checked(folder: Path, language: str) -> None:
    """Both files are what their formats say, tell the story, and name no place of this machine."""
    cast, picture = folder / f"chat.{language}.cast", folder / f"chat.{language}.svg"
    head, *events = [json.loads(line) for line in cast.read_text(encoding="utf-8").splitlines()]
    assert (head["version"], head["width"], head["height"]) == (2, COLUMNS, LINES)
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    assert {kind for _, kind, _ in events} == {"o"}
    screen = pyte.HistoryScreen(COLUMNS, LINES, history=1000, ratio=0.5)
    stream = pyte.Stream(screen)
    for _, _, text in events:
        stream.feed(text)
    lines = [
        *("".join(line[x].data for x in range(COLUMNS)) for line in screen.history.top),
        *screen.display,
    ]
    played = "\n".join(lines)
    assert [words for words in _SHOWN[language] if words not in played] == []
    written = picture.read_text(encoding="utf-8")
    drawn = "\n".join(text for text in ET.fromstring(written).itertext())
    for words in _SHOWN[language]:
        assert re.sub(r"\s", "", words) in re.sub(r"\s", "", drawn), words
    for text in (drawn, played, *(text for _, _, text in events)):
        assert not _MACHINE.search(text)
    assert "\x1b" not in written
    assert picture.stat().st_size < 300_000


@pytest.mark.parametrize("language", LANGUAGES)
def test_demo_files_are_well_formed(language: str) -> None:
    """The files shown in the README are well-formed and contain every scene."""
    _checked(HERE, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_demo_picture_is_self_contained(language: str) -> None:
    """No script, no font, no picture from elsewhere; every row that is used is defined."""
    root = ET.fromstring((HERE / f"chat.{language}.svg").read_text(encoding="utf-8"))
    names = {element.tag.removeprefix(_SVG) for element in root.iter()}
    assert names <= {"svg", "title", "style", "defs", "g", "rect", "circle", "text", "use"}
    defined = {element.get("id") for element in root.iter(f"{_SVG}g")}
    used = {(element.get("href") or "").removeprefix("#") for element in root.iter(f"{_SVG}use")}
    assert used
    assert used <= defined
    assert "url(" not in "".join(element.text or "" for element in root.iter(f"{_SVG}style"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_demo_picture_matches_the_cast(language: str, tmp_path: Path) -> None:
    """Rendering the cast again gives the same bytes."""
    cast = tmp_path / f"chat.{language}.cast"
    cast.write_bytes((HERE / cast.name).read_bytes())
    assert pictured(cast).read_bytes() == (HERE / f"chat.{language}.svg").read_bytes()


@pytest.mark.parametrize("language", LANGUAGES)
def test_demo_can_be_recorded_again(language: str, tmp_path: Path) -> None:
    """The real chat still plays the scenario to its end."""
    record(language, tmp_path)
    _checked(tmp_path, language)
