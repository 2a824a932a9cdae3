"""Claims with resolved pronouns, so that turns of several conversations fit into one graph.

"She" means a person of the same conversation, resolved from the turn itself and the few before it, as in a graph of that
conversation alone; unresolved claims are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backscroll.graph.claims.claim import ClaimLine
from backscroll.graph.dependencies import ChangingGraphState
from backscroll.graph.tuning import REACH
from backscroll.vocab.assertion import PRONOUN, Assertion, TurnClaims

__all__ = ["REACH", "has_pronouns", "resolve_pronouns"]


def has_pronouns(turn: TurnClaims) -> bool:
    """Return True if a claim contains a pronoun."""
    return any(claim.subject[:1] == PRONOUN or claim.object[:1] == PRONOUN for claim in turn.claims)


def resolve_pronouns(turn: TurnClaims, before: Sequence[TurnClaims], user: str = "user") -> TurnClaims:
    """Return the turn with names in place of its pronouns; `before` are the turns of its conversation in reach, the oldest first."""
    if not has_pronouns(turn):
        return turn
    weave = ChangingGraphState((), user)
    weave.change([*before, turn])
    read = weave.turns[turn.opening]
    lines = {line.order[3]: line for line in read.lines}
    numbers = {id(raw.claim): number for number, raw in enumerate(read.raws)}
    claims: list[Assertion] = []
    for claim in turn.claims:
        if claim.subject[:1] != PRONOUN and claim.object[:1] != PRONOUN:
            claims.append(claim)
        elif (line := lines.get(numbers.get(id(claim), -1))) is not None:
            claims.append(_replace_pronouns(claim, line))
    return replace(turn, claims=tuple(claims))


def _replace_pronouns(claim: Assertion, line: ClaimLine) -> Assertion:
    one, two = (line.object, line.subject) if line.flipped else (line.subject, line.object)
    return replace(
        claim,
        subject=one if claim.subject[:1] == PRONOUN else claim.subject,
        object=two if claim.object[:1] == PRONOUN else claim.object,
    )
