"""The account export of ChatGPT."""
