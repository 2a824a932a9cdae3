"""Search/replace blocks in a model's reply."""

from __future__ import annotations

import pytest

from backscroll.errors import FormatError
from backscroll.workspace.edits.edit import TextReplacement
from backscroll.workspace.edits.edits import parse_edits

AIDER = """I change two things.

src/main.py
```python
<<<<<<< SEARCH
old
=======
new

  more
>>>>>>> REPLACE
```

Then the other one:

```python
<<<<<<< SEARCH
second
=======
>>>>>>> REPLACE
```
"""


def test_name_applies_until_the_next() -> None:
    """A block without a name belongs to the file of the block before."""
    assert parse_edits(AIDER) == [
        TextReplacement("src/main.py", "old\n", "new\n\n  more\n", by_lines=True),
        TextReplacement("src/main.py", "second\n", "", by_lines=True),
    ]


def test_alternative_marks_are_read() -> None:
    """Dashes and plus signs mean the same."""
    text = "说明文档.md\n------- SEARCH\n旧\n=======\n新\n+++++++ REPLACE\n"
    assert parse_edits(text) == [TextReplacement("说明文档.md", "旧\n", "新\n", by_lines=True)]
    assert parse_edits(text.split("\n", 1)[1], path="a.md")[0].path == "a.md"


@pytest.mark.parametrize(
    "line",
    [
        "a/b.py",
        "`a/b.py`",
        "**a/b.py**",
        "**`a/b.py`**",
        "### a/b.py",
        "File: a/b.py",
        "文件：a/b.py",
        "a/b.py:",
        "- a/b.py",
        "1. `a/b.py`",
        "> a/b.py",
    ],
)
def test_decorated_names_are_read(line: str) -> None:
    """As models write them, with or without markup."""
    text = f"Sure!\n\n{line}\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
    assert parse_edits(text)[0].path == "a/b.py"


@pytest.mark.parametrize(
    "line",
    ["Here is the change:", "Look at a/b.py and change it", "see https://x.y/a.py", "Done.", "这是修改："],
)
def test_sentences_are_no_names(line: str) -> None:
    """A path in a sentence names nothing; the block then has no file."""
    with pytest.raises(FormatError, match="names no file"):
        parse_edits(f"{line}\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n")


def test_quoted_name_may_contain_spaces() -> None:
    """Quoted it cannot be a sentence."""
    text = "`my notes/to do.md`\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
    assert parse_edits(text)[0].path == "my notes/to do.md"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.py\n<<<<<<< SEARCH\nx\n=======\ny\n", "at line 2 has no end"),
        ("a.py\n<<<<<<< SEARCH\nx\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", "at line 2 has no end"),
        ("a.py\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n", "has no ======="),
        ("a.md\n<<<<<<< SEARCH\nTitle\n=======\n=======\nx\n>>>>>>> REPLACE\n", "several lines of ======="),
    ],
)
def test_broken_blocks_are_refused(text: str, said: str) -> None:
    """Nothing is guessed; the line is named."""
    with pytest.raises(FormatError, match=said) as refused:
        parse_edits(text)
    assert refused.value.hint


def test_longer_marks_make_room_for_the_text() -> None:
    """A text that contains the mark is written with longer ones."""
    text = "a.md\n<<<<<<<<< SEARCH\nTitle\n=======\n=========\nOther\n=======\n>>>>>>>>> REPLACE\n"
    assert parse_edits(text) == [
        TextReplacement("a.md", "Title\n=======\n", "Other\n=======\n", by_lines=True)
    ]


def test_fences_inside_a_block_are_text() -> None:
    """A block may edit Markdown; reading continues after it."""
    text = "a.md\n````\n<<<<<<< SEARCH\n```sh\nold\n```\n=======\n```sh\nnew\n```\n>>>>>>> REPLACE\n````\n\nb.txt\n```\nhi\n```\n"
    edits = parse_edits(text)
    assert edits[0] == TextReplacement("a.md", "```sh\nold\n```\n", "```sh\nnew\n```\n", by_lines=True)
    assert [edit.path for edit in edits] == ["a.md", "b.txt"]


def test_message_with_crlf_is_read() -> None:
    """Its line ends are no part of the edit."""
    assert parse_edits("a.py\r\n<<<<<<< SEARCH\r\nx\r\n=======\r\ny\r\n>>>>>>> REPLACE\r\n") == [
        TextReplacement("a.py", "x\n", "y\n", by_lines=True)
    ]
