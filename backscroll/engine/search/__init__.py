"""Finding things again: recall for a question, search for words, the vectors behind both.

`recall` is the door for questions, `words` for the search box. Scoring is pure and lives in `recall`.
"""
