"""Measure what survives compression: the share of the essentials of real sessions that each level keeps.

    python -m bench.survival

Reads recorded sessions beside this repository (`../shared/data`) and says so where they are not there. For every session the
essentials that are open at its end are looked for in the gist of their own piece, in the summaries above it up to the one at
the top, and in the account for a person. Everything is made by rules, with the limits that the program uses.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from backscroll.derive.essence.essentials import Essential, EssentialKind, join
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.summaries.account import account
from backscroll.derive.summaries.composition import flat, says
from backscroll.derive.summaries.gist import Gist, filter_quotable, gist_messages
from backscroll.derive.summaries.spans import cut, rank
from backscroll.derive.summaries.summary import summarise
from backscroll.formats.language import language_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult

SHARED = Path(__file__).parents[2] / "shared" / "data"
THREAD = "be" * 16
LEVELS = ("gist", "span", "level 2", "top", "account")
ACCOUNT = 800
_ACTED_ON = 0.5  # weight of a path from which it was acted on, or named among few others

Counts = dict[tuple[str, str], list[int]]


def replayed(file: Path) -> Iterator[list[Message]]:
    """The sessions of a file of trajectories."""
    for line in file.read_text(encoding="utf-8").splitlines():
        out: list[Message] = []
        for number, row in enumerate(json.loads(line)["messages"], 1):
            parts: list[Part] = [Text(row["text"])] if row["text"] and row["role"] != "tool" else []
            parts += [ToolCall(c["id"], c["name"], c["args"]) for c in row["calls"]]
            if row["role"] == "tool":
                parts = [ToolResult(row["call_id"] or "", (Text(row["text"]),))]
            ref = Ref(THREAD, number)
            out.append(Message(ref, row["role"], ref, Content(tuple(parts)), "2026-01-01T00:00:00+00:00"))
        yield out


def imported(folder: Path) -> Iterator[list[Message]]:
    """The threads that a folder of transcripts is imported to."""
    import backscroll
    from backscroll.errors import BackscrollError

    with (
        tempfile.TemporaryDirectory() as place,
        backscroll.open(Path(place) / "bench.db", background=False) as engine,
    ):
        for file in sorted(folder.iterdir()):
            try:
                engine.import_path(file)
            except BackscrollError as error:
                print(f"{file.name}: {error.message}")
        for info in engine.threads():
            yield list(engine.thread(info.id))


def measured(messages: list[Message], counts: Counts) -> tuple[int, int]:
    """Look for the essentials of one session at every level; gives tokens before and at the top."""
    said = filter_quotable(messages)
    gists = [gist_messages(run) for run in cut(said, lambda m: rank(m.role, m.id) >= 0)]
    if not gists:
        return 0, 0
    layers: list[list[Gist]] = [gists]
    while len(layers[-1]) > 1 or len(layers) < 2:
        below, level = layers[-1], len(layers)
        runs = cut(below, lambda g, level=level: g.first is not None and rank("user", g.first) >= level)
        layer: list[Gist] = [summarise(run, level=level) for run in runs]
        layers.append(layer if len(layer) < len(below) else [summarise(below, level=level)])
    found = join([g.findings for g in gists]).open
    language = language_of(" ".join(m.text[:200] for m in said)) or "en"
    text = account(
        title="", turns=0, messages=len(said), gists=layers[-1], last=said[-2:],
        budget=ACCOUNT, count=rough_count, language=language,
    )  # fmt: skip
    texts = {
        "gist": gists, "span": layers[1], "level 2": layers[min(2, len(layers) - 1)], "top": layers[-1],
    }  # fmt: skip
    for name, layer in texts.items():
        _count(counts, name, found, lambda e, layer=layer: _home(layer, e))
    _count(counts, "account", found, lambda _: text)
    before = sum(
        rough_count(m.text) + sum(len(str(p)) // 4 for p in m.parts if not isinstance(p, Text)) for m in said
    )
    return before, rough_count(layers[-1][0].text)


def _home(layer: list[Gist], essential: Essential) -> str:
    """Return the text of the part of a level that contains an essential."""
    seq = essential.message.seq
    return next((g.text for g in layer if g.first and g.last and g.first.seq <= seq <= g.last.seq), "")


def _count(counts: Counts, name: str, found: Iterable[Essential], home: Callable[[Essential], str]) -> None:
    for essential in found:
        pasted = essential.kind is EssentialKind.PATH and essential.weight < _ACTED_ON
        row = counts.setdefault((name, "path, pasted" if pasted else essential.kind.value), [0, 0])
        row[0] += says(flat(home(essential)), essential)
        row[1] += 1


def printed(title: str, counts: Counts, before: int, after: int, seconds: float, messages: int) -> None:
    """One table."""
    print(
        f"\n{title}: {before} tokens, {after} at the top; {1000 * seconds / max(1, messages):.2f} ms a message"
    )
    print(f"{'':14}{'open':>7}" + "".join(f"{level:>10}" for level in LEVELS))
    for kind in (*(k.value for k in EssentialKind), "path, pasted"):
        total = counts.get(("gist", kind), [0, 0])[1]
        if total:
            shares = [counts[level, kind][0] / total for level in LEVELS]
            print(f"{kind:14}{total:>7}" + "".join(f"{share:>10.3f}" for share in shares))


def main() -> int:
    """Print the tables."""
    if not SHARED.is_dir():
        print(f"no recorded sessions at {SHARED.name}: nothing to measure")
        return 0
    sets = [(f.stem, replayed(f)) for f in sorted((SHARED / "replay").glob("*.jsonl"))]
    sets += [
        (f"transcripts/{d.name}", imported(d))
        for d in sorted((SHARED / "transcripts").iterdir())
        if d.is_dir() and d.name != "LICENSES"
    ]
    everything: Counts = {}
    for title, sessions in sets:
        counts: Counts = {}
        before = after = messages = 0
        seconds = 0.0
        for session in sessions:
            began = time.perf_counter()
            one, other = measured(session, counts)
            seconds += time.perf_counter() - began
            before, after, messages = before + one, after + other, messages + len(session)
        printed(title, counts, before, after, seconds, messages)
        for key, (said, total) in counts.items():
            row = everything.setdefault(key, [0, 0])
            row[0], row[1] = row[0] + said, row[1] + total
    printed("all", everything, 0, 0, 0.0, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
