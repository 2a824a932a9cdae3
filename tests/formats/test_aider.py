"""aider's chat histories: who speaks, what changed, and files that come back byte for byte."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.aider.reader import FORMAT
from backscroll.formats.aider.writer import KEY, OUTPUT
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Reasoning, Text, ToolCall, ToolResult
from tests.formats.memory_source import MemorySource
from tests.formats.stored import stored

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "transcripts" / "aider"
FILES = sorted(REAL.glob("*.md")) if REAL.is_dir() else []

#: Two dots represent the two spaces that editors like to remove.
HISTORY = """
# aider chat started at 2025-03-02 09:15:00

> Aider v0.80.0··
> Model: deepseek/deepseek-chat with diff edit format··

#### 给 util.py 加一个保存函数··
#### ··
#### and test it··

好的。

#### Plan

> a quotation of mine

util.py
```python
<<<<<<< SEARCH
=======
def save(): ...
>>>>>>> REPLACE
```

> Tokens: 2.1k sent, 80 received. Cost: $0.01 message, $0.01 session.··
> Applied edit to util.py··
> Commit 1a2b3c4 feat: add save function··

#### /undo··
> Removed: 1a2b3c4 feat: add save function··

# aider chat started at 2025-03-02 10:00:00


# aider chat started at 2025-03-02 10:00:00

#### hello··

Hi!

