"""Texts full of lone surrogates through every public call: no room sees one, nothing raises, the log gives each back.

Half of an emoji is what JavaScript leaves where it cuts a string, and what a name of a file that is not UTF-8 looks like in
Python. While the calls run, every function of the thinking rooms that is entered is looked at: none may get a text that
UTF-8 cannot hold. `recall/text/words` and `recall/question/query` may: they make the index from the original, and leave such halves out.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType

import backscroll
from backscroll import Content, Engine, Media, Message, Opaque, Reasoning, Text, Thread, ToolCall, ToolResult
from backscroll.engine.folder.workroom import Workroom
from backscroll.engine.prompts.builder import Prompt
from backscroll.engine.search.recall import recall_across
from backscroll.errors import BackscrollError
from backscroll.surfaces.cli.runner import run
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from backscroll.vocab.message import ROLES

PIECES = [
    "\ud83d", "\ude00", "\ud83d\ude00", "\udc00\ud800", "\udcff", "😀", "他说", "今天下雨了。", "请修复登录页面的错误", "我叫小明，", "住在绿谷",
    "Ellie ", "lives in Greenvale. ", "fix the bug in app.py", "I prefer tabs. ", "done", " ", "\n", ", ", "- [ ] ", "```py\nx = 1\n```",
    "/src/a\udc80.py", "Error: ", "\0", "é", "e\u0301", "👩‍👩‍👧", "{\"a\": \"\\ud83d\"}", "{\"\\ude00\": [1, \"他\\ud83d说\"]}", "𠮷", "\ud842\udfb7",
]  # fmt: skip
FORMATS = ("native", "markdown", "openai", "anthropic", "claude-code", "codex", "sillytavern", "dialogue")
ROOMS = ("derive", "graph", "recall", "assemble", "tasks")
#: Modules that read originals on purpose, and the frame words that are about code, not about text.
READ_ORIGINALS = ("recall/text/words.py", "recall/question/query.py", "validity/clean.py")


def fuzz(seed: int, folder: pathlib.Path) -> None:
    """One conversation of broken texts, every call on it, and its copy in another store."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    with backscroll.open(folder / "store.db") as engine, watched_rooms():
        talk = Talk(engine, chance, seed)
        if chance.random() < 0.8:
            talk.tried("start", lambda: talk.thread.tasks.start(talk.text()))
        for _ in range(chance.randint(8, 20)):
            talk.step()
        talk.work_in_folder(folder / "work")
        talk.read_all(folder)
        talk.check_originals(talk.thread)
    check_copy(folder, talk)
    command_line(folder, talk)


# -- looking into the rooms --------------------------------------------------------------------------------------


@contextlib.contextmanager
def watched_rooms() -> Iterator[None]:
    """Fail where a function of a thinking room is entered with a text that is not valid Unicode."""
    inside = tuple(f"{pathlib.Path(backscroll.__file__).parent.as_posix()}/{room}/" for room in ROOMS)
    found: dict[tuple[str, str], str] = {}

    def look(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(inside):
            return
        if code.co_filename.endswith(READ_ORIGINALS):
            return
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            value = frame.f_locals.get(name)
            if isinstance(value, str) and is_broken(value) and len(found) < 9:
                caller = "".join(traceback.format_stack(frame.f_back, 4))
                found.setdefault(
                    (code.co_filename, code.co_name),
                    f"{code.co_filename}:{code.co_name} got {name}={value[:80]!r}\n{caller}",
                )

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)
    assert not found, "\n".join(found.values())


