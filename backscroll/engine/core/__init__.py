"""What every part of the engine stands on: the pen that writes, the views that read, locks, caches, the clock.

`pen` is the only writer of events, `history` and `lineage` read along forks, `doors` and `checks` look at what callers hand in. Nothing here knows prompts, graphs
or tasks.
"""
