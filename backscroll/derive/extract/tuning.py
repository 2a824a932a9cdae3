"""Tuning constants of extraction: how strongly one use shows a name, in English and Chinese, and certainties of other readings.

`bench/graph_roleplay.py` counts right, wrong and missing nodes, `bench/graph_product.py` facts in labelled dialogues
(docs/decisions/0055, 0060). One turn may be too little evidence for a name; the fold adds turns up (`graph/tuning`). A changed number
changes assertions: raise the version of the recipe.
"""

from __future__ import annotations

# -- English names (`derive/extract/en/cues`); set with `graph_roleplay` (0055) -----------------------------------

#: A capital inside a sentence, at its start, of an ordinary word.
INSIDE, OPENING, ORDINARY = 0.7, 0.45, 0.3
#: Added for a use as a person or place; for a verb at the start of a sentence, after a word that no list of ordinary words has.
USED, ACTING = 0.3, 0.15

# -- Chinese names (`derive/extract/zh/naming`); set with `graph_roleplay` (0055) ---------------------------------

#: Called out, alone between marks, before a verb of speech, before another verb, after a word that introduces a person.
CALLED, ALONE, SPEAKS, ACTS, LED = 0.5, 0.4, 0.45, 0.3, 0.3
#: Added: for a name called out and addressed at once (秋棠，你去); for every further use in the turn.
SPOKEN_TO, AGAIN = 0.15, 0.1
#: A name in Latin letters inside Chinese text.
LATIN = 0.4
#: Added: has the form of a name; has a form of address. Subtracted: is a word of the dictionary.
SHAPED, ADDRESSED, KNOWN = 0.2, 0.35, 0.25
#: A word of two characters before one for a settlement or a school of people: 落霞镇.
SETTLED = 0.6
#: Minimum certainty for reading facts about a name. Chosen by hand.
LIKELY = 0.5

# -- other readings; chosen by hand ------------------------------------------------------------------------------

#: The label of a line of a play ("Vera: …") is a name.
LABELLED = 0.7
#: Statements of users about their own needs (`derive/extract/personal`).
NEEDS_SURE = 0.9
#: A file that was only looked at is worth a node (`derive/extract/code/tools`).
FILE_READ = 0.7
#: A statement of a model: well read, but still a guess now and then (`derive/models/assertions_fold`).
MODEL_SURE = 0.95
