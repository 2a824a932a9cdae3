"""The chat in Chinese is all Chinese: every command, with and without data, and every run event."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator

import pytest
from rich.console import Console

from backscroll.agent.events import (
    Asked,
    Began,
    Called,
    Calling,
    End,
    Finished,
    Happening,
    Noted,
    RunStep,
)
from backscroll.surfaces import i18n
from backscroll.surfaces.chat.screen.live_area import LiveArea
from backscroll.surfaces.chat.screen.player import Player
from backscroll.surfaces.chat.screen.status import StatusFigures
from backscroll.surfaces.chat.screen.tool_lines import FoldedLines
from backscroll.surfaces.chat.slash.catalogue import SLASHES
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.surfaces.chat.slash.hand import HandTalk

#: Two words of Latin letters in a row are a sentence, or the rest of one.
SENTENCE = re.compile(r"(?<![\w/`.#-])[A-Za-z][a-z']+(?: [a-z'][a-z']*)+")
#: Arguments that make each command say more than how it is used.
MORE = {
    "swipe": ("left", "9", "nonsense"),
    "edit": ("1", "99"),
    "delete": ("1", "99", "x"),
    "rewind": ("1", "99", "redo"),
    "fork": ("1", "99"),
    "turns": ("1", "99"),
    "context": ("nonsense",),  # `all` shows the prompt to the letter
    "crop": ("top 2", "bottom 1", "top 99", "top x", "top 0"),
    "uncrop": ("bs:999", "nonsense"),
    "pin": ("1", "99"),
    "unpin": ("1", "2"),
    "hide": ("1", "99"),
    "unhide": ("1", "2"),
    "system": ("说中文", "说中文"),
    "recall": ("潮汐", ""),
    "search": ("潮汐", "不存在的词"),
    "expand": ("bs:2", "bs:999", "nonsense"),
    "operations": ("3", "x"),
    "task": ("start 修墙", "list", "show", "title 补墙", "not-yet 还缺测试", "resume", "done", "cancel", "nonsense", "show 99"),
    "graph": ("潮汐", "edit 潮汐", "why 潮汐", "overrides", "edit"),
    "world": ("没有.toml", "drop 无"),
    "memory": ("add 喜欢蓝色", "list", "edit 1 喜欢绿色", "pin 1", "unpin 1", "why 1", "forget 1", "restore 1", "nonsense", "pin 99"),
    "changes": ("1", "无.txt", "99"),
    "diff": ("1", "99"),
    "blame": ("笔记.txt", "无.txt", "笔记.txt:99"),
    "commit": ("说明",),
    "model": ("nobody/none", "parrot-2"),
    "permissions": ("allow run_command git *", "deny write_file", "remove run_command git *", "allow nonsense x", "nonsense"),
    "threads": ("没有",),
    "new": ("新的",),
    "rename": ("潮汐之旅", ""),
    "tag": ("海", "-海"),
    "export": ("markdown 出.md", "nonsense"),
    "help": (*(slash.name for slash in SLASHES), "nonsense"),
    "unfold": ("7", "x"),
    "lang": ("zh", "xx"),
}  # fmt: skip
#: What is written so everywhere: names, keys, what the model is told, file contents.
KNOWN = re.compile(r"/permissions .*|parrot-\d|gpt-[\w-]+|`[^`]*`|\$ .*|bs:\w+|[\w.-]+/[\w./-]+")


@pytest.fixture(autouse=True)
def _in_chinese() -> Iterator[None]:
    i18n.use("zh")
    yield
    i18n.use("en")


def english(said: str) -> list[str]:
    """What looks like a sentence in English."""
    return [found[0] for line in said.splitlines() for found in SENTENCE.finditer(KNOWN.sub("·", line))]


def full(make_talk: Callable[..., HandTalk]) -> HandTalk:
    """A talk with something of everything, in Chinese."""
    talk = make_talk(("我们去哪里看潮汐？", "去海边，潮汐在那里。"), ("青岛属于山东吗？", "青岛属于山东省。"))
    talk.parrot.answers = ["好的，我来做。"] * 50
    (talk.root / "笔记.txt").write_text("潮汐\n", encoding="utf-8")
    call = ToolCall("c1", "read_file", {"path": "笔记.txt"})
    talk.thread.append("assistant", Content((Text("我看看。"), call)))
    talk.thread.append("tool", Content((ToolResult("c1", (Text("潮汐"),), False, "read_file"),)))
    talk.thread.append("user", "还有呢？")
    talk.thread.append("assistant", "没有了。")
    return talk


@pytest.mark.parametrize("name", [slash.name for slash in SLASHES if slash.name not in {"quit", "clear"}])
def test_every_command_speaks_chinese(make_talk: Callable[..., HandTalk], name: str) -> None:
    """With empty and full threads, good and bad arguments: no English sentence, also in questions."""
    found: dict[str, list[str]] = {}
    for talk in (make_talk(), full(make_talk)):
        talk.yeses, talk.picks, talk.asks = [True, False] * 9, [0] * 20, ["蓝色"] * 20
        for rest in ("", *MORE.get(name, ())):
            said = talk.run(f"/{name} {rest}".strip())
            asked = "\n".join([*talk.questions, *(o for each in talk.shown_options for o in each)])
            if left := english(f"{said}\n{asked}"):
                found[f"/{name} {rest}"] = left
    assert found == {}


HAPPENINGS: tuple[Happening, ...] = (
    Began(None, resumed=True),
    *(Asked(1, 400, 1000, "gpt", compacted=why, recalled=2) for why in ("limit", "pays", "cold", "forced")),
    *(
        Noted(kind, text)
        for kind, text in (
            ("again", "the answer broke off"),
            ("overflow", ""),
            ("silent", "stop"),
            ("continued", "4,096"),
            ("cut_call", "4,096"),
            ("calls", "9,872"),
            ("repeated", "run_command"),
            ("output_limit", "8192"),
            ("usage", "-7"),
            ("resumed", "run_command"),
            ("left", "run_command"),
            ("limit", "steps: 3"),
            ("limit", "spend: 0.5"),
            ("snapshot", "the disk is full"),
            ("commit", "the disk is full"),
            ("rewound", "an interrupted rewind was finished"),
            ("rewound", "an interrupted rewind was undone"),
        )
    ),
    Calling("c1", "run_command", "make", {}),
    Called("c1", "run_command", "exit code 0, 3 lines", "", False),
    Called("c2", "run_command", "not accepted", "", True),
    Called("c2", "run_command", "not run: cut at the output limit", "", True),
    Called("c3", "attempt_completion", "accepted", "", False),
    Called("c3", "attempt_completion", "waits for a verdict", "", False),
    Called("c4", "write_file", "", "", True, refused=""),
    Called("c4", "write_file", "", "", True, refused="太危险"),
    RunStep(1, Ref("0" * 32, 1), "", 0),
)


@pytest.mark.parametrize(
    "end",
    [
        "answered",
        "completed",
        "incomplete",
        "asked",
        "stopped",
        "limit",
        "silent",
        "cut",
        "repeated",
        "failed",
    ],
)
def test_every_run_event_is_rendered_in_chinese(end: End) -> None:
    """Including every way a run can end."""
    console = Console(file=io.StringIO(), width=110, markup=False, color_system=None)
    player = Player(LiveArea(console), FoldedLines(), StatusFigures(model="gpt"))
    for happening in HAPPENINGS:
        player.take(happening)
        player.lines()
    player.take(
        Finished(
            end,
            error="the disk is full",
            hint="nothing was written and nothing lost; make room and try again",
        )
    )
    file = console.file
    assert isinstance(file, io.StringIO)
    lines = "\n".join(line.plain for line in player.lines())
    assert english(f"{file.getvalue()}\n{lines}") == []
