"""The numbers of the graph that decide what is believed and shown: evidence, votes, thresholds, with the bench that set each.

`bench/graph_roleplay.py` counts right, wrong and missing nodes in role-plays, `bench/graph_product.py` facts in labelled dialogues
(docs/decisions/0055, 0060). Evidence and votes are whole hundredths, so that taking a turn away leaves exactly what was there.
"""

from __future__ import annotations

#: A claim below this is only a hint: it joins no names and supersedes nothing that is surer. Chosen by hand.
SURE = 0.5

# -- evidence for names (`graph/claims/evidence`, `graph/state`); set with `graph_roleplay` (0055) ---------------

#: Evidence from which a node is shown; below, it is a candidate.
SHOWN = 60
#: What a plain statement about a name adds to it.
TOLD_EVIDENCE = 20
#: How sure a relation has to be that it speaks for its other end as well.
PLAIN_RELATION = 0.8
#: The most that speaks for a relative without a name ("Ann's brother"), of whom only that is said.
RELATIVE_EVIDENCE = 45
#: Evidence that a turn must give for a name before a pronoun of it may mean that name (`graph/naming/pronouns`).
PRONOUN_EVIDENCE = 40
#: How many turns back a pronoun may reach. Chosen by hand.
REACH = 3

# -- who is called by a name: votes over the conversation (`graph/naming/vocatives`); set with `graph_roleplay` (0055)

#: For the only other speaker, for who speaks next, for who spoke before.
ALONE_VOTE, NEXT_VOTE, BEFORE_VOTE = 150, 100, 50
#: Against who calls, and against who uses the name for another.
CALLER_VOTE, USER_VOTE = -300, -120
#: For who gives the name to themselves.
OWNER_VOTE = 600
#: Votes that the leader needs before the name is theirs.
VOTES_NEEDED = 90

# -- what is inferred (`graph/world/completion`); chosen by hand, so that both rank below anything said ----------

WORLD_SURE, DEFAULT_SURE = 0.6, 0.3

# -- the graph in a prompt (`graph/reading/words`); chosen by hand -----------------------------------------------

#: Facts of one node that count in full; so many more, and one is worth half.
FULL_FACTS, HALVED_AFTER = 12, 4
#: Worth of a pin, of a contested fact, and how much each later place among the facts of a node takes off.
PINNED_WORTH, CONTESTED_WORTH, PLACE_DISCOUNT = 2.0, 0.5, 0.15
