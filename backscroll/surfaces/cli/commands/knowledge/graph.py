"""`graph`: the knowledge graph of a thread, and your own changes to it."""

from __future__ import annotations

from backscroll.surfaces.cli.families import graph_changes as graph_changing
from backscroll.surfaces.cli.families import graph_views
from backscroll.surfaces.cli.family import CommandFamily

graph_command = CommandFamily(
    "graph",
    [
        graph_views.show,
        graph_views.around,
        graph_views.why,
        graph_views.history,
        graph_views.conflicts,
        graph_views.questions,
        graph_views.turns,
        graph_views.export,
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
