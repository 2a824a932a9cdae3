"""The Chinese reader: names by their use, marked sentences, rules from tables.

`reader` is the entry point, `naming` finds names, `marks` and `sentence` apply `rules` to one sentence, `context` tracks the topics of a turn.
"""
