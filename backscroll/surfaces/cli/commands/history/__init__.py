"""Commands that read and change conversations."""
