"""Lorebooks and world descriptions in JSON, Markdown or plain text: their entries, and the rules that add them to prompts."""
