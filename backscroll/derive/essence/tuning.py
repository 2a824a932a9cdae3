"""Tuning constants of essentials, similarity and learning: weights, and thresholds for texts on the same subject.

`bench survival` measures which essentials each level of compression still contains (docs/decisions/0014). Weights of sentences
and messages by cues are in `importance.toml`; how many essentials a span carries is in `derive/essence/essentials`.
"""

from __future__ import annotations

# -- weights of essentials: which stay if not all can (`derive/essence/reader`, `derive/essence/tool_calls`); chosen by hand, measured with `bench survival`

#: By speaker: the user, the assistant.
TODO_WEIGHTS, CONSTRAINT_WEIGHTS, DECISION_WEIGHTS, ERROR_WEIGHTS = (
    (1.2, 1.0),
    (1.3, 0.6),
    (1.2, 0.8),
    (1.0, 0.6),
)
ID_WEIGHTS = (0.9, 0.5)
#: An unticked box, an entry of a list of to-dos, an error in a block that the user pasted.
BOX_WEIGHT, LIST_WEIGHT, PASTED_ERROR_WEIGHT = 1.4, 1.5, 1.1
#: Paths that a user names: a few are the subject, more than this many are a listing.
FEW_PATHS, FEW_PATHS_WEIGHT, MANY_PATHS_WEIGHT = 8, 0.8, 0.3
#: Paths in a tool call, by the kind of call; ids in its arguments.
CALL_PATH_WEIGHTS = {"edit": 1.0, "write": 1.0, "command": 0.5, "read": 0.6, "database": 0.5}
CALL_ID_WEIGHT = 0.8

# -- what settles an essential (`derive/essence/resolution`); chosen by hand: the cases are in `tests/derive/settled`

#: Events before a close within which it settles something without naming it.
NEAR_EVENTS = 12
#: Share of a to-do's words that a clause about something done must hold; less where its verb is the same.
COVERED, COVERED_WITH_VERB = 0.6, 0.34
#: Share of an error's words that a reply which says that all is well must hold.
ERROR_SHARE = 0.12

# -- similarity of texts (`derive/essence/clusters`); chosen by hand ----------------------------------------------

#: Share of the shorter text's pieces from which two texts say the same.
SAME_TEXT = 0.72
#: Letters of a word that are compared: enough to tell words apart, few enough that `implement` and `implemented` are one.
STEM_LETTERS = 6

# -- learning from what was requested again (`derive/essence/learning`); chosen by hand --------------------------

#: Bounds of a learned factor.
LOWEST, HIGHEST = 0.5, 2.0
#: Lessons after which one counts half, and how much one fresh lesson changes a weight.
HALF_LIFE, PULL = 200, 0.15
