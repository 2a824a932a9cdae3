"""The numbers of gists, summaries and the account: how long they are, and what weighs how much in the choice of their sentences.

`bench survival` measures them: the share of open essentials that each level of the tree still says, over recorded sessions
(docs/decisions/0014). Weights of single sentences by their cues are in `importance.toml`; the cuts of the tree are in
`derive/summaries/spans`, because stored keys rest on them. A change of a number here changes texts: raise the version of the recipe.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.derive.essence.essentials import EssentialKind

# -- gists (`derive/summaries/gist`) -----------------------------------------------------------------------------

#: Tokens of a gist, and of the gist of something very long. Chosen by hand.
LIMIT, MOST = 200, 400
#: Between the two, one token for so many of what it replaces, and so many more for each tool call. Set with `bench survival`.
TOKENS_PER_GIST_TOKEN, TOKENS_PER_CALL = 14, 12
#: Tokens of a block of code that is quoted. Chosen by hand.
CODE_TOKENS = 48
#: Sentences that share more of their pieces than this say the same. Chosen by hand.
ALIKE = 0.8
#: What is added for the first request of a user, for a sentence of the last message, for a pinned message. Chosen by hand.
REQUEST_BONUS, FINAL_BONUS, PINNED_BONUS = 1.0, 0.4, 2.0
#: What each further essential of a kind counts less, so that one kind does not fill a gist. Set with `bench survival`.
REPEAT_DISCOUNT = 0.3

#: What a tool call is worth, by its kind; any other kind; a failure more; the last call of all more (earlier ones in proportion);
#: one that leaves an error open more. Chosen by hand.
CALL_WORTH: Mapping[str, float] = {
    "edit": 1.3,
    "write": 1.3,
    "command": 0.8,
    "task": 0.8,
    "other": 0.7,
    "database": 0.7,
}
CALL_WORTH_OTHER, CALL_FAILED, CALL_LATE, CALL_OPEN = 0.45, 0.5, 0.2, 3.0
#: What figures in the outcome of a call add, for a summary of that call by itself. Chosen by hand.
FIGURES_WORTH = 1.0

#: What an essential is worth that no sentence and no call says, beside its own weight. Set with `bench survival`.
FACT_WORTH: Mapping[EssentialKind, float] = {
    EssentialKind.TODO: 5.0,
    EssentialKind.ERROR: 3.6,
    EssentialKind.PATH: 1.0,
    EssentialKind.ID: 0.9,
}
FACT_WORTH_OTHER = 3.0
#: A path of at least this weight was changed, or the user named it: it is worth so much more. Set with `bench survival`.
ACTED_FROM, ACTED_BONUS = 0.8, 1.5

# -- summaries of spans (`derive/summaries/summary`); chosen by hand, measured with `bench survival` -------------

#: Tokens by level, and of the levels above.
LIMITS: Mapping[int, int] = {1: 480, 2: 720}
TOP_LIMIT = 900
#: Share of the room that open essentials other than names may fill before anything else comes, and up to which names may go on.
ESSENTIALS_SHARE, NAMES_SHARE = 0.62, 0.78
#: Quotations that a summary hands on to the one above, and those that are compared with each other, the weightiest.
HANDED_ON, COMPARED = 48, 160
#: What each further quotation that says the same adds to the one that is kept, and the most that all add.
ECHO_BONUS, ECHO_MOST = 0.15, 1.0

# -- the account for a person (`derive/summaries/account`); chosen by hand ---------------------------------------

#: Gists from the end in which the state of things is looked for, sentences of it, and what such a sentence must be worth.
LATELY, STATE_SENTENCES, STATE_FROM = 6, 4, 0.6
#: Tokens of each side of the last exchange, and of any other entry.
REPLY_TOKENS, ENTRY_TOKENS = 110, 90
