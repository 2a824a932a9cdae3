"""Stores of schema 4, written by the program before prompts only grew: condensed threads go on with valid prompts, and nothing is lost.

`version_4/*.sql` are such stores as SQL, made by that program; `version_4/*.jsonl` is what it exported of them. Its prompts ended in a tail that no
later one repeated; memory and the latest words of the user stood in front. The threads: condensed by prompts again and again (giants that were
cut, thinking, a task, a memory, a pin, recalled text), cropped by hand and by rules, forked inside what was condensed, condensed by hand with a
call that nobody answered.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Content, Reasoning, Text, ToolCall, ToolResult
from backscroll.assemble.validity import check
from backscroll.assemble.validity.binding import Sent, check_growth
from backscroll.engine.crops.crops import crops
from backscroll.errors import NotFound
from backscroll.testing import Line, Scenario
from backscroll.testing.decision import ScriptedService
from backscroll.testing.request import read_request
from backscroll.vocab.event import Kind
from backscroll.vocab.prompt import WIRES, Wire
from tests.fuzz.promises import tools_for
from tests.stores.test_migrations import exported

SCHEMA = 4
BEFORE = Path(__file__).parent / f"version_{SCHEMA}"
MODEL = "claude-fable-5-2"
BUDGETS = (2400, 4000, 8000, 60_000)  # the first is the one that the old program compacted for
HARBOUR, CROPPED, BY_HAND = "The harbour 港口", "Cropped", "By hand"
OLD_THINKING = "sealed-"  # how the signatures begin that stand in the old stores


def threads(engine: backscroll.Engine) -> list[backscroll.Thread]:
    return [engine.thread(info.id) for info in engine.threads()]


def titled(engine: backscroll.Engine, title: str) -> backscroll.Thread:
    """The oldest thread with a title: a fork has that of its parent."""
    found = [info for info in engine.threads() if info.title == title]
    return engine.thread(min(found, key=lambda info: info.created_at).id)


def asked(thread: backscroll.Thread, budget: int, wire: Wire, **more: Any) -> Any:
    model = MODEL if wire == "anthropic" else "gpt-5.6"
    made = thread.prompt(budget, model=model, wire=wire, reserve=0, tools=tools_for(wire), **more)
    assert made.receipt.total <= budget
    assert check(made.messages, wire, system=made.system, tools=list(made.tools), model=model) == []
    return made


def said(made: Any) -> str:
    return json.dumps(made.request, ensure_ascii=False)


def test_migrated_store_exports_the_same_lines(old: tuple[backscroll.Engine, str], tmp_path: Path) -> None:
    """As the earlier version exported, and it verifies."""
    engine, kind = old
    assert engine.verify().flaws == []
    engine.export(None, "native", str(tmp_path / "now.jsonl"))
    now = (tmp_path / "now.jsonl").read_text(encoding="utf-8").splitlines()
    then = (BEFORE / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    assert exported(now) == exported(then)
    assert sum(event.kind is Kind.COMPACTED for event in titled(engine, HARBOUR).events()) >= 8


@pytest.mark.parametrize("wire", WIRES)
def test_prompts_are_valid_at_every_budget(old: tuple[backscroll.Engine, str], wire: Wire) -> None:
    """Each thread, at its old budget and at larger ones, without the tail that the old version added."""
    engine, _ = old
    for thread in threads(engine):
        newest = [m.text for m in thread if m.role == "user"][-1]
        for budget in BUDGETS:
            made = asked(thread, budget, wire, dry_run=True)
            assert newest in said(made)
            # It was made behind a tail that is gone: no service takes it back.
            assert OLD_THINKING not in said(made)


def test_condensed_turns_stay_condensed(old: tuple[backscroll.Engine, str]) -> None:
    """At the old budget the old compaction applies; a much larger one shows the past again."""
    engine, _ = old
    thread = titled(engine, HARBOUR)
    made = asked(thread, 2400, "anthropic", dry_run=True)
    assert made.receipt.compaction == {}
    assert "berth_1_0 = 100" not in said(made)
    assert made.receipt.sections()["history"] > 0
    assert "berth_1_0 = 100" in said(asked(thread, 60_000, "anthropic", dry_run=True))
    assert [mark.by for mark in crops(titled(engine, CROPPED))] == ["person", "rules"]
    assert "The first two nights, all settled." in said(asked(titled(engine, CROPPED), 2400, "openai-chat"))
    assert "berth_20_0 = 2000" not in said(asked(titled(engine, BY_HAND), 2400, "openai-chat", dry_run=True))


@pytest.mark.parametrize("wire", WIRES)
def test_old_threads_can_be_continued(old: tuple[backscroll.Engine, str], wire: Wire) -> None:
    """Call by call, with thinking and new compactions: a strict service accepts every request."""
    engine, _ = old
    for thread in threads(engine):
        service = ScriptedService(Scenario())
        service.answering = lambda _: Line(text="…", reasoning="I think about it.")
        thread.append("user", "Go on, please. 请继续。")
        before: tuple[Any, Sent] | None = None
        grown = compacted = thought = 0
        for n in range(24):
            made = asked(thread, 3200, wire)
            compacted += bool(made.receipt.compaction)
            thought += said(made).count('"thinking"')
            sent = Sent(made.messages, wire, system=made.system, tools=list(made.tools))
            if before is not None and not (
                made.receipt.compaction or made.receipt.cut or before[0].receipt.cut
            ):
                assert check_growth(before[1], sent) == []
                grown += 1
            before = made, sent
            model = MODEL if wire == "anthropic" else "gpt-5.6"
            limit = "max_output_tokens" if wire == "openai-responses" else "max_tokens"
            body = {"model": model, limit: 500, **json.loads(said(made))}
            if wire == "openai-chat":
                body["max_completion_tokens"] = body.pop("max_tokens")
            decided = service.decide(read_request(wire, body), {})
            assert decided.said is not None, decided.fault
            call = ToolCall(f"new_{n}", "Read", {"path": f"src/new_{n}.py"})
            proof_of_it = (Reasoning(decided.said.reasoning, signature=decided.said.seal),)
            parts = (*(proof_of_it if wire == "anthropic" else ()), Text(f"Step {n}."), call)
            thread.append("assistant", Content(parts, metadata={"model": model}))
            lines = "\n".join(f"new_{n}_{i} = {i}" for i in range(10))
            thread.append("tool", ToolResult(call.id, (Text(lines),), name="Read"))
        assert grown
        assert compacted
        assert thought or wire != "anthropic"


def test_old_compactions_can_be_undone(old: tuple[backscroll.Engine, str]) -> None:
    """One after the other, until the past is shown in full; then there is nothing left to undo."""
    engine, _ = old
    for title, word in ((HARBOUR, "berth_1_0 = 100"), (BY_HAND, "berth_20_0 = 2000")):
        thread = titled(engine, title)
        assert word not in said(asked(thread, 4000, "anthropic", dry_run=True))
        done = 0
        while True:
            try:
                event = thread.undo_compaction()
            except NotFound:
                break
            assert event.kind is Kind.UNDONE
            asked(thread, 4000, "anthropic", dry_run=True)
            done += 1
        assert done
        whole = said(asked(thread, 60_000, "anthropic", dry_run=True))
        spoken = [m for m in thread if m.text and m.role != "system"]  # the system text has a placeholder
        missing = [m for m in spoken if json.dumps(m.text, ensure_ascii=False)[1:-1] not in whole]
        cropped = crops(thread)  # beginning a task did that, not a compaction
        assert [m.text for m in missing if not any(mark.holds(m.id) for mark in cropped)] == []
        assert word in whole
