"""Finding text in files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backscroll.errors import InvalidInput, NotFound
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.search import search_files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    texts = {
        "src/a.py": "import os\n\ndef first():\n    return os.getcwd()\n\ndef second():\n    return 2\n",
        "src/b.ts": "function first() {}\n",
        "文档/说明.md": "第一行\n数据库的地址\n最后一行\n",
        "x.log": "first ignored\n",
        ".gitignore": "*.log\n",
        ".env": "first=secret\n",
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return Files(tmp_path)


def places(files: Files, query: str, **options: object) -> list[str]:
    found = search_files(files, query, **options)  # type: ignore[arg-type]
    return [f"{hit.path}:{hit.line}:{hit.column}" for hit in found.hits]


def test_regular_expression_search(files: Files) -> None:
    """Every matching line, by path and line; ignored and protected files are skipped."""
    assert places(files, r"def \w+\(") == ["src/a.py:3:1", "src/a.py:6:1"]
    assert places(files, "first") == ["src/a.py:3:5", "src/b.ts:1:10"]
    assert places(files, "first", everything=True) == ["src/a.py:3:5", "src/b.ts:1:10", "x.log:1:1"]
    assert places(files, "FIRST", ignore_case=True) == ["src/a.py:3:5", "src/b.ts:1:10"]
    assert places(files, "first", pattern="*.ts") == ["src/b.ts:1:10"]
    assert places(files, "first", path="src/b.ts") == ["src/b.ts:1:10"]
    assert places(files, "数据库") == ["文档/说明.md:2:1"]
    assert places(files, "地址", literal=True) == ["文档/说明.md:2:5"]


def test_literal_search(files: Files) -> None:
    """No character is special."""
    assert places(files, "getcwd()", literal=True) == ["src/a.py:4:15"]
    assert places(files, "GETCWD()", literal=True, ignore_case=True) == ["src/a.py:4:15"]
    assert places(files, ".*", literal=True) == []


def test_context_lines_are_shown(files: Files) -> None:
    """With their numbers, as many as exist."""
    found = search_files(files, "数据库", context=5)
    assert found.text == "文档/说明.md-1- 第一行\n文档/说明.md:2: 数据库的地址\n文档/说明.md-3- 最后一行"
    assert found.counts == {"文档/说明.md": 1}
    assert found.searched == 4


def test_results_are_limited(files: Files) -> None:
    """With a note that there may be more."""
    found = search_files(files, ".", limit=2)
    assert [(hit.path, hit.line) for hit in found.hits] == [(".gitignore", 1), ("src/a.py", 1)]
    assert found.cut
    assert not search_files(files, "nothing like it").cut


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("(", "not a regular expression"),
        ("[z-a]", "not a regular expression"),
        ("(?P<a>x)(?P=b)", "not a regular expression"),
        ("", "a search needs 1 to"),
        ("x" * 3000, "a search needs 1 to"),
        ("a\nb", "one line at a time"),
    ],
)
def test_invalid_expression_is_refused(files: Files, query: str, said: str) -> None:
    """With the reason and the position."""
    with pytest.raises(InvalidInput, match=said) as refused:
        search_files(files, query)
    assert refused.value.hint


def test_endless_expression_is_stopped(tmp_path: Path) -> None:
    """By a timeout; earlier matches stay."""
    (tmp_path / "a.txt").write_text("xxxz y\n")
    (tmp_path / "b.txt").write_text("x" * 5000 + "\n")
    found = search_files(Files(tmp_path), r"(x+x+)+(?=z| *y)(?<!q)z", seconds=0.5)
    assert [hit.path for hit in found.hits] == ["a.txt"]
    assert found.stopped == "stopped after 0.5 seconds"
    assert found.cut


def test_odd_files_are_skipped_and_counted(tmp_path: Path) -> None:
    """Binary, huge, special and wrongly encoded ones."""
    (tmp_path / "a.bin").write_bytes(b"\0needle")
    (tmp_path / "big.txt").write_text("needle\n" * 100)
    (tmp_path / "gb.txt").write_bytes("国标编码的文件里有 needle\n".encode("gb18030"))
    (tmp_path / "bad.txt").write_bytes(b"needle \xff\xfe\n")
    (tmp_path / "wide.txt").write_bytes("\ufeffneedle\r\n".encode("utf-16-le"))
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    (tmp_path / os.fsdecode(b"n\xe9.txt")).write_text("needle\n")
    os.mkfifo(tmp_path / "pipe")
    found = search_files(Files(tmp_path), "needle", largest=200)
    assert [hit.path for hit in found.hits] == ["bad.txt", "gb.txt", os.fsdecode(b"n\xe9.txt"), "wide.txt"]
    assert (found.binary, found.passed_over) == (1, ("big.txt",))


def test_very_long_lines_are_cut_around_the_match(tmp_path: Path) -> None:
    """A minified file does not fill the screen."""
    (tmp_path / "a.js").write_text("a" * 10_000 + "needle" + "b" * 10_000)
    hit = search_files(Files(tmp_path), "needle").hits[0]
    assert "needle" in hit.text
    assert len(hit.text) < 320
    assert hit.column == 10_001


def test_missing_or_outside_path_is_refused(files: Files) -> None:
    """A path that leads nowhere, or out."""
    with pytest.raises(NotFound):
        search_files(files, "x", path="nowhere")
    with pytest.raises(InvalidInput, match="leads out"):
        search_files(files, "x", path="../..")
    with pytest.raises(InvalidInput, match="protected"):
        search_files(files, "x", path=".env")
