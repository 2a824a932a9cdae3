"""Measure whether `Thread.prompt` contains the answers to questions about old tool results, and nothing unrelated.

    python -m bench.recall_questions

A thread with some fifty tool results in English and Chinese is condensed; then each question is asked in a fork of its own, as the newest
message of the user. The questions are in `recall_questions.toml`, in two halves: improvements are made by looking at the first.
"""

from __future__ import annotations

import random
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import backscroll
from backscroll import Engine, Thread
from backscroll.vocab.prompt import Section

BUDGET = 8_000
_SEED = 20
_ROWS = 34  # lines of noise around what is asked for
_NOISE: Mapping[str, tuple[str, ...]] = {
    "log": (
        "2026-09-{d:02} 10:{n:02}:07 INFO scheduler: picked up task {n}{d}",
        "2026-09-{d:02} 10:{n:02}:09 DEBUG cache: hit ratio 0.{n}{d}",
        "2026-09-{d:02} 11:{n:02}:30 INFO http: GET /items/{n} took {d} ms",
    ),
    "config": ("  feature_{n}: enabled", "  limit_{n}: {d}00", "# section {n}"),
    "plain": (
        "Option {n}: standard offer, {d} reviews, no remarks.",
        "Note {n}: see page {d} for the general terms.",
    ),
    "csv": ("campaign-{n},radio,{d}00,{n}0", "campaign-{n},posters,{n}00,{d}0"),
    "sql": ("-- table {n} was removed in version {d}", "CREATE INDEX part_{n}_idx ON part_{n} (batch_{d});"),
    "zh": ("第 {n} 条：按一般规定办理，无需说明。", "附注 {n}：详见第 {d} 页。"),
    "zh-log": ("10:{n:02} 正常：第 {d} 个任务完成", "10:{n:02} 缓存命中 {d} 次"),
}
_IDLE = (
    ("Now tidy the changelog entry number {n}.", "Entry {n} is tidy."),
    ("再看看第 {n} 张幻灯片的排版。", "第 {n} 张的排版没有问题。"),
)


@dataclass(slots=True)
class Outcome:
    """How the questions went."""

    found: dict[str, list[str]] = field(
        default_factory=dict[str, list[str]]
    )  # half -> names of those answered
    missed: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    added: list[str] = field(
        default_factory=list[str]
    )  # unrelated questions for which something was recalled

    def share(self, half: str) -> str:
        """`11 of 13`."""
        found = len(self.found.get(half, ()))
        return f"{found} of {found + len(self.missed.get(half, ()))}"


def material() -> dict[str, Any]:
    """Results and questions."""
    return tomllib.loads(Path(__file__).with_name("recall_questions.toml").read_text(encoding="utf-8"))


def write_past(engine: Engine, data: Mapping[str, Any]) -> Thread:
    """A thread in which all results were read, and much was done since."""
    thread, dice = engine.create("Questions", kind="agent"), random.Random(_SEED)
    thread.append("system", "You are a helpful assistant with tools.")
    thread.append("user", "Please look through these files one after the other.")
    results = list(data["result"])
    dice.shuffle(results)
    for number, result in enumerate(results):
        read(thread, f"r{number}", result["call"], "\n".join(_page(result, dice)))
        thread.prompt(BUDGET)
    for number in range(40):
        for role, text in zip(("user", "assistant"), _IDLE[number % 2], strict=True):
            thread.append(role, text.format(n=number))
        if number % 3 == 0:
            noise = list(_NOISE)[number % len(_NOISE)]
            read(thread, f"n{number}", f"list_items {number}", "\n".join(_lines(noise, _ROWS, dice)))
            thread.prompt(BUDGET)
    return thread


def read(thread: Thread, call: str, what: str, text: str) -> None:
    """A call, its result, and a reply that says nothing about it."""
    name, _, argument = what.partition(" ")
    thread.append("assistant", backscroll.ToolCall(call, name.rstrip(":"), {"input": argument}))
    thread.append("tool", backscroll.ToolResult(call, (backscroll.Text(text),), name=name.rstrip(":")))
    thread.append("assistant", "Read. Next.")


def _page(result: Mapping[str, Any], dice: random.Random) -> Iterator[str]:
    before = dice.randrange(8, _ROWS - 8)
    yield from _lines(result["noise"], before, dice)
    yield from result["text"].strip("\n").split("\n")
    yield from _lines(result["noise"], _ROWS - before, dice)


def _lines(noise: str, many: int, dice: random.Random) -> Iterator[str]:
    for _ in range(many):
        yield dice.choice(_NOISE[noise]).format(n=dice.randrange(10, 60), d=dice.randrange(1, 29))


def ask(thread: Thread, text: str) -> tuple[str, bool]:
    """The prompt for a question as the newest message, in a fork; and whether details were recalled for it."""
    fork = thread.fork()
    fork.append("user", text)
    prompt = fork.prompt(BUDGET)
    before = len(thread.prompt(BUDGET, dry_run=True, recall=False).blocks)
    said = [b for b in prompt.blocks[before:] if b.section is Section.RECALLED]
    shown = "\n".join(str(message) for message in prompt.messages)
    return shown, bool(said)


def run(folder: Path) -> Outcome:
    """Ask all questions."""
    data, out = material(), Outcome()
    with backscroll.open(folder / "questions.db", background=False) as engine:
        thread = write_past(engine, data)
        for question in data["question"]:
            shown, _ = ask(thread, question["text"])
            into = out.found if question["answer"] in shown else out.missed
            into.setdefault(question["half"], []).append(f"{question['kind']} {question['about']}")
        for question in data["unrelated"]:
            if ask(thread, question["text"])[1]:
                out.added.append(question["text"])
    return out


def main() -> None:
    """Print the results."""
    with tempfile.TemporaryDirectory(prefix="backscroll-questions-") as folder:
        out = run(Path(folder))
    for half in ("seen", "held"):
        print(f"{half}: {out.share(half)}; missed: {', '.join(out.missed.get(half, ())) or 'none'}")
    print(f"unrelated questions with details: {len(out.added)}: {out.added}")


if __name__ == "__main__":
    main()
