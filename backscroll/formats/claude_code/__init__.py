"""Transcripts of Claude Code: lines, how they hang together, both ways."""