def is_broken(text: str) -> bool:
    """True for a text that UTF-8 cannot hold."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def broken_text(chance: random.Random, most: int = 8) -> str:
    """A few pieces, halves of characters among them."""
    return "".join(chance.choice(PIECES) for _ in range(chance.randint(1, most)))


# -- one conversation --------------------------------------------------------------------------------------------


class Talk:
    """A thread to which odd things are said and done."""

    def __init__(self, engine: Engine, chance: random.Random, seed: int) -> None:
        self.engine, self.chance, self.seed = engine, chance, seed
        self.thread = engine.create(self.text(), project=self.text(), tags=[self.text().strip() or "tag"])
        self.said: dict[str, Content] = {}
        self.calls = 0
        self.trail: list[str] = []

    def text(self, most: int = 8) -> str:
        """A broken text."""
        return broken_text(self.chance, most)

    def tried(self, what: str, work: Callable[[], object]) -> object:
        """Do it; our own errors are answers, unless they were made of a UnicodeError."""
        self.trail.append(what)
        try:
            return work()
        except BackscrollError as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, UnicodeError):
                cause = cause.__cause__
            if cause is not None:
                raise AssertionError(self.told(f"{what}: {error}")) from error
            return None
        except Exception as error:
            raise AssertionError(self.told(f"{what}: {type(error).__name__}: {error}")) from error

    def told(self, wrong: str) -> str:
        """How to see it again."""
        return f"{wrong}\nseed {self.seed}, after: {', '.join(self.trail[-12:])}"

    def keep(self, message: Message, content: Content | None = None) -> Message:
        """Note what was said, to ask for it later."""
        self.said[str(message.id)] = message.content if content is None else content
        return message

    def step(self) -> None:
        """One thing of many."""
        work = self.chance.choice(
            [
                self.speak,
                self.speak,
                self.speak,
                self.use_tool,
                self.use_tool,
                self.change,
                self.task,
                self.task,
                self.remember,
                self.draw,
                self.condense,
                self.describe,
            ]
        )
        work()

    def speak(self) -> None:
        """Words in several parts, by any role."""
        chance = self.chance
        parts = [
            chance.choice(
                [
                    lambda: Text(self.text(), {self.text(2): self.text(2)}),
                    lambda: Text(self.text()),
                    lambda: Reasoning(self.text(), self.text(2)),
                    lambda: Opaque(
                        self.text(1),
                        "kind",
                        json.dumps({"t": self.text()}, ensure_ascii=chance.random() < 0.5),
                    ),
                    lambda: Media("text/plain", url=None, name=self.text(2), data=b"words"),
                ]
            )()
            for _ in range(chance.randint(1, 3))
        ]
        content = Content(tuple(parts), chance.choice([None, self.text(2)]), {"m": self.text(2)})
        role = chance.choice(ROLES)
        self.tried(f"append {role}", lambda: self.keep(self.thread.append(role, content)))

    def use_tool(self) -> None:
        """A call and its answer: broken names, keys and values."""
        self.calls += 1
        name = self.chance.choice(["bash", "read_file", "edit_file", "工具\ud83d", "update_todos"])
        arguments = self.chance.choice(
            [
                {"path": self.text(3), self.text(2): [self.text(2), {self.text(1): 1}]},
                {"command": self.text(), "todos": [{"content": self.text(3), "status": "pending"}]},
                json.dumps({"command": self.text(), "path": self.text(2)}),
                self.text(),
            ]
        )
        call = ToolCall(f"call{self.calls}\ud800", name, arguments)
        answer = ToolResult(call.id, (Text(self.text(12)), Text(self.text())), self.chance.random() < 0.3)
        self.tried("call", lambda: self.keep(self.thread.append("assistant", call)))
        if self.chance.random() < 0.85:
            self.tried("answer", lambda: self.keep(self.thread.append("tool", answer)))

    def change(self) -> None:
        """Edit, regenerate, delete, hide, pin, move, undo."""
        live = [m.id for m in self.thread.messages()]
        if not live:
            return
        one, thread = self.chance.choice(live), self.thread
        self.tried(
            "change",
            self.chance.choice(
                [
                    lambda: self.keep(thread.edit(one, self.text())),
                    lambda: self.keep(thread.edit(one, self.text())),
                    lambda: self.keep(thread.regenerate(one, self.text())),
                    lambda: thread.hide(one),
                    lambda: thread.pin(one),
                    lambda: thread.log_code_change(self.text(), self.text(2)),
                    lambda: thread.move(one, after=None),
                ]
            ),
        )

    def task(self) -> None:
        """The life of a task."""
        tasks = self.thread.tasks
        self.tried(
            "task",
            self.chance.choice(
                [
                    lambda: tasks.start(self.text()),
                    lambda: tasks.attempt(self.text()),
                    lambda: tasks.incomplete(self.text()),
                    lambda: tasks.complete(note=self.text()),
                    lambda: tasks.cancel(self.text()),
                    lambda: tasks.rename(self.text()),
                    lambda: tasks.plan_for_later(self.text()),
                ]
            ),
        )

    def remember(self) -> None:
        """Memories by hand."""
        memory = self.thread.memory
        made = self.tried(
            "remember",
            lambda: memory.add(self.text(), kind=self.chance.choice(["fact", "preference", "lesson"])),
        )
        if made is not None and self.chance.random() < 0.5:
            name = getattr(made, "id", "")
            self.tried("edit memory", lambda: memory.edit(name, self.text()))
            self.tried("pin memory", lambda: memory.pin(name))

    def draw(self) -> None:
        """The graph by hand."""
        graph = self.thread.graph
        self.tried("add node", lambda: graph.add(self.text(2), "person"))
        nodes = self.tried("nodes", lambda: [node.id for node in graph.nodes(limit=5)])
        node = self.chance.choice(nodes) if isinstance(nodes, list) and nodes else self.text(2)
        self.tried(
            "graph",
            self.chance.choice(
                [
                    lambda: graph.set(node, "lives_in", self.text(3)),
                    lambda: graph.set(node, self.text(1), self.text(3)),
                    lambda: graph.rename(node, self.text(2)),
                    lambda: graph.forbid(node, "race", self.text(2)),
                    lambda: graph.tell_world(self.text(2), self.text(12)),
                    lambda: graph.set(node, "friend_of", other=self.text(2)),
                ]
            ),
        )

    def condense(self) -> None:
        """Crops and compactions."""
        self.tried(
            "condense",
            self.chance.choice(
                [
                    lambda: self.thread.crop("top", 2, self.text()),
                    lambda: self.thread.crop("top", 1),
                    lambda: self.thread.compact(2_000),
                ]
            ),
        )

    def describe(self) -> None:
        """Names of the thread."""
        self.tried("rename", lambda: self.thread.rename(self.text()))
        self.tried(
            "describe",
            lambda: self.thread.describe(metadata={self.text(1): self.text()}, language=self.text(1)),
        )

    def work_in_folder(self, folder: pathlib.Path) -> None:
        """A file whose name is not UTF-8, made and changed."""
        folder.mkdir()
        name = os.fsdecode(b"caf\xe9 \xff.py")
        room = self.tried("workroom", lambda: self.thread.workroom(folder))
        if isinstance(room, Workroom):
            for content in (b"x = 1\n", b"x = 2\n\xff"):
                (folder / name).write_bytes(content)
                self.tried("look", room.auto_detect_code_changes)
            self.tried("changes", room.changes)
            self.tried("changes of a file", lambda: room.changes(file=name))

    # -- reading -------------------------------------------------------------------------------------------------

    def read_all(self, folder: pathlib.Path) -> None:
        """Every reading call, with broken questions."""
        thread, text = self.thread, self.text
        tool = {
            "type": "function",
            "function": {"name": "bash", "description": text(), "parameters": {"type": "object"}},
        }
        for wire in ("openai-chat", "openai-responses", "anthropic"):
            for budget in (3_000, 60_000):
                got = self.tried(
                    f"prompt {wire} {budget}",
                    lambda wire=wire, budget=budget: thread.prompt(budget, wire=wire, tools=[tool]),
                )
                if isinstance(got, Prompt):
                    json.dumps(got.request, ensure_ascii=False).encode()
                    for block in got.blocks:
                        block.text.encode()
        memory = MemoryTools(self.engine, thread.id)
        calls: dict[str, Callable[[], object]] = {
            "recall": lambda: thread.recall(text(), 500),
            "recall across": lambda: recall_across(self.engine, text(), 500),
            "search": lambda: self.engine.search(text()),
            "operations": lambda: thread.operations(9),
            "tool history": lambda: [use.result for use in thread.tool_history()],
            "tool history by words": lambda: thread.tool_history(text=text(2), target=text(2)),
            "summary": lambda: thread.summary(300).encode(),
            "nodes": lambda: thread.graph.nodes(text=text(2)),
            "node": lambda: thread.graph.node(text(2)),
            "around": lambda: thread.graph.around(text(2)),
            "why": lambda: thread.graph.why(text(2), text(1)),
            "conflicts": lambda: (
                thread.graph.conflicts(),
                thread.graph.questions(),
                thread.graph.suggestions(),
            ),
            "world": thread.graph.world,
            "flush": thread.graph.flush,
            "tasks": lambda: [thread.tasks.summary(task) for task in thread.tasks.list(text=text(1))],
            "plans": lambda: [thread.tasks.plan(task) for task in thread.tasks.list()],
            "relevant": lambda: [thread.tasks.relevant_history(task) for task in thread.tasks.list()],
            "boundaries": thread.tasks.boundaries,
            "memories": lambda: thread.memory.list(text=text(2)),
            "preferences": lambda: (thread.memory.preferences(), thread.memory.defaults()),
            "hints": lambda: thread.memory.hints(text()),
            "relevant memories": lambda: thread.memory.load_relevant_history(text()),
            "expand": lambda: [thread.expand(f"bs:{m.id.seq}") for m in thread.messages()],
            "mcp recall": lambda: memory.recall(text()),
            "mcp search": lambda: memory.search(text()),
            "mcp tasks": lambda: (memory.task_status(), memory.recent_operations(), memory.threads()),
            "verify": self.sound,
            "sync": lambda: thread.sync([{"role": "user", "content": text()}], dry_run=True),
        }
        for what, work in calls.items():
            self.tried(what, work)
        for name in FORMATS:
            self.tried(f"export {name}", lambda name=name: self.engine.export([thread.id], name))
            self.tried(
                f"export {name} file",
                lambda name=name: self.engine.export([thread.id], name, str(folder / f"out-{name}")),
            )

    def sound(self) -> None:
        """The program's own check."""
        verdict = self.engine.verify()
        assert verdict.ok, self.told(str(verdict.flaws[:3]))

    def check_originals(self, thread: Thread) -> None:
        """What was said comes back to the letter."""
        now = {str(m.id): m.content for m in thread.messages(deleted=True)}
        for name, content in self.said.items():
            assert now.get(name) == content, self.told(f"{name}: {now.get(name)!r} for {content!r}")


