"""Exporting through the real store: what came in goes out again, and what a format cannot say is listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll import InvalidInput, Media, Reasoning, StoreError, Text, ToolCall, ToolResult

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
WRITABLE = (
    "openai",
    "anthropic",
    "claude-code",
    "codex",
    "sillytavern",
    "cline",
    "aider",
    "dialogue",
    "markdown",
    "native",
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """A fresh store."""
    with backscroll.open(tmp_path / "store.db") as engine:
        yield engine


@pytest.fixture
def thread(store: backscroll.Engine) -> backscroll.Thread:
    """A thread with everything in it that some format cannot say."""
    thread = store.create("修复 the parser", project="demo", kind="agent")
    thread.append("system", "You are careful.")
    thread.append(
        "user", [Text("see this"), Media("image/png", data=b"\x89PNG....", name="s.png")], author="Ann"
    )
    call = [Reasoning("think", "sig"), Text("I look."), ToolCall("c1", "Read", {"path": "解析.py"})]
    answer = thread.append("assistant", call, author="Bot")
    thread.append("tool", ToolResult("c1", (Text("def parse(): ..."),), name="Read"))
    thread.regenerate(answer.id, "Or I do not look.")
    thread.choose(answer.id, 0)
    thread.hide(thread.append("user", "hidden words").id)
    thread.pin(thread.append("assistant", "done, 完成了").id)
    thread.log_code_change("Fixed the parser", "解析.py")
    return thread


@pytest.mark.parametrize("name", WRITABLE)
def test_every_format_exports_every_kind_of_part(
    store: backscroll.Engine, thread: backscroll.Thread, tmp_path: Path, name: str
) -> None:
    """A thread with all kinds of parts goes out in each format as UTF-8, with its words in it, or a problem that names the loss."""
    report = store.export([thread.id], name, str(tmp_path / "out"))
    text = Path(report.files[0]).read_text(encoding="utf-8")
    assert "完成了" in text
    assert "def parse(): ..." in text
    assert "\\u5b8c" not in text
    if name not in ("native", "dialogue", "markdown"):
        assert report.problems


@pytest.mark.parametrize(
    "name", ["openai", "anthropic", "claude-code", "codex", "sillytavern", "cline", "dialogue"]
)
def test_exported_files_can_be_imported(
    store: backscroll.Engine, thread: backscroll.Thread, tmp_path: Path, name: str
) -> None:
    """The words, roles and tool calls survive a trip through each format that can be read."""
    suffix = next(s for n, s in _suffixes() if n == name)
    target = tmp_path / ("17/api_conversation_history.json" if name == "cline" else f"out{suffix}")
    store.export([thread.id], name, str(target))
    with backscroll.open(tmp_path / "other.db") as other:
        report = other.import_path(target)[0]
        assert report.format == name
        back = other.thread(report.thread or "")
        texts = "\n".join(m.text for m in back)
        for words in ("see this", "I look.", "done, 完成了"):
            assert words in texts
        if name != "sillytavern":
            calls = [p for m in back for p in m.parts if isinstance(p, ToolCall)]
            assert [c.name for c in calls] == ["Read"]
            assert "解析.py" in str(calls[0].arguments)


def _suffixes() -> Iterator[tuple[str, str]]:
    from backscroll.formats.detection import formats

    yield from ((f.name, f.suffix) for f in formats())


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="needs ../shared/data/transcripts")
def test_real_transcripts_round_trip(store: backscroll.Engine, tmp_path: Path) -> None:
    """Claude Code transcripts and aider histories: import into the store, export, the same lines or text."""
    for path in sorted((TRANSCRIPTS / "claude-code").glob("*.jsonl")):
        report = store.import_path(path)[0]
        out = tmp_path / path.name
        store.export([report.thread or ""], "claude-code", str(out))
        raw, back = (
            [json.loads(line) for line in p.read_text("utf-8").splitlines() if line.strip()]
            for p in (path, out)
        )
        assert back == raw, path.name
    for path in sorted((TRANSCRIPTS / "aider").glob("*.md")):
        texts = [store.export([r.thread], "aider").text or "" for r in store.import_path(path) if r.thread]
        assert "".join(texts).strip() in path.read_text("utf-8") or len(texts) > 1, path.name


def test_export_of_several_threads_needs_a_folder(
    store: backscroll.Engine, thread: backscroll.Thread, tmp_path: Path
) -> None:
    """Two threads do not fit one file of a foreign format; into a folder they go one by one."""
    other = store.create("另一个")
    other.append("user", "hello")
    with pytest.raises(InvalidInput):
        store.export(None, "openai", str(tmp_path / "both.json"))
    report = store.export(None, "openai", str(tmp_path / "folder") + "/")
    assert len({Path(f).name for f in report.files}) == 2
    assert all(Path(f).parent == tmp_path / "folder" for f in report.files)
    assert thread.id[:8] in " ".join(report.files) or "parser" in " ".join(report.files)


def test_unwritable_target_is_a_store_error(
    store: backscroll.Engine, thread: backscroll.Thread, tmp_path: Path
) -> None:
    """No partial file is left."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError):
        store.export([thread.id], "openai", str(tmp_path / "file" / "out.json"))
    assert (tmp_path / "file").read_text("utf-8") == "x"


def test_dialogue_file_follows_every_write(tmp_path: Path) -> None:
    """With a storage folder, the JSON file of a dialogue follows every write; two dialogues do not share a file."""
    folder = tmp_path / "dialogue_history"
    with backscroll.open(tmp_path / "store.db", storage_dir=str(folder)) as engine:
        one, two = engine.create("one"), engine.create("two")
        said = one.append("user", "你好")
        two.append("user", "other")
        one.edit(said.id, "你好呀")
        one.log_code_change("Added save_response", "util.py")
    files = sorted(folder.glob("dialogue_*.json"))
    assert len(files) == 2
    held = [json.loads(f.read_text("utf-8")) for f in files]
    mine = next(h for h in held if h["messages"][0]["content"] == "你好呀")
    assert mine["code_changes"][0]["description"] == "Added save_response"
    assert mine["code_changes"][0]["file"] == "util.py"
    assert set(mine) >= {"start_time", "messages", "code_changes"}


def test_save_dialogue_uses_the_default_folder(
    thread: backscroll.Thread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes to the same file in `dialogue_history` each time."""
    monkeypatch.chdir(tmp_path)
    first, second = thread.save_dialogue(), thread.save_dialogue()
    assert first == second
    assert Path(first).parent.name == "dialogue_history"
    assert [p.name for p in (tmp_path / "dialogue_history").glob("dialogue_*")] == [Path(first).name]


@pytest.mark.parametrize("gone", [False, True], ids=["begun later", "first message deleted"])
def test_forget_updates_the_dialogue_file(tmp_path: Path, gone: bool) -> None:
    """The file is named when the thread begins; another process finds it though the first message came later, or went."""
    folder = tmp_path / "files"
    with backscroll.open(tmp_path / "store.db", storage_dir=str(folder), background=False) as engine:
        thread = engine.create("talk")
        first = thread.append("user", "kept words", at="2001-02-03T04:05:06+00:00")
        secret = thread.append("user", "xylophone")
        thread.fork().append("user", "in the fork")
        if gone:
            thread.delete(first.id)
    with backscroll.open(tmp_path / "store.db", storage_dir=str(folder), background=False) as engine:
        engine.thread(thread.id).forget(secret.id)
    assert [p.name for p in folder.iterdir() if "xylophone" in p.read_text("utf-8")] == []
