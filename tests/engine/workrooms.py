"""A folder, a thread and a workroom to try things in, with shorthands for what an agent and a person do."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import backscroll
from backscroll.engine.folder.workroom import Workroom
from backscroll.vocab.change import Cause, CodeChange
from backscroll.workspace.snapshots.keeper_choice import snapshots_for


class Desk:
    """One conversation in one folder. `git` False: the keeper that needs no git."""

    def __init__(self, folder: Path, *, git: bool = True, thread: backscroll.Thread | None = None) -> None:
        self.folder = folder
        self.root = folder / "work"
        self.root.mkdir(exist_ok=True)
        self.home = folder / "shadow"
        self.git = git
        # A thread without messages counts as false: ask whether there is one.
        self.engine = backscroll.open(folder / "store.db") if thread is None else thread.engine
        about = {"workspace": str(self.root)}
        self.thread = self.engine.create("Work", metadata=about) if thread is None else thread
        self.room = self.opened()

    def opened(self) -> Workroom:
        """The workroom, opened anew as after a start of the program."""
        keeper = snapshots_for(self.root, self.home, git=None if self.git else False)
        return Workroom(self.thread, self.root, keeper=keeper, home=self.home)

    def beside(self, title: str = "Other") -> Desk:
        """Another conversation in the same folder and store."""
        other = self.engine.create(title, metadata={"workspace": str(self.root)})
        return Desk(self.folder, git=self.git, thread=other)

    def close(self) -> None:
        """Let go of the store."""
        self.engine.close()

    # -- what people and agents do ---------------------------------------------------------------------------

    def write(self, path: str, text: str | bytes) -> None:
        """Put something into a file, without telling anybody."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)

    def read(self, path: str) -> str:
        """What is in a file."""
        return (self.root / path).read_bytes().decode()

    def says(self, words: str) -> backscroll.Message:
        """The user opens a turn; the folder is looked at first, as the agent does."""
        self.room.look()
        return self.thread.append("user", words)

    def tool(self, work: Callable[[], object], why: str = "", tool: str = "write_file") -> CodeChange | None:
        """The assistant says why, a tool does something, and its result is recorded."""
        message = self.thread.append("assistant", why or "…")
        before = self.room.look()
        work()
        done = self.room.looked(before, Cause("tool", message.id, f"call-{message.id.seq}", tool))
        self.thread.append("tool", "done")
        return done

    def edit(self, path: str, text: str | bytes, why: str = "") -> CodeChange | None:
        """A tool writes a file."""
        return self.tool(lambda: self.write(path, text), why)

    def turn(self, words: str, **files: str) -> None:
        """A whole turn: the user asks, the agent writes files (`a__py` stands for `a.py`) and answers."""
        self.says(words)
        for name, text in files.items():
            self.edit(name.replace("__", "."), text, f"I write {name.replace('__', '.')}")
        self.thread.append("assistant", f"done: {words}")

    # -- what there is ---------------------------------------------------------------------------------------

    def tree(self) -> dict[str, bytes]:
        """Every file of the folder and what is in it; the user's own repository is left out."""
        found = sorted(p for p in self.root.rglob("*") if p.is_file() or p.is_symlink())
        inside = [(p, p.relative_to(self.root)) for p in found]
        return {rel.as_posix(): _content(p) for p, rel in inside if rel.parts[0] != ".git"}

    def words(self) -> list[str]:
        """The conversation as it stands."""
        return [message.text for message in self.thread]


def _content(path: Path) -> bytes:
    return str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()


def git(root: Path, *arguments: str) -> str:
    """Run the user's git."""
    settings = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=root, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
