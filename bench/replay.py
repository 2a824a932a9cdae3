"""Replay recorded agent sessions: cost of prompts, what they keep, and whether a strict service accepts them.

    python -m bench replay --source specstory,openhands --budget 8000,16000 --out figures.json

The harness and its data lie beside the repository (`../shared`); scores, prices and reference policies are the harness's own. The engine is
asked through `Thread.prompt`, the pure policy and the reference policies as they are. Sessions run in two processes.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table

from bench.table import Row

HARNESS = Path(__file__).resolve().parents[2] / "shared" / "bench" / "replay"
REFERENCE = ("digest80/40", "digest+facts")
ENGINE, PURE, FULL = "engine", "pure policy", "full history"
_PROCESSES = 2
_ALL = "all"

#: One policy over one session at one budget, as the harness counts it, with what is counted here.
Played: TypeAlias = dict[str, Any]
#: Budget, then policy.
Session: TypeAlias = dict[int, dict[str, Played]]


def replay(_folder: Path, options: Namespace) -> list[Row]:
    """The whole table, and for each budget the figures that have a bar."""
    missing = _missing()
    if missing:
        return [Row(f"replay: {missing}", "left out")]
    run = _harness("run")
    budgets = [int(b) for b in options.budget.split(",")] if options.budget else list(run.BUDGETS)
    sessions = [t for t in run.load(options.source.split(",") if options.source else None) if _calls(t)]
    played: dict[str, dict[str, Session]] = {}  # source, then session
    with ProcessPoolExecutor(_PROCESSES, multiprocessing.get_context("spawn")) as pool:
        largest = sorted(sessions, key=lambda t: -sum(len(m["text"]) for m in t["messages"]))
        waiting = {pool.submit(play, each, budgets): each for each in largest}
        for done in as_completed(waiting):
            session = waiting[done]
            if found := done.result():
                played.setdefault(session["source"], {})[session["id"]] = found
    figures = {budget: _figures(played, budget) for budget in budgets}
    for budget in budgets:
        if figures[budget]:
            _print(budget, figures[budget])
    for told in _failures(played):
        print(told)
    if options.out:
        Path(options.out).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return [row for budget in budgets for row in _rows(budget, figures[budget], run.TARGETS)]


def _missing() -> str:
    """Return what is missing and what to do; empty if the replay can run."""
    if not (HARNESS / "run.py").exists():
        return "the recorded sessions are not beside the repository (../shared/bench/replay)"
    if find_spec("bpe_openai") is None:
        return "the harness counts with bpe-openai: pip install 'backscroll[bench]'"
    return ""


def _harness(name: str) -> Any:
    """A module of the harness."""
    if str(HARNESS) not in sys.path:
        sys.path.insert(0, str(HARNESS))
    return import_module(name)


def _calls(session: Mapping[str, Any]) -> bool:
    return any(message["role"] == "assistant" for message in session["messages"])


# -- one session -----------------------------------------------------------------------------------------------------


class _Watched:
    """A policy, and beside its prompts: their processor time, and how often one did not go on from the one before."""

    def __init__(self, inner: Any, tools: Sequence[str]) -> None:
        self.inner, self.tools = inner, tools
        self.spent: list[float] = []
        self.breaks = 0
        self.before: list[dict[str, Any]] = []
        self.same = _harness("cost").common_prefix
        self.total = _harness("tokens").total

    def reset(self, meta: dict[str, Any]) -> None:
        """A new session."""
        self.inner.reset({**meta, "tools": self.tools})

    def prompt(self, history: list[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], list[Any]]:
        """Return the prompt for this call."""
        start = time.process_time()
        made, extra = self.inner.prompt(history, budget)
        self.spent.append(time.process_time() - start)
        self.breaks += self.same(made, self.before)[0] < self.total(self.before)
        self.before = made
        return made, extra


def play(session: dict[str, Any], budgets: Sequence[int]) -> Session:
    """All policies over one session, at the budgets that its history exceeds."""
    run, policies, total = _harness("run"), _harness("policies"), _harness("tokens").total
    from bench.replay_engine import Engine, Sealed
    from bench.replay_policy import Policy

    messages = session["messages"]
    last = max(n for n, message in enumerate(messages) if message["role"] == "assistant")
    fitting = [budget for budget in budgets if total(messages[:last]) > budget]
    if not fitting:
        return {}
    wanted = _harness("needs").needs(messages)
    tools = sorted({call["name"] for message in messages for call in message["calls"]})
    makers = {ENGINE: Engine, PURE: Policy, **{name: policies.BASELINES[name] for name in REFERENCE}}

    def played(maker: Any, budget: int) -> Played:
        policy = _Watched(maker(), tools)
        row = run.replay(policy, session, budget, wanted)
        spent = getattr(policy.inner, "spent", None) or policy.spent
        found = {
            **row,
            "lists": dict(row["lists"]),
            "breaks": policy.breaks,
            "cpu": [1e3 * s for s in spent],
            "failures": list(getattr(policy.inner, "failures", ())),
            "compactions": getattr(policy.inner, "compactions", 0),
        }
        if isinstance(policy.inner, Engine):
            policy.inner.close()
        return found

    out: Session = {}
    whole = played(policies.Full, max(budgets))
    for budget in fitting:
        out[budget] = {name: played(maker, budget) for name, maker in makers.items()}
        out[budget][ENGINE]["failures"] += played(Sealed, budget)["failures"]
        out[budget][FULL] = {**whole, "over_budget": 0}
    return out


# -- the figures -----------------------------------------------------------------------------------------------------


def _figures(played: Mapping[str, Mapping[str, Session]], budget: int) -> dict[str, dict[str, Any]]:
    """Source (and pools of sources), then policy: the figures at one budget."""
    out: dict[str, dict[str, Any]] = {}
    pools: dict[str, list[dict[str, Played]]] = {}
    for source in sorted(played):
        found = [session[budget] for session in played[source].values() if budget in session]
        if found:
            pools[source] = found
    if not pools:
        return {}
    for name, found in {**pools, _ALL: [row for some in pools.values() for row in some]}.items():
        base = {row[FULL]["id"]: row[FULL] for row in found}
        out[name] = {
            policy: _summed([row[policy] for row in found], base)
            for policy in (ENGINE, PURE, *REFERENCE, FULL)
        }
    return out


def _summed(rows: list[Played], base: Mapping[str, Played]) -> dict[str, Any]:
    """The harness's own sums, and ours."""
    for row in rows:
        row["lists"] = {key: row["lists"].get(key, []) for key in ("ms", "retention", "far", "lines")}
    figures = dict(_harness("run").aggregate(rows, base))
    cpu = sorted(ms for row in rows for ms in row["cpu"])
    figures["breaks"] = 100 * sum(row["breaks"] for row in rows) / figures["calls"]
    figures["uncached"] = 1 - figures["cached_A"]
    figures["errors"] = tuple(figures[key] for key in ("pairing_errors", "over_budget", "bad_start"))
    figures["refused"] = sum(len(row["failures"]) for row in rows)
    figures["compactions"] = sum(row["compactions"] for row in rows)
    figures["cpu_p50"], figures["cpu_p95"] = _at(cpu, 0.5), _at(cpu, 0.95)
    return figures


