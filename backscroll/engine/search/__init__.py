"""Search: recall for questions, full-text search for words, and the vectors for both.

`recall` answers questions, `words` serves the search box. Scoring is pure and lives in the room `recall`.
"""
