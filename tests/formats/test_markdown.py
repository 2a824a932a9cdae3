"""Markdown pages: good to read in two languages, and no message can break the page."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from backscroll.errors import FormatError
from backscroll.formats.markdown.writer import FORMAT, write_markdown
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.formats.memory_source import MemorySource

ITEMS: list[Item] = [
    ForeignMessage("assistant", Content((Text("Welcome."),), "Mira"), "2025-03-02T08:00:00+00:00"),
    ForeignMessage("user", Content((Text("Show me **main.py**"),), "Kai"), "2025-03-02T16:01:00+08:00", pinned=True),
    ForeignMessage(
        "assistant",
        Content((Reasoning("Read it first."), Text("Reading."), ToolCall("c1", "read_file", {"path": "src/main.py", "n": 3}))),
        "2025-03-02T08:01:05+00:00",
    ),
    ForeignMessage("tool", Content((ToolResult("c1", (Text("a\n```\nb"),), name="read_file"),)), "2025-03-02T08:01:06+00:00"),
    ForeignCodeChange("fix the loop", "src/`odd`.py", "2025-03-02T08:01:07+00:00"),
    ForeignMessage(
        "assistant",
        Content((Text("Second try."), Media("image/png", url="https://x.test/a b.png", name="plot"))),
        "2025-03-02T08:02:00+00:00",
        alternatives=(Content((Text("First try."),)), Content((Text("Second try."),))),
        alternative_times=("2025-03-02T08:01:50+00:00", None),
        chosen=1,
        hidden=True,
    ),
    ForeignMessage("user", Content((Text("Thanks"), Opaque("v", "k", '{"a": 1}')))),
    ForeignMessage("tool", Content((ToolResult("c9", (), is_error=True),))),
    Aside("summary", "{}"),
]  # fmt: skip


def page(items: list[Item], **more: str) -> tuple[str, list[Problem]]:
    thread = ForeignThread(
        "claude-code",
        "s-1",
        items,
        title="The *loop*",
        project="shop|1",
        kind="agent",
        started="2025-03-02T08:00:00+00:00",
    )
    written = write_markdown(thread, lambda _: None, language=more.get("language"))
    return "".join(written.text), written.problems


def test_page_shows_title_turns_changes_and_total_in_order() -> None:
    """Title, metadata, numbered turns with speaker and time, changes, total."""
    text, _ = page(ITEMS, language="en")
    order = [
        "# The *loop*\n",
        "| Project | shop\\|1 |",
        "| Started | 2025-03-02 08:00:00 |",
        "## Opening\n\n**Assistant** · Mira · 2025-03-02 08:00:00\n\nWelcome.\n",
        "## Turn 1\n\n**User** · Kai · 2025-03-02 16:01:00 +08:00 · 📌 pinned\n\nShow me **main.py**  \n",
        "<summary>💭 Thinking</summary>\n\nRead it first.\n",
        "Reading.\n",
        "<summary>🔧 read_file · <code>src/main.py</code></summary>\n\n```json\n{\n",
        "<summary>↩️ Result · read_file · 3 lines</summary>\n\n````\na\n```\nb\n````\n",
        "> ✏️ **Code change** · ``src/`odd`.py`` · fix the loop · 2025-03-02 08:01:07\n",
        "**Assistant** · 2025-03-02 08:02:00 · version 2 of 2 · 🙈 hidden from the model\n\nSecond try.\n",
        "![plot](<https://x.test/a b.png>)",
        "<summary>🔀 1 other version</summary>\n\n**version 1 of 2 · 2025-03-02 08:01:50**\n\nFirst try.\n",
        "## Turn 2\n\n**User**\n\nThanks  \n",
        "<summary>📦 v · k</summary>",
        "<summary>⚠️ Failed · c9</summary>\n\n(nothing)\n",
        "*7 messages in 2 turns, 1 code change.*\n",
    ]
    at = 0
    for piece in order:
        assert piece in text[at:], piece
        at = text.index(piece, at) + len(piece)


def test_page_labels_in_chinese() -> None:
    """All labels are Chinese where the thread or the caller wants it; names and words stay as they are."""
    text, _ = page(ITEMS, language="zh-CN")
    for piece in ("| 项目 |", "## 开场", "## 第 1 轮", "**用户** · Kai", "📌 已置顶", "💭 思考", "↩️ 结果 · read_file · 3 行", "**代码变更**", "🔀 其他 1 个版本", "*共 7 条消息，2 轮，1 处代码变更。*"):  # fmt: skip
        assert piece in text
    assert not any(word in text for word in ("Turn", "Result", "User**", "Project"))
    assert FORMAT.write is not None
    thread = ForeignThread("x", "y", ITEMS, language="zh")
    assert "## 第 2 轮" in "".join(FORMAT.write(thread, lambda _: None).text)


def test_omissions_are_reported() -> None:
    """Asides, and attachments without an address, leave a problem; problems of the source are passed on."""
    items: list[Item] = [
        *ITEMS,
        ForeignMessage("user", Content((Media("image/png", blob="b", name="shot"),))),
        Problem("line 3"),
    ]
    text, problems = page(items)
    said = " | ".join(p.what for p in problems)
    assert all(word in said for word in ("'summary'", "shot", "line 3"))
    assert "🖼️ shot image/png" in text


def test_caller_can_provide_links_to_blobs() -> None:
    """With addresses for the stored bytes pictures become links, and nothing is missing."""
    thread = ForeignThread("x", "y", [ForeignMessage("user", Content((Media("image/png", blob="b1"),)))])
    written = write_markdown(thread, lambda _: None, media_link=lambda part: f"blobs/{part.blob}.png")
    assert "![image/png](<blobs/b1.png>)" in "".join(written.text)
    assert written.problems == []


def test_json_string_arguments_are_indented() -> None:
    """Invalid JSON is shown unchanged."""
    good, _ = page([ForeignMessage("assistant", Content((ToolCall("1", "f", '{"路径":"a"}'),)))])
    assert '```json\n{\n  "路径": "a"\n}\n```' in good
    bad, _ = page([ForeignMessage("assistant", Content((ToolCall("1", "f", '{"path": "a'),)))])
    assert '```\n{"path": "a\n```' in bad


def test_user_text_is_escaped_to_look_as_typed() -> None:
    """Line breaks stay, and dashes or a hash are not headings; fences and the model's own Markdown are left alone."""
    text, _ = page(
        [ForeignMessage("user", Content((Text("# a comment\nTrace\n-----\n```\n# code\nb\n```"),)))]
    )
    assert "\\# a comment  \nTrace  \n\\-----  \n```\n# code\nb\n```\n" in text
    text, _ = page([ForeignMessage("assistant", Content((Text("# Title\nwords"),)))])
    assert "\n# Title\nwords\n" in text


