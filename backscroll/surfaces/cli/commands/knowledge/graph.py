"""`graph`: what the turns say about the world, and one's own changes to it."""

from __future__ import annotations

from backscroll.surfaces.cli.families import graph_changes as graph_changing
from backscroll.surfaces.cli.families import graph_reading
from backscroll.surfaces.cli.family import Family

graph_command = Family(
    "graph",
    [
        graph_reading.show,
        graph_reading.around,
        graph_reading.why,
        graph_reading.history,
        graph_reading.conflicts,
        graph_reading.questions,
        graph_reading.turns,
        graph_reading.export,
        graph_changing.set_,
        graph_changing.pin,
        graph_changing.forbid,
        graph_changing.rename,
        graph_changing.merge,
        graph_changing.split,
        graph_changing.delete,
        graph_changing.add,
        graph_changing.overrides,
        graph_changing.lift,
        graph_changing.world,
        graph_changing.flush,
        graph_changing.read,
    ],
)
