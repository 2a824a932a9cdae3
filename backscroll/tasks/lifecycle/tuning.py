"""Tuning constants of the lifecycle of tasks (feedback, plans, comparison, tiers). All are chosen by hand unless a bench is named."""

from __future__ import annotations

#: Characters of a text that are read.
READ = 20_000

# -- feedback taken apart (points), questions about it (followup) -------------------------------------------------

#: Points of one text.
POINTS = 12
#: Maximum characters of a vague verdict: longer ones say what is wrong.
VAGUE = 80
#: Maximum number of questions.
QUESTIONS = 3
#: Strength of an instruction that is not silently overridden. The scale is that of preferences (`bench/preferences.py`).
FIRM = 0.8
#: Candidates that a question offers.
CANDIDATES = 4

# -- plans --------------------------------------------------------------------------------------------------------

#: Steps of a plan.
STEPS = 10
#: Share of words from which two steps are the same, and from which an attempt concerns a step.
SAME_STEP, TOUCHES = 0.6, 0.3
#: Rules, preferences and things to avoid that a plan names.
RULES, PREFERENCES, AVOID = 3, 4, 5

# -- two tasks side by side (comparison) --------------------------------------------------------------------------

#: Distinctive words of a task, and the words from which they are chosen.
TOPICS, POOL = 12, 40
#: Items listed of a kind.
LISTED = 12
#: Characters of a message that are compared.
COMPARED = 8_000

# -- what a prompt shows (tiers, words) ---------------------------------------------------------------------------

#: Ended or resting tasks whose summaries prompts show.
MIDDLE = 3
#: Share of the distinctive words of both titles from which two tasks have the same title.
SAME_TITLE = 0.6
#: Characters of one line (feedback may be longer), and lines of a kind.
LINE, LINES = 400, 8
