"""What prompts show already: read in one view, put in order, and the texts that earlier prompts placed.

Contains the composer and what it reads. New insertions are in `prompts/insertions`, condensing in `prompts/compaction`,
sending and recording in `prompts/builder`.
"""
