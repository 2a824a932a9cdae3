"""Tuning constants of compaction, each with the bench that set it; and the fitted weights, which are data.

Shares are numbers between 0 and 1; "the room" is what a budget leaves beside what is protected. "Grid" is the search of decision
0049: about 100 points on recorded sessions (`bench/replay_policy.py`), checked with each source left out in turns.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

# -- when to compact, and how far (marks, cuts) -------------------------------------------------------------------

#: Share of the budget: no room for another message. Chosen by hand.
MUST = 0.97
#: Share of the budget, less so many tokens, that is filled when the newest step is as large as possible. Chosen by hand.
FULL, BESIDE = 0.97, 120
#: Share of the distance to the high mark that smooth growth would allow. Grid.
EARLY = 0.65
#: Share of the room that a compaction leaves, for a budget of SMALL_BUDGET tokens. Grid.
LOW = 0.25
SMALL_BUDGET = 8000
#: The same for the smallest budgets. Chosen by hand: little else fits then.
MOST_LOW = 0.5
#: Share of the room that the past keeps, however large the newest step is. Decision 0049, by hand.
SQUEEZED = 0.1
#: Share of the room, for a budget of SMALL_BUDGET: a larger step is condensed first, once it was seen. `bench/replay_policy.py` (0020, 0049).
GIANT_STEP = 0.135
#: That share grows with this power of the budget. `bench/replay_policy.py` (0049).
GIANT_GROWTH = 0.25
#: Tokens that a step is always allowed. Chosen by hand.
LEAST_CAP = 300
#: Share of the room, at most, for one result that cannot be shown whole. `bench replay`: more cost .02 of the full history at 8k.
PART = 0.45
#: A compaction that is free should still remove this share. Chosen by hand.
FREE_WORTH = 0.25
#: Growth of the prompt, as a share, before another compaction. Chosen by hand.
LEAST_GROWTH = 0.12
#: Tokens saved for each rewritten one, from which a cut pays before the next compaction. `bench replay` (0049).
CUT_WORTH = 2

# -- how the room is shared out (policy) --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompactionRoom:
    """How the room of a compaction is shared out. Grid; notes get less than its winner, for the sake of copied lines."""

    tail: float = 0.25  # recent units, verbatim
    notes: float = 0.55  # of what is left for condensed text
    lines: float = 0.4  # one line for every old unit, at most
    front: float = 1.5  # what earlier compactions left may take so much before everything is chosen anew


#: Share of the room for what is condensed, however large the newest step is. Chosen by hand.
SPARE = 0.2
#: Tokens of a result, however many there are. Chosen by hand.
RESULT_FLOOR = 24
#: Filled to this share counts as full; number of attempts; factor for retrying what did not fit. Chosen by hand.
NEARLY_FULL, FIT_ROUNDS, RETRY_SHARE = 0.97, 6, 0.99

# -- which pieces and strings stay (retention, notes, trail) ------------------------------------------------------

#: In a fresh result: worth of a line that is copied beside a string that is used. `bench/replay_policy.py` (0020).
COPIED_LINE = 10.0
#: In a fresh result: pieces to either side that share a score. `bench/replay_policy.py` (0020).
SPREAD = 3
#: In a fresh result: worth of its first and last pieces, and the bonus for what was mentioned before. `bench/replay_policy.py` (0020).
EDGE, SPOKEN = 0.5, 4.0
#: Probability of a note whose source precedes everything read. Chosen by hand.
CARRIED = 0.03
#: Lower probabilities are ignored. Chosen by hand.
FAINT = 0.001
#: Strings in the index of a compaction. `bench replay` and `bench/recall_questions.py` (0052).
INDEXED = 300
#: Tokens: a room smaller than this is full; what a gap or a separator costs. Chosen by hand.
CRUMB, JOINT = 4.0, 1.5
#: Characters of a specific string. Chosen by hand.
SHORTEST, LONGEST = 4, 100
#: Characters from which a line is worth copying. Set by the harness of `bench replay`, which counts copied lines from here.
COPIED_FROM = 25
#: Tokens of a character: of what is shown in part, fewer are counted than it has. Chosen by hand.
LEAST_RATE = 0.1
#: Characters of a message that are searched. Chosen by hand.
SCANNED = 400_000

# -- what fits when nothing else does (last resort) ---------------------------------------------------------------

#: Tokens: nothing is cut to less before the oldest are dropped. Chosen by hand.
LAST_FLOOR = 48
#: Size of a newest step that has to be cut, as a multiple of anything else. Chosen by hand.
NEWEST = 4
#: Share of a cut text that comes before the gap. Chosen by hand.
HEAD = 0.6

# -- probabilities of being used again (weights) ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights for strings and for lines, by the name of the feature."""

    string: Mapping[str, float]
    line: Mapping[str, float]


@cache
def weights() -> Weights:
    """Return the weights fitted on what the next fifteen steps of recorded sessions repeated (decisions 0020 and 0052)."""
    text = resources.files("backscroll.assemble").joinpath("fade_weights.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    return Weights(data["string"], data["line"])
