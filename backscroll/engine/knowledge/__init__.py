"""What the turns say about the world: analysis, the graph of a thread, lorebooks, people and their profiles.

`analysis` brings turns up to date, `graph` is what users hold, `graph_holder` keeps graphs in memory. The fold itself is pure and lives in `graph`.
"""
