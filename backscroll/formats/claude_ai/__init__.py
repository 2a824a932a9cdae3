"""The account export of claude.ai."""
