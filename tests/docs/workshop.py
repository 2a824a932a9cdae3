"""A place where the examples of one page run: a folder, a home, a store and a command line of its own.

What an example prints is compared with what the page shows. Ids and times differ from run to run: an id of the page stands
for one and the same id of this run wherever it occurs, also in later commands; a time for any time, a day for itself or today.
Ids are drawn at random and take a token more or less: in a block marked `counts`, a number stands for itself and its neighbours.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType

from backscroll.engine import opening
from tests.docs.command import Command
from tests.docs.pages import Block
from tests.house import tree

#: The home folder of the person in the examples.
HOME = "/home/ann"
ELIDED = {"…", "..."}
_MOVING = re.compile(
    r"(?P<id>(?<![0-9A-Za-z_])[0-9a-f]{8}(?:[0-9a-f]{2}|[0-9a-f]{24})?(?![0-9A-Za-z_]))"
    r"|(?P<time>(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)"
    r"|(?P<day>(?<!\d)\d{4}-\d\d-\d\d(?!\d))"
    r"|(?P<size>\d+(?:\.\d+)? (?:bytes|B|kB|MB|GB)(?![a-z]))"
    r"|(?P<gap> {2,})"
)
_COUNT = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
_NEAR = 3  # tokens, and per cent of the number, by which a count may differ
_TIME = r"(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?"
_SIZE = r"\d+(?:\.\d+)? (?:bytes|B|kB|MB|GB)"
_PROMPT = "$ "


class Workshop:
    """Runs the blocks of one page in order; use it in a `with`."""

    def __init__(self, folder: Path, language: str) -> None:
        self.home = folder / "home"
        self.place = folder / "place"
        self.place.mkdir()
        self._at = self.place  # where the terminal stands: a `cd` on the page holds for what follows
        self._left_at = folder / "left_at"
        self._command = Command()
        self.ids: dict[str, str] = {}  # id on the page -> id in this run
        self.names: dict[str, object] = {"__name__": "__example__"}
        self.environment = {
            **os.environ,
            **_speaking(language),
            "PATH": f"{self._command.folder}:{os.environ['PATH']}",
        }
        for name in ("examples", "backscroll/samples"):
            if (tree.ROOT / name).is_dir():
                (self.place / name).parent.mkdir(exist_ok=True)
                (self.place / name).symlink_to(tree.ROOT / name)

    def __enter__(self) -> Workshop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._command.close()

    # -- Python ----------------------------------------------------------------------------------------------

    def run_python(self, block: Block, page: str) -> str:
        """Run a block in the page's folder; gives what it printed."""
        code = compile("\n" * block.line + block.text, page, "exec")
        said = io.StringIO()
        with contextlib.chdir(self.place), contextlib.redirect_stdout(said):
            exec(code, self.names)  # the page is ours
        return said.getvalue()

    # -- the command line ------------------------------------------------------------------------------------

    def run_console(self, block: Block) -> None:
        """Run every command of a block and compare what it prints."""
        for command, shown in commands(block):
            self.run_command(command, shown, counts="counts" in block.more.split())

    def run_command(self, command: str, shown: str | None, *, counts: bool = False) -> str:
        """Run one command; `shown` is what the page says it prints, with `counts` give or take some tokens."""
        done = subprocess.run(
            ["bash", "-c", f"trap 'pwd > \"$LEFT_AT\"' EXIT\n{self._with_real_ids(command)}"],
            cwd=self._at,
            env={**self.environment, "LEFT_AT": str(self._left_at)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        said = (
            done.stdout.decode("utf-8", "replace")
            .replace(str(self.home), HOME)
            .replace(str(self.place), f"{HOME}/notes")
        )
        assert done.returncode == 0, f"`{command}` failed ({done.returncode}):\n{said}"
        self._at = Path(self._left_at.read_text(encoding="utf-8").rstrip("\n"))
        if shown is not None:
            self.compare(_near(shown, said) if counts else shown, said, command)
        return said

    def _with_real_ids(self, command: str) -> str:
        def real(found: re.Match[str]) -> str:
            assert found["id"] in self.ids, (
                f"`{command}` names {found['id']}, which nothing on the page has shown yet"
            )
            return self.ids[found["id"]]

        return _MOVING.sub(lambda found: real(found) if found["id"] else found[0], command)

    # -- comparing -------------------------------------------------------------------------------------------

    def compare(self, shown: str, said: str, where: str) -> None:
        """Fail, with the difference, where a page shows something else than what was said."""
        wanted = [line.rstrip() for line in shown.strip("\n").split("\n")] if shown.strip() else []
        lines = [re.sub(r" {2,}", "  ", line.rstrip()) for line in said.strip("\n").split("\n")]
        groups: dict[str, str] = {}
        pattern = "".join(
            r"(?:.*\n)*?" if line.strip() in ELIDED else self._pattern(line, groups) + "\n" for line in wanted
        )
        text = "\n".join(lines) + "\n" if said.strip() else ""
        found = re.fullmatch(pattern, text)
        if found is None:
            difference = "\n".join(
                difflib.unified_diff(wanted, lines, "the page", "this run", lineterm="", n=99)
            )
            raise AssertionError(f"`{where}` prints something else than the page shows:\n{difference}")
        for name, group in groups.items():
            self.ids[name], self.ids[name[:8]] = found[group], found[group][:8]

    def _pattern(self, line: str, groups: dict[str, str]) -> str:
        out: list[str] = []
        end = 0
        for moving in _MOVING.finditer(line):
            out.append(re.escape(line[end : moving.start()]))
            out.append(self._moving(moving, groups))
            end = moving.end()
        return "".join(out) + re.escape(line[end:])

    def _moving(self, found: re.Match[str], groups: dict[str, str]) -> str:
        if found["time"]:
            return _TIME
        if found["day"]:  # a day that the page speaks of, or the one on which it was written
            return f"(?:{found['day']}|{'|'.join(_days())})"
        if found["size"]:
            return _SIZE
        if found["gap"]:
            return "  "
        name = found["id"]
        if name in self.ids:
            return self.ids[name]
        if name in groups:
            return f"(?P={groups[name]})"
        groups[name] = f"id_{len(groups)}"
        return f"(?P<{groups[name]}>[0-9a-f]{{{len(name)}}})"


def _near(shown: str, said: str) -> str:
    """What the page shows, with the counts of this run where the page has others close to them."""
    printed = [(_COUNT.sub("#", line.rstrip()), line) for line in said.split("\n")]
    lines: list[str] = []
    for line in shown.split("\n"):
        form = re.sub(r" {2,}", "  ", _COUNT.sub("#", line.rstrip()))
        same = [real for known, real in printed if re.sub(r" {2,}", "  ", known) == form]
        lines.append(next((real for real in same if _are_close(line, real)), line))
    return "\n".join(lines)


def _are_close(line: str, other: str) -> bool:
    pairs = zip(_COUNT.findall(line), _COUNT.findall(other), strict=True)
    numbers = [(float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs]
    return all(abs(a - b) <= max(_NEAR, a * _NEAR / 100) for a, b in numbers)


def _days() -> list[str]:
    """Today, and the days beside it: somewhere it is one of those, and an example may run over midnight."""
    today = datetime.now(UTC).date()
    return [str(today + timedelta(days=n)) for n in (-1, 0, 1)]


def left_open() -> list[str]:
    """Close the stores that examples left open, so that no other test meets them; gives their names."""
    names = [place for _, place, _ in opening._open]
    for engine in list(opening._open.values()):
        while engine in opening._open.values():
            engine.close()
    return names


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown for it; a backslash continues a line."""
    command: list[str] = []
    shown: list[str] = []
    for line in block.text.split("\n"):
        if command and command[-1].endswith("\\"):
            command.append(line)
        elif line.startswith(_PROMPT):
            if command:
                yield "\n".join(command), "\n".join(shown)
            command, shown = [line.removeprefix(_PROMPT)], []
        else:
            assert command, f"line {block.line}: a console block begins with `$ `"
            shown.append(line)
    if command:
        yield "\n".join(command), "\n".join(shown)


def _speaking(language: str) -> dict[str, str]:
    locale = {"zh": "zh_CN.UTF-8"}.get(language, "en_US.UTF-8")
    return {
        "LANG": "C.UTF-8",  # of characters; the same for all tests, so that they share a fork server
        "LC_MESSAGES": locale,
        "LC_ALL": "",
        "LANGUAGE": "",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TZ": "UTC",
    }
