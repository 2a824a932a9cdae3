"""What prompts show already: read at one moment, put in order, and the texts that earlier prompts placed.

Holds the composer and what it reads. Not here: what is new to say (`prompts/insertions`), when the past is condensed (`prompts/compaction`),
what is sent and written down (`prompts/builder`).
"""
