"""Tuning constants of memories of tasks (outcomes, lessons, arcs, fading), each with the bench that set it.

`bench/outcomes.py` counts how often one memory names cause, fix and evidence of a session, and how often ordinary chats teach a
cause and a fix although none was stated. What is chosen by hand bounds work or length and was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.vocab.task import MemoryKind

#: Characters of a message that are read, and of a sentence. Chosen by hand.
READ, SENTENCE = 20_000, 400

# -- the summary, and the request to a model ----------------------------------------------------------------------

#: Tokens of the summary of a task. Chosen by hand; a part of the recipe, so another number makes every summary due.
SUMMARY_TOKENS = 240
#: Characters of a message from which its language is detected. Chosen by hand.
SAMPLE = 400
#: Tokens of a task that a model sees, characters of one message of it. Chosen by hand; the first is a part of the recipe.
INPUT, EACH = 24_000, 1_200
#: Tokens for the JSON around the words, and for reasoning that some models count as part of the answer. Chosen by hand.
SLACK = 200
#: Characters of a memory that a model wrote. Chosen by hand.
WRITTEN = 600
#: Characters of a memory on one line of a prompt, and handles after it. Chosen by hand.
LINE, HANDLES = 420, 2

# -- outcomes and lessons -----------------------------------------------------------------------------------------

#: Decisions, confirmations and passing commands of a task. Chosen by hand.
DECISIONS, CONFIRMED, PASSING = 8, 3, 4
#: Files of a task. Chosen by hand.
FILES = 40
#: Sentences of a last report, and messages from the end that are searched for it. `bench/outcomes.py`.
REPORTED, REPORT_LOOKED = 2, 4
#: Weight in letters of a reply that only closes a talk. `bench/outcomes.py`.
LAST_WORD = 60
#: Words that a confirmation needs to be informative by itself. `bench/outcomes.py`.
CONFIRMING = 4
#: Lessons from errors, the newest; corrections; actions that a lesson names. Chosen by hand.
LESSONS, CORRECTIONS, DEEDS = 10, 4, 4
#: Maximum bytes of a correction that is not informative by itself. Chosen by hand.
BARE_CORRECTION = 14

# -- cause, fix and evidence (arcs, turns, moves) -----------------------------------------------------------------

#: Arcs of one task, the last ones; characters of each part. Chosen by hand.
ARCS, ARC_PART = 3, 200
#: Weight of words from which a sentence counts as a fix, or as evidence. `bench/outcomes.py`.
FIX, EVIDENCE = 1.4, 1.3
#: Weight from which words alone show a cause, and from which they show a cause or a fix. `bench/outcomes.py`.
SURE_CAUSE, SAYS = 2.0, 1.6
#: Weight beyond which more words add no certainty. `bench/outcomes.py`.
CAPPED = 2.2
#: The same for a fix and a cause if the course of the talk shows them too. `bench/outcomes.py` (decision 0061).
FIX_IN_COURSE, CAUSE_IN_COURSE = 0.3, 0.5
#: Weight of the last statement before a message that reports the outcome. `bench/outcomes.py`.
NEAR = 0.8
#: Messages of a talk that is read as a whole. `bench/outcomes.py`.
TALK = 30
#: Maximum characters of a last message that explains nothing. `bench/outcomes.py`.
CLOSING = 25
#: Weight from which words alone show a good outcome, and from which the assistant repeats what a tool has just shown. `bench/outcomes.py`.
CLEAR, HINTED = 1.9, 0.7
#: Characters of a part that is shown without its introductory phrase. Chosen by hand.
WITHOUT_LEAD = 8
#: Weight in letters from which a message says what went well, and from which a sentence is informative (a Chinese character
#: counts twice). `bench/outcomes.py`.
TELLING, SHORT = 14, 8
#: Characters of an answer that explains at length, and of a message of the user that holds a paste. `bench/outcomes.py`.
ESSAY, PASTED = 900, 1_500
#: Weight of words that are evidence by themselves: numbers and "now" alone are not. `bench/outcomes.py`.
STRONG = 1.0
#: Words (in Chinese: characters) from which a sentence with a number is more than an answer. `bench/outcomes.py`.
FEW, FEW_HAN = 5, 8

# -- fading -------------------------------------------------------------------------------------------------------

#: Weight that the oldest memory keeps. Chosen by hand.
LEAST = 0.1
#: Half-life in days of an unused memory, by kind. Chosen by hand.
HALF: Mapping[MemoryKind, float] = {
    MemoryKind.SUMMARY: 30.0,
    MemoryKind.OUTCOME: 45.0,
    MemoryKind.LESSON: 60.0,
    MemoryKind.PREFERENCE: 90.0,
    MemoryKind.FILE: 30.0,
    MemoryKind.FACT: 180.0,
}
