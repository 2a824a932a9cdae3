"""Fuzz that a strict service takes every request: a model thinks, calls tools and is asked on and on while people change everything.

The service is the scripted one, with its own code, in this process: it checks each request as the vendors do, signs the thinking of its replies, and
refuses thinking that comes back behind anything else than what it was made under. Replies are kept as the service gave them. In between
stands what people do: edits, forks, crops, undo, other models, other wires, other budgets, tasks, memories, the graph, time. Between two
requests without any of that, the second is the first and something at its end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backscroll import Content, Opaque, Reasoning, Text, ToolCall, ToolResult
from backscroll.assemble.validity.binding import Sent, check_growth
from backscroll.errors import BudgetTooSmall
from backscroll.testing import Scenario, speak_anthropic
from backscroll.testing.decision import ScriptedService
from backscroll.testing.request import ScriptedRequest, read_request
from backscroll.testing.scenario import Line as Answer
from backscroll.testing.scenario import ScriptedCall
from backscroll.vocab.prompt import Wire
from tests.fuzz import acts, promises
from tests.fuzz.acts import Act
from tests.fuzz.growing import could_be_sent
from tests.fuzz.talk import Line, Talk, size_of

#: The second lost thinking after a compaction, and the first message once the history was rewound; the third told summaries anew after words were forgotten,
#: the fourth sent thinking back behind a crop whose note had been forgotten with them; the fifth cut a message without a word, the sixth condensed anew after a move;
#: the seventh showed forgotten bytes again that came back with another message, the eighth took a late reply for the answer to something else,
#: the ninth missed an entry of a lorebook that was taken back before what was sent was forgotten, the tenth a placed text
#: whose words were forgotten with a message of another thread.
SEEDS = (
    1,
    216965883,
    232022701,
    1412875535,
    1412875568,
    1412875584,
    1329514159,
    1448637064,
    218535271,
    1315601087,
)
ROUNDS = 24
STEPS = (1, 2, 4, 8, 16, 32)  # requests in a row
MODELS: Mapping[Wire, tuple[str, ...]] = {
    "anthropic": ("claude-fable-5-2", "claude-opus-5-5", "claude-opus-4-8"),
    "openai-chat": ("gpt-5.6", "mistral-small", "deepseek-v4"),
    "openai-responses": ("gpt-5.6",),
}
BUDGETS = (1200, 3000, 6000, 9000, 16_000)
THOUGHTS = ("", "I see.", "I see.", "Let me think. 想一想。\nThen read on.")
#: Everything people do, with fewer of what costs most.
#: Without users: their act would make other histories of the seeds above.
ACTS: Mapping[Act, int] = {
    **acts.ACTS,
    acts.prompt: 2,
    acts.graph: 2,
    acts.ask: 1,
    acts.forget: 2,
    acts.belong: 0,
}


def fuzz(seed: int, folder: Path) -> int:
    """Ask, answer and change; gives the number of requests."""
    with Talk(seed, folder / "store.db").told() as talk:
        name = talk.create(project=talk.dice.choice(("", "harbour")))
        talk.say(name, "system")
        talk.say(name, "user")
        model = _Model(talk)
        for _ in range(ROUNDS):
            name = talk.some_thread()
            model.converse(name, talk.dice.choice(STEPS))
            for _ in range(talk.dice.choice((0, 1, 1, 2, 3))):
                _act(talk, name)
        return model.requests


def _act(talk: Talk, name: str) -> None:
    """Something that people do, mostly to the thread that is being talked in."""
    if talk.dice.random() < 0.15:
        name = talk.some_thread()
    chosen = talk.dice.choices(list(ACTS), list(ACTS.values()))[0]
    chosen(talk, name)


class _Model:
    """A model behind a strict service."""

    def __init__(self, talk: Talk) -> None:
        self.talk, self.requests = talk, 0
        self.service = ScriptedService(Scenario())
        self.service.answering = self._answer
        self.way: dict[str, tuple[Wire, str, int]] = {}  # of a thread: its wire, model and budget

    def converse(self, name: str, steps: int) -> None:
        """So many requests in a row, each with the reply to the one before, and the results of its calls."""
        dice = self.talk.dice
        if name not in self.way or dice.random() < 0.1:
            self.way[name] = self._some_way()
        before: tuple[Any, Sent] | None = None
        for _ in range(steps):
            live = [line for line in self.talk.live(name) if not line.hidden]
            if (not live or live[-1].role not in ("user", "tool")) and dice.random() < 0.9:
                self.talk.say(name, "user")
            before = self._step(name, before)
            if before is None:
                return

    def _some_way(self) -> tuple[Wire, str, int]:
        dice = self.talk.dice
        wire: Wire = "anthropic" if dice.random() < 0.8 else dice.choice(("openai-chat", "openai-responses"))
        return wire, dice.choice(MODELS[wire]), dice.choice(BUDGETS)

    def _step(
        self, name: str, before: tuple[Any, Sent] | None, *, again: bool = False
    ) -> tuple[Any, Sent] | None:
        """One request and its reply, with what was sent; None where something else happened too, or the budget is too small."""
        talk = self.talk
        wire, model, budget = self.way[name]
        talk.note(f"request {name[:8]} {budget} {wire} {model}")
        thread, recall = talk.thread(name), talk.dice.random() < 0.3
        try:
            made = thread.prompt(
                budget, wire=wire, model=model, reserve=0, tools=promises.tools_for(wire), recall=recall
            )
        except BudgetTooSmall as refused:
            talk.trail[-1] += f"  (refused: {refused})"
            self.way[name] = (wire, model, max(BUDGETS) * 10)
            return None
        sent = Sent(made.messages, wire, system=made.system, tools=list(made.tools), model=model)
        if before is not None:
            _assert_grown(before, made, sent)
        limit = {"max_output_tokens" if wire == "openai-responses" else "max_completion_tokens": 500}
        body = {"model": model, **({"max_tokens": 500} if wire == "anthropic" else limit), **made.request}
        decided = self.service.decide(read_request(wire, json.loads(json.dumps(body))), {})
        self.service.asked.clear()
        self.requests += 1
        assert decided.said is not None, f"{decided.fault}\n{json.dumps(made.messages, ensure_ascii=False)}"
        meanwhile = talk.dice.random()
        if meanwhile < 0.04:  # the user speaks while the model thinks
            talk.say(name, "user")
        elif meanwhile < 0.07 and not again:  # another request, whose reply comes first
            talk.say(name, "user")
            self._step(name, None, again=True)
        elif meanwhile < 0.1:  # people do something while the model thinks
            _act(talk, name)
        elif meanwhile < 0.12:  # the reply is never seen
            return made, sent
        self._take(name, model, wire, decided.said)
        return (made, sent) if meanwhile >= 0.1 else None

    def _answer(self, asked: ScriptedRequest) -> Answer:
        dice = self.talk.dice
        many = dice.choice((0, 0, 1, 1, 2)) if asked.tools else 0
        calls = tuple(
            ScriptedCall(dice.choice(("Read", "Bash")), {"path": f"src/{n}.py"}) for n in range(many)
        )
        return Answer(
            text=dice.choice(("", "Done.", "好的。")) or f"{many} calls",
            reasoning=dice.choice(THOUGHTS),
            redacted=dice.random() < 0.15,
            calls=calls,
        )

    def _take(self, name: str, model: str, wire: Wire, said: Any) -> None:
        """Keep the reply as it came, and answer most of its calls."""
        talk = self.talk
        given = speak_anthropic.whole(said)["content"]
        ids = {b["id"]: f"toolu_{talk.calls + n}" for n, b in enumerate(given) if b["type"] == "tool_use"}
        talk.calls += len(given)
        parts = [
            _part(block, ids) for block in given if wire == "anthropic" or "thinking" not in block["type"]
        ]
        made = talk.thread(name).append("assistant", Content(tuple(parts), metadata={"model": model}))
        line = Line(str(made.id), "assistant", "", calls=tuple(ids.values()), size=size_of(parts))
        talk.keep(name, len(talk.lines[name]), line, str(made.revision))
        talk.note(f"reply {name[:8]} {[type(p).__name__ for p in parts]} -> {made.id.seq}")
        for id in ids.values():
            if talk.dice.random() < 0.95:
                self._result(name, id)

    def _result(self, name: str, id: str) -> None:
        """The result of a call, small enough that the next one follows without a compaction, mostly."""
        talk, word = self.talk, self.talk.words.word()
        lines = talk.dice.choices((1, 4, 30, 400), (30, 20, 5, 1))[0]
        parts = [ToolResult(id, (Text(talk.words.text(word, lines)),), is_error=talk.dice.random() < 0.1)]
        talk.put(name, parts, Line("", "tool", word, answers=(id,)))


def _assert_grown(before: tuple[Any, Sent], made: Any, sent: Sent) -> None:
    last, earlier = before
    if not could_be_sent(last.blocks):
        return  # it was asked for while the model was not to speak
    if made.receipt.compaction or made.receipt.cut or last.receipt.cut:
        return
    if made.receipt.broken.get("cause") == "attachment":
        return  # forgotten bytes were sent again, and stand in the older message again too
    flaws = check_growth(earlier, sent)
    assert not flaws, f"not what was sent before: {flaws[0].where}; {made.receipt.broken}"


def _part(block: dict[str, Any], ids: Mapping[str, str]) -> Any:
    match block["type"]:
        case "thinking":
            return Reasoning(block["thinking"], block["signature"])
        case "redacted_thinking":
            return Opaque("anthropic", "redacted_thinking", json.dumps(block))
        case "tool_use":
            return ToolCall(ids[block["id"]], block["name"], block["input"])
        case _:
            return Text(block["text"])
