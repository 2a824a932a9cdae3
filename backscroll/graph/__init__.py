"""The knowledge graph: a view over what the turns say, the latest wins, with the user's overrides on top.

Never patched: replacing the assertions of one turn replaces exactly that turn's contribution. Pure: no disk, clock or network.
"""
