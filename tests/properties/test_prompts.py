"""Any history, on any wire, in any budget above the minimum: valid, within budget, nothing of what was taken out, same bytes.

Every message carries a word of its own, so what may and what may not be in a prompt can be looked for in its JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import backscroll
from backscroll import Role, Wire
from backscroll.assemble.validity import check
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.errors import BackscrollError, BudgetTooSmall
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.message import Message
from backscroll.vocab.part import Media, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import TAIL, WIRES

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
FILLER = (
    "The quick brown fox reads src/module.py and decides. ",
    "我们决定先把超时调到三十秒，因为网络很慢。",
    "x = [1, 2, 3]\n",
)
SIZES = st.sampled_from([0, 1, 3, 12, 60])


class Talk:
    """A conversation in the making; remembers which marker words may stand in a prompt and which may not."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.marks = 0
        self.calls = 0
        self.words: dict[str, str] = {}  # message id -> the mark of its live revision
        self.gone: set[str] = set()  # marks that may nowhere be seen

    def mark(self) -> str:
        self.marks += 1
        return f"qz{self.marks}zq"

    def text(self, size: int, mark: str) -> str:
        return mark + " " + FILLER[self.marks % len(FILLER)] * size

    def live(self) -> list[Message]:
        return [m for m in self.thread.messages() if not m.hidden]

    # -- acts ------------------------------------------------------------------------------------------------

    def say(self, role: Role, size: int, *more: Part) -> None:
        mark = self.mark()
        made = self.thread.append(role, [Text(self.text(size, mark)), *more])
        self.words[str(made.id)] = mark

    def use_tools(self, count: int, size: int, answered: int) -> None:
        names = [f"call_{self.calls + i}" for i in range(count)]
        self.calls += count
        mark = self.mark()
        calls = [ToolCall(n, "Read", {"path": f"src/{n}.py", "why": "x" * size}) for n in names]
        parts: list[Part] = [Text(mark), *calls]
        self.words[str(self.thread.append("assistant", parts).id)] = mark
        for name in names[:answered]:
            told = self.mark()
            result = ToolResult(name, (Text(self.text(size * 4, told)),), name="Read")
            self.words[str(self.thread.append("tool", [result]).id)] = told

    def edit(self, which: int) -> None:
        if found := [m for m in self.thread.messages() if m.role != "tool"]:
            message = found[which % len(found)]
            mark = self.mark()
            calls = [p for p in message.parts if isinstance(p, ToolCall)]
            self.thread.edit(message.id, [Text(self.text(1, mark)), *calls])
            self.gone.add(self.words[str(message.id)])
            self.words[str(message.id)] = mark

    def drop(self, which: int, how: str) -> None:
        if found := list(self.thread.messages()):
            message = found[which % len(found)]
            getattr(self.thread, how)(message.id)
            self.gone.add(self.words[str(message.id)])

    def pin(self, which: int) -> None:
        if found := [m for m in self.live() if m.role == "user"]:
            self.thread.pin(found[which % len(found)].id)

    def crop(self, direction: str, amount: int) -> None:
        try:
            self.thread.crop(direction, amount)
        except BackscrollError as refused:
            note(f"refused: {refused}")

    def prompt(self, budget: int, wire: Wire) -> None:
        try:
            self.thread.prompt(budget, wire=wire, reserve=0)
        except BudgetTooSmall as refused:
            note(f"refused: {refused}")


ACTS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["user", "assistant", "user", "system"]), SIZES),
    st.tuples(st.just("use_tools"), st.integers(1, 3), SIZES, st.integers(0, 3)),
    st.tuples(st.just("edit"), st.integers(0, 50)),
    st.tuples(st.just("drop"), st.integers(0, 50), st.sampled_from(["delete", "hide"])),
    st.tuples(st.just("pin"), st.integers(0, 50)),
    st.tuples(st.just("crop"), st.sampled_from(["top", "bottom"]), st.integers(1, 6)),
    st.tuples(st.just("prompt"), st.sampled_from([600, 2000, 6000]), st.sampled_from(WIRES)),
    st.just(("think",)),
    st.just(("show",)),
)


