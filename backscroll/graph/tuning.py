"""Tuning constants of the graph that decide what is believed and shown: evidence, votes, thresholds, with the bench that set each.

`bench/graph_roleplay.py` counts right, wrong and missing nodes in role-plays, `bench/graph_product.py` facts in labelled dialogues
(docs/decisions/0055, 0060). Evidence and votes are whole hundredths, so that removing a turn leaves exactly the previous state.
"""

from __future__ import annotations

#: A claim below this is only a hint: it joins no names and supersedes nothing that is more certain. Chosen by hand.
SURE = 0.5

# -- evidence for names (`graph/claims/evidence`, `graph/state`); set with `graph_roleplay` (0055) ---------------

#: Evidence from which a node is shown; below it, the node is a candidate.
SHOWN = 60
#: Evidence added by a plain statement about a name.
TOLD_EVIDENCE = 20
#: Minimum certainty with which a relation is evidence for its other end.
PLAIN_RELATION = 0.8
#: Maximum evidence for a relative without a name ("Ann's brother"), of whom nothing else is said.
RELATIVE_EVIDENCE = 45
#: Minimum evidence of a turn for a name before a pronoun of it may mean that name (`graph/naming/pronouns`).
PRONOUN_EVIDENCE = 40
#: How many turns back a pronoun may reach. Chosen by hand.
REACH = 3

# -- forms of address: votes over the conversation (`graph/naming/vocatives`); set with `graph_roleplay` (0055)

#: For the only other speaker, for the next speaker, for the previous speaker.
ALONE_VOTE, NEXT_VOTE, BEFORE_VOTE = 150, 100, 50
#: Against the caller, and against a speaker who uses the name for another.
CALLER_VOTE, USER_VOTE = -300, -120
#: For a speaker who claims the name.
OWNER_VOTE = 600
#: Votes that the leader needs to get the name.
VOTES_NEEDED = 90

# -- inferences (`graph/world/completion`); chosen by hand, so that both rank below anything stated --------------

WORLD_SURE, DEFAULT_SURE = 0.6, 0.3

# -- the graph in a prompt (`graph/reading/words`); chosen by hand -----------------------------------------------

#: Facts of one node that count in full; after this many more, a fact is worth half.
FULL_FACTS, HALVED_AFTER = 12, 4
#: Weight of a pin, of a contested fact, and the discount for each later place among the facts of a node.
PINNED_WORTH, CONTESTED_WORTH, PLACE_DISCOUNT = 2.0, 0.5, 0.15
