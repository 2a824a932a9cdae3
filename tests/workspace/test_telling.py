"""One-line descriptions of changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.vocab.change import FileChange
from backscroll.workspace.descriptions import describe, touched_by
from backscroll.workspace.edits.definitions import definitions


def tell(before: dict[str, str], after: dict[str, str], *changes: FileChange, language: str = "en") -> str:
    def reader(files: dict[str, str]) -> Callable[[str], bytes | None]:
        return lambda path: files[path].encode() if path in files else None

    return describe(changes, reader(before), reader(after), language)


OLD = "import os\n\n\ndef greet(name):\n    return 'hi ' + name\n\n\nclass Parser:\n    def parse(self):\n        return 1\n\n    def other(self):\n        return 2\n"
NEW = (
    OLD.replace("'hi '", "'hello '").replace("return 1", "return 3")
    + "\n\ndef farewell():\n    return 'bye'\n"
)


def test_python_changes_are_described_by_function() -> None:
    """New, removed and edited ones, by name; methods with their class."""
    change = FileChange("app.py", "changed", "1", "2", added=6, removed=2)
    assert tell({"app.py": OLD}, {"app.py": NEW}, change) == (
        "Changed app.py: new farewell; greet, Parser.parse (+6 −2)"
    )
    assert tell({"app.py": OLD}, {"app.py": NEW}, change, language="zh") == (
        "修改 app.py：新增 farewell，greet、Parser.parse（+6 −2）"
    )
    back = FileChange("app.py", "changed", "2", "1", added=2, removed=6)
    assert tell({"app.py": NEW}, {"app.py": OLD}, back).startswith("Changed app.py: without farewell; greet")


def test_new_file_and_rename_are_described() -> None:
    """A class is named, not all of its methods."""
    added = FileChange("app.py", "added", "", "2", added=13)
    renamed = FileChange("b.txt", "renamed", "1", "1", "a.txt")
    assert tell({}, {"app.py": OLD}, added, renamed) == (
        "Added app.py: new greet, Parser (+13 −0); renamed a.txt to b.txt"
    )
    assert tell({}, {}, renamed, language="zh") == "a.txt 改名为 b.txt"


def test_many_files_are_counted() -> None:
    """Three are named, those with the most changed lines first."""
    changes = [FileChange(f"f{n}.txt", "changed", "1", "2", added=n, removed=0) for n in range(10)]
    assert tell({}, {}, *changes) == (
        "Changed f9.txt (+9 −0); changed f8.txt (+8 −0); changed f7.txt (+7 −0); and 7 more files"
    )
    assert tell({}, {}, *changes, language="zh").endswith("；另有 7 个文件")
    assert tell({}, {}, *changes[:4]).count("changed") == 3


def test_many_names_are_counted() -> None:
    text = "".join(f"def f{n}():\n    pass\n" for n in range(8))
    added = FileChange("m.py", "added", "", "2", added=16)
    assert "new f0, f1, f2 and 5 more" in tell({}, {"m.py": text}, added)
    assert "新增 f0、f1、f2 等 8 处" in tell({}, {"m.py": text}, added, language="zh")


@pytest.mark.parametrize(
    ("change", "english", "chinese"),
    [
        (FileChange("x", "changed", "1", "1", executable=True), "Made x executable", "x 设为可执行"),
        (FileChange("x", "changed", "1", "1", executable=False), "x is no longer executable", "x 不再可执行"),
        (FileChange("x.png", "changed", "1", "2", binary=True), "Changed x.png (binary)", "修改 x.png（二进制）"),
        (FileChange("x", "added", "", "2", kept=False), "Added x (content not kept)", "新增 x（内容未保存）"),
        (FileChange("x.py", "deleted", "1", "", removed=3), "Deleted x.py (+0 −3)", "删除 x.py（+0 −3）"),
    ],
)  # fmt: skip
def test_other_kinds_of_change_are_described(change: FileChange, english: str, chinese: str) -> None:
    assert tell({}, {}, change) == english
    assert tell({}, {}, change, language="zh") == chinese


def test_no_change_is_described() -> None:
    assert tell({}, {}) == "no files changed"
    assert tell({}, {}, language="zh") == "没有文件改变"
    assert tell({}, {}, language="fr") == "no files changed"


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.ts", "export async function load() {\n}\nexport const save = async (x: number) => {\n}\nclass Box {\n  put(x) {\n  }\n}\ninterface Thing {}\n", ["load", "save", "Box", "put", "Thing"]),
        ("a.go", "type Server struct {\n}\nfunc (s *Server) Run() error {\n}\nfunc main() {\n}\n", ["Server", "Run", "main"]),
        ("a.rs", "pub struct P;\nimpl Display for P {\n    fn fmt(&self) {}\n}\npub async fn go() {}\n", ["P", "P", "fmt", "go"]),
        ("A.java", "public class A {\n    private static int count(int x) {\n    }\n}\n", ["A", "count"]),
        ("a.c", "#define MAX 3\nstatic int add(int a,\n               int b) {\n    return call(a);\n}\nstruct node {\n};\n", ["MAX", "add", "node"]),
        ("a.md", "# 标题\ntext\n## Second part ##\n", ["标题", "Second part"]),
        ("a.sh", "build() {\n}\nfunction clean {\n}\n", ["build", "clean"]),
        ("a.toml", "[tool.x]\na = 1\n[[more]]\n", ["tool.x", "more"]),
        ("broken.py", "def fine():\n    pass\ndef broken(:\n", ["fine", "broken"]),
        ("a.unknown", "def x(): pass\n", []),
    ],
)  # fmt: skip
def test_definitions_of_other_languages_are_found(path: str, text: str, names: list[str]) -> None:
    assert [one.name for one in definitions(path, text)] == names


def test_changes_are_described_by_heading() -> None:
    """Markdown, with Chinese text and CRLF on one side."""
    before, after = "# One\r\na\r\n# 二\r\nb\r\n", "# One\na\n# 二\nc\n"
    change = FileChange("r.md", "changed", "1", "2", added=4, removed=4)
    touched = touched_by(change, lambda _: before.encode(), lambda _: after.encode())
    assert touched.edited == ("二",)


@given(
    st.text(max_size=80),
    st.text(max_size=80),
    st.sampled_from(["a.py", "b.md", "c.ts", "d.c", "e.css", "f.java"]),
)
def test_anything_can_be_told(before: str, after: str, path: str) -> None:
    """Whatever the texts are: one line, the same each time."""
    change = FileChange(path, "changed", "1", "2", added=1, removed=1)
    once = tell(
        {path: before.encode("utf-8", "replace").decode()},
        {path: after.encode("utf-8", "replace").decode()},
        change,
    )
    assert "\n" not in once
    assert path in once
