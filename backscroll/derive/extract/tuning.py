"""The numbers of extraction: how sure one use makes it that a word is a name, in English and Chinese, and how sure other readings are.

`bench/graph_roleplay.py` counts right, wrong and missing nodes, `bench/graph_product.py` facts in labelled dialogues
(docs/decisions/0055, 0060). A turn may say too little for a name; the fold adds turns up (`graph/tuning`). A change of a number here
changes assertions: raise the version of the recipe.
"""

from __future__ import annotations

# -- English names (`derive/extract/en/cues`); set with `graph_roleplay` (0055) -----------------------------------

#: A capital inside a sentence, at its start, of an ordinary word.
INSIDE, OPENING, ORDINARY = 0.7, 0.45, 0.3
#: What a use as a person or place adds; what a verb adds where a sentence begins, behind a word that no list of ordinary words has.
USED, ACTING = 0.3, 0.15

# -- Chinese names (`derive/extract/zh/naming`); set with `graph_roleplay` (0055) ---------------------------------

#: Called out, alone between marks, before a verb of speech, before another verb, after a word that leads to a person.
CALLED, ALONE, SPEAKS, ACTS, LED = 0.5, 0.4, 0.45, 0.3, 0.3
#: Called and spoken to in the same breath (秋棠，你去): added; every further use in the turn: added.
SPOKEN_TO, AGAIN = 0.15, 0.1
#: A name in Latin letters inside Chinese text.
LATIN = 0.4
#: Added: made like a name; with a form of address. Taken off: a word of the dictionary.
SHAPED, ADDRESSED, KNOWN = 0.2, 0.35, 0.25
#: A word of two characters before one for a settlement or a school of people: 落霞镇.
SETTLED = 0.6
#: From here on facts are read about a stretch. Chosen by hand.
LIKELY = 0.5

# -- other readings; chosen by hand ------------------------------------------------------------------------------

#: The label of a line of a play ("Vera: …") is a name.
LABELLED = 0.7
#: What people say about their own needs (`derive/extract/personal`).
NEEDS_SURE = 0.9
#: A file that was only looked at is worth a node (`derive/extract/code/tools`).
FILE_READ = 0.7
#: A statement of a model: it reads well, and still guesses now and then (`derive/models/assertions_fold`).
MODEL_SURE = 0.95
