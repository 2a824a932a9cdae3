"""A process whose children rewind, and are killed at every single operation on a file. Run by `test_kill_rewinding`.

`python -m tests.crash.rewinding FOLDER KEEPER`, in an interpreter of its own: it loads everything once and forks for each
killing. After each, the next start must find files and conversation in agreement: both as before, or both rewound.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import backscroll
from backscroll.engine.folder.workroom import Workroom
from backscroll.workspace.snapshots.keeper_choice import snapshots_for
from tests.engine.workrooms import Desk

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_MOVES = {
    "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod", "os.truncate",
}  # fmt: skip
State = tuple[dict[str, bytes], list[str]]


def prepared(folder: Path, git: bool) -> tuple[str, State, State]:
    """A conversation of two turns; the second does to files all that can be done. Gives the thread, and both states."""
    desk = Desk(folder, git=git)
    for number in range(3):
        desk.write(f"old/{number}.txt", f"{number}\n")
    desk.write("plain", "a file\n")
    (desk.root / "link").symlink_to("plain")
    desk.turn("one", a__py="1\n")
    rewound = (desk.tree(), desk.words())
    desk.says("two")

    def mess() -> None:
        (desk.root / "old" / "0.txt").rename(desk.root / "moved.txt")
        (desk.root / "old" / "1.txt").unlink()
        (desk.root / "plain").unlink()
        desk.write("plain/inside.txt", "a folder now\n")
        (desk.root / "link").unlink()
        (desk.root / "link").symlink_to("elsewhere")
        (desk.root / "a.py").chmod(0o755)
        desk.write("新/文件.txt", "内容\r\n")

    desk.tool(mess, tool="run_command")
    desk.edit("a.py", "2\n")
    whole = (desk.tree(), desk.words())
    desk.close()
    return desk.thread.id, whole, rewound


def opened(folder: Path, name: str, git: bool) -> tuple[backscroll.Engine, Workroom]:
    """The workroom as after a start of the program."""
    engine = backscroll.open(folder / "store.db")
    keeper = snapshots_for(folder / "work", folder / "shadow", git=None if git else False)
    return engine, Workroom(engine.thread(name), folder / "work", keeper=keeper, home=folder / "shadow")


def state(folder: Path, room: Workroom) -> State:
    """Tree and conversation."""
    root = folder / "work"
    tree = {
        p.relative_to(root).as_posix(): str(p.readlink()).encode() if p.is_symlink() else p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_symlink() or p.is_file()
    }
    return tree, [m.text for m in room.thread]


def dies_at(number: int) -> None:
    """Kill this process at its n-th operation that changes something on the disk."""
    seen = 0

    def tick() -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in _MOVES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING):
            tick()

    really = os.fsync

    def fsync(descriptor: int) -> None:
        tick()
        really(descriptor)

    os.fsync = fsync
    sys.addaudithook(hook)


def trial(folder: Path, name: str, git: bool, number: int, work: Callable[[Workroom], object]) -> bool:
    """Let a child do something and be killed at an operation; True where it was killed before it was done."""
    child = os.fork()
    if child == 0:
        engine, room = opened(folder, name, git)
        dies_at(number)
        work(room)
        engine.close()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main(folder: Path, git: bool) -> dict[str, object]:
    """Rewind, killed at every operation; then redo, killed at every third."""
    name, whole, rewound = prepared(folder, git)
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()

    def rewind(room: Workroom) -> object:
        return room.rewind(2)

    def redo(room: Workroom) -> object:
        return room.redo()

    for work, back, start, goal, stride in (
        (rewind, redo, whole, rewound, 1),
        (redo, rewind, rewound, whole, 3),
    ):
        number = 1
        while trial(folder, name, git, number, work):
            engine, room = opened(folder, name, git)
            found = state(folder, room)
            outcomes[str(room.recovered and room.recovered.outcome)] += 1
            wrong += [f"{work.__name__} killed at {number}: {what}" for what in _problems(folder, room)]
            if found not in (start, goal):
                wrong.append(f"{work.__name__} killed at {number}: {found}")
            if found == goal:
                back(room)
            engine.close()
            number += stride
        engine, room = opened(folder, name, git)
        if state(folder, room) != goal or not engine.verify().ok:
            wrong.append(f"{work.__name__} did not reach its goal")
        engine.close()
    return {"wrong": wrong, "outcomes": outcomes}


def _problems(folder: Path, room: Workroom) -> list[str]:
    """What should not be there after a start."""
    left = [p.name for p in (folder / "work").rglob("*.tmp")]
    left += [p.name for p in (folder / "shadow" / "rewinds").glob("*")]
    said = [f"left behind: {name}" for name in left]
    return [*said, "a change that nobody made"] if room.auto_detect_code_changes() else said


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2] == "git")))