def _at(values: Sequence[float], share: float) -> float:
    return values[int(share * (len(values) - 1))]


def _failures(played: Mapping[str, Mapping[str, Session]]) -> Iterable[str]:
    """The first refusals, one line each."""
    found = [
        f"{source} {id} at {budget}: {what}"
        for source, sessions in played.items()
        for id, session in sessions.items()
        for budget, rows in session.items()
        for what in rows[ENGINE]["failures"]
    ]
    yield from found[:20]
    if len(found) > 20:
        yield f"… and {len(found) - 20} more"


_COLUMNS = ("source", "policy", "cost", "kept", "far", "lines", "breaks", "uncached", "p/o/s", "refused", "cpu p50", "p95")  # fmt: skip


def _print(budget: int, figures: Mapping[str, Mapping[str, Any]]) -> None:
    """Print one table for one budget: every source, then the pools."""
    pool = figures[_ALL][ENGINE]
    title = f"Replay at {budget:,} tokens: {pool['trajectories']} sessions, {pool['calls']:,} calls"
    caption = (
        "Shares were chosen on these sources, each left out in turns (decision 0049). cost: beside the full history, cached reads at a tenth; kept, far, lines: share of what the next message needs and the prompt"
        " has; breaks: per 100 calls, prompts that do not go on from the one before; uncached: share of input tokens; p/o/s: pairing errors, over"
        " budget, bad start; refused: by the checks of growth and of bound thinking; cpu: ms a prompt."
    )
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("source", "policy") else "right")
    for source, rows in figures.items():
        mark = f"{source} ({rows[ENGINE]['trajectories']})"
        for policy, row in rows.items():
            ratios = [_share(row[key]) for key in ("cost_A", "retention", "far", "lines")]
            told = [
                *ratios,
                f"{row['breaks']:.1f}",
                _share(row["uncached"]),
                "/".join(map(str, row["errors"])),
            ]
            judged = str(row["refused"]) if policy == ENGINE else ""
            table.add_row(mark, policy, *told, judged, f"{row['cpu_p50']:.1f}", f"{row['cpu_p95']:.1f}")
            mark = ""
        table.add_section()
    console = Console(width=max(140, Console().width))
    console.print(table)
    single = {source: rows for source, rows in figures.items() if source != _ALL}
    console.print("worst source: " + ", ".join(_worst(single)))


