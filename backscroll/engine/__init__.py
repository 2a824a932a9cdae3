"""Connects stores, files and models with the pure rooms, and defines the `Engine` and `Thread` that users hold."""
