"""Lorebooks and world descriptions: JSON of many programs, Markdown, plain text; entries and when they are put into prompts."""