nasty = st.lists(
    st.sampled_from(
        ["```", "````", "~~~", "`", "``` x", "text", "\n", "\n\n", "    ", "> ", "- ", "<details>", "</details>", "</summary>", "<!--", "-->",
         "<script>", "<pre>", "<style>", "|", "*", "[", "](", "\\", "&", "<?php", "<![CDATA[", "<textarea>", "\u2028", "中文", "\ud83d", "```python\n", "-----", "====", "### "]
    ),
    max_size=10,
).map("".join)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(nasty, nasty)
def test_nothing_that_is_said_breaks_the_page(said: str, other: str) -> None:
    """Whatever is in words, names, results and arguments: the page's own structure is still there when it is rendered."""
    items: list[Item] = [
        ForeignMessage("user", Content((Text(said),), other or None)),
        ForeignMessage("assistant", Content((Reasoning(other), Text(said), ToolCall("1", said or "f", {"a": other}), Opaque(other, said, other)))),
        ForeignMessage("tool", Content((ToolResult("1", (Text(said),), name=other or None),))),
        ForeignCodeChange(said, other),
        ForeignMessage("user", Content((Text("the end"), Media("image/png", url=other, name=said)))),
    ]  # fmt: skip
    text, _ = page(items, language="en")
    text.encode("utf-8")
    tokens = MarkdownIt("commonmark").parse(text)
    headings = [
        tokens[i + 1].content
        for i, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    assert [h for h in headings if h.startswith("Turn")] == ["Turn 1", "Turn 2"]
    last = [token.content for token in tokens if token.type == "inline" and token.level == 1][-1]
    assert last.startswith("*4 messages in 2 turns, 1 code change.*")
    blocks = "".join(token.content for token in tokens if token.type == "html_block" and token.level == 0)
    assert blocks.count("<details>") == blocks.count("</details>") > 0


def test_page_is_valid_utf8() -> None:
    """Half an emoji does not stop the page from being written."""
    text, _ = page([ForeignMessage("user", Content((Text(json.loads('"cut \\ud83d"')),)))])
    assert "cut \ufffd" in text


def test_markdown_is_write_only() -> None:
    """It recognises no file and refuses to read."""
    source = MemorySource("# The loop\n\n## Turn 1\n", "a.md")
    assert FORMAT.sniff(source) == 0.0
    with pytest.raises(FormatError):
        FORMAT.read(source)
