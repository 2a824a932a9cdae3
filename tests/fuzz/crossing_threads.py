"""Words of one thread in another: after every change each surface is that of a fresh engine, and what is gone is gone.

Threads of one project, two engines on one store (two processes, as far as caches go). Messages carry secret words of their own.
One thread remembers, prefers, fails and learns; another one plans and asks with what it is told. A secret lives while a live,
shown message of the newest revision holds it; any other secret on a surface is a fault, and so is an engine whose answer
differs from that of one that was opened just now.
"""

from __future__ import annotations

import json
import pathlib
import random
import re
from collections.abc import Callable

import backscroll
from backscroll import Engine, Text, Thread, ToolCall, ToolResult
from backscroll.engine.prompts.builder import receipts
from backscroll.engine.search.recall import recall_across
from backscroll.errors import BackscrollError

SECRET = re.compile(r"zq[a-z]{6}")
SENTENCES = [
    "I always prefer {} over spaces in the parser.",
    "Please never use {} when you fix the parser.",
    "Use {} for the deploy of the parser from now on.",
    "My name is {} and I work on the parser.",
    "我喜欢用 {} 来修复解析器。",
    "请不要再用 {} 部署解析器。",
    "Fix the parser with {}, it fails in the deploy.",
]
TITLES = ["fix the parser", "deploy the parser", "修复解析器", "write the parser tests"]


def fuzz(seed: int, folder: pathlib.Path) -> None:
    """One project of three threads, two engines, some forty changes."""
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "store.db"
    with backscroll.open(store) as one, backscroll.open(store) as other:
        Project(random.Random(seed), seed, store, (one, other)).play()


