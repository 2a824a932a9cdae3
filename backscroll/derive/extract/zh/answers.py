"""Questions that a turn leaves open, and bare answers at the start of one; the fold combines them.

Owns what the last message asks (whose birthday, which address) and what the first words of a turn would say if the turn
before had asked for it. Refuses reading the turn before: extraction sees one turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from backscroll.derive.extract.zh.rules import ClaimRule, Clause, asking, clauses, is_denied
from backscroll.derive.extract.zh.scene import Scene
from backscroll.derive.extract.zh.sentence import apply, clause_of, cut_question
from backscroll.vocab.assertion import Assertion, Claim

_BARE = 60  # characters of a sentence that may be a bare answer
#: The hint of a claim that only states what was asked.
ASKED = "asked"


def open_questions(scene: Scene) -> Iterator[Assertion]:
    """Yield what the last message of a turn asks: the next turn may answer with a bare value, and the fold sees both."""
    for rule, subject, number in scene.context.asked:
        if number == scene.number and rule.answer is not None:
            for predicate in rule.predicate.split():
                made = scene.claim(Claim.NODE, subject, predicate, 0.05, type=rule.of[0])
                if made:
                    yield replace(made, hint=ASKED)


def bare_answers(scene: Scene, *, more: bool = False) -> Iterator[Assertion]:
    """Yield what the first words of a turn state as an answer to the turn before; the fold resolves the subject. `more`: the answer continues."""
    parts = clauses(scene.marked.text)
    if len(scene.marked.plain) > _BARE or not parts or parts[0].asks:
        return
    for rule in asking():
        if more and not rule.more:
            continue
        yield from _read_answer(scene, rule, parts)


def _read_answer(scene: Scene, rule: ClaimRule, parts: list[Clause]) -> list[Assertion]:
    """Return what the first stretch that can be an answer states; 我 in 我记得有 … is not one."""
    for whole in rule.answer.finditer(scene.marked.text) if rule.answer is not None else ():
        m = cut_question(whole.re, whole, parts)
        clause = clause_of(parts, m.start(), m.end())
        if clause is None or clause.asks or clause.supposes:
            continue
        if is_denied(clause.text[: max(0, m.start() - clause.start)]):
            continue
        softer = replace(clause, sure=clause.sure * 0.85)
        found = apply(scene, rule, m, softer, ("@asked", rule.of[0]))
        if said := [
            claim for claim in found if not claim.object.startswith("@") and claim.object != scene.me
        ]:
            return said
    return []
