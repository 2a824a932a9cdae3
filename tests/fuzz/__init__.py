"""The fuzzers: programs that do at random what hostile users, models and files do, and check what must always hold.

Each module of this folder with a function `fuzz(seed, folder)` is one. The seed decides everything it does; what it leaves
behind goes into the folder, which is thrown away. It raises where something does not hold, with what led there. `make test`
runs fixed seeds (`test_fuzz.py`), `make fuzz` fresh ones for as long as one likes (`__main__.py`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

#: Gives how many things it checked, where it counts them.
Fuzzer: TypeAlias = Callable[[int, Path], int | None]

_HERE = Path(__file__).parent


def fuzzers() -> Mapping[str, Fuzzer]:
    """Every fuzzer by its name: the modules of this folder that have one."""
    out: dict[str, Fuzzer] = {}
    for path in sorted(_HERE.glob("*.py")):
        if path.stem.startswith(("_", "test_")):
            continue
        found = getattr(import_module(f"{__name__}.{path.stem}"), "fuzz", None)
        if found is not None:
            out[path.stem] = found
    return out


def fixed_seeds(name: str, usual: Sequence[int]) -> Sequence[int]:
    """The seeds that `make test` runs of a fuzzer: its own `SEEDS` where it names some, else the usual ones."""
    return getattr(import_module(f"{__name__}.{name}"), "SEEDS", usual)


def command(name: str, seed: int) -> str:
    """What reproduces one run."""
    return f"make fuzz ONLY={name} SEED={seed}"


def run(name: str, seed: int, folder: Path | None = None) -> int:
    """One run of one fuzzer, in a folder of its own with a home of its own; a failure says how to see it again.

    Gives what the fuzzer counted.
    """
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-", dir=folder) as place, _own_home(Path(place)):
        inside = Path(place) / "run"
        inside.mkdir()
        try:
            return fuzzers()[name](seed, inside) or 0
        except Exception as error:
            error.add_note(f"reproduce: {command(name, seed)}")
            raise


@contextmanager
def _own_home(place: Path) -> Iterator[None]:
    """No fuzzer reads or writes the user's own store, settings or transcripts."""
    before = dict(os.environ)
    for name in before:
        if name.startswith("XDG_") or (
            name.startswith("BACKSCROLL_") and not name.startswith("BACKSCROLL_TEST_")
        ):
            del os.environ[name]
    os.environ["HOME"] = str(place / "home")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
