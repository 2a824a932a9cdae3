"""`memory`: memories of tasks, and managing them."""

from __future__ import annotations

from backscroll.surfaces.cli.families import memory_changes as memory_changing
from backscroll.surfaces.cli.families import memory_views
from backscroll.surfaces.cli.family import CommandFamily

memory_command = CommandFamily(
    "memory",
    [
        memory_views.list_,
        memory_views.show,
        memory_views.why,
        memory_views.relevant,
        memory_changing.add,
        memory_changing.edit,
        memory_changing.pin,
        memory_changing.unpin,
        memory_changing.forget,
        memory_changing.restore,
        memory_changing.write,
    ],
)
