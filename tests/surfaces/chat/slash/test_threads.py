"""`/threads`, `/new`, `/rename`, `/tag`, `/export`."""

from __future__ import annotations

from backscroll.surfaces import i18n
from tests.surfaces.chat.slash.hand import HandTalk


def test_new_thread_keeps_the_folder(talk: HandTalk) -> None:
    """Project, kind and folder are kept, the messages are not."""
    old = talk.thread.info
    assert "Plans" in talk.run("/new Plans for May")
    new = talk.thread.info
    assert new.id != old.id
    assert new.title == "Plans for May"
    assert (new.project, new.kind) == (old.project, old.kind)
    assert new.metadata["workspace"] == str(talk.root)
    assert talk.texts() == []


def test_thread_can_be_switched_by_picker(talk: HandTalk) -> None:
    """The newest first; typing narrows the list; cancelling stays."""
    old = talk.thread.id
    talk.run("/new Plans")
    assert "staying in this conversation" in talk.run("/threads")
    talk.picks = ["Trip"]
    assert "now in: Trip" in talk.run("/threads")
    assert talk.thread.id == old
    talk.picks = [0]
    talk.run("/threads plans")
    assert talk.shown_options[-1][0].startswith("Plans")
    assert "no conversation title matches" in talk.run("/threads nothing like it")
    assert "Trip" in talk.offers("/threads T")


def test_titles_and_tags_can_be_set_and_undone(talk: HandTalk) -> None:
    """Set, shown, taken off, undone."""
    assert "Journey" in talk.run('/rename "Journey to the sea"')
    assert talk.thread.info.title == "Journey to the sea"
    assert "no tags" in talk.run("/tag")
    talk.run("/tag sea #may")
    assert set(talk.thread.info.tags) == {"sea", "may"}
    assert talk.offers("/tag -m") == ["-may"]
    talk.run("/tag -sea summer")
    assert set(talk.thread.info.tags) == {"may", "summer"}
    assert "usage: " in talk.run("/tag -")


def test_thread_can_be_exported(talk: HandTalk) -> None:
    """Markdown by default, named after the title; overwriting needs a yes; formats by name or by extension."""
    talk.run("/export")
    assert "To the sea." in (talk.root / "Trip.md").read_text(encoding="utf-8")
    (talk.root / "Trip.md").write_text("mine", encoding="utf-8")
    assert "nothing was changed" in talk.run("/export")
    assert (talk.root / "Trip.md").read_text(encoding="utf-8") == "mine"
    talk.yeses = [True]
    talk.run("/export")
    assert (talk.root / "Trip.md").read_text(encoding="utf-8") != "mine"
    talk.run("/export openai out.json")
    assert '"role"' in (talk.root / "out.json").read_text(encoding="utf-8")
    talk.run("/export all.jsonl")
    assert (talk.root / "all.jsonl").exists()
    assert "unknown format: wax" in talk.run("/export wax")
    assert "usage: " in talk.run("/export markdown a b")


def test_title_is_never_a_path(talk: HandTalk) -> None:
    """The exported file stays in the folder."""
    talk.run("/rename ../../etc/x y/中文")
    talk.run("/export")
    assert [p.name for p in talk.root.iterdir() if p.suffix == ".md"] == ["etc-x-y-中文.md"]


def test_thread_commands_speak_chinese(talk: HandTalk) -> None:
    """Names and answers."""
    i18n.use("zh")
    assert "现在的对话：计划" in talk.run("/新建 计划")
    assert "没有标签" in talk.run("/标签")
