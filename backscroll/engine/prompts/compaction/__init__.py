"""Condensing and cropping, written down: when the past is condensed, what was chosen, cuts of giant results, crops by people."""
