"""Journeys of a person through the whole program in a real terminal."""
