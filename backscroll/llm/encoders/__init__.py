"""Encode texts as vectors with small local models; offline once their files are installed."""
