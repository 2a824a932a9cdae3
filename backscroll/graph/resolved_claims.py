"""Claims with their pronouns settled, so that turns of several conversations can be put into one graph.

"She" means somebody of the same conversation. Whom, is settled from the turn itself and the few before it, as in a graph of that
conversation alone; what stays open is left out. Before: `graph/weave`. After: `engine/knowledge/people/held`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backscroll.graph.index import Line
from backscroll.graph.naming.pronouns import REACH
from backscroll.graph.weave import Weave
from backscroll.vocab.assertion import PRONOUN, Assertion, TurnClaims

__all__ = ["REACH", "has_pronouns", "settled"]


def has_pronouns(turn: TurnClaims) -> bool:
    """True where a claim speaks of somebody by a pronoun."""
    return any(claim.subject[:1] == PRONOUN or claim.object[:1] == PRONOUN for claim in turn.claims)


def settled(turn: TurnClaims, before: Sequence[TurnClaims], user: str = "user") -> TurnClaims:
    """The turn with names in the place of its pronouns; `before` are the turns of its conversation in reach, the oldest first."""
    if not has_pronouns(turn):
        return turn
    weave = Weave((), user)
    weave.change([*before, turn])
    read = weave.turns[turn.opening]
    lines = {line.order[3]: line for line in read.lines}
    numbers = {id(raw.claim): number for number, raw in enumerate(read.raws)}
    claims: list[Assertion] = []
    for claim in turn.claims:
        if claim.subject[:1] != PRONOUN and claim.object[:1] != PRONOUN:
            claims.append(claim)
        elif (line := lines.get(numbers.get(id(claim), -1))) is not None:
            claims.append(_named(claim, line))
    return replace(turn, claims=tuple(claims))


def _named(claim: Assertion, line: Line) -> Assertion:
    one, two = (line.object, line.subject) if line.flipped else (line.subject, line.object)
    return replace(
        claim,
        subject=one if claim.subject[:1] == PRONOUN else claim.subject,
        object=two if claim.object[:1] == PRONOUN else claim.object,
    )
