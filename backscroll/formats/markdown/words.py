"""The labels of a Markdown page, in English and Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageTexts:
    """The fixed texts of a page, in one language."""

    untitled: str
    project: str
    kind: str
    language: str
    started: str
    source: str
    forked_from: str
    opening: str
    pinned: str
    hidden: str
    thinking: str
    result: str
    failed: str
    nothing: str
    change: str
    roles: Mapping[str, str]
    kinds: Mapping[str, str]
    languages: Mapping[str, str]
    turn: Callable[[int], str]
    lines: Callable[[int], str]
    others: Callable[[int], str]
    version: Callable[[int, int], str]
    total: Callable[[int, int, int], str]


def _pluralize(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


_ENGLISH = PageTexts(
    untitled="Conversation",
    project="Project",
    kind="Kind",
    language="Language",
    started="Started",
    source="Source",
    forked_from="Forked from",
    opening="Opening",
    pinned="pinned",
    hidden="hidden from the model",
    thinking="Thinking",
    result="Result",
    failed="Failed",
    nothing="(nothing)",
    change="Code change",
    roles={"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"},
    kinds={"chat": "Chat", "agent": "Agent", "roleplay": "Role-play"},
    languages={"en": "English", "zh": "Chinese"},
    turn=lambda number: f"Turn {number}",
    lines=lambda count: _pluralize(count, "line"),
    others=lambda count: f"🔀 {_pluralize(count, 'other version')}",
    version=lambda number, of: f"version {number} of {of}",
    total=lambda messages, turns, changes: (
        f"*{_pluralize(messages, 'message')} in {_pluralize(turns, 'turn')}"
        + (f", {_pluralize(changes, 'code change')}" if changes else "")
        + ".*"
    ),
)

_CHINESE = PageTexts(
    untitled="对话",
    project="项目",
    kind="类型",
    language="语言",
    started="开始时间",
    source="来源",
    forked_from="分支自",
    opening="开场",
    pinned="已置顶",
    hidden="对模型隐藏",
    thinking="思考",
    result="结果",
    failed="失败",
    nothing="（空）",
    change="代码变更",
    roles={"system": "系统", "user": "用户", "assistant": "助手", "tool": "工具"},
    kinds={"chat": "聊天", "agent": "智能体", "roleplay": "角色扮演"},
    languages={"en": "英文", "zh": "中文"},
    turn=lambda number: f"第 {number} 轮",
    lines=lambda count: f"{count} 行",
    others=lambda count: f"🔀 其他 {count} 个版本",
    version=lambda number, of: f"版本 {number}/{of}",
    total=lambda messages, turns, changes: (
        f"*共 {messages} 条消息，{turns} 轮" + (f"，{changes} 处代码变更" if changes else "") + "。*"
    ),
)


def words_for(language: str) -> PageTexts:
    """Return the labels for a language tag; default: English."""
    return _CHINESE if language.lower().split("-")[0].split("_")[0] in ("zh", "cmn", "yue") else _ENGLISH
