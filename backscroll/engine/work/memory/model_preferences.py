"""Preferences that a model read in turns, merged over those that rules read in messages.

Owns how they are stored: for each user message that a model has read, its statements in the model's words (an artefact that
rests on that revision, so forgetting the message forgets it), and per thread the names of those revisions. Messages that no
model has read are read by rules. Weighing statements is in `tasks/preferences/preferences`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from backscroll.derive.models.turn import ReadPreference, TurnReading
from backscroll.derive.recipe import Recipe
from backscroll.engine.core.lineage import View, reach
from backscroll.engine.work.memory.preferences import ThreadStatements
from backscroll.errors import StoreCorrupt
from backscroll.formats.sources.json_text import dumps
from backscroll.record.derived import Artefact
from backscroll.record.history import HIDDEN
from backscroll.record.ports import Reader, Writer
from backscroll.tasks.preferences.reader import (
    PreferenceStatement,
    SentenceReading,
    decode_statements,
    encode_statements,
    read_text,
    statements,
)
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

#: In the store's meta, for each thread: the revisions whose preferences a model read last.
HEARD = "heard:"
_RECIPE = Recipe("preferences:model", 1)
_STRENGTH = 0.85  # of a statement that a model read and the user's text confirms
_KEPT = 400  # threads whose statements are cached


def note_preferences(
    engine: EngineScope, thread: str, messages: Sequence[Message], reading: TurnReading
) -> None:
    """Store what a model read in a turn; it replaces what rules read in the same messages."""
    if reading.task is None:
        return  # the model was not asked for preferences (a reading by an earlier version)
    now, made, heard = engine.means.now(), list[Artefact](), dict[str, list[str]]()
    for place, message in enumerate(messages):
        own = [p for p in reading.preferences if p.place == place]
        by_rules = statements(message)
        if message.role != "user" or not (own or by_rules):
            continue
        told = _merge_statements(message, own, by_rules)
        key, sources = _key(message.revision), (message.revision,)
        made.append(Artefact(key, _RECIPE.name, thread, encode_statements(told, b""), sources, now))
        heard.setdefault(message.revision.thread, []).append(str(message.revision))
    if not made:
        return

    def keep(tx: Writer) -> None:
        tx.make(made)
        for home, revisions in heard.items():
            names = _names(tx, home)
            if more := [name for name in revisions if name not in names]:
                tx.set_meta(f"{HEARD}{home}", dumps([*names, *more]))

    engine.store.write(keep)
    engine.memo.shelf("remembered-threads", _KEPT).clear()


def _merge_statements(
    message: Message, read: Sequence[ReadPreference], by_rules: Sequence[PreferenceStatement]
) -> list[PreferenceStatement]:
    """Return the statements of a message in a model's words; one that rules found too keeps its number, which users refer to."""
    free = [s.number for s in by_rules]
    out: list[PreferenceStatement] = []
    for one in read:
        same = next(
            (s for s in by_rules if s.number in free and (s.text in one.quote or one.quote in s.text)), None
        )
        if same is not None:
            free.remove(same.number)
            # Rules detect the subject (a language, a tool, a style) better, so that contradictions are found.
            out.append(replace(same, text=one.text, strength=max(same.strength, _STRENGTH)))
            continue
        number = len(by_rules) + len(out)
        known = next(iter(read_text(one.text)), None) or SentenceReading(
            "practice", "", "", one.sign, one.text, one.text, _STRENGTH
        )
        out.append(
            PreferenceStatement(
                known.aspect, known.topic, known.value, known.sign, known.matter, one.text, _STRENGTH,
                message.id, message.revision, message.at, number,
            )
        )  # fmt: skip
    return out


def with_heard(engine: EngineScope, view: View, touched: int, said: ThreadStatements) -> ThreadStatements:
    """Return the statements of a thread, with a model's reading of each message that it has read in its current text."""
    lineage = [name for name, _ in reach(view.reader, view.state)]
    names = tuple(name for home in lineage for name in _names(view.reader, home))
    if not names:
        return said
    shelf = engine.memo.shelf("heard", _KEPT)
    key = (view.state.id, touched, names)
    known = cast("dict[Ref, list[PreferenceStatement]] | None", shelf.get(key))
    if known is None:
        known = shelf[key] = _standing(view, [parse_ref(name) for name in names])
    by_rules = [s for s in said.stated if s.revision not in known]
    return replace(said, stated=(*by_rules, *(s for told in known.values() for s in told)))


def _standing(view: View, revisions: Sequence[Ref]) -> dict[Ref, list[PreferenceStatement]]:
    """Return what models read in revisions that are live in the history."""
    found = view.reader.read_artefacts([_key(revision) for revision in revisions])
    out: dict[Ref, list[PreferenceStatement]] = {}
    for revision in revisions:
        made = found.get(_key(revision))
        if made is None or not _is_shown(view, revision):
            continue
        try:
            out[revision] = decode_statements(made.body)[0]
        except StoreCorrupt:
            continue  # rules read it as well; `verify` reports problems of the store
    return out


def _is_shown(view: View, revision: Ref) -> bool:
    event = view.reader.event(revision)
    entry = None if event is None or event.message is None else view.entry(event.message)
    return entry is not None and entry.live and entry.revision == revision and not entry.flags & HIDDEN


def _names(reader: Reader, thread: str) -> list[str]:
    return cast("list[str]", json.loads(reader.meta(f"{HEARD}{thread}") or "[]"))


def _key(revision: Ref) -> bytes:
    return _RECIPE.key([str(revision)])
