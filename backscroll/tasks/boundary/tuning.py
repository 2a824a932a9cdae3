"""The constants of boundary detection, in one place, each with the bench that set it.

The weights of the features are data (`boundary_weights.json`): `bench/boundary_learn.py` learns them from dialogues of others.
"Learn" below means that a constant shapes what was learned: when it changes, the weights have to be learned again.
"""

from __future__ import annotations

#: Score above which a message is a boundary. The learned weights are shifted so that this is the middle. Learn.
THRESHOLD = 0.5
#: Score where the weights say boundary and nothing speaks of another subject. `bench/boundary_product.py` (decision 0056).
UNSURE = 0.3
#: Log odds beyond which a score is not told apart from certainty. Chosen by hand.
SURE = 30.0

#: Characters of a message that are read; of these, characters in which names are looked for. Learn.
READ, NAMES_READ = 3_000, 600
#: Messages of either side that a message is compared with; what words of older ones still count. Learn.
WINDOW, FADE = 4, 0.7
#: Words that were never said before, and words at all, from which a message may open a subject by itself. `bench/boundary_learn.py`.
FRESH, WORDS = 3, 5
#: Share of messages of either side that are about oneself, from which two people chat with each other. `bench/boundary_learn.py`.
PEERS = 0.25

#: Characters at the beginning and at the end of a message in which cues are looked for. Chosen by hand.
HEAD, TAIL = 500, 300
#: Characters of a message that asks for another form of the last answer. `bench/boundary_product.py`.
REVISING = 300
#: Letters of what is asked for (a Chinese character counts twice), and characters of it that are quoted. Chosen by hand.
NEXT, PHRASE = 10, 60
#: Files that a session has touched and that still count as its own. Chosen by hand.
FILES_KEPT = 40

#: Reasons that are given for a score, and the weight that one needs. Chosen by hand.
REASONS, LEAST_REASON = 6, 0.05
