"""Measure what `thread.graph` knows of a character after a card import: the share of a reader's notes, and what else it says.

    python bench/cards.py [bench/cards.toml] [-v]

Calls what users call: `store.import_path`, then `thread.graph.node`. Facts of rank `default` do not count.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from pathlib import Path

import backscroll

HERE = Path(__file__).parent


def known_of(folder: Path, card: dict[str, str]) -> list[tuple[str, str]]:
    """Attributes and relations of the character, as the graph tells them."""
    file = folder / "card.json"
    data = {key: card[key] for key in ("name", "description", "first_mes")}
    file.write_text(json.dumps({"spec": "chara_card_v2", "data": data}, ensure_ascii=False), encoding="utf-8")
    with backscroll.open(str(folder / "cards.db"), background=False) as store:
        (report,) = store.import_path(str(file))
        node = store.thread(report.thread or "").graph.node(card["name"])
        facts = [f for f in (*node.attributes, *node.relations) if f.rank != "default"]
        return [(f.predicate, f.value or f.object) for f in facts]


def main() -> None:
    """Print a row for each card and the sum."""
    path = Path(next((a for a in sys.argv[1:] if not a.startswith("-")), HERE / "cards.toml"))
    found = wanted = told = 0
    for card in tomllib.loads(path.read_text(encoding="utf-8"))["card"]:
        with tempfile.TemporaryDirectory() as folder:
            known = known_of(Path(folder), card)
        missing = [
            [p, v]
            for p, v in card["expect"]
            if not any(p == q and v.casefold() in w.casefold() for q, w in known)
        ]
        wanted, told = wanted + len(card["expect"]), told + len(known)
        found += len(card["expect"]) - len(missing)
        print(
            f"{card['name']:<22} {len(card['expect']) - len(missing)}/{len(card['expect'])}  {len(known)} facts  missing {missing}"
        )
        if "-v" in sys.argv:
            print("   ", known)
    print(f"found {found} of {wanted} ({found / wanted:.2f}); {told} facts told")


if __name__ == "__main__":
    main()
