"""Measure evidence recall at a token budget through the public call `thread.recall(question, budget).text`.

    python -m bench.evidence_product [--sets locomo,beam] [--by-category] [--out FIGURES.json]

Each conversation of the shared retrieval data is written into a store of its own (`thread.append`, with its speakers and times), and every question is
put to `thread.recall` at each budget. *Shown*: the share of the evidence turns whose full text is in `.text`, which is cut at
the budget as the harness counts tokens. *Named*: the share of those of which an item shows the whole or an excerpt.
`bench.evidence_learn --check product` asks the same with a weighing that never saw the set.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import backscroll

SHARED = Path(__file__).resolve().parents[2] / "shared" / "bench" / "retrieval"
_ASSISTANTS = frozenset({"assistant", "ai", "bot"})
_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})(?::\d{2})?\s*([ap]m)?", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = (
    (re.compile(r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})"), "ymd"),
    (re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})"), "dmy"),
    (re.compile(r"(\d{1,2}) (\w+),? (\d{4})"), "dby"),
    (re.compile(r"(\w+)-(\d{1,2})-(\d{4})"), "bdy"),
)


def harness() -> Any:
    """The shared harness: its sets, its tokens."""
    if not SHARED.is_dir():
        sys.exit(f"the retrieval benchmark is not there: {SHARED}")
    if str(SHARED) not in sys.path:
        sys.path.insert(0, str(SHARED))
    return importlib.import_module("run")


def moment_of(text: str) -> datetime | None:
    """When a session began, by its heading: `1:56 pm on 8 May, 2023`, `2024年04月01日 周一 08:56`, `March-15-2024`."""
    for shape, order in _DAYS:
        found = shape.search(text)
        if found is None:
            continue
        parts = dict(zip(order, found.groups(), strict=True))
        try:
            month = int(parts["m"]) if "m" in parts else _MONTHS.index(parts["b"][:3].lower()) + 1
            day = datetime(int(parts["y"]), month, int(parts["d"]), tzinfo=UTC)
        except ValueError:
            continue
        clock = _CLOCK.search(text)
        if clock is None:
            return day.replace(hour=9)
        hour = int(clock[1]) % 12 + 12 * (clock[3].lower() == "pm") if clock[3] else int(clock[1])
        return day.replace(hour=hour % 24, minute=int(clock[2]) % 60)
    return None


class Product:
    """One conversation in a store, for this bench and (as an adapter) for the shared harness."""

    def __init__(self, lang: str = "en") -> None:
        self.lang = lang  # not used: one setting for every language
        self.folder = tempfile.TemporaryDirectory(prefix="backscroll-evidence-")
        self.store = backscroll.open(Path(self.folder.name, "evidence.db"), background=False)

    def ingest(self, turns: Sequence[Any]) -> None:
        """Write a conversation down, turn by turn."""
        self.thread = self.store.create("Evidence")
        self.turn_of: dict[Any, str] = {}
        per_day: Counter[str] = Counter()
        session, at, said = None, None, 0
        for turn in turns:
            if turn.session != session:
                session, said, at = turn.session, 0, moment_of(turn.date or "")
                if at is not None and _CLOCK.search(turn.date) is None:  # several a day: hours apart
                    at += timedelta(hours=3 * min(per_day[turn.date], 4))
                    per_day[turn.date] += 1
            moment = None if at is None else at + timedelta(seconds=20 * said)
            said += 1
            assistant = turn.speaker.casefold() in _ASSISTANTS
            author = None if assistant or turn.speaker.casefold() == "user" else turn.speaker
            message = self.thread.append(
                "assistant" if assistant else "user", turn.text or " ", author=author, at=moment
            )
            self.turn_of[message.id] = turn.id

    def recall(self, question: str, budget: int) -> Any:
        """Return what a user gets."""
        return self.thread.recall(question, budget)

    def context(self, question: str, budget: int) -> str:
        """The same for the shared harness."""
        return self.recall(question, budget).text

    def close(self) -> None:
        """Close and remove the store."""
        self.store.close()
        self.folder.cleanup()


def asked(conversations: Iterable[Any], budgets: Sequence[int], run: Any) -> list[dict[str, Any]]:
    """Every question at every budget."""
    rows: list[dict[str, Any]] = []
    for conversation in conversations:
        product = Product(conversation.lang)
        try:
            product.ingest(conversation.turns)
            texts = {turn.id: run.fold(turn.text) for turn in conversation.turns}
            for question in (q for q in conversation.questions if q.main):
                row: dict[str, Any] = {"cat": question.cat}
                for budget in budgets:
                    start = time.perf_counter()
                    found = product.recall(question.text, budget)
                    spent = (time.perf_counter() - start) * 1000
                    text = run.fold(run.cut_tokens(found.text, budget))
                    named = {product.turn_of[item.message] for item in found.items}
                    row[str(budget)] = (
                        sum(texts[gold] in text for gold in question.gold) / len(question.gold),
                        len(named.intersection(question.gold)) / len(question.gold),
                        run.n_tokens(found.text),
                        spent,
                    )
                rows.append(row)
        finally:
            product.close()
    return rows


def figures(rows: Sequence[Mapping[str, Any]], budgets: Sequence[int]) -> dict[str, list[float]]:
    """Means over questions, for each budget."""
    names = ("shown", "named", "tokens", "ms")
    return {
        name: [round(statistics.mean(row[str(b)][place] for row in rows), 4) for b in budgets]
        for place, name in enumerate(names)
    }


def best_baselines(name: str) -> list[float]:
    """The best row of the harness's own table in each cell of a set."""
    known = json.loads(SHARED.joinpath("reference.json").read_text(encoding="utf-8"))
    rows = [row[name]["recall"] for system, row in known.items() if system != "oracle" and name in row]
    return [max(row[budget] for row in rows) for budget in rows[0]]


def _cells(values: Iterable[float], shape: str = ".3f") -> str:
    return " ".join(f"{value:{shape}}" for value in values)


def print_set(name: str, rows: Sequence[Mapping[str, Any]], budgets: Sequence[int], *, cats: bool) -> float:
    """One line of the table; returns the mean over the best baseline per cell."""
    made, best = figures(rows, budgets), best_baselines(name)
    over = [mine - theirs for mine, theirs in zip(made["shown"], best, strict=True)]
    print(
        f"{name:14s} shown {_cells(made['shown'])}  best {_cells(best)}  over {_cells(over, '+.3f')}  named {_cells(made['named'])}"
        f"  tokens {_cells(made['tokens'], '.0f')}  ms {_cells(made['ms'], '.1f')}",
        flush=True,
    )
    for cat in sorted({row["cat"] for row in rows}) if cats else ():
        some = figures([row for row in rows if row["cat"] == cat], budgets)
        print(f"    {cat:26s} {_cells(some['shown'])}")
    return statistics.mean(over)


def main() -> None:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="")
    parser.add_argument("--by-category", action="store_true")
    parser.add_argument("--out")
    parser.add_argument(
        "--sample", type=int, default=1, help="only every so many conversations of the two largest sets"
    )
    given = parser.parse_args()
    run = harness()
    kept: dict[str, Any] = {}
    over: list[float] = []
    for name in given.sets.split(",") if given.sets else run.SETS:
        conversations = list(run.load(name))
        if len(conversations) > 50:
            conversations = conversations[:: given.sample]
        rows = asked(conversations, run.SETS[name], run)
        over.append(print_set(name, rows, run.SETS[name], cats=given.by_category))
        kept[name] = figures(rows, run.SETS[name])
    print(f"mean over the best baseline per cell {statistics.mean(over):+.4f}")
    if given.out:
        Path(given.out).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
