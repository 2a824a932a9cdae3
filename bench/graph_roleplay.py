"""Measure the nodes of `thread.graph` on role-plays of ten turns (`roleplays*.toml`), written into a store as chats.

    python -m bench.graph_roleplay            # the open half
    python -m bench.graph_roleplay --held     # the half that is kept back: for the end of a piece of work
    python -m bench.graph_roleplay --fresh    # four more, written after the errors of the held half were fixed
    python -m bench.graph_roleplay --styles   # ten more in ten styles, five of them looked at; --styles --held: the five put away until the end
    python -m bench.graph_roleplay --show     # with every node

A node is right if its name is a spelling of a named character, place, organisation or thing of the story. The user's own node, unsigned, is not
counted. A second node for something that has one already is wrong. Found: named characters and places that have a node.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import backscroll

_SKIPPED = {"user", "you", "用户", "you (the user)"}


def plain(name: str) -> str:
    """A name without case and article."""
    return name.casefold().removeprefix("the ").strip()


def judge(story: dict[str, Any], nodes: list[Any]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Right nodes, wrong nodes, found and missed characters and places."""
    spellings: dict[str, tuple[str, int]] = {}
    for part in ("people", "places", "others"):
        for number, names in enumerate(story[part]):
            spellings |= {plain(n): (part, number) for n in names}
    right: list[str] = []
    wrong: list[str] = []
    seen: set[tuple[str, int]] = set()
    for node in nodes:
        if node.id in _SKIPPED:
            continue
        hit = spellings.get(plain(node.name)) or next(
            (spellings[plain(a)] for a in node.aliases if plain(a) in spellings), None
        )
        shown = f"{node.name} [{node.type}]"
        if hit is None or hit in seen:
            wrong.append(shown)
            continue
        kind = {"people": ("person", "creature", "animal", "group"), "places": ("place", "organisation")}.get(
            hit[0]
        )
        (right if kind is None or node.type in kind else wrong).append(shown)
        seen.add(hit)
    asked = [(part, n) for part in ("people", "places") for n in range(len(story[part]))]
    found = [story[p][n][0] for p, n in asked if (p, n) in seen]
    return right, wrong, found, [story[p][n][0] for p, n in asked if (p, n) not in seen]


def main() -> None:
    """Write, read, count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--styles", action="store_true")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    name = "roleplays" + "".join(f"_{part}" for part in ("styles", "fresh", "held") if getattr(given, part))
    stories = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))["story"]
    totals: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = backscroll.open(Path(folder) / "plays.db", background=False)
        for story in stories:
            thread = store.create(story["id"], kind="roleplay")
            for role, text in story["turns"]:
                thread.append(role, text)
            began = time.process_time()
            thread.graph.flush()
            nodes = thread.graph.nodes()
            spent = (time.process_time() - began) / 5 * 1000
            right, wrong, found, missed = judge(story, nodes)
            for key in (story["language"], "all"):
                row = totals.setdefault(key, [0, 0, 0, 0])
                for at, count in enumerate((right, right + wrong, found, found + missed)):
                    row[at] += len(count)
            print(
                f"{story['id']:16} right {len(right)}/{len(right + wrong)}  found {len(found)}/{len(found + missed)}  {spent:.1f} ms a turn"
            )
            if given.show:
                print("   right", *right, "\n   WRONG", *wrong, "\n   missed", *missed)
        store.close()
    for key, (right, shown, found, asked) in totals.items():
        print(
            f"{key}: {right / max(shown, 1):.2f} of {shown} shown nodes right, {found / asked:.2f} of {asked} found"
        )


if __name__ == "__main__":
    main()
