"""Count the modules and functions of the package that four walks pass.

    python tools/walks.py [--modules WALK] [--json]

The walks are those that a newcomer follows through the code: a message is appended, a prompt is built, an edit reaches the
knowledge graph, an agent answers with one tool call. Each is one public call on a small thread (turns, tool calls, a task, a
world description) in a temporary store, and is counted the second time, when everything is loaded and cached. A named function
is passed when it is called, in any OS thread, and its module with it; `backscroll.testing`, which plays the model, does not count.
`--modules` names what a walk passes, with the number of functions in each module.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import backscroll  # noqa: E402
from backscroll.llm.providers import Provider  # noqa: E402
from backscroll.testing import Line, Scenario, ScriptedServer  # noqa: E402
from backscroll.testing.scenario import ScriptedCall  # noqa: E402

PACKAGE = str(ROOT / "backscroll") + "/"
SKIPPED = PACKAGE + "testing/"
BUDGET = 8_000
WORLD = "# Ellie\n\nEllie is an elf who lives in the forest of Arden."
TURNS = (
    ("Ellie is an elf. She lives in the forest.", "Ellie looks up from the river and smiles."),
    ("Please fix the bug in parser.py: it crashes on empty lines.", "Fixed: empty lines are skipped."),
    ("Ellie moves to the old mill. The gate of the mill is red.", "The mill creaks in the wind."),
    ("Which tests cover the parser now?", "tests/test_parser.py covers empty lines and comments."),
)

Passed = set[tuple[str, str]]  # module, function


@contextmanager
def watch_calls() -> Iterator[Passed]:
    """Collect the functions of the package that are called meanwhile, in this and in new OS threads."""
    passed: Passed = set()
    seen: dict[object, None] = {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in seen:
            return
        seen[code] = None
        name = code.co_filename
        if name.startswith(PACKAGE) and not name.startswith(SKIPPED) and not code.co_name.startswith("<"):
            passed.add((name.removeprefix(PACKAGE), code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield passed
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def run_walks() -> dict[str, Passed]:
    """Run the four walks on a thread of their own store; return what each passes the second time."""
    with tempfile.TemporaryDirectory() as place, ScriptedServer(_scenario()) as server:
        folder = Path(place)
        (folder / "notes.txt").write_text("The gate is red.\n", encoding="utf-8")
        with backscroll.open(folder / "walks.db", background=False) as store:
            thread = store.create("Walks")
            thread.graph.tell_world("elves", WORLD)
            thread.tasks.start("fix the parser")
            spoken = [thread.append(role, text) for turn in TURNS for role, text in _roles(turn)]
            provider = Provider("scripted", kind="openai", base_url=server.url, model="gpt-4o")
            with backscroll.Agent(thread, provider=provider, root=folder, budget=BUDGET) as agent:
                told = iter(range(1, 100))

                def edit_to_graph() -> None:
                    thread.edit(spoken[4].id, f"Ellie moves to house {next(told)}. Her mood is calm.")
                    thread.graph.current()

                acts: Mapping[str, Callable[[], object]] = {
                    "append": lambda: thread.append("user", "Where does Ellie live now, and what is red?"),
                    "prompt": lambda: thread.prompt(BUDGET),
                    "edit to graph": edit_to_graph,
                    "agent step": lambda: agent.run("What does notes.txt say about the gate?"),
                }
                return {name: _walk_twice(act, thread) for name, act in acts.items()}


def _walk_twice(act: Callable[[], object], thread: backscroll.Thread) -> Passed:
    """Walk once to load and cache, say something, and walk again under watch."""
    act()
    thread.append("assistant", "Ellie lives in the old mill; its gate is red.")
    thread.append("user", "And what did the parser do with comments?")
    with watch_calls() as passed:
        act()
    return passed


def _roles(turn: tuple[str, str]) -> Iterator[tuple[backscroll.Role, str]]:
    yield "user", turn[0]
    yield "assistant", turn[1]


def _scenario() -> Scenario:
    """A model that reads a file, then answers."""
    call = ScriptedCall("read_file", {"path": "notes.txt"})
    return Scenario(lines=(Line(role="user", calls=(call,)), Line(text="It says that the gate is red.")))


def show(walks: Mapping[str, Passed], detail: str) -> None:
    """Print a row for each walk, and what one of them passes."""
    print(f"{'walk':16} {'modules':>8} {'functions':>10}   of them in the engine")
    for name, passed in walks.items():
        ours = {module for module, _ in passed if module.startswith("engine/")}
        print(f"{name:16} {len({m for m, _ in passed}):8} {len(passed):10}   {len(ours)}")
    if detail:
        for module, many in sorted(Counter(module for module, _ in walks[detail]).items()):
            print(f"{many:5} {module}")


def main() -> None:
    """Read the command line, walk and print."""
    parser = argparse.ArgumentParser(description="Count the modules and functions that four walks pass.")
    parser.add_argument("--modules", default="", metavar="WALK", help="list what one walk passes")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON document")
    given = parser.parse_args()
    walks = run_walks()
    if given.modules and given.modules not in walks:
        parser.error(f"no walk {given.modules!r}: choose from {', '.join(walks)}")
    if given.json:
        counted = {
            name: {"modules": len({m for m, _ in passed}), "functions": len(passed)}
            for name, passed in walks.items()
        }
        print(json.dumps(counted, indent=2))
    else:
        show(walks, given.modules)


if __name__ == "__main__":
    main()
