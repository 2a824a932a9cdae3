"""What every part of the engine builds on: the pen that writes, the views that read, locks, caches, the clock.

`pen` is the only writer of events, `history` and `lineage` read along forks, `signatures` and `checks` validate arguments. Nothing here
knows prompts, graphs or tasks.
"""
