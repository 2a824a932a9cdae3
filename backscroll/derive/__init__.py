"""Data derived from a conversation: digests, gists, summaries, assertions. Pure.

Tables (TOML) are beside the code that reads them: node types and relations in `ontology.toml`, words and verbs in `extract_*.toml`.
"""