""".replace("··", "  ")


def threads(text: str | bytes, name: str = "history.md", path: str | None = None) -> list[ForeignThread]:
    return list(FORMAT.read(MemorySource(text, name, path)))


def rebuilt(found: list[ForeignThread]) -> str:
    assert FORMAT.write is not None
    out: list[str] = []
    for thread in found:
        back, blobs = stored(thread)
        written = FORMAT.write(back, blobs)
        out.append("".join(written.text))
        assert written.problems == []
    return "".join(out)


def said(thread: ForeignThread) -> list[tuple[str, str]]:
    return [(item.role, item.content.text) for item in thread.items if isinstance(item, ForeignMessage)]


def test_every_session_header_starts_a_thread() -> None:
    """Every header starts one, empty ones included; two of the same second stay distinct."""
    found = threads(HISTORY, ".aider.chat.history.md", "home/me/shop/.aider.chat.history.md")
    assert [t.source_id for t in found] == [
        "shop:2025-03-02 09:15:00",
        "shop:2025-03-02 10:00:00",
        "shop:2025-03-02 10:00:00#2",
    ]
    assert [t.title for t in found] == ["给 util.py 加一个保存函数", "shop", "hello"]
    assert found[0].started == "2025-03-02T09:15:00+00:00"
    assert found[0].metadata[KEY]["naive"] is True
    assert (found[0].project, found[0].kind) == ("shop", "agent")


def test_empty_session_keeps_its_header() -> None:
    """The header alone is one aside."""
    empty = threads(HISTORY)[1]
    assert [item.raw for item in empty.items if isinstance(item, Aside)] == [
        "\n# aider chat started at 2025-03-02 10:00:00\n"
    ]


def test_marked_lines_belong_to_the_user() -> None:
    """Marked lines are the user's; headings, quotations and edit blocks in a reply stay the model's."""
    first = threads(HISTORY)[0]
    (user, asked), (model, answered), (_, undo) = said(first)
    assert (user, asked) == ("user", "给 util.py 加一个保存函数\n\nand test it")
    assert model == "assistant"
    assert answered.startswith("好的。\n\n#### Plan\n\n> a quotation of mine\n")
    assert answered.endswith(">>>>>>> REPLACE\n```")
    assert undo == "/undo"


def test_program_output_is_kept_aside_and_reports_code_changes() -> None:
    """Program output is not a message; the edits and commits it reports are code changes."""
    items = list(threads(HISTORY)[0].items)
    outputs = [item.raw for item in items if isinstance(item, Aside) and item.kind == OUTPUT]
    assert [raw.strip()[:12] for raw in outputs] == [
        "> Aider v0.8",
        "> Model: dee",
        "> Tokens: 2.",
        "> Applied ed",
        "> Commit 1a2",
        "> Removed: 1",
    ]
    assert [item for item in items if isinstance(item, ForeignCodeChange)] == [
        ForeignCodeChange("Applied edit", "util.py"),
        ForeignCodeChange("Commit 1a2b3c4 feat: add save function", ""),
    ]


def test_history_round_trips_byte_for_byte() -> None:
    """Imported, kept and exported sessions, put one after the other, are the file again."""
    assert rebuilt(threads(HISTORY)) == HISTORY


@pytest.mark.parametrize(
    "text",
    [
        HISTORY.replace("\n", "\r\n"),
        HISTORY.lstrip("\n"),
        HISTORY.rstrip("\n"),
        HISTORY.split("\n", 2)[2],
        "\n\n" + HISTORY + "\n\n\n",
        HISTORY.replace("  \n", "\n"),
        HISTORY.replace("\n\n", "\n"),
    ],
    ids=["windows", "no first blank", "no last end", "no header", "more blanks", "stripped", "squeezed"],
)
def test_odd_histories_round_trip(text: str) -> None:
    """Line ends, missing headers, stripped spaces and squeezed blanks change nothing about the rebuilt file."""
    assert rebuilt(threads(text)) == text


def test_history_without_a_header_is_read() -> None:
    """Benchmark runs may leave no header: the words go in, the time is unknown."""
    found = threads("#### fix it  \n> 10 tokens  \n\nDone.\n\n> Applied edit to a.py  \n", "run-7.md")
    assert said(found[0]) == [("user", "fix it"), ("assistant", "Done.")]
    assert (found[0].started, found[0].source_id) == (None, "run-7:before the first session")


def test_speakers_are_recognised_after_trailing_spaces_were_stripped() -> None:
    """`####` and `>` are enough."""
    found = threads("# aider chat started at 2025-03-02 09:15:00\n\n> Aider\n\n#### hi\n\nHello.\n")
    assert said(found[0]) == [("user", "hi"), ("assistant", "Hello.")]


def test_continued_session_only_adds_items() -> None:
    """Read at any line end and read again later, everything from the first time comes again, followed by the new."""
    end = HISTORY.index("# aider chat started at 2025-03-02 10")
    lines = HISTORY[:end].splitlines(keepends=True)
    whole = list(threads(HISTORY[:end])[0].items)
    for count, line in enumerate(lines, 1):
        if line.startswith("> ") and line.endswith(
            "  \n"
        ):  # aider writes its own lines one by one, all else in one go
            early = list(threads("".join(lines[:count]))[0].items)
            assert early == whole[: len(early)]


pieces = st.sampled_from(
    [
        "#### a  \n",
        "####   \n",
        "####  \n",
        "#### b\n",
        "> c  \n",
        ">  \n",
        "> d\n",
        "\n",
        "  \n",
        "text\n",
        "# x\n",
        "\r\n",
        "# aider chat started at 2025-03-02 09:15:00\n",
        "> Applied edit to f.py  \n",
        "end",
        "####\n",
        ">\n",
        "\u2028\n",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces, max_size=12).map("".join))
def test_any_mixture_of_lines_is_rebuilt(text: str) -> None:
    """However the lines follow each other, cutting and joining give the same text."""
    if text.strip():
        assert rebuilt(threads(text)) == text


@pytest.mark.skipif(not FILES, reason="the collection of real histories is not beside this clone")
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_real_histories_are_read_completely(file: Path) -> None:
    """Real files round-trip byte for byte, and item counts match the raw lines."""
    data = file.read_bytes()
    found = threads(data, file.name)
    assert FORMAT.sniff(MemorySource(data, file.name)) > 0.9
    items = [item for thread in found for item in thread.items]
    lines = data.decode().split("\n")
    assert len(found) == sum(line.startswith("# aider chat started at ") for line in lines)
    marked = [line for line in lines if line.startswith("#### ")]
    asked = [item for item in items if isinstance(item, ForeignMessage) and item.role == "user"]
    assert sum(message.content.text.count("\n") + 1 for message in asked) == len(marked)
    edits = [line for line in lines if line.startswith("> Applied edit to ")]
    assert sum(isinstance(item, ForeignCodeChange) for item in items) == len(edits)
    output = sum(
        item.raw.count("\n> ") + item.raw.startswith("> ") for item in items if isinstance(item, Aside)
    )
    assert output == sum(line.startswith("> ") for line in lines)
    assert rebuilt(found).encode() == data


def test_edited_message_is_written_in_aider_style() -> None:
    """Edited messages replace their raw lines; the others stay verbatim."""
    (thread,) = threads("#### old\n\nreply\n")
    items = list(thread.items)
    assert isinstance(items[0], ForeignMessage)
    items[0] = ForeignMessage("user", Content((Text("new"),), None, items[0].content.metadata))
    text = rebuilt([ForeignThread("aider", "x", items, metadata=thread.metadata)])
    assert text == "\n#### new  \n\nreply\n"


def test_foreign_thread_reads_back_and_reports_losses() -> None:
    """Questions and replies survive; calls, results, thinking, system text and flags are reported."""
    items: list[Item] = [
        ForeignMessage("system", Content((Text("Be brief."),))),
        ForeignMessage(
            "user", Content((Text("see\n\nthis"), Media("image/png", url="a.png")), "Kai"), pinned=True
        ),
        ForeignMessage(
            "assistant", Content((Reasoning("hm"), Text("#### Title  \nok"), ToolCall("1", "ls", {"d": "."})))
        ),
        ForeignMessage("tool", Content((ToolResult("1", (Text("a\nb"),)),))),
        ForeignCodeChange("Applied edit", "a.py"),
        ForeignCodeChange("rename", "b.py"),
        Aside("summary", "x"),
    ]
    assert FORMAT.write is not None
    written = FORMAT.write(
        ForeignThread("x", "y", items, started="2025-01-01T10:00:00+00:00"), lambda _: None
    )
    text = "".join(written.text)
    (back,) = threads(text)
    assert back.started == "2025-01-01T10:00:00+00:00"
    assert said(back) == [("user", "see\n\nthis"), ("assistant", "#### Title\nok")]
    assert [c.file_path for c in back.items if isinstance(c, ForeignCodeChange)] == ["a.py", "b.py"]
    reported = Counter(word for p in written.problems for word in
        ("system", "attachment", "pin", "'Kai'", "thinking", "tool call", "tool result", "'rename'", "'summary'") if word in p.what)  # fmt: skip
    assert len(reported) == 9


@pytest.mark.parametrize(
    "content", ["", "\x00\x01", "# A readme\n\n> quoted\n", '{"a": 1}', "#### Heading\n\ntext\n"]
)
def test_other_files_are_not_recognised_as_histories(content: str) -> None:
    """Empty, binary and ordinary Markdown files are not histories, and nothing is raised."""
    assert FORMAT.sniff(MemorySource(content, "README.md")) == 0.0
    assert FORMAT.sniff(MemorySource({"a.md": content}, "folder")) == 0.0


def test_histories_are_recognised() -> None:
    """By a header, the usual file name, or both kinds of marked lines."""
    assert FORMAT.sniff(MemorySource(HISTORY)) > 0.9
    assert FORMAT.sniff(MemorySource("#### hi\n", ".aider.chat.history.md")) >= 0.9
    assert 0.5 < FORMAT.sniff(MemorySource("#### a  \n#### b  \n> c  \n> d  \n", "run.md")) < 0.9


def test_empty_file_or_folder_is_refused() -> None:
    """Nothing to read is an error with a hint, not an empty list."""
    for source in (MemorySource("\n\n"), MemorySource({}, "folder")):
        with pytest.raises(FormatError):
            FORMAT.read(source)
