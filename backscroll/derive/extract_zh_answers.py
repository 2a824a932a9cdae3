"""Questions that a turn leaves open, and bare answers at the start of one: the fold puts them together.

Owns what the last message asks (whose birthday, which address) and what the first words of a turn would say if the turn before had asked for it.
Refuses to know the turn before: extraction reads one turn. Before: `extract_zh_reading`. After: `extract_zh`; `graph/pronouns` settles both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from backscroll.derive.extract_zh_reading import apply, clause_of, stated
from backscroll.derive.extract_zh_rules import asking, asks, clauses, denied
from backscroll.derive.extract_zh_scene import Scene
from backscroll.vocab.assertion import Assertion, Claim

_BARE = 60  # characters of a sentence that may be a bare answer
#: The hint of a claim that only says what was asked.
ASKED = "asked"


def open_questions(scene: Scene) -> Iterator[Assertion]:
    """What the last message of a turn asks: the next turn may answer with a bare value, and the fold has both."""
    for rule, subject, number in scene.context.asked:
        if number == scene.number and rule.answer is not None:
            for predicate in rule.predicate.split():
                made = scene.claim(Claim.NODE, subject, predicate, 0.05, type=rule.of[0])
                if made:
                    yield replace(made, hint=ASKED)


def bare_answers(scene: Scene) -> Iterator[Assertion]:
    """What the first words of a turn say if the turn before asked for it: whose it is, is left to the fold."""
    if len(scene.marked.plain) > _BARE or asks(scene.marked.text):
        return
    parts = clauses(scene.marked.text)
    for rule in asking():
        m = rule.answer.search(scene.marked.text) if rule.answer is not None else None
        if m is not None and rule.answer is not None:
            m = stated(rule.answer, m, parts)
        clause = clause_of(parts, m.start(), m.end()) if m is not None else None
        if m is None or clause is None or clause.asks or clause.supposes:
            continue
        if denied(clause.text[: max(0, m.start() - clause.start)]):
            continue
        softer = replace(clause, sure=clause.sure * 0.85)
        found = apply(scene, rule, m, softer, ("@asked", rule.of[0]))
        yield from (claim for claim in found if not claim.object.startswith("@"))