class Project:
    """Threads of one project, seen by several engines."""

    def __init__(
        self, chance: random.Random, seed: int, store: pathlib.Path, engines: tuple[Engine, Engine]
    ) -> None:
        self.chance, self.seed, self.store, self.engines = chance, seed, store, engines
        self.trail: list[str] = []
        first = engines[0]
        self.names = [first.create(f"thread {n}", project="/work").id for n in range(2)]
        self.names.append(first.create("elsewhere", project="/other").id)
        self.made = 0

    def play(self) -> None:
        """Change things by either engine, and look by both. The first thread teaches, the second one plans."""
        first, second, _ = self.names
        for name in self.names:
            self.exchange(name)
        for _ in range(self.chance.randint(1, 3)):
            self.exchange(first)
        self.failed_task(first)
        tasks = self.thread(second).tasks
        self.done("start", lambda: tasks.start("fix the parser"))
        self.exchange(second)
        self.done(
            "refuse",
            lambda: (tasks.attempt("it works"), tasks.incomplete("the parser still fails in the deploy")),
        )
        self.look()
        for _ in range(self.chance.randint(6, 10)):
            self.step()
            if self.chance.random() < 0.7:
                self.look()
        self.look()

    def failed_task(self, name: str) -> None:
        """A task that leaves lessons."""
        tasks = self.thread(name).tasks
        self.done("start", lambda: tasks.start("deploy the parser"))
        self.exchange(name)
        self.tool(name)
        self.done("refuse", lambda: (tasks.attempt("it works"), tasks.incomplete(self.feedback())))
        if self.chance.random() < 0.7:
            self.done("end", self.chance.choice([tasks.complete, tasks.cancel]))

    def feedback(self) -> str:
        """What is wrong with a result."""
        return "no, the parser still fails in the deploy"

    def secret(self) -> str:
        """A word that stands nowhere else, and in no other."""
        self.made += 1
        letters = "".join(chr(97 + (self.made // 26**n) % 26) for n in range(3))
        return f"zq{letters}" + "".join(self.chance.choice("bcdfg") for _ in range(3))

    def sentence(self) -> str:
        """Something with a secret in it."""
        return self.chance.choice(SENTENCES).format(self.secret())

    def thread(self, name: str) -> Thread:
        """A thread by whichever engine."""
        return self.chance.choice(self.engines).thread(name)

    def done(self, what: str, work: Callable[[], object]) -> None:
        """Do it, where it can be done."""
        try:
            work()
        except BackscrollError as error:
            what += f" ({type(error).__name__})"
        self.trail.append(what)

    # -- changes -------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """One thing to one thread."""
        name = self.chance.choice([self.names[0], self.names[0], self.names[0], *self.names])
        work = self.chance.choice(
            [
                self.exchange,
                self.exchange,
                self.tool,
                self.task,
                self.task,
                self.task,
                self.remember,
                self.prompt,
                self.remove,
                self.remove,
                self.remove,
                self.reword,
                self.forget,
                self.undo,
                self.condense,
                self.move,
            ]
        )
        work(name)

    def exchange(self, name: str) -> None:
        """Somebody says something, and is answered."""
        thread = self.thread(name)
        self.done("say", lambda: thread.append("user", self.sentence()))
        if self.chance.random() < 0.7:
            self.done("answer", lambda: thread.append("assistant", f"Done, and {self.sentence()}"))

    def tool(self, name: str) -> None:
        """A tool that fails or works."""
        thread = self.thread(name)
        call = ToolCall(f"c{self.made}", "bash", {"command": f"make {self.secret()}"})
        wrong = self.chance.random() < 0.6
        words = f"Error: {self.secret()} not found" if wrong else "ok"
        self.done("call", lambda: thread.append("assistant", call))
        self.done("result", lambda: thread.append("tool", ToolResult(call.id, (Text(words),), wrong)))

    def task(self, name: str) -> None:
        """A step of a task; refusing one is what makes plans."""
        tasks = self.thread(name).tasks
        title = self.chance.choice(TITLES)
        works: dict[str, Callable[[], object]] = {
            "start": lambda: tasks.start(title, again=True),
            "attempt": lambda: tasks.attempt("it works now"),
            "refuse": lambda: (
                tasks.attempt("it works"),
                tasks.incomplete("no, the parser still fails in the deploy"),
            ),
            "complete": tasks.complete,
            "cancel": lambda: tasks.cancel("not needed"),
        }
        what = self.chance.choice(list(works))
        self.done(f"task {what}", works[what])

    def remember(self, name: str) -> None:
        """Words that rest on a message, perhaps one of another thread."""
        thread = self.thread(name)
        home = self.thread(self.chance.choice(self.names))
        found = [m for m in home.messages() if m.text]
        if not found:
            return
        source = self.chance.choice(found)
        secret = (SECRET.findall(source.text) or ["nothing"])[0]
        kind = self.chance.choice(["fact", "lesson", "preference"])
        self.done(
            "remember",
            lambda: thread.memory.add(f"the parser wants {secret}", kind=kind, sources=[source.id]),
        )

    def remove(self, name: str) -> None:
        """Delete or hide messages."""
        thread = self.thread(name)
        found = [m.id for m in thread.messages()]
        if found:
            some = self.chance.sample(found, min(len(found), self.chance.randint(1, 3)))
            work = self.chance.choice([thread.delete, thread.delete, thread.hide])
            self.done(work.__name__, lambda: work(*some))

    def reword(self, name: str) -> None:
        """Other words for a message."""
        thread = self.thread(name)
        found = [m.id for m in thread.messages() if m.role == "user"]
        if found:
            self.done("edit", lambda: thread.edit(self.chance.choice(found), self.sentence()))

    def forget(self, name: str) -> None:
        """Erase a message."""
        thread = self.thread(name)
        found = [m.id for m in thread.messages()]
        if found:
            self.done("forget", lambda: thread.forget(self.chance.choice(found)))

    def undo(self, name: str) -> None:
        """Take something back, or do it again."""
        thread = self.thread(name)
        work = self.chance.choice([thread.undo, thread.undo, thread.redo])
        self.done(work.__name__, work)

    def condense(self, name: str) -> None:
        """A compaction or a crop."""
        thread = self.thread(name)
        work = self.chance.choice([lambda: thread.compact(2_500), lambda: thread.crop("top", 2)])
        self.done("condense", work)

    def move(self, name: str) -> None:
        """Into the project, or out of it."""
        self.done(
            "describe",
            lambda: self.thread(name).describe(project=self.chance.choice(["/work", "/work", "/other"])),
        )

    def prompt(self, name: str) -> None:
        """A prompt that is on record; what it may write, it writes."""
        self.done("prompt", lambda: self.thread(name).prompt(self.chance.choice([4_000, 60_000])))

    # -- looking -------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Every surface of every thread, by both engines and by a fresh one."""
        with backscroll.open(self.store) as fresh:
            alive = self.alive(fresh)
            for name in self.names:
                wanted = surfaces(fresh.thread(name))
                for number, engine in enumerate(self.engines):
                    found = surfaces(engine.thread(name))
                    for what, text in found.items():
                        dead = sorted(set(SECRET.findall(text)) - alive)
                        assert not dead, self.told(
                            f"{what} of {name[:8]} by engine {number} still tells {dead}: {text[:1500]}"
                        )
                        assert text == wanted[what], self.told(
                            f"{what} of {name[:8]} by engine {number} is not that of a fresh engine\n{text[:1500]}\n{wanted[what][:1500]}"
                        )

    def alive(self, engine: Engine) -> set[str]:
        """Secrets that some live and shown message holds."""
        out: set[str] = set()
        for name in self.names:
            for message in engine.thread(name).messages():
                if not message.hidden:
                    out.update(SECRET.findall(repr(message.content)))
        return out

    def told(self, wrong: str) -> str:
        """How to see it again."""
        return f"{wrong}\nseed {self.seed}, after: {', '.join(self.trail)}"


def surfaces(thread: Thread) -> dict[str, str]:
    """Everything that a thread tells, as text."""
    tasks = thread.tasks.list()
    current = thread.tasks.current()
    return {
        "prompt": prompt_text(thread, 60_000),
        "small prompt": prompt_text(thread, 4_000),
        "memories": repr(thread.memory.list()),
        "hidden memories": repr([m.id for m in thread.memory.list(hidden=True)]),
        "preferences": repr(thread.memory.preferences()),
        "defaults": repr(thread.memory.defaults()),
        "hints": repr(thread.memory.hints("fix the parser, it fails in the deploy")),
        "relevant": repr(thread.memory.load_relevant_history("fix the parser")),
        "plans": repr([thread.tasks.plan(task) for task in tasks if task.feedback]),
        "questions": repr([thread.tasks.questions(task) for task in tasks if task.feedback]),
        "summaries": repr([thread.tasks.summary(task) for task in tasks]),
        "current": repr(current and thread.tasks.essentials(current)),
        "account": thread.summary(400),
        "operations": repr([(d.target, d.summary) for d in thread.operations(50)]),
        "recall": repr([(i.message, i.text) for i in thread.recall("parser deploy", 800).items]),
        "recall in the project": repr(
            sorted(
                (str(i.message), i.text)
                for i in recall_across(thread.engine, "parser deploy", 800, project="/work").items
            )
        ),
        "receipts": repr(receipts(thread)),
    }


def prompt_text(thread: Thread, budget: int) -> str:
    """A prompt as it would be sent; or why there is none."""
    try:
        return json.dumps(thread.prompt(budget, dry_run=True).request, ensure_ascii=False)
    except BackscrollError as error:
        return f"{type(error).__name__}: {error}"
