"""Tuning constants of preferences and profiles, each with the bench that set it.

`bench/preferences.py` counts the preferences found, and sentences mistaken for one. How firmly a phrase states a
preference is data (`preferences_en.toml`, `preferences_zh.toml`).
"""

from __future__ import annotations

# -- reading ------------------------------------------------------------------------------------------------------

#: Characters beyond which a message is a paste, and characters of its beginning and end that are the user's own words. `bench/preferences.py`.
PASTE, OWN_WORDS = 6_000, 1_500
#: Characters of a sentence that may state a preference. `bench/preferences.py`.
SENTENCE = 400
#: Strength of a statement that is meant to last. `bench/preferences.py`.
FIRM = 0.8
#: Preferences of one sentence. Chosen by hand.
MANY = 3

# -- folding ------------------------------------------------------------------------------------------------------

#: Confidence from which a preference is shown. `bench/preferences.py`.
SHOWN = 0.5
#: Upper limit of confidence, whatever the number of statements. Chosen by hand.
SUREST = 0.97
#: Share of words from which two practices are the same. Chosen by hand.
ALIKE = 0.6
#: Factor of the confidence after each contrary statement, and once a later statement contradicts it. Chosen by hand.
DOUBT, SUPERSEDED = 0.85, 0.3

# -- profiles -----------------------------------------------------------------------------------------------------

#: Turns that are searched for a name. Chosen by hand.
NAMED_IN = 64
#: Confidence of a claim below which it is only a hint. Chosen by hand.
SURE = 0.5
#: People around the user, and nodes that the newest words name, in a profile. Chosen by hand.
CLOSE, NAMED = 6, 4
