"""The constants of the lifecycle of tasks (feedback, plans, comparison, tiers), in one place. All are chosen by hand unless a bench is named."""

from __future__ import annotations

#: Characters of a text that are read.
READ = 20_000

# -- feedback taken apart (points), questions about it (followup) -------------------------------------------------

#: Points of one text.
POINTS = 12
#: Characters of a verdict that says nothing: who writes more says what is wrong.
VAGUE = 80
#: Questions that are asked.
QUESTIONS = 3
#: Strength of an instruction that is not just overwritten. The scale is that of preferences (`bench/preferences.py`).
FIRM = 0.8
#: Candidates that a question offers.
CANDIDATES = 4

# -- plans --------------------------------------------------------------------------------------------------------

#: Steps of a plan.
STEPS = 10
#: Share of words from which two steps are the same, and from which what was tried has to do with a step.
SAME_STEP, TOUCHES = 0.6, 0.3
#: Rules, preferences and things to avoid that a plan names.
RULES, PREFERENCES, AVOID = 3, 4, 5

# -- two tasks side by side (comparison) --------------------------------------------------------------------------

#: Words that say what a task is about, and the words among which these are looked for.
TOPICS, POOL = 12, 40
#: Things of a kind that are listed.
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
