"""`demo`: a tour of the real commands, on sample conversations in a temporary store."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

import backscroll
from backscroll.surfaces.cli.command import command, flag
from backscroll.surfaces.cli.runner import run
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.cli.temporary_store import session_apart
from backscroll.surfaces.i18n import get_language, t
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.words import shapes

SAMPLES = Path(backscroll.__file__).with_name("samples")
_AGENT, _ROLEPLAY = "coding-agent.jsonl", "roleplay-zh.jsonl"
_ELF, _WORLD = "elf-{}.jsonl", "elf-world-{}.json"  # one for each language
_TITLE = "夜猫书店"
_EDITED = 6
_MOVED = "7"  # the message that says where the elf moved
_SMALL = "3000"  # tokens; too few for the agent session
_NEW_WORDS = "外婆每年都给它系一条红绳，说它只是在想事情。后来外婆搬去城里的那个秋天，它结了满满一树柿子，红得像一树小灯笼。"


@dataclass(frozen=True, slots=True)
class _TourStop:
    """One stop of the tour: its introduction, and the command lines that are run."""

    text: str
    lines: tuple[tuple[str, ...], ...]


@command("demo", flag("--keep"))
def demo_command(session: CliSession, keep: bool) -> None:
    """Run the tour."""
    folder = Path(tempfile.mkdtemp(prefix="backscroll-demo-"))
    store = folder / "demo.db"
    try:
        if session.as_json:
            _silently(session, store, keep=keep)
        else:
            _tour(session, store, keep=keep)
    finally:
        if not keep:
            shutil.rmtree(folder)


def _silently(session: CliSession, store: Path, *, keep: bool) -> None:
    """Build the same store without the tour, for programs."""
    with session_apart(store).engine(make=True) as engine:
        engine.import_path(SAMPLES / _AGENT)
        thread = engine.thread(engine.import_path(SAMPLES / _ROLEPLAY)[0].thread or "")
        thread.rename(_TITLE)
        thread.edit(thread.message(_EDITED - 1).id, _NEW_WORDS)
        elf = engine.thread(engine.import_path(SAMPLES / _ELF.format(get_language()))[0].thread or "")
        elf.graph.flush()
        infos = [shapes.of_thread(info) for info in engine.threads()]
    session.screen.json({"store": str(store) if keep else None, "threads": infos})


def _tour(session: CliSession, store: Path, *, keep: bool) -> None:
    screen = session.screen
    _say(session, t("demo.welcome"))
    _go(session, store, _TourStop(t("demo.imported"), (("import", _AGENT, _ROLEPLAY), ("threads",))))
    ids = _ids(store)
    for step in _steps(ids["agent"], ids["roleplay"]):
        _go(session, store, step)
    elf, world = _ELF.format(get_language()), _WORLD.format(get_language())
    _go(session, store, _TourStop(t("demo.elf"), (("import", elf),)))
    tale = next(id_ for id_ in _ids(store, "roleplay").values() if id_ != ids["roleplay"])
    for step in (
        *_graph_steps(tale, world),
        _TourStop(t("demo.logged"), (("log", tale, "-n", "5"), ("verify",))),
    ):
        _go(session, store, step)
    screen.line()
    _say(session, t("demo.kept", store=store) if keep else t("demo.gone"))


def _ids(store: Path, kind: str = "") -> dict[str, str]:
    """Return short ids by kind; with a kind, all of that kind."""
    with session_apart(store).engine() as engine:
        found = [info for info in engine.threads() if kind in ("", info.kind)]
        return {info.id if kind else info.kind: info.id[:8] for info in found}


def _go(session: CliSession, store: Path, step: _TourStop) -> None:
    screen = session.screen
    screen.line()
    _say(session, step.text)
    for words in step.lines:
        screen.line()
        screen.line(screen.style(f"$ backscroll {shlex.join(words)}", "strong"))
        code = run(_real(words), session_apart(store))
        if code:  # the command has reported its error
            raise click.exceptions.Exit(code)


def _real(words: tuple[str, ...]) -> list[str]:
    """Return the words with the real paths of the samples."""
    return [str(SAMPLES / word) if (SAMPLES / word).is_file() else word for word in words]


def _steps(agent: str, roleplay: str) -> list[_TourStop]:
    edited = str(_EDITED)
    asked = roleplay if get_language() == "zh" else agent  # a question in the language of its conversation
    return [
        _TourStop(t("demo.shown"), (("show", agent, "--range", "1:9"),)),
        _TourStop(
            t("demo.searched"), (("search", "midnight zone", "-n", "2"), ("search", "柿子树", "-n", "2"))
        ),
        _TourStop(
            t("demo.edited"),
            (
                ("rename", roleplay, _TITLE),
                ("edit", roleplay, edited, _NEW_WORDS),
                ("revisions", roleplay, edited),
            ),
        ),
        _TourStop(
            t("demo.swiped"),
            (
                ("choose", roleplay, "3", "1"),
                ("show", roleplay, "--range", "2:4"),
                ("undo", roleplay),
            ),
        ),
        _TourStop(t("demo.prompted"), (("context", agent, "--budget", _SMALL),)),
        _TourStop(
            t("demo.recalled"),
            (("recall", asked, t("demo.question"), "-n", "1"), ("expand", agent, "bs:25")),
        ),
        _TourStop(
            t("demo.cropped"),
            (
                ("crop", agent, "top", "16", "--yes", "--summary", t("demo.crop_summary")),
                ("context", agent, "--budget", _SMALL, "--brief"),
                ("undo", agent),
            ),
        ),
    ]


def _graph_steps(tale: str, world: str) -> list[_TourStop]:
    """Return the stops about the graph: what the tale says, how the graph follows an edit, and overrides."""
    who, place = t("demo.elf_name"), t("demo.elf_place")
    return [
        _TourStop(t("demo.graphed"), (("graph", "flush", tale), ("graph", "show", tale))),
        _TourStop(
            t("demo.moved"),
            (
                ("graph", "why", tale, who, "lives_in"),
                ("edit", tale, _MOVED, t("demo.elf_words")),
                ("graph", "history", tale, who, "lives_in"),
                ("graph", "turns", tale),
            ),
        ),
        _TourStop(
            t("demo.corrected"),
            (
                ("graph", "set", tale, who, "lives_in", "--to", place),
                ("graph", "world", tale, world),
                ("graph", "show", tale, who),
            ),
        ),
    ]


def _say(session: CliSession, text: str) -> None:
    room = min(session.screen.width, 80) - 1
    session.screen.lines(wrap(text, room))