def _worst(figures: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """For each figure of the engine, the source where it is worst."""
    for key, name in (("cost_A", "cost"), ("retention", "kept"), ("far", "far"), ("lines", "lines")):
        told = {s: rows[ENGINE][key] for s, rows in figures.items() if rows[ENGINE][key] is not None}
        if told:
            source = max(told, key=lambda s: told[s]) if key == "cost_A" else min(told, key=lambda s: told[s])
            yield f"{name} {_share(told[source])} ({source})"
    dearer = {s: rows[ENGINE]["cost_A"] - rows[PURE]["cost_A"] for s, rows in figures.items()}
    source = max(dearer, key=lambda s: dearer[s])
    yield f"dearer than the pure policy by {dearer[source]:+.3f} ({source})"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".removeprefix("0")


def _rows(
    budget: int, figures: Mapping[str, Mapping[str, Any]], targets: Mapping[int, Sequence[float]]
) -> list[Row]:
    """What has a bar, on all sources together."""
    if not figures or budget not in targets:
        return []
    ours, pure = figures[_ALL][ENGINE], figures[_ALL][PURE]
    what = f"replay at {budget // 1000}k, {ours['trajectories']} sessions"
    most, *least = targets[budget]
    cost, theirs, known = ours["cost_A"], pure["cost_A"], figures[_ALL]["digest+facts"]["cost_A"]
    near = cost <= theirs + 0.01
    out = [
        # The bar is for longer sessions than these: here the reference beside it tells more.
        Row(
            f"{what}: cost (floor: digest+facts)",
            _share(cost),
            _share(known),
            cost / known,
            f"{_share(most)} on longer ones",
        ),
        Row("… beside the pure policy", _share(cost), _share(theirs), cost / theirs, "within .01", near),
    ]
    for key, name, bar in zip(("retention", "far", "lines"), ("kept", "far", "lines"), least, strict=True):
        if ours[key] is not None:
            wanted = f"at least {_share(bar)}"
            out.append(Row(f"… {name}", _share(ours[key]), _share(pure[key]), None, wanted, ours[key] >= bar))
    wrong = sum(figures[_ALL][ENGINE]["errors"]) + figures[_ALL][ENGINE]["refused"]
    out.append(Row("… pairing, budget, start errors and refusals, all sources", str(wrong), "", None, "none", wrong == 0))  # fmt: skip
    return out
