"""Importing through the real store: once, twice, longer, changed, edited here meanwhile, forgotten."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.exchange.discovery import discover
from backscroll.errors import FormatError, NotFound


@pytest.fixture
def store(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """A fresh store."""
    with backscroll.open(tmp_path / "store.db") as engine:
        yield engine


def chat(*texts: str) -> list[dict[str, Any]]:
    """A list of OpenAI messages, user and assistant in turn."""
    return [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)]


def put(path: Path, messages: list[dict[str, Any]]) -> Path:
    """Write messages as a JSON file."""
    path.write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
    return path


def words(thread: backscroll.History) -> list[str]:
    """The words of the live history."""
    return [message.text for message in thread]


STORY: tuple[str, ...] = ("Where is the key?", "Under the mat.", "谢谢你", "不客气，还有别的问题吗？", "No.")


def test_importing_the_same_file_twice_adds_nothing(store: backscroll.Engine, tmp_path: Path) -> None:
    """The second import of an unchanged file writes no event at all."""
    path = put(tmp_path / "a.json", chat(*STORY))
    first = store.import_path(path)[0]
    events = store.stats()["events"]
    second = store.import_path(path)[0]
    assert first.new
    assert first.counts["added"] == 5
    assert not second.new
    assert second.thread == first.thread
    assert second.counts["unchanged"] == 5
    assert store.stats()["events"] == events


def test_reimport_appends_new_messages_and_edits_changed_ones(
    store: backscroll.Engine, tmp_path: Path
) -> None:
    """New messages are appended, a changed one becomes an edit, and the old words stay reachable."""
    path = put(tmp_path / "a.json", chat(*STORY))
    report = store.import_path(path)[0]
    changed: list[str] = list(STORY)
    changed[1] = "Under the mat, as always."
    put(path, chat(*changed, "Anything else?", "No, thank you."))
    again = store.import_path(path)[0]
    thread = store.thread(report.thread or "")
    assert words(thread) == [*changed, "Anything else?", "No, thank you."]
    assert again.counts["edited"] == 1
    assert again.counts["added"] == 2
    edited = thread.message(1)
    assert [r.content.text for r in thread.revisions(edited.id) if r.content] == [STORY[1], changed[1]]
    assert store.verify().ok


def test_reimport_keeps_local_changes(store: backscroll.Engine, tmp_path: Path) -> None:
    """A message edited or deleted here keeps that state when the same or a longer file is imported again."""
    path = put(tmp_path / "a.json", chat(*STORY))
    thread = store.thread(store.import_path(path)[0].thread or "")
    thread.edit(thread.message(0).id, "My own words")
    thread.delete(thread.message(2).id)
    thread.append("user", "A note of mine")
    before = words(thread)
    store.import_path(path)
    assert words(thread) == before
    put(path, chat(*STORY, "One more"))
    report = store.import_path(path)[0]
    assert report.counts["added"] == 1
    assert words(thread) == [*before, "One more"]


def test_reimport_adds_a_revision_to_a_deleted_message(store: backscroll.Engine, tmp_path: Path) -> None:
    """New words for a message that was deleted here are kept, and it stays deleted."""
    path = put(tmp_path / "a.json", chat(*STORY))
    thread = store.thread(store.import_path(path)[0].thread or "")
    gone = thread.message(1).id
    thread.delete(gone)
    changed: list[str] = list(STORY)
    changed[1] = "Under the mat, I said."
    put(path, chat(*changed))
    store.import_path(path)
    assert gone not in [m.id for m in thread]
    assert [r.content.text for r in thread.revisions(gone) if r.content][-1] == changed[1]


def test_reimport_does_not_restore_forgotten_words(store: backscroll.Engine, tmp_path: Path) -> None:
    """Neither the same file nor a longer one restores them."""
    path = put(tmp_path / "a.json", chat(*STORY))
    thread = store.thread(store.import_path(path)[0].thread or "")
    for place in (4, 1, 0):  # the last, one in the middle, the first
        thread.forget(thread.message(place).id)
    left = [STORY[2], STORY[3]]
    report = store.import_path(path)[0]
    assert words(thread) == left
    assert report.counts["forgotten_skipped"] == 3
    put(path, chat(*STORY, "And now?"))
    store.import_path(path)
    assert words(thread) == [*left, "And now?"]
    assert not store.search("mat").hits
    assert store.verify().ok


def test_reimport_adds_a_new_message_in_place_of_a_forgotten_one(
    store: backscroll.Engine, tmp_path: Path
) -> None:
    """A tombstone suppresses only the erased words."""
    path = put(tmp_path / "a.json", chat(*STORY))
    thread = store.thread(store.import_path(path)[0].thread or "")
    thread.forget(thread.message(4).id)
    put(path, chat(*STORY[:4], "Something else entirely, nobody said it before"))
    store.import_path(path)
    assert words(thread) == [*STORY[:4], "Something else entirely, nobody said it before"]


def test_reimport_skips_a_forgotten_thread(store: backscroll.Engine, tmp_path: Path) -> None:
    """A file whose whole thread was forgotten is skipped with a note, unless asked for again."""
    path = put(tmp_path / "a.json", chat(*STORY))
    name = store.import_path(path)[0].thread or ""
    store.thread(name).forget_thread()
    report = store.import_path(path)[0]
    assert report.thread is None
    assert report.counts["forgotten_skipped"] == 5
    assert report.notes
    fresh = store.import_path(path, again=True)[0]
    assert fresh.thread not in (None, name)
    assert words(store.thread(fresh.thread or "")) == list(STORY)


def test_dry_run_of_an_import_reports_and_writes_nothing(store: backscroll.Engine, tmp_path: Path) -> None:
    """Counts of a dry run equal those of the import that follows."""
    path = put(tmp_path / "a.json", chat(*STORY))
    dry = store.import_path(path, dry_run=True)[0]
    assert store.stats()["events"] == 0
    assert dry.counts["added"] == 5
    store.import_path(path)
    put(path, chat("Where is the second key?", *STORY[1:], "More"))
    events = store.stats()["events"]
    dry = store.import_path(path, dry_run=True)[0]
    assert store.stats()["events"] == events
    real = store.import_path(path)[0]
    assert (
        (dry.counts["edited"], dry.counts["added"]) == (real.counts["edited"], real.counts["added"]) == (1, 1)
    )


def test_malformed_lines_are_reported_and_the_rest_imported(store: backscroll.Engine, tmp_path: Path) -> None:
    """A broken line is named by its number; every other line is imported."""
    lines = [json.dumps(m, ensure_ascii=False) for m in chat(*STORY)]
    lines.insert(2, '{"role": "user", "content": "cut off')
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    report = store.import_path(path)[0]
    assert [p.line for p in report.problems] == [3]
    assert words(store.thread(report.thread or "")) == list(STORY)


def test_import_reports_masked_secrets(store: backscroll.Engine, tmp_path: Path) -> None:
    """Something that looks like a key is named in the report, without the key itself."""
    key = "sk-" + "proj-" + "Ab3dEf9hIjK1mN0pQr5tUv7xYz2B4d6F8h"
    path = put(tmp_path / "a.json", chat(f"my key is {key} ok?", "Do not share it."))
    report = store.import_path(path)[0]
    assert len(report.secrets) == 1
    assert key not in report.secrets[0].shown


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.json", b""),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("odd.json", b'{"a": [1, 2]}'),
        ("x.txt", b"hello"),
    ],
)
def test_unknown_file_is_refused_with_a_hint(
    store: backscroll.Engine, tmp_path: Path, name: str, data: bytes
) -> None:
    """Nothing is written."""
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        store.import_path(path)
    assert caught.value.hint
    assert store.stats()["threads"] == 0


def test_missing_file_and_empty_folder_are_clear_errors(store: backscroll.Engine, tmp_path: Path) -> None:
    """A missing file and a folder without a history raise different errors."""
    with pytest.raises(NotFound):
        store.import_path(tmp_path / "nothing.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FormatError):
        store.import_path(tmp_path / "folder")


def _node(name: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
    return {
        "uuid": name,
        "parentUuid": parent,
        "type": role,
        "sessionId": "s1",
        "timestamp": "2026-01-01T00:00:00Z",
        "cwd": "/p",
        "message": {"role": role, "content": text},
    }


def test_branches_become_forks(store: backscroll.Engine, tmp_path: Path) -> None:
    """Importing a longer file extends the right thread."""
    rows = [
        _node("a", None, "user", "one"),
        _node("b", "a", "assistant", "two"),
        _node("c", "b", "user", "three, abandoned"),
        _node("d", "b", "user", "three, kept"),
    ]
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in rows) + "\n", encoding="utf-8")
    report = store.import_path(path)[0]
    main = store.thread(report.thread or "")
    assert words(main) == ["one", "two", "three, kept"]
    assert report.counts["branches"] == 1
    forks = [t for t in store.threads() if t.parent == main.id]
    assert [words(store.thread(t.id)) for t in forks] == [["one", "two", "three, abandoned"]]
    rows.append(_node("e", "d", "assistant", "four"))
    path.write_text("\n".join(json.dumps(r) for r in rows) + "\n", encoding="utf-8")
    store.import_path(path)
    assert words(main) == ["one", "two", "three, kept", "four"]
    assert len(list(store.threads())) == 2
    assert store.verify().ok


def test_rewind_between_imports_moves_old_turns_to_a_fork(store: backscroll.Engine, tmp_path: Path) -> None:
    """Turns that were live at the first import and abandoned at the second leave the main thread for a fork."""
    rows = [
        _node("a", None, "user", "one"),
        _node("b", "a", "assistant", "two"),
        _node("c", "b", "user", "abandoned"),
    ]
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in rows), encoding="utf-8")
    main = store.thread(store.import_path(path)[0].thread or "")
    rows += [_node("d", "b", "user", "kept instead"), _node("e", "d", "assistant", "four")]
    path.write_text("\n".join(json.dumps(r) for r in rows), encoding="utf-8")
    store.import_path(path)
    assert words(main) == ["one", "two", "kept instead", "four"]
    forks = [words(store.thread(t.id)) for t in store.threads() if t.parent == main.id]
    assert forks == [["one", "two", "abandoned"]]
    events = store.stats()["events"]
    store.import_path(path)
    assert store.stats()["events"] == events


def test_shortened_transcript_deletes_nothing(store: backscroll.Engine, tmp_path: Path) -> None:
    """The report notes messages that are no longer in the file."""
    rows = [
        _node("a", None, "user", "one"),
        _node("b", "a", "assistant", "two"),
        _node("c", "b", "user", "three"),
    ]
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in rows), encoding="utf-8")
    thread = store.thread(store.import_path(path)[0].thread or "")
    path.write_text(json.dumps(rows[0]), encoding="utf-8")
    report = store.import_path(path)[0]
    assert words(thread) == ["one", "two", "three"]
    assert any("no longer in the file" in note for note in report.notes)


def test_watch_follows_a_growing_file(store: backscroll.Engine, tmp_path: Path) -> None:
    """New messages of a watched file arrive without anybody asking, and one broken file does not stop the others."""
    path = put(tmp_path / "a.json", chat("one"))
    broken = tmp_path / "b.json"
    broken.write_text("", encoding="utf-8")
    stop = threading.Event()
    seen: list[tuple[str, int]] = []

    def on_report(report: Any) -> None:
        seen.append((Path(report.source).name, report.counts["added"]))
        if ("a.json", 1) in seen and len(seen) == 2:
            put(path, chat("one", "two", "three"))
        if ("a.json", 2) in seen:
            stop.set()

    watcher = threading.Thread(
        target=store.watch, args=([str(path), str(broken)], on_report, stop), kwargs={"every": 0.02}
    )
    watcher.start()
    watcher.join(30)
    stop.set()
    assert not watcher.is_alive()
    assert seen[-1] == ("a.json", 2)


def test_discover_finds_the_histories_of_four_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tool's own folder is looked into; nothing else is."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    wanted = {
        ".claude/projects/-p/s1.jsonl": "claude-code",
        ".codex/sessions/2026/01/02/rollout-x.jsonl": "codex",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/17/api_conversation_history.json": "cline",
        "code/project/.aider.chat.history.md": "aider",
    }
    for name in (*wanted, "other.jsonl", ".claude/settings.json"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x", encoding="utf-8")
    found = discover(tmp_path, tmp_path / "code")
    assert sorted(d.format for d in found) == sorted(wanted.values())


def test_sillytavern_branch_file_becomes_a_fork(store: backscroll.Engine, tmp_path: Path) -> None:
    """It shares the past of its parent chat and grows separately."""

    def save(name: str, texts: list[str], **meta: str) -> Path:
        rows: list[dict[str, Any]] = [
            {"user_name": "unused", "character_name": "unused", "chat_metadata": meta}
        ]
        rows += [
            {"name": "Ann" if n % 2 else "Bo", "is_user": bool(n % 2), "is_system": False, "mes": t}
            for n, t in enumerate(texts)
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in rows), encoding="utf-8")
        return path

    main = store.import_path(save("Bo - 1", ["你好", "Hi", "走吧", "Yes"]))[0]
    path = save("Branch #1", ["你好", "Hi", "不，等一下", "Why?"], main_chat="Bo - 1")
    branch = store.import_path(path)[0]
    info = store.thread(branch.thread or "").info
    assert info.parent == main.thread
    assert words(store.thread(info.id)) == ["你好", "Hi", "不，等一下", "Why?"]
    events = store.stats()["events"]
    store.import_path(path)
    assert store.stats()["events"] == events
    store.import_path(save("Branch #1", ["你好", "Hi", "不，等一下", "Why?", "因为下雨"], main_chat="Bo - 1"))
    assert words(store.thread(info.id))[-1] == "因为下雨"
    assert words(store.thread(main.thread or "")) == ["你好", "Hi", "走吧", "Yes"]
    assert store.verify().ok


def test_concurrent_imports_of_a_file_do_not_duplicate(store: backscroll.Engine, tmp_path: Path) -> None:
    """Several threads importing the same new file, then the same longer file, never duplicate a message."""
    story = [f"message {n}" for n in range(1200)]
    path = tmp_path / "a.json"
    for size in (600, 1200):
        put(path, chat(*story[:size]))
        workers = [threading.Thread(target=store.import_path, args=(path,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [words(store.thread(t.id)) for t in store.threads()] == [story[:size]]


def test_forget_reaches_title_and_asides_of_an_import(store: backscroll.Engine, tmp_path: Path) -> None:
    """Codex stores messages twice and titles the thread with them: a forget erases all copies."""
    secret = "我的银行卡密码是四八五七六六，请记住它"

    def row(kind: str, payload: dict[str, Any]) -> str:
        return json.dumps(
            {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}, ensure_ascii=False
        )

    def message(role: str, text: str) -> str:
        kind = "input_text" if role == "user" else "output_text"
        return row(
            "response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        )

    rows = [
        row("session_meta", {"id": "s-9", "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z"}),
        message("user", secret),
        row("event_msg", {"type": "user_message", "message": secret}),
        row("event_msg", {"type": "token_count", "info": {"total": 5}}),
        message("assistant", "I must not keep that."),
    ]
    path = tmp_path / "rollout-s-9.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    report = store.import_path(path)[0]
    thread = store.thread(report.thread or "")
    asides = report.counts["asides"]
    done = thread.forget(next(m.id for m in thread if secret in m.text))
    assert done.beside >= 2
    store_files = b"".join(p.read_bytes() for p in tmp_path.glob("store.db*"))
    assert secret.encode() not in store_files
    assert secret not in thread.info.title
    events = store.stats()["events"]
    again = store.import_path(path)[0]
    assert store.stats()["events"] == events
    assert again.counts["forgotten_skipped"] == 1
    assert store.verify().ok
    path.write_text(
        "\n".join([*rows, row("event_msg", {"type": "token_count", "info": {"total": 6}})]), encoding="utf-8"
    )
    assert store.import_path(path)[0].counts["asides"] == 1
    assert asides == 3
