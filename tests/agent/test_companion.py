"""The offline companion: follows orders, quotes the record, invents nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.approval.approval import Rules
from backscroll.agent.events import Called, Finished
from backscroll.agent.offline.companion import Companion
from backscroll.agent.offline.orders import TodoLine, order_of
from backscroll.agent.offline.quotes import OFFLINE
from backscroll.agent.person import Decision, Judgement, Proposal
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.errors import CutShort
from backscroll.llm.clients.client import CallDelta, Done, Request, TextDelta
from backscroll.vocab.part import ToolCall


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(str(tmp_path / "s.db"), background=False) as engine:
        yield engine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "README.md").write_text("# Tides\nfirst\nsecond\n", encoding="utf-8")
    (folder / "说明.md").write_text("潮汐表说明\n", encoding="utf-8")
    return folder


class Willing:
    """A person who allows everything and takes every result."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        self.asked += [p.tool for p in proposals]
        return [Decision(True) for _ in proposals]

    def judge(self, result: str, command: str = "") -> Judgement:
        self.asked.append(f"{result}{command}")
        return Judgement(True)

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        raise AssertionError(f"{question}{options}")


def agent_in(thread: Thread, root: Path, person: Willing | None = None) -> Agent:
    rules = Rules(root=root, file=root.parent / "permissions.toml")
    return Agent(thread, root=root, person=person or Willing(), rules=rules)


def told(agent: Agent, text: str) -> tuple[Finished, list[Called]]:
    called: list[Called] = []
    finished = agent.run(text, on=lambda h: called.append(h) if isinstance(h, Called) else None)
    return finished, called


def answer(thread: Thread, text: str, tools: Sequence[str] = ()) -> str:
    thread.append("user", text)
    request = Request((), tools=[{"type": "function", "function": {"name": name}} for name in tools])
    reply = Companion(thread).complete(request)
    return reply.text


# -- orders ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("read README.md", "read_file", {"path": "README.md"}),
        ("Read src/a.py 3-10", "read_file", {"path": "src/a.py", "first": 3, "last": 10}),
        ('read "my notes.txt"', "read_file", {"path": "my notes.txt"}),
        ("读取 说明.md", "read_file", {"path": "说明.md"}),
        ("读取README.md 第3到8行", "read_file", {"path": "README.md", "first": 3, "last": 8}),
        ("list", "list_files", {}),
        ("list src", "list_files", {"path": "src"}),
        ("列出 src", "list_files", {"path": "src"}),
        ("search TODO", "search_files", {"pattern": "TODO", "literal": True}),
        ("搜索 连接超时", "search_files", {"pattern": "连接超时", "literal": True}),
        ("run git status", "run_command", {"command": "git status"}),
        ("运行 git log -1", "run_command", {"command": "git log -1"}),
        ("!ls -la", "run_command", {"command": "ls -la"}),
        ("！ls", "run_command", {"command": "ls"}),
        ("remember that I prefer tea", "remember", {"text": "I prefer tea"}),
        ("记住：我喜欢茶", "remember", {"text": "我喜欢茶"}),
        ("记住我喜欢茶", "remember", {"text": "我喜欢茶"}),
        ("graph Ellie", "graph_lookup", {"name": "Ellie"}),
        ("图谱 艾莉", "graph_lookup", {"name": "艾莉"}),
        ("complete: all green", "attempt_completion", {"result": "all green"}),
        ("完成：全部通过", "attempt_completion", {"result": "全部通过"}),
        ("new task: fix the login", "start_new_task", {"title": "fix the login"}),
        ("新任务：修复登录", "start_new_task", {"title": "修复登录"}),
        ("crop top 5", "smart_context_cropper", {"crop_direction": "top", "crop_amount": 5}),
        (
            "裁剪 结尾 3：闲聊",
            "smart_context_cropper",
            {"crop_direction": "bottom", "crop_amount": 3, "deleted_messages_summary": "闲聊"},
        ),
        ("expand [bs:17]", "expand", {"handle": "[bs:17]"}),
        ("展开 bs:17-20", "expand", {"handle": "[bs:17-20]"}),
        ("recall which port", "recall", {"query": "which port"}),
    ],
)
def test_orders_are_recognised_in_english_and_chinese(
    line: str, tool: str, arguments: dict[str, Any]
) -> None:
    order = order_of(line)
    assert order is not None
    assert (order.tool, dict(order.arguments)) == (tool, arguments)


@pytest.mark.parametrize(
    "line",
    [
        "read the docs please and tell me",
        "run the tests",
        "what does run do?",
        "remember when we met?",
        "search",
        "完成了吗",
        "读书会什么时候开始？",
        "list all the reasons why",
        "open source is fine",
        "crop sideways 5",
        "show me the way",
        "read a.py\nand b.py",
        "",
        "runner up",
        "listing",
    ],
)
def test_unclear_line_is_not_an_order(line: str) -> None:
    assert order_of(line) is None


