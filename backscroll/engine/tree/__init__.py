"""The summary tree of a thread: kept up to date piece by piece, and read for what comes before a window."""
