"""The nouns: frozen values without behaviour beyond validation and their JSON shape. Imports nothing above it."""