def test_todo_order_sends_the_whole_list() -> None:
    """The tool wants all of them each time."""
    known = [TodoLine("milk"), TodoLine("茶", "completed")]
    added = order_of("todo bread", known)
    assert added is not None
    assert [t["text"] for t in added.arguments["todos"]] == ["milk", "茶", "bread"]
    done = order_of("待办 完成 1", known)
    assert done is not None
    assert done.arguments["todos"][0] == {"text": "milk", "status": "completed"}
    beyond = order_of("todo done 9", known)
    assert beyond is not None
    assert beyond.trouble


@given(st.text(max_size=60))
def test_any_line_is_read_without_failing(line: str) -> None:
    """And what becomes an order can be written as JSON."""
    order = order_of(line)
    if order is not None:
        assert json.loads(json.dumps(order.arguments)) == order.arguments


# -- orders, carried out -----------------------------------------------------------------------------------------


def test_orders_run_through_the_loop_and_need_approval(engine: Engine, root: Path) -> None:
    """A command runs after approval; the call and its result are recorded."""
    thread, person = engine.create("x"), Willing()
    with agent_in(thread, root, person) as agent:
        assert agent.offline
        finished, called = told(agent, "run printf hello-there > out.txt && cat out.txt")
    assert person.asked == ["run_command"]
    assert [c.tool for c in called] == ["run_command"]
    assert finished.end == "answered"
    assert "hello-there" in finished.text
    assert finished.counted.input == finished.counted.output == 0
    assert [m.role for m in thread if m.role != "system"] == ["user", "assistant", "tool", "assistant"]


def test_reading_files_needs_no_approval(engine: Engine, root: Path) -> None:
    thread, person = engine.create("x"), Willing()
    with agent_in(thread, root, person) as agent:
        assert "second" in told(agent, "read README.md")[0].text
        assert "说明.md" in told(agent, "列出")[0].text
        assert "README.md" in told(agent, "search second")[0].text
    assert person.asked == []


def test_refused_order_is_reported(engine: Engine, root: Path) -> None:
    thread = engine.create("x", language="zh")
    rules = Rules(deny=["run_command"], root=root, file=root.parent / "permissions.toml")
    with Agent(thread, root=root, person=Willing(), rules=rules) as agent:
        finished, called = told(agent, "运行 make")
    assert called[0].refused is not None
    assert "已拒绝" in finished.text


def test_failed_order_is_reported(engine: Engine, root: Path) -> None:
    thread = engine.create("x")
    with agent_in(thread, root) as agent:
        finished, _ = told(agent, "read nowhere.txt")
    assert "read_file failed" in finished.text
    assert finished.end == "answered"


def test_tasks_work_without_a_model(engine: Engine, root: Path) -> None:
    """Start, submit for review and complete a task; to-dos, memories and crops work too."""
    thread = engine.create("x")
    with agent_in(thread, root) as agent:
        told(agent, "new task: tidy up")
        current = thread.tasks.current()
        assert current is not None
        assert current.title == "tidy up"
        told(agent, "todo sweep")
        told(agent, "todo dust")
        finished, _ = told(agent, "todo done 1")
        assert "1/2" in finished.text
        told(agent, "remember that the broom is in the attic")
        assert any("attic" in memory.text for memory in thread.memory.list())
        assert told(agent, "complete: all tidy")[0].end == "completed"
    assert thread.tasks.current() is None


def test_missing_tool_is_reported(engine: Engine) -> None:
    assert "no tool read_file" in answer(engine.create("x"), "read README.md")


def test_help_lists_the_orders_of_available_tools(engine: Engine) -> None:
    """In the language of the user."""
    text = answer(engine.create("x"), "help", ["read_file", "remember"])
    assert "read FILE" in text
    assert "graph" not in text
    assert "读取" in answer(engine.create("y", language="zh"), "帮助", ["read_file"])


# -- answers -----------------------------------------------------------------------------------------------------


def talk(engine: Engine) -> Thread:
    thread = engine.create("Tides", project="/tides")
    thread.extend(
        [
            ("user", "We moved the staging server. It listens on port 8443 now."),
            ("assistant", "Noted: staging listens on 8443. The old port was 8080."),
            ("user", "潮汐表的默认港口改成圣马洛。"),
            ("assistant", "好的，默认港口现在是圣马洛。"),
            ("user", "Lunch was soup and bread today."),
            ("assistant", "Sounds good."),
        ]
    )
    return thread


QUOTE = re.compile(r"“(.*)”")


def test_questions_are_answered_with_quotes_and_handles(engine: Engine) -> None:
    """The answer names the speaker, the time and the handle, and quotes verbatim."""
    thread = talk(engine)
    text = answer(thread, "which port does the staging server use?")
    first = next(line for line in text.splitlines() if line.startswith("- "))
    assert re.match(r"- \[bs:\d+\] (you|the assistant), \d{4}-\d\d-\d\d \d\d:\d\d: “.*8443.*”", first)
    handle = first.split()[1]
    quoted = QUOTE.findall(first)[0]
    assert quoted in thread.expand(handle)[0].text


def test_chinese_questions_are_answered(engine: Engine) -> None:
    text = answer(talk(engine), "默认港口是哪个？")
    assert "圣马洛" in text
    assert "没有配置模型" in text


