"""Recorded sessions of Gemini CLI."""
