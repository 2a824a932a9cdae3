"""Tuning constants of boundary detection, each with the bench that set it.

The weights of the features are data (`boundary_weights.json`): `bench/boundary_learn.py` learns them from third-party dialogues.
"Learn" below means that a constant shapes what was learned: when it changes, the weights have to be learned again.
"""

from __future__ import annotations

#: Score above which a message is a boundary. The learned weights are shifted so that this is the middle. Learn.
THRESHOLD = 0.5
#: Score if the weights indicate a boundary without evidence of another subject. `bench/boundary_product.py` (decision 0056).
UNSURE = 0.3
#: Log odds beyond which a score counts as certain. Chosen by hand.
SURE = 30.0

#: Characters of a message that are read; of these, characters that are searched for names. Learn.
READ, NAMES_READ = 3_000, 600
#: Messages of either side that a message is compared with; the weight of words in older ones. Learn.
WINDOW, FADE = 4, 0.7
#: Number of new words, and of words at all, from which a message may open a subject by itself. `bench/boundary_learn.py`.
FRESH, WORDS = 3, 5
#: Share of messages of either side that are about oneself, from which the thread counts as a chat of two people. `bench/boundary_learn.py`.
PEERS = 0.25

#: Characters at the beginning and at the end of a message that are searched for cues. Chosen by hand.
HEAD, TAIL = 500, 300
#: Characters of a message that asks for another form of the last answer. `bench/boundary_product.py`.
REVISING = 300
#: Letters of a request (a Chinese character counts twice), and characters of it that are quoted. Chosen by hand.
NEXT, PHRASE = 10, 60
#: Files that a session has touched and that still count as its own. Chosen by hand.
FILES_KEPT = 40

#: Reasons given for a score, and the minimum weight of one. Chosen by hand.
REASONS, LEAST_REASON = 6, 0.05
