"""Going back and forth: after any sequence of turns, edits by tools, by hand and by commands, renames, rewinds and redos."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.engine.workrooms import Desk

paths = st.sampled_from(["a.txt", "b.txt", "d/c.txt", "d/e/文.txt"])
texts = st.text(alphabet="xyz\n一", max_size=12)

State = tuple[dict[str, bytes], list[str]]


@dataclass
class Model:
    """What turns began with, and what rewinds left behind."""

    began: list[State] = field(default_factory=list[State])
    rewound: list[tuple[State, list[State]]] = field(default_factory=list[tuple[State, list[State]]])


class BackAndForth(RuleBasedStateMachine):
    """The model is nothing but copies of tree and conversation; the workroom has to agree with it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="rewinding-"))
        self.model = Model()

    @initialize(git=st.booleans(), files=st.dictionaries(paths, texts, max_size=3))
    def begin(self, git: bool, files: dict[str, str]) -> None:
        """A folder with some files, one keeper or the other."""
        self.desk = Desk(self.folder, git=git)
        for path, text in files.items():
            self.desk.write(path, text)
        self.desk.room.look()

    def teardown(self) -> None:
        """Nothing is left behind."""
        self.desk.close()
        shutil.rmtree(self.folder)

    def now(self) -> State:
        return self.desk.tree(), self.desk.words()

    @rule(words=st.text(min_size=1, max_size=5))
    def turn(self, words: str) -> None:
        """The user says something, and the assistant answers."""
        self.desk.room.look()
        self.model.began.append(self.now())
        self.desk.thread.append("user", f"u{words}")
        self.desk.thread.append("assistant", "well")
        self.model.rewound.clear()

    @precondition(lambda self: self.model.began)
    @rule(path=paths, text=texts)
    def tool(self, path: str, text: str) -> None:
        """A tool writes a file."""
        self.desk.edit(path, text)
        self.model.rewound.clear()

    @precondition(lambda self: self.model.began)
    @rule(path=paths, other=paths)
    def command(self, path: str, other: str) -> None:
        """A command moves a file, or deletes it."""

        def work() -> None:
            if (self.desk.root / path).is_file():
                if path == other:
                    (self.desk.root / path).unlink()
                else:
                    (self.desk.root / other).parent.mkdir(parents=True, exist_ok=True)
                    (self.desk.root / path).replace(self.desk.root / other)

        self.desk.tool(work, tool="run_command")
        self.model.rewound.clear()

    @precondition(lambda self: self.model.began)
    @rule(path=paths, text=texts)
    def by_hand(self, path: str, text: str) -> None:
        """A person writes a file; nobody is told."""
        self.desk.write(path, text)
        self.model.rewound.clear()

    @precondition(lambda self: self.model.began)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        """To before any turn: the tree equals what it was when the turn began, the conversation its prefix."""
        turn = data.draw(st.integers(1, len(self.model.began)))
        before, began = self.now(), list(self.model.began)
        self.desk.room.rewind(turn, force=True)
        assert self.now() == self.model.began[turn - 1]
        del self.model.began[turn - 1 :]
        self.model.rewound.append((before, began))

    @precondition(lambda self: self.model.rewound)
    @rule()
    def redo(self) -> None:
        """Forward again: both sides are what they were before the rewind."""
        before, self.model.began = self.model.rewound.pop()
        self.desk.room.redo()
        assert self.now() == before

    @invariant()
    def blame_reads_the_file(self) -> None:
        """Whatever happened, the lines of blame are the lines of the file."""
        desk = getattr(self, "desk", None)
        if desk is not None and (desk.root / "a.txt").is_file():
            assert [b.text for b in desk.room.blame("a.txt")] == _lines(desk.read("a.txt"))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


TestBackAndForth = BackAndForth.TestCase
TestBackAndForth.settings = settings(max_examples=12, stateful_step_count=14, deadline=None)
