"""What the pages name exists: modules without their extension, commands, options and slash commands, figures of the code tour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.surfaces.chat.slash.catalogue import SLASHES
from backscroll.surfaces.cli.catalogue import RENAMED
from backscroll.vocab.event import Kind
from tests.docs.pages import blocks, page_name, pages, prose
from tests.house import tree
from tests.surfaces.test_blank_arguments import commands

#: Pages of today. A decision record describes its time, and the change log names what went away.
TODAY = [
    page
    for page in (*pages(), tree.ROOT / "AGENTS.md", tree.ROOT / "bench" / "README.md")
    if "decisions" not in page.parts and page.name != "CHANGELOG.md"
]
_INLINE = re.compile(r"`([^`\n]+)`")
_SLASH = re.compile(r"/(?P<name>[a-z]+)(?: [^/]*)?")
_COMMAND = re.compile(r"\bbackscroll (?P<words>[a-z][a-z-]*(?: [a-z][a-z-]*)?)")
#: The pages on which a slash is that of a chat command.
_CHAT = ("chat", "prompts", "compaction", "agent", "tasks", "slash")


def _modules(page: Path) -> Iterator[str]:
    """Yield what looks like a module or a folder of a room: `engine/core/pen`, `formats/detection.py`."""
    rooms = "|".join(tree.rooms())
    for named in _INLINE.findall(prose(page)):
        if found := re.fullmatch(rf"(?:backscroll/)?(?P<path>(?:{rooms})/[\w/]+)(?:\.py)?/?", named):
            yield found["path"]


@pytest.mark.parametrize("page", TODAY, ids=page_name)
def test_named_modules_exist(page: Path) -> None:
    """Modules in backticks that start with their room; on the page of a room, relative to it."""
    places = [tree.PACKAGE, *([tree.PACKAGE / page.stem] if page.parent.name == "rooms" else [])]
    missing = [
        path
        for path in _modules(page)
        if not any((place / f"{path}.py").is_file() or (place / path).is_dir() for place in places)
    ]
    assert missing == []


def _command_lines(page: Path) -> Iterator[str]:
    yield from (named for named in _INLINE.findall(prose(page)) if named.startswith("backscroll "))
    for block in blocks(page):
        if block.language in ("console", "sh", "bash"):
            yield from block.text.splitlines()


@pytest.mark.parametrize("page", TODAY, ids=page_name)
def test_named_commands_exist(page: Path) -> None:
    """`backscroll word` names a command, a renamed command, or a member of a command family."""
    known = {" ".join(words) for words, _ in commands()}
    families = {name.split()[0] for name in known if " " in name}
    known |= {name.split()[0] for name in known} | set(RENAMED)
    known.add("backscroll")  # `gemini mcp add backscroll backscroll mcp`
    wrong: set[str] = set()
    for line in _command_lines(page):
        for found in _COMMAND.finditer(line.split(" # ")[0]):
            first, _, second = found["words"].partition(" ")
            if first not in known or (first in families and second and f"{first} {second}" not in known):
                wrong.add(found["words"])
    assert sorted(wrong) == []


def test_named_slash_commands_exist() -> None:
    """A slash command in backticks, on the pages about the chat, is in the catalogue, by its name or another."""
    known = {name for slash in SLASHES for name in (slash.name, *slash.aliases)}
    wrong: set[str] = set()
    for name in _CHAT:
        for named in _INLINE.findall(prose(tree.ROOT / "docs" / f"{name}.md")):
            if (found := _SLASH.fullmatch(named)) and found["name"] not in known:
                wrong.add(named)
    assert sorted(wrong) == []


def test_code_tour_states_the_number_of_event_kinds() -> None:
    """The number on the page is that of the code."""
    assert f"There are {len(Kind)} kinds" in prose(tree.ROOT / "docs" / "tour.md")