def acted(talk: Talk, act: tuple[Any, ...]) -> None:
    if act[0] == "think":
        talk.say("assistant", 1, Reasoning("thinking it over", "sig"))
    elif act[0] == "show":
        talk.say("user", 1, Media("image/png", data=PIXEL))
    else:
        getattr(talk, act[0])(*act[1:])


def whole(prompt: Any) -> str:
    return json.dumps([prompt.messages, prompt.system], ensure_ascii=False)


def text_tokens(value: Any) -> int:
    """Tokens of all texts of a request, leaving out the bytes of pictures."""
    count = tokenizer_for("").count
    if isinstance(value, dict):
        return sum(
            text_tokens(v)
            for k, v in value.items()
            if k in ("content", "text", "arguments", "input", "output")
        )
    if isinstance(value, list):
        return sum(text_tokens(v) for v in value)
    return count(value) if isinstance(value, str) else 0


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place: Path = tmp_path_factory.mktemp("prompts") / "store.db"
    with backscroll.open(place, background=False) as opened:
        yield opened


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    acts=st.lists(ACTS, min_size=1, max_size=30),
    budget=st.sampled_from([300, 800, 2500, 8000, 40000]),
    wire=st.sampled_from(WIRES),
)
def test_any_history_gives_a_valid_prompt(engine: Engine, acts: list[Any], budget: int, wire: Wire) -> None:
    talk = Talk(engine.create("any"))
    for act in acts:
        acted(talk, act)
    if not talk.live():
        return
    try:
        made = talk.thread.prompt(budget, wire=wire, reserve=0, dry_run=True)
    except BudgetTooSmall as refused:
        note(f"{budget} is too small, {refused.minimum} is said to do")
        made = talk.thread.prompt(refused.minimum, wire=wire, reserve=0, dry_run=True)
    said = whole(made)
    assert check(made.messages, wire, system=made.system) == []
    assert made.receipt.total <= made.receipt.budget
    assert text_tokens(made.messages) + text_tokens(made.system) <= made.receipt.budget
    assert {mark for mark in talk.gone if mark in said} == set()
    shown = talk.live()
    latest = next((m for m in reversed(shown) if m.role == "user"), None)
    must = [m for m in shown if m.role == "system" or m.pinned or m == latest]
    assert [talk.words[str(m.id)] for m in must if talk.words[str(m.id)] not in said] == []
    again = talk.thread.prompt(made.receipt.budget, wire=wire, reserve=0, dry_run=True)
    assert whole(again) == said


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    acts=st.lists(ACTS, min_size=1, max_size=20),
    budget=st.sampled_from([3000, 9000]),
    wire=st.sampled_from(WIRES),
    then=st.lists(st.sampled_from(["user", "assistant"]), min_size=1, max_size=3),
)
def test_without_a_compaction_the_prefix_stays_byte_for_byte(
    engine: Engine, acts: list[Any], budget: int, wire: Wire, then: list[Role]
) -> None:
    talk = Talk(engine.create("prefix"))
    for act in acts:
        acted(talk, act)
    if not talk.live():
        return
    try:
        first = talk.thread.prompt(budget, wire=wire, reserve=0)
        for role in then:
            talk.say(role, 1)
        second = talk.thread.prompt(budget, wire=wire, reserve=0)
    except BudgetTooSmall as refused:
        note(f"refused: {refused}")
        return
    if second.receipt.compaction or second.receipt.total > 0.97 * budget:
        return
    if first.receipt.repairs:
        return  # a call without its result was at the end: what comes next changes how it is told
    before = [i.mark for i in first.receipt.items if i.section not in TAIL]
    after = [i.mark for i in second.receipt.items if i.section not in TAIL]
    assert after[: len(before)] == before
    kept = max(0, len(first.messages) - 2)  # the newest message may still grow, and carries the tail
    plain = [_unmarked(m) for m in first.messages[:kept]]
    assert [_unmarked(m) for m in second.messages[:kept]] == plain


def _unmarked(message: dict[str, Any]) -> Any:
    """A message without the marks for the cache, which move on."""
    text = json.dumps(message, ensure_ascii=False)
    return text.replace(', "cache_control": {"type": "ephemeral"}', "")
