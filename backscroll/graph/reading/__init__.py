"""The graph for readers: nodes and facts with evidence, lookup, contradictions, suggestions, text for a prompt, exports."""
