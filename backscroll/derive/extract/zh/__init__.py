"""The reader of Chinese: names by how they are used, marked sentences, rules from tables.

`reader` is the entry point, `naming` finds names, `marks` and `sentence` apply `rules` to one sentence, `context` knows what the turn talks about.
"""
