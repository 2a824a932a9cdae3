"""Retractions: lines about a user or a project that are in prompts and may no longer be shown.

A line is withdrawn when a user corrects it, when a correction it reports is lifted, and when a thread it rests on now
belongs to another user or project. Facts superseded by later messages stay; the newer line follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.derive.extract.ontology import predicate
from backscroll.engine.core.audience import is_near
from backscroll.engine.knowledge.people.cache import CachedScope, person_of
from backscroll.graph.claims.predicates import normalize_predicate
from backscroll.graph.fold import Graph
from backscroll.record.ports import Reader
from backscroll.record.thread_info import ThreadDescription
from backscroll.tasks.preferences.profile import is_lasting, person_in, trait_of, traits_of, words
from backscroll.vocab.assertion import TurnClaims
from backscroll.vocab.prompt import Block

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope


def overruled_in(
    thread: ThreadScope, about: ThreadDescription, scopes: Sequence[CachedScope]
) -> Callable[[Block], bool]:
    """Return a function that says whether a block in a thread's prompts contains such a line."""
    near = {thread.id, *(name for held in scopes for name in held.parts)}
    marks = tuple(words(language)["by_person"] for language in ("en", "zh"))
    gone: set[str] = set()
    kept: set[str] = set()
    for held in scopes:
        if held.acted:
            gone |= _list_overruled(held)
            kept |= _list_lines(held)

    def has_moved(reader: Reader, names: Collection[str]) -> bool:
        others = map(reader.thread, names)
        return any(other is None or not is_near(about, other.about) for other in others)

    def is_overruled(block: Block) -> bool:
        for line in block.text.split("\n"):
            if line in gone or (line.endswith(marks) and line not in kept):
                return True
        strange = {source.thread for source in block.sources} - near
        return bool(strange) and thread.store.read(lambda reader: has_moved(reader, strange))

    return is_overruled


def _list_lines(held: CachedScope) -> set[str]:
    """Return the lines about the user that are currently true, in every language."""
    person = person_of(held)
    if person is None:
        return set()
    return {trait.line for language in ("en", "zh") for trait in traits_of(held.graph, person, language)}


def _list_overruled(held: CachedScope) -> set[str]:
    """Return lines that were true once and that a user corrected."""
    person = person_of(held)
    if person is None:
        return set()
    members = {person.id, *held.graph.members(person.id)}
    changed = {o.predicate for o in held.overrides if o.node in members and o.predicate}
    # What was stated, as if the user had not corrected anything; names come from the same sentences.
    said = Graph((_only(turn, changed) for turn in held.turns()), options=held.options)
    speaker = person_in(said, *members)
    facts = [] if speaker is None else [f for f in said.history(speaker.id) if is_lasting(f)]
    lines = (trait_of(said, fact, language) for fact in facts for language in ("en", "zh"))
    return {trait.line for trait in lines if trait is not None} - _list_lines(held)


def _only(turn: TurnClaims, predicates: Collection[str]) -> TurnClaims:
    """Return what a turn states with some predicates, in either direction, and the names it gives."""
    names = {name for p in predicates for name in (p, predicate(p).inverse)} - {""}
    claims = (c for c in turn.claims if not c.predicate or normalize_predicate(c.predicate) in names)
    return replace(turn, claims=tuple(claims))
