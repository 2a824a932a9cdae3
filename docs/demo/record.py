"""Records the demonstration of the read-me from the real program, in English and Chinese.

    python docs/demo/record.py             # write chat.{en,zh}.cast and chat.{en,zh}.svg
    python docs/demo/record.py --into DIR  # the same somewhere else
    python docs/demo/record.py --again     # only the pictures, from the casts that are there

`backscroll chat` runs in a terminal of its own, in front of a scripted model that plays `chat.*.model.toml`; what the person does
stands in `chat.*.person.toml`. Nothing is drawn by hand: the cast is what the program wrote, the picture what a screen shows of it.
Only the time is put straight: pauses are as long as reading takes, not as this machine happened to need.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyte

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from backscroll.testing import ScriptedServer  # noqa: E402 - a script finds the tree it stands in
from backscroll.testing.scenario import load_scenario  # noqa: E402
from docs.demo.picture import Frame, animated, cells_of  # noqa: E402
from tests.terminal.terminal import ENTER, ESCAPE, Screen, Terminal  # noqa: E402

LANGUAGES = ("en", "zh")
COLUMNS, LINES = 84, 26
TITLES = {"en": "backscroll chat", "zh": "backscroll chat"}
_LONGEST = 0.35  # seconds: a longer silence of the program is shown as this one
_TYPING = 0.045  # seconds between two keys
_PATIENCE = 60.0  # seconds in which a line that was typed is shown
_LAST = 4.0  # seconds for which the end stays
_KEYS = {"escape": ESCAPE, "enter": ENTER}


@dataclass
class Film:
    """What the program wrote, and when; the time is that of the viewer."""

    at: float = 0.0
    chunks: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    _since: float = field(default_factory=time.monotonic)
    _rest: bytes = b""

    def hold(self, seconds: float) -> None:
        """Let the viewer read."""
        self.at += seconds

    def take(self, data: bytes) -> None:
        """The program has written something."""
        now = time.monotonic()
        self.at += min(now - self._since, _LONGEST)
        self._since = now
        whole, self._rest = _whole(self._rest + data)
        if whole:
            self.chunks.append((round(self.at, 3), whole))


class FilmedStream(pyte.ByteStream):
    """A stream into a screen that is filmed on its way."""

    def __init__(self, screen: Screen, film: Film) -> None:
        super().__init__(screen)
        self._film = film

    def feed(self, data: bytes) -> None:
        """Show it, and film it."""
        super().feed(data)
        self._film.take(data)


class FilmedTerminal(Terminal):
    """A terminal with a camera."""

    film: Film

    def begin(self) -> Film:
        """Film from now on."""
        self.film = Film()
        self._stream = FilmedStream(self.model, self.film)
        return self.film

    def press(self, text: str) -> None:
        """Type as a person does: key by key, each seen before the next."""
        for key in text:
            before = len(self.raw)
            self.type(key)
            end = time.monotonic() + 2.0
            while len(self.raw) == before and time.monotonic() < end:
                self.screen()
                time.sleep(0.005)
            self.film.hold(_TYPING)

    def wait_for_typed(self, line: str) -> None:
        """Wait until a line that was typed stands on the screen, wherever it was wrapped."""
        wanted, end = "".join(line.split()), time.monotonic() + _PATIENCE
        while wanted not in "".join(self.screen().split()):
            assert time.monotonic() < end, f"never saw {line!r} in:\n{self.screen()}"
            time.sleep(0.02)


def record(language: str, into: Path) -> list[Path]:
    """Play the demonstration in one language; gives the files that were written."""
    script = tomllib.loads((HERE / f"chat.{language}.person.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="demo-") as name:
        # Not the home of whoever records: nothing of this machine may be on the picture.
        home = Path(name).resolve()
        folder = home / "tides"
        for path, text in script["files"].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.lstrip("\n"), encoding="utf-8")
        with ScriptedServer(load_scenario(HERE / f"chat.{language}.model.toml")) as server:
            film = _played(script["step"], home, folder, server.url, language)
            assert server.flaws == [], f"the model got prompts that no service takes: {server.flaws}"
    return _written(film, language, into)


def _played(steps: list[Mapping[str, Any]], home: Path, folder: Path, url: str, language: str) -> Film:
    config = home / "config.toml"
    config.write_text(
        f'[providers.scripted]\nkind = "openai"\nbase_url = "{url}"\nmodel = "gpt-4o-mini"\nsummaries = false\n',
        encoding="utf-8",
    )
    environment = {
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "BACKSCROLL_STORE": str(home / "store.db"),
        "BACKSCROLL_CONFIG": str(config),
        "BACKSCROLL_LANGUAGE": language,
        "BACKSCROLL_ENCODER": "none",
        "BACKSCROLL_UNDERSTANDING": "asked",  # the scripted model knows only what the person asks
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLORTERM": "truecolor",
        "TZ": "UTC",
        **{k: v for k, v in os.environ.items() if k.startswith(("COVERAGE_", "COV_"))},
    }
    command = (sys.executable, "-m", "backscroll", "chat")
    terminal = FilmedTerminal(command, cwd=folder, env=environment, columns=COLUMNS, lines=LINES)
    with terminal:
        film = terminal.begin()
        for step in steps:
            terminal.wait_for(*step["wait"], gone=step.get("gone", ""))
            film.hold(step.get("hold", 0.5))
            if "line" in step:
                terminal.press(step["line"])
                terminal.wait_for_typed(step["line"])
                film.hold(0.4)
                terminal.type(ENTER)
            elif "key" in step:
                key = str(step["key"])
                terminal.type(_KEYS.get(key, key))
    return film


def _written(film: Film, language: str, into: Path) -> list[Path]:
    into.mkdir(parents=True, exist_ok=True)
    cast = into / f"chat.{language}.cast"
    head = {
        "version": 2,
        "width": COLUMNS,
        "height": LINES,
        "title": TITLES[language],
        "env": {"TERM": "xterm-256color"},
    }
    rows = [head, *([at, "o", text] for at, text in film.chunks)]
    cast.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return [cast, pictured(cast)]


def pictured(cast: Path) -> Path:
    """The picture of a cast; its last screen stays for a while."""
    head, *rows = (json.loads(line) for line in cast.read_text(encoding="utf-8").splitlines())
    screen = Screen(head["width"], head["height"])
    stream = pyte.ByteStream(screen)
    frames: list[Frame] = []
    for at, _, text in rows:
        stream.feed(text.encode("utf-8"))
        cells = cells_of(screen)
        if not frames or frames[-1].cells != cells:
            frames.append(Frame(at, cells))
    picture = cast.with_suffix(".svg")
    seconds = rows[-1][0] + _LAST
    picture.write_text(
        animated(frames, seconds, head["width"], head["height"], title=head["title"]), encoding="utf-8"
    )
    return picture


def _whole(data: bytes) -> tuple[str, bytes]:
    """The characters that are complete, and the bytes of one that is not."""
    for cut in range(min(4, len(data) + 1)):
        try:
            return data[: len(data) - cut].decode("utf-8"), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace"), b""


def main() -> None:
    """Record all languages."""
    parser = argparse.ArgumentParser(description="record the demonstration of the read-me")
    parser.add_argument("--into", type=Path, default=HERE, help="the folder for the files")
    parser.add_argument(
        "--again", action="store_true", help="only the pictures, from the casts that are there"
    )
    parser.add_argument("languages", nargs="*", default=LANGUAGES, help="en, zh (default: both)")
    given = parser.parse_args()
    for language in given.languages:
        made = (
            [pictured(given.into / f"chat.{language}.cast")] if given.again else record(language, given.into)
        )
        for path in made:
            sys.stdout.write(f"{path.name}  {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
