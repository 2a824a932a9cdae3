"""The steps of a task, legal and folded; plans, follow-up questions, comparisons. Pure."""
