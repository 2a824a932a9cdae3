"""Tuning constants of gists, summaries and the account: lengths, and the weights by which sentences are chosen.

`bench survival` measures them: the share of open essentials that each level of the tree still states, over recorded sessions
(docs/decisions/0014). Weights of single sentences by their cues are in `importance.toml`; the cuts of the tree are in
`derive/summaries/spans`, because stored keys depend on them. A changed number here changes texts: raise the version of the recipe.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.derive.essence.essentials import EssentialKind

# -- gists (`derive/summaries/gist`) -----------------------------------------------------------------------------

#: Maximum tokens of a gist, and of the gist of something very long. Chosen by hand.
LIMIT, MOST = 200, 400
#: Between the two: one token for so many replaced ones, and so many more for each tool call. Set with `bench survival`.
TOKENS_PER_GIST_TOKEN, TOKENS_PER_CALL = 14, 12
#: Tokens of a quoted code block. Chosen by hand.
CODE_TOKENS = 48
#: Sentences that share more of their pieces than this count as the same. Chosen by hand.
ALIKE = 0.8
#: Added for the first request of a user, for a sentence of the last message, for a pinned message. Chosen by hand.
REQUEST_BONUS, FINAL_BONUS, PINNED_BONUS = 1.0, 0.4, 2.0
#: Subtracted for each further essential of a kind, so that one kind does not fill a gist. Set with `bench survival`.
REPEAT_DISCOUNT = 0.3

#: Weight of a tool call by its kind; of any other kind; added for a failure; added for the last call (for earlier ones in proportion);
#: added for one that leaves an error open. Chosen by hand.
CALL_WORTH: Mapping[str, float] = {
    "edit": 1.3,
    "write": 1.3,
    "command": 0.8,
    "task": 0.8,
    "other": 0.7,
    "database": 0.7,
}
CALL_WORTH_OTHER, CALL_FAILED, CALL_LATE, CALL_OPEN = 0.45, 0.5, 0.2, 3.0
#: Added for figures in the outcome of a call, for a summary of that call by itself. Chosen by hand.
FIGURES_WORTH = 1.0

#: Added to the weight of an essential that no sentence and no call states. Set with `bench survival`.
FACT_WORTH: Mapping[EssentialKind, float] = {
    EssentialKind.TODO: 5.0,
    EssentialKind.ERROR: 3.6,
    EssentialKind.PATH: 1.0,
    EssentialKind.ID: 0.9,
}
FACT_WORTH_OTHER = 3.0
#: A path of at least this weight was changed, or the user named it: this much is added. Set with `bench survival`.
ACTED_FROM, ACTED_BONUS = 0.8, 1.5

# -- summaries of spans (`derive/summaries/summary`); chosen by hand, measured with `bench survival` -------------

#: Tokens by level, and of the levels above.
LIMITS: Mapping[int, int] = {1: 480, 2: 720}
TOP_LIMIT = 900
#: Share of the room that open essentials other than names may fill before anything else, and up to which names may continue.
ESSENTIALS_SHARE, NAMES_SHARE = 0.62, 0.78
#: Quotations that a summary passes on to its parent, and the number of the heaviest that are compared with each other.
HANDED_ON, COMPARED = 48, 160
#: Added for each further quotation that says the same, and the maximum of that.
ECHO_BONUS, ECHO_MOST = 0.15, 1.0

# -- the account for a person (`derive/summaries/account`); chosen by hand ---------------------------------------

#: Gists from the end that are searched for the current status, sentences of it, and the minimum score of such a sentence.
LATELY, STATE_SENTENCES, STATE_FROM = 6, 4, 0.6
#: Tokens of each side of the last exchange, and of any other entry.
REPLY_TOKENS, ENTRY_TOKENS = 110, 90
