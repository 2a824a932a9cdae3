"""Words, phrases and clauses of an English sentence, by tables and position; no statements are read here."""