@given(question=st.text(max_size=40))
def test_every_sentence_about_the_past_is_a_quote(
    tmp_path_factory: pytest.TempPathFactory, question: str
) -> None:
    """Whatever is asked: each quote stands in the record to the letter (but for blanks and shortening)."""
    path = tmp_path_factory.mktemp("q") / "s.db"
    with backscroll.open(str(path), background=False, encoder="none") as engine:
        thread = talk(engine)
        there = " ".join(" ".join(m.text.split()) for m in thread)
        for line in answer(thread, question or "?").splitlines():
            for quoted in QUOTE.findall(line) if line.startswith("- [bs:") else []:
                assert all(piece.strip() in there for piece in quoted.rstrip("…").split("…"))


def test_answer_says_when_nothing_was_found(engine: Engine) -> None:
    assert "Nothing on record" in answer(talk(engine), "who won the football match in 1954?")
    assert "Nothing else is on record" in answer(engine.create("new"), "who are you?")


def test_companion_does_not_quote_the_question(engine: Engine, root: Path) -> None:
    """Nor earlier questions and answers of the companion."""
    thread = talk(engine)
    with agent_in(thread, root) as agent:
        first = told(agent, "which port does staging use?")[0].text
        again = told(agent, "which port does staging use?")[0].text
    assert [line for line in first.splitlines() if line.startswith("-")] == [
        line for line in again.splitlines() if line.startswith("-")
    ]
    assert "which port" not in again


def test_companion_finds_what_the_person_said_earlier(engine: Engine, root: Path) -> None:
    thread = engine.create("x")
    with agent_in(thread, root) as agent:
        assert (
            "Saved. No related messages" in told(agent, "The spare key is under the blue flower pot.")[0].text
        )
        assert "blue flower pot" in told(agent, "where is the spare key?")[0].text


def test_companion_searches_other_threads_of_the_project(engine: Engine) -> None:
    """With handles that say which; those of other projects stay out."""
    other = engine.create("older", project="/tides")
    other.append("user", "The harbour master's name is Yvonne Kerbrat.")
    foreign = engine.create("foreign", project="/elsewhere")
    foreign.append("user", "The harbour master's name is Anonymous Person.")
    here = engine.create("now", project="/tides")
    text = answer(here, "what is the name of the harbour master?")
    assert "Yvonne Kerbrat" in text
    assert f"[bs:{other.id[:8]}." in text
    assert "Anonymous" not in text


def test_deleted_messages_are_not_quoted(engine: Engine) -> None:
    thread = talk(engine)
    for message in list(thread):
        if "8443" in message.text:
            thread.delete(message.id)
    assert "8443" not in answer(thread, "which port does the staging server use?")


# -- as a client -------------------------------------------------------------------------------------------------


def test_missing_model_is_explained_in_full_once(engine: Engine, root: Path) -> None:
    """With the commands that change that; afterwards in a few words."""
    thread = engine.create("x")
    with agent_in(thread, root) as agent:
        first, second = told(agent, "hello?")[0].text, told(agent, "hello again?")[0].text
    assert "backscroll config provider add" in first
    assert "backscroll models install" in first
    assert "backscroll config provider add" not in second
    assert "No model" in second


def test_companion_streams_the_answer_in_small_pieces(engine: Engine) -> None:
    """Deterministic, whole, without cost."""
    thread = talk(engine)
    thread.append("user", "默认港口是哪个？")
    events = list(Companion(thread).stream(Request(())))
    assert events == list(Companion(thread).stream(Request(())))
    done = events[-1]
    assert isinstance(done, Done)
    pieces = [e.text for e in events if isinstance(e, TextDelta)]
    assert "".join(pieces) == done.reply.text
    assert max(map(len, pieces)) < 80
    assert (done.reply.usage.known, done.reply.usage.input, done.reply.usage.output) == (True, 0, 0)


def test_companion_streams_a_tool_call(engine: Engine) -> None:
    thread = engine.create("x")
    thread.append("user", "list src")
    companion = Companion(thread)
    assert (companion.wire, companion.provider) == ("openai-chat", OFFLINE)
    events = list(companion.stream(Request((), tools=[{"function": {"name": "list_files"}}])))
    assert isinstance(events[0], CallDelta)
    done = events[-1]
    assert isinstance(done, Done)
    assert done.reply.finish == "tools"
    assert done.reply.tool_calls == (ToolCall(events[0].id, "list_files", '{"path": "src"}'),)
    companion.close()


def test_companion_stream_can_be_closed_midway(engine: Engine) -> None:
    thread = talk(engine)
    thread.append("user", "which port?")
    companion = Companion(thread)
    stream = companion.stream(Request(()))
    next(stream)
    companion.abort()
    with pytest.raises(CutShort):
        list(stream)
    assert list(companion.stream(Request(()))), "the next call works again"


def test_companion_handles_odd_threads(engine: Engine) -> None:
    """Nothing said at all; only a picture; half a character."""
    thread = engine.create("x")
    assert Companion(thread).complete(Request(())).text
    thread.append("assistant", "first words")
    assert Companion(thread).complete(Request(())).text
    assert answer(thread, "…")
    assert answer(thread, "\ud800 what \x00?")
