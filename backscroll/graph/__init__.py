"""The knowledge graph: a view over what the turns say, latest wins, with the person's own changes on top.

Never patched: replacing the assertions of one turn replaces exactly what that turn said. Pure: no disk, clock or network.
"""
