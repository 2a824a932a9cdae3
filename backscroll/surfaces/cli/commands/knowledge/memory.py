"""`memory`: what is remembered from tasks, and what people make of it."""

from __future__ import annotations

from backscroll.surfaces.cli.families import memory_changes as memory_changing
from backscroll.surfaces.cli.families import memory_reading
from backscroll.surfaces.cli.family import Family

memory_command = Family(
    "memory",
    [
        memory_reading.list_,
        memory_reading.show,
        memory_reading.why,
        memory_reading.relevant,
        memory_changing.add,
        memory_changing.edit,
        memory_changing.pin,
        memory_changing.unpin,
        memory_changing.forget,
        memory_changing.restore,
        memory_changing.write,
    ],
)