def check_copy(folder: pathlib.Path, talk: Talk) -> None:
    """A native export gives the same words to another store."""
    out = next(p for p in folder.glob("out-native*"))
    with backscroll.open(folder / "copy.db") as other:
        other.import_path(out)
        talk.check_originals(other.thread(talk.thread.id))


def command_line(folder: pathlib.Path, talk: Talk) -> None:
    """The command line on the same store, words from a shell that are not UTF-8 included."""
    name, text = talk.thread.id, talk.text
    lines: list[list[str]] = [
        ["show", name], ["show", name, "--full", "--json"], ["show", name, "--turns"], ["threads"], ["threads", "--json"], ["log", name],
        ["search", text(4)], ["search", text(4), "--json"], ["recall", text(4), "--all"], ["context", name, "--budget", "4000"],
        ["context", name, "--html", str(folder / "page.html")], ["prompt", name, "--budget", "4000", "--dry-run"],
        ["summary", name], ["tools", name], ["graph", "show", name], ["graph", "export", name, "--format", "html"],
        ["graph", "world", name], ["task", "list", name], ["task", "status", name], ["memory", "list", name], ["diff", name, "--from", "1"],
        ["append", name, "user", f"他\udcff{text()}"], ["task", "start", name, text()], ["memory", "add", name, text()],
        ["rename", name, text()], ["export", name, "--format", "markdown"], ["export", name], ["verify"], ["show", text(2)],
    ]  # fmt: skip
    for line in lines:
        out, wrong = io.BytesIO(), io.BytesIO()
        # As `main` sets up the real streams.
        with (
            io.TextIOWrapper(out, "utf-8", "backslashreplace", write_through=True) as shown,
            io.TextIOWrapper(wrong, "utf-8", "backslashreplace", write_through=True) as told,
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(told),
        ):
            code = run(["--store", str(folder / "store.db"), *line])
            err = wrong.getvalue().decode()
            out.getvalue().decode()
        assert code in (0, 2, 3, 4, 5), talk.told(f"{line!r} ended with {code}: {err}")
        assert "Unicode" not in err, talk.told(f"{line!r}: {err}")
