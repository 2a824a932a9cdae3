"""`/graph`, `/world`: the knowledge graph. Views are drawn as the command line draws them; `edit` is
`commands/graph_editor`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.engine.knowledge.graph_shapes import type_words
from backscroll.engine.knowledge.lore.imports import LARGEST_CARD, is_card
from backscroll.errors import InvalidInput
from backscroll.surfaces.chat.input.attachments import own_path, read_file
from backscroll.surfaces.chat.input.mention import file_names
from backscroll.surfaces.chat.slash.arguments import first_word, words, wrong_use
from backscroll.surfaces.chat.slash.cli_bridge import borrow
from backscroll.surfaces.chat.slash.commands.graph_editor import edit
from backscroll.surfaces.chat.slash.replies import report_done
from backscroll.surfaces.cli.families import graph_changes as graph_changing
from backscroll.surfaces.cli.families import graph_views
from backscroll.surfaces.cli.families.graph_changes import world
from backscroll.surfaces.i18n import count, get_language, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.workspace.files.encoding import decode_text

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk

_EDIT = ("edit", "修改", "编辑")
_WHY = ("why", "为什么")
_OWN = ("overrides", "我的改动")
_DROP = ("drop", "移除")
_QUICK = 300  # turns up to which the names of the graph are offered: building it must not delay typing
_BIGGEST = 4_000_000  # bytes of a world description


def graph_slash(talk: Talk, rest: str) -> None:
    """Show all nodes, one of them, why something is believed, your own changes, or the editor."""
    verb, more = first_word(rest)
    thread = talk.thread.id
    if verb in _EDIT:
        edit(talk, " ".join(words(more)))
    elif verb in _WHY:
        if not more:
            raise wrong_use("graph")
        borrow(talk, graph_views.why, "--", thread, *words(more))
    elif verb in _OWN and not more:
        borrow(talk, graph_changing.overrides, thread)
    else:
        name = " ".join(words(rest))
        borrow(talk, graph_views.show, "--", thread, *([name] if name else []))


def graph_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer actions, and the names of nodes."""
    if not before:
        yield from (
            ("edit", t("slash.offer_graph_edit")),
            ("why", t("slash.offer_graph_why")),
            ("overrides", t("slash.offer_graph_own")),
        )
    if len(before) < 2 and (not before or before[0] in (*_EDIT, *_WHY)):
        yield from node_names(talk)


def node_names(talk: Talk) -> Iterable[tuple[str, str]]:
    """Return nodes and their types; none if the graph is large and typing would have to wait for it."""
    if talk.thread.info.turns > _QUICK:
        return []
    return [
        (one_line(n.name), type_words(n.type, get_language())) for n in talk.thread.graph.nodes(limit=200)
    ]


def world_slash(talk: Talk, rest: str) -> None:
    """Describe the world from a file, remove a description, or show the existing ones."""
    verb, more = first_word(rest)
    if not rest:
        borrow(talk, world, talk.thread.id)
    elif verb in _DROP and more:
        talk.thread.graph.drop_world(" ".join(words(more)))
        report_done(talk, t("graph.world_dropped", name=" ".join(words(more))))
    else:
        path = _path(talk, " ".join(words(rest)))
        entries = talk.thread.graph.tell_world(path.stem, _words(path))
        report_done(talk, count("graph.world_told", len(entries)))


def _path(talk: Talk, typed: str) -> Path:
    path = own_path(typed)
    return path if path.is_absolute() else talk.root / path


def _words(path: Path) -> str | bytes:
    """Return a text file of limited size; the bytes of a character card."""
    if is_card(read_file(path, 8)[0]):
        return read_file(path, LARGEST_CARD)[0]
    found = decode_text(read_file(path, _BIGGEST)[0])
    if found is None:
        raise InvalidInput(
            t("graph.cannot_read", path=path.name, what=t("slash.binary")), hint=t("graph.cannot_read_hint")
        )
    return found.text


def world_offer(talk: Talk, before: list[str], current: str) -> Iterable[tuple[str, str]]:
    """Offer files, and names of descriptions after `drop`."""
    if before and before[0] in _DROP:
        return [(name, "") for name in dict.fromkeys(e.source for e in talk.thread.graph.world())]
    if before:
        return []
    return [("drop", t("slash.offer_drop")), *((name, "") for name in file_names(talk.root, current))]
