"""Run the benchmarks (`make bench`): the cost of the record beside a raw sqlite3 floor measured in the same run."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import measures
from bench.table import Row, print_table


def main() -> None:
    """Run all benchmarks (or those named) and print one table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("only", nargs="*", choices=[*measures.ALL, []], help="measure only these")
    parser.add_argument("--messages", type=int, default=100_000, help="size of the large thread")
    parser.add_argument("--megabytes", type=int, default=100, help="size of the imported file")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the median is taken")
    parser.add_argument("--source", default="", help="replay: only these sources, comma-separated")
    parser.add_argument("--budget", default="", help="replay: only these budgets, in tokens, comma-separated")
    parser.add_argument("--out", default="", help="replay: write all figures to this file, as JSON")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
        for name in options.only or measures.ALL:
            print(f"measuring {name} …", flush=True)
            rows += measures.ALL[name](Path(folder), options)
    print_table(rows)


if __name__ == "__main__":  # processes that a measurement starts import this module again
    main()
