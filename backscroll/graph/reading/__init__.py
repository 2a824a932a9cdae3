"""The graph for readers: nodes and facts with their evidence, lookup, conflicts, suggestions, words for a prompt, exports."""
