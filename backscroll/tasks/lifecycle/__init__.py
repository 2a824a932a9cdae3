"""The lifecycle of a task: legal steps and their fold, plans, follow-up questions, comparisons. Pure."""
