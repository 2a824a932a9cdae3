"""Journeys in a real terminal."""
