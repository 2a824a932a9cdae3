"""Tuning constants of recall that decide what is found: weights, thresholds and shares, with the bench that set each.

`bench evidence_product` asks `thread.recall` for the evidence of labelled questions; `bench evidence_learn` learns weights from the
same sets (docs/decisions/0018, 0059); `bench recall_questions` looks for the answers of old tool results in prompts (0052). What
is learned as a whole (trees, the sum beside them) is data: `fusion.json`. Limits of work (how much of a text is read) are beside
their use.
"""

from __future__ import annotations

from collections.abc import Mapping

# -- fusion of clues into one score (`recall/fuse`) --------------------------------------------------------------

#: Bonus of a text said at the time that a question names. Chosen by hand: few of the questions learned from name a time (0018).
TIMED_BONUS = 1.0
#: Penalty of a greeting or a nod: it is rarely part of an answer, and never the answer. Chosen by hand.
IDLE_PENALTY = -1.5
#: Weight of plain words in conversations with fewer texts than any learned from: there, ranks and shares of the best mean little. It
#: fades out at `FEW_TEXTS`. Chosen by hand.
FEW_TEXTS_WORDS = 2.0
FEW_TEXTS = 80

# -- relevance: is anything about the question? (`recall/relevance`) ---------------------------------------------

#: Log odds that a question belongs to this conversation, with vectors and without. Learned from questions put to their own and to
#: other conversations (0059).
BELONGS_BY_VECTORS: Mapping[str, float] = {
    "held": 3.54,
    "soft": 0.18,
    "near": 8.85,
    "known": 2.77,
    "start": -7.08,
}
BELONGS_BY_WORDS: Mapping[str, float] = {
    "held": 0.81,
    "soft": 3.61,
    "near": 0.0,
    "known": 3.54,
    "start": -4.12,
}
#: The required log odds: loses 2 of 1,496 own questions (0059).
BELONGS_FROM = -2.0
#: How much less is required if question and text are about the same everyday matter. Chosen by hand.
SAME_MATTER = 1.0
#: Up to so many texts one shared word is enough, and the rule of 0053 decides: a text that reaches one of these is about it.
SMALL_INDEX = 60
ABOUT_NEAR, ABOUT_SOFT, ABOUT_HELD = 0.36, 0.34, 0.34
#: From here on a text is certainly about a question, so that it may be added to a prompt without a request (0053).
SURELY_HELD, SURELY_NEAR = 0.5, 0.45

# -- passages of tool results (`recall/passages`); set with `bench recall_questions` (0052) ----------------------

#: A passage counts from this share of a question on; from less in the other language, because the table lacks many words.
PASSAGE_SHARE, PASSAGE_SHARE_ACROSS = 0.55, 0.4
#: … and from so many notions on.
PASSAGE_NOTIONS = 2
#: Its log odds there, and how they rise with the share.
PASSAGE_ODDS, PASSAGE_STEEPNESS = -1.5, 6.0
#: Weight of a notion that only the call names, and (as a share of the highest weight) of one that no text contains.
CALLED_WEIGHT, UNHEARD_WEIGHT = 0.7, 0.5

# -- words and vectors (`recall/index`) --------------------------------------------------------------------------

#: BM25: how soon more of the same term adds nothing. The customary value.
K1 = 1.2
#: Weight of a term that a text contains in the other language. Chosen by hand.
ACROSS_WEIGHT = 0.8
#: Terms less similar than this are different things. Chosen by hand.
KIN_FROM = 0.55

# -- selection within a budget (`recall/selection`); tried on the sets of `bench evidence` (0053) ----------------

#: How much the cost of a text counts: 0 not at all, 1 in full. Learned scores already reflect the length of texts.
THRIFT = 0.9
#: Discount for the second, third … text of one sitting, if a list or an order is requested.
SPREAD = 0.4
#: Texts that share more of their terms than this are near-duplicates. Chosen by hand.
SAME = 0.9

# -- questions and excerpts; chosen by hand ----------------------------------------------------------------------

#: Strength from which one reason alone shows that a message needs the past (`recall/question/analysis`).
NEEDS_PAST = 0.4
#: Weight of a sentence that matches only by meaning, as a share of the best words (`recall/text/excerpt`).
EXCERPT_NEAR = 0.6
#: The clue, the value from which it is worth naming, and its name in the reason that a reader sees (`recall/selection`).
REASONS = (
    ("inside", 1.0, "said at that time"),
    ("held", 0.5, "holds the words"),
    ("soft", 0.45, "holds similar words"),
    ("near_z", 2.0, "near in meaning"),
    ("words_share", 0.4, "holds some of the words"),
    ("spoke", 1.0, "said by whom the question names"),
    ("first_by", 0.5, "beside what matches"),
    ("session_words", 0.8, "in a session that matches"),
)
