"""The slash commands: their names, where they live, and which one a line calls.

Owns names, aliases and usages. Their help texts are in `i18n`, sections `slash_help` and `slash_family`. Loads no command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from backscroll.surfaces.i18n import t

#: A line that calls a command.
LINE = re.compile(r"[/／]([^\s/／]*)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One command: `/name usage`. Its function is `<name>_slash` in its module."""

    name: str  # without the slash
    family: str  # its group on the help page
    module: str  # its module in this folder
    usage: str = ""  # the usage of its arguments
    aliases: tuple[str, ...] = ()

    @property
    def call(self) -> str:
        """The command as typed."""
        return f"/{self.name} {self.usage}".rstrip()

    @property
    def help(self) -> str:
        """What it does, in one line of the language in use."""
        return t(f"slash_help.{self.name}")


def _family(family: str, *members: tuple[str, str, str, str]) -> Iterator[SlashCommand]:
    for name, module, usage, aliases in members:
        yield SlashCommand(name, family, module, usage, tuple(aliases.split()))


#: Every command, in the order of the help page.
SLASHES: tuple[SlashCommand, ...] = (
    *_family(
        "talk",
        ("regenerate", "answers", "", "retry re 重答"),
        ("continue", "answers", "", "go 继续"),
        ("swipe", "answers", "[left|right|N]", "sw choose 换答"),
        ("edit", "messages", "[MESSAGE]", "e 编辑"),
        ("delete", "messages", "MESSAGE...", "del rm 删除"),
        ("undo", "undo", "", "u 撤销"),
        ("redo", "undo", "", "重做"),
        ("rewind", "rewind", "[TURN|redo]", "back 回退"),
        ("fork", "answers", "[TURN]", "branch 分支"),
        ("turns", "lookup", "[TURN]", "历史"),
    ),
    *_family(
        "prompt",
        ("context", "prompts", "[all]", "ctx 上下文"),
        ("crop", "prompts", "top|bottom N [SUMMARY]", "裁剪"),
        ("uncrop", "prompts", "[HANDLE]", "取消裁剪"),
        ("compact", "prompts", "[undo]", "压缩"),
        ("pin", "messages", "MESSAGE...", "固定"),
        ("unpin", "messages", "[MESSAGE...]", "取消固定"),
        ("hide", "messages", "MESSAGE...", "隐藏"),
        ("unhide", "messages", "[MESSAGE...]", "取消隐藏"),
        ("system", "prompts", "[TEXT]", "sys 系统"),
    ),
    *_family(
        "find",
        ("recall", "lookup", "QUERY", "r 回忆"),
        ("search", "lookup", "QUERY", "find 搜索"),
        ("expand", "lookup", "HANDLE", "x 展开"),
        ("operations", "lookup", "[N]", "ops 操作"),
    ),
    *_family(
        "remember",
        ("task", "tasks", "[start|complete|incomplete|cancel|resume|list|show|rename]", "t 任务"),
        ("todos", "tasks", "", "todo 待办"),
        ("graph", "graph", "[NAME | edit NAME | why NAME | overrides]", "g 图谱"),
        ("world", "graph", "[FILE | drop NAME]", "世界"),
        ("memory", "memory", "[list|add|edit|pin|unpin|forget|restore|why]", "mem m 记忆"),
    ),
    *_family(
        "code",
        ("changes", "code", "[TURN|FILE]", "改动"),
        ("diff", "code", "[TURN]", "差异"),
        ("blame", "code", "FILE[:LINE]", "溯源"),
        ("commit", "code", "[MESSAGE]", "ci 提交"),
    ),
    *_family(
        "agent",
        ("model", "agent", "[PROVIDER/MODEL]", "模型"),
        ("cost", "agent", "", "$ 花费"),
        ("tools", "agent", "", "工具"),
        ("permissions", "agent", "[allow|ask|deny|remove] [TOOL] [PATTERN]", "perm 权限"),
    ),
    *_family(
        "threads",
        ("threads", "threads", "[WORDS]", "ls 对话"),
        ("new", "threads", "[TITLE]", "n 新建"),
        ("rename", "threads", "TITLE", "title 改名"),
        ("tag", "threads", "[NAME | -NAME]...", "标签"),
        ("export", "threads", "[FORMAT] [FILE]", "导出"),
    ),
    *_family(
        "screen",
        ("help", "screen", "[COMMAND]", "h ? 帮助"),
        ("unfold", "screen", "[N]", "o 展示"),
        ("lang", "screen", "[en|zh]", "语言"),
        ("clear", "screen", "", "cls 清屏"),
        ("quit", "screen", "", "q exit 退出"),
    ),
)  # fmt: skip


@cache
def by_name() -> dict[str, SlashCommand]:
    """Return every command under its name and its aliases."""
    return {name: slash for slash in SLASHES for name in (slash.name, *slash.aliases)}


def split(line: str) -> tuple[str, str]:
    """Split a line into the name of a command and the rest; the name is empty if the line is not a command."""
    found = LINE.fullmatch(line.strip())
    return (found[1].lower(), (found[2] or "").strip()) if found else ("", "")


def find(text: str) -> SlashCommand | None:
    """Find the command that a line calls, or that has this name or alias, with or without the slash."""
    name = split(text)[0] if text.strip()[:1] in "/／" else text.strip().lower()
    return by_name().get(name)
