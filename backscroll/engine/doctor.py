"""Diagnose the installation: store, full text, token tables, vectors and their encoder, git, providers. Read-only."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.config import config_file
from backscroll.engine.folder.folder_scope import default_home
from backscroll.engine.folder.rewind_journal import count_unfinished
from backscroll.engine.search.words import search
from backscroll.errors import BackscrollError
from backscroll.llm.encoders.encoder import encoder_of, why_no_encoder
from backscroll.llm.providers import providers
from backscroll.llm.tokens.encodings import VOCABULARIES, available, read_table
from backscroll.recall.question.query import parse_query
from backscroll.recall.text.words import index_words

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_KEYS = {"OpenAI": "OPENAI_API_KEY", "Anthropic": "ANTHROPIC_API_KEY"}


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """The result of one check; `ok` None: missing, and not needed."""

    name: str
    ok: bool | None
    detail: str
    hint: str = ""


def doctor(engine: EngineScope) -> list[DoctorCheck]:
    """Run every check, in the order a person would make them."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    return [
        DoctorCheck("python", sys.version_info >= (3, 11), python),
        DoctorCheck("config", None if not config_file().exists() else True, str(config_file())),
        *_store(engine),
        *_damage(engine),
        _full_text(engine),
        _extra("postgres", "psycopg", "PostgreSQL driver", "pip install 'backscroll[postgres]'"),
        _tokens(),
        *_vectors(engine),
        _git(),
        *_rewinds(engine),
        *_providers(),
    ]


def _store(engine: EngineScope) -> list[DoctorCheck]:
    try:
        facts = engine.store.facts()
        stats = engine.stats()
    except BackscrollError as error:
        return [DoctorCheck("store", False, error.message, error.hint)]
    out = [DoctorCheck("store", True, ", ".join(f"{k} {v}" for k, v in facts.items()))]
    out.append(
        DoctorCheck(
            "contents",
            True,
            f"{stats['threads']} threads, {stats['messages']} messages, {stats['events']} events",
        )
    )
    if engine.store.read(lambda reader: reader.scrub_due()):
        hint = "open the store again when no other program uses it, as its owner: that finishes it"
        detail = "a forget was cut off: the words are gone, old pages of the files still hold them"
        out.append(DoctorCheck("forgotten", False, detail, hint))
    if not engine.store.location.startswith("postgres"):
        free = shutil.disk_usage(Path(engine.store.location).parent).free
        out.append(
            DoctorCheck(
                "disk",
                free > 100_000_000,
                f"{free // 1_000_000} MB free",
                "make room" if free < 100_000_000 else "",
            )
        )
    return out


def _damage(engine: EngineScope) -> list[DoctorCheck]:
    """Check for threads with unreadable rows, and for what repairs have set aside."""
    try:
        lost = engine.store.read(lambda reader: reader.unreadable())
    except BackscrollError as error:
        return [DoctorCheck("threads", False, error.message, error.hint)]
    hint = "run `backscroll verify --repair`: it sets aside what is damaged and says what"
    return [DoctorCheck("threads", False, f"{len(lost)} cannot be read", hint)] if lost else []


def _full_text(engine: EngineScope) -> DoctorCheck:
    """Check full-text search in both languages, with the real tokenizer and the store's own query language."""
    try:
        for text, asked in (("The tests were running", "run"), ("把文件保存到磁盘", "保存")):
            query = parse_query(asked)
            if not query.to_fts5() or not index_words(text):
                return DoctorCheck("full text", False, f"no index words for {text!r}")
            search(engine, asked, limit=1)
    except BackscrollError as error:
        return DoctorCheck("full text", False, error.message, error.hint)
    return DoctorCheck("full text", True, "English stems, Chinese two-character words")


def _extra(name: str, module: str, label: str, hint: str) -> DoctorCheck:
    there = find_spec(module) is not None
    return DoctorCheck(
        name, True if there else None, label if there else f"{label}: not installed", "" if there else hint
    )


def _tokens() -> DoctorCheck:
    """Check whether tokens can be counted exactly on this computer."""
    if find_spec("tiktoken") is None:
        return DoctorCheck("tokenizers", None, "exact token counts: not installed", "pip install tiktoken")

    sound: list[str] = []
    for name in sorted(VOCABULARIES):
        wanted = VOCABULARIES[name].sha256
        try:
            if not available(name):
                continue
            if wanted and hashlib.sha256(read_table(name)).hexdigest() != wanted:
                raise ValueError(name)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            hint = "install Backscroll again; until then tokens are estimated"
            return DoctorCheck("tokenizers", False, f"a table of tokens cannot be read: {error}", hint)
        sound.append(name)
    return DoctorCheck("tokenizers", True, f"exact token counts: {', '.join(sound)}")


def _vectors(engine: EngineScope) -> list[DoctorCheck]:
    """Check which encoder is installed, and how many vectors it has made."""
    name = engine.settings.encoder
    try:
        encoder = encoder_of(name)
        stats = engine.stats()
    except BackscrollError as error:
        return [DoctorCheck("encoder", False, error.message, error.hint)]
    why = "" if encoder is not None else f": {why_no_encoder(name)}"
    hint = "" if encoder is not None else "recall goes by words alone"
    made = f"{stats['vectors']} vectors for {stats['revisions']} revisions"
    return [
        DoctorCheck("encoder", None if encoder is None else True, name + why, hint),
        DoctorCheck("vectors", True, made),
    ]


def _git() -> DoctorCheck:
    path = shutil.which("git")
    if path is None:
        return DoctorCheck("git", None, "not found", "needed only for file snapshots")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=10)
    return DoctorCheck("git", said.returncode == 0, said.stdout.strip() or said.stderr.strip())


def _rewinds(engine: EngineScope) -> list[DoctorCheck]:
    """Check for rewinds that a crash interrupted and whose folder was not opened since."""
    count = count_unfinished(default_home(), engine.store.location)
    hint = "run `backscroll rewind --redo --dry-run` in their folders: opening one finishes it"
    return [DoctorCheck("rewinds", False, f"{count} interrupted", hint)] if count else []


def _providers() -> list[DoctorCheck]:
    out: list[DoctorCheck] = []
    idle = "" if providers() else "no command needs a key"  # a configured service may need one
    for name, variable in _KEYS.items():
        there = bool(os.environ.get(variable))
        detail = f"{variable} is set" if there else f"{variable} is not set"
        out.append(DoctorCheck(name, True if there else None, detail, "" if there else idle))
    return out
