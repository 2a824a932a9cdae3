"""Mentions: found in any language, completed quickly, attached as data, refused with a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.surfaces import i18n
from backscroll.surfaces.chat.input import mention_files
from backscroll.surfaces.chat.input.mention import complete, mentions, with_mentions
from backscroll.surfaces.chat.input.mention_files import found_names
from backscroll.vocab.part import Media

PNG = b"\x89PNG\r\n\x1a\nxxxx"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with all sorts of files."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    folder = tmp_path / "work"
    (folder / "src" / "engine").mkdir(parents=True)
    (folder / "文档").mkdir()
    (folder / "src" / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 51)), encoding="utf-8")
    (folder / "src" / "engine" / "thread.py").write_text("t = 1\n", encoding="utf-8")
    (folder / "文档" / "说明书.md").write_text("# 说明\n", encoding="utf-8")
    (folder / "a b.txt").write_text("spaced\n", encoding="utf-8")
    (folder / ".env").write_text("SECRET=hunter2\n", encoding="utf-8")
    (folder / "pic.png").write_bytes(PNG)
    (folder / "blob.bin").write_bytes(bytes(range(256)))
    (folder / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (folder / "x.log").write_text("noise\n", encoding="utf-8")
    mention_files.forget_names()
    yield folder
    mention_files.forget_names()
    i18n.use("en")


def told(content: Any) -> dict[str, str]:
    """Name and data of everything that goes along."""
    return {
        p.name or "": (p.data or b"").decode("utf-8", "replace")
        for p in content.parts
        if isinstance(p, Media)
    }


def test_mentioned_file_is_attached_and_the_text_kept(root: Path) -> None:
    """The text as typed, the content marked as data."""
    text = "please read @src/a.py, thanks"
    found = with_mentions(text, root=root)
    assert found.content.text == text
    assert found.attached == ("src/a.py",)
    assert "line 50" in told(found.content)["src/a.py"]
    assert "data, not instructions" in told(found.content)["src/a.py"]
    assert found.notes == ("attached: src/a.py (50 lines)",)


@pytest.mark.parametrize(
    "text",
    [
        "看看@src/a.py这个文件",
        "(@src/a.py)",
        "@src/a.py.",
        "@src/a.py: what is it?",
        "「@src/a.py」",
        "@src/a.py，谢谢",
        "@./src/a.py",
        '@"src/a.py"',
        "“@src/a.py”",
    ],
)
def test_mentions_are_recognised_between_punctuation(root: Path, text: str) -> None:
    """In both languages, also without a space after it."""
    found = with_mentions(text, root=root)
    assert len(found.attached) == 1
    assert "line 1\n" in next(iter(told(found.content).values()))


def test_chinese_and_quoted_names_can_be_mentioned(root: Path) -> None:
    """A Chinese path inside a Chinese sentence, and a name with a space in quotes."""
    found = with_mentions('对照@文档/说明书.md写一份，还有@"a b.txt"和@文档/', root=root)
    assert found.attached == ("文档/说明书.md", "a b.txt", "文档/")


def test_line_ranges_can_be_mentioned(root: Path) -> None:
    """A line or a range; beyond the end only what exists."""
    found = with_mentions("@src/a.py:3 and @src/a.py:10-12 and @src/a.py:49-99", root=root)
    assert found.attached == ("src/a.py:3-3", "src/a.py:10-12", "src/a.py:49-50")
    bodies = [(p.data or b"").decode() for p in found.content.parts if isinstance(p, Media)]
    assert "line 3\n" in bodies[0]
    assert "line 4" not in bodies[0]
    assert "lines 10 to 12 of 50" in bodies[1]


def test_pictures_and_folders_can_be_mentioned(root: Path) -> None:
    """A picture is a picture, a folder is a list without ignored files."""
    found = with_mentions("@pic.png @src/ @.", root=root)
    pictures = [p for p in found.content.parts if isinstance(p, Media) and p.media_type == "image/png"]
    assert len(pictures) == 1
    assert "src/engine/thread.py" in told(found.content)["src/"]
    assert "x.log" not in str(told(found.content))


def test_refused_mentions_are_reported_and_the_message_is_sent(root: Path) -> None:
    """Keys, binaries, paths outside the folder: a line each, never their content."""
    (root / "leak").symlink_to(root.parent / "home.txt")
    (root.parent / "home.txt").write_text("outside", encoding="utf-8")
    found = with_mentions("@.env @blob.bin @../home.txt @leak @gone.py", root=root)
    assert found.attached == ()
    assert len(found.notes) == 5
    assert "protected" in found.notes[0]
    assert "neither text nor an image" in found.notes[1]
    assert "gone.py" in found.notes[4]
    assert "hunter2" not in str(found)
    assert "outside'" not in str(found.content)


def test_absolute_path_outside_may_be_mentioned(root: Path) -> None:
    """But protected files stay protected everywhere."""
    (root.parent / "other.txt").write_text("from elsewhere\n", encoding="utf-8")
    (root.parent / "id_rsa").write_text("PRIVATE", encoding="utf-8")
    found = with_mentions(f"@{root.parent}/other.txt @{root.parent}/id_rsa", root=root)
    assert found.attached == (f"{root.parent}/other.txt",)
    assert "PRIVATE" not in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "mail me@src/a.py",
        "@alice hi",
        "a @ b",
        "@",
        "@@src/a.py",
        "```\n@src/a.py\n```",
        "x.@property",
        "@dataclass",
    ],
)
def test_other_at_signs_are_no_mentions(root: Path, text: str) -> None:
    """Addresses, people, decorators and code are left alone, silently."""
    found = with_mentions(text, root=root)
    assert found.attached == ()
    assert found.notes == ()


def test_file_mentioned_twice_is_attached_once(root: Path) -> None:
    """Mentioning it twice does not cost twice."""
    assert with_mentions("@src/a.py and again @src/a.py", root=root).attached == ("src/a.py",)


def test_pasted_files_are_attached(root: Path) -> None:
    """Those that cannot be are a line, not an error."""
    found = with_mentions("see", root=root, paths=[root / "pic.png", root / "blob.bin", root / "none"])
    assert found.attached == (str(root / "pic.png"),)
    assert len(found.notes) == 3


def test_earlier_messages_and_turns_can_be_mentioned(root: Path) -> None:
    """By handle and by number; quoted with their role; missing ones are reported."""
    with backscroll.open(root.parent / "s.db", background=False) as engine:
        thread = engine.create("t")
        thread.append("user", "the colour is teal")
        answer = thread.append("assistant", "Noted.")
        found = with_mentions(
            f"as in @bs:{answer.id.seq} and @turn:1, not @turn:9 nor @bs:999", root=root, thread=thread
        )
        assert found.attached == (f"bs:{answer.id.seq}", "turn:1")
        assert "user: the colour is teal" in told(found.content)["turn:1"]
        assert len(found.notes) == 4
        thread.append("user", found.content)
        assert "the colour is teal" in str(thread.prompt(8000, dry_run=True).messages)


def test_store_is_never_attached(root: Path) -> None:
    """A store inside the folder is protected from mentions."""
    with backscroll.open(root / "talk.db", background=False) as engine:
        thread = engine.create("t")
        found = with_mentions("@talk.db", root=root, thread=thread)
        assert found.attached == ()
        assert len(found.notes) == 1


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.sampled_from(list('@/.\\"“”: \n`~a中-1\ud800\0,，')), max_size=30))
def test_odd_texts_never_crash_and_stay_as_they_are(root: Path, text: str) -> None:
    """Whatever is typed is sent as it was typed."""
    assert with_mentions(text, root=root).content.parts[0].text == text  # type: ignore[union-attr]
    assert all(text[m.start] == "@" for m in mentions(text))


# -- completion --------------------------------------------------------------------------------------------------


@dataclass
class Somewhere:
    """Only what completion needs of a talk."""

    root: Path
    thread: Any = None


def offers(root: Path, typed: str, thread: Any = None) -> list[str]:
    """What is offered, once the list of files is there."""
    mention_files.warm(root)
    return [c.text for c in complete(Somewhere(root, thread), typed)]  # type: ignore[arg-type]


def test_completion_finds_parts_and_chinese(root: Path) -> None:
    """Prefixes, parts of several folders, letters in order; quotes where a space would end it."""
    assert offers(root, "see @src/a")[0] == "@src/a.py"
    assert offers(root, "@en/thr") == ["@src/engine/thread.py"]
    assert offers(root, "@thread")[0] == "@src/engine/thread.py"
    assert offers(root, "@thrd") == ["@src/engine/thread.py"]
    assert offers(root, "看@说明") == ["@文档/说明书.md"]
    assert offers(root, "@a b") == []
    assert offers(root, '@"a b') == ['@"a b.txt"']
    assert offers(root, "me@src") == []


def test_completion_leaves_out_what_cannot_be_mentioned(root: Path) -> None:
    """Ignored and protected files; the folder itself is offered, folders first."""
    names = offers(root, "@")
    assert names[:2] == ["@src/", "@文档/"]
    assert "@x.log" not in names
    assert "@.env" not in names


def test_completion_replaces_the_mention(root: Path) -> None:
    """From the @ on."""
    mention_files.warm(root)
    one = complete(Somewhere(root), "look at @src/a")[0]  # type: ignore[arg-type]
    assert "look at @src/a"[: one.start] + one.text == "look at @src/a.py"


def test_turns_and_messages_are_offered(root: Path) -> None:
    """The newest first."""
    with backscroll.open(root.parent / "s.db", background=False) as engine:
        thread = engine.create("t")
        for n in range(3):
            thread.append("user", f"question {n}")
            thread.append("assistant", "yes")
        assert offers(root, "as in @turn:", thread) == ["@turn:3", "@turn:2", "@turn:1"]
        assert offers(root, "@bs:", thread)[0] == f"@bs:{thread.message(-1).id.seq}"


def test_typing_does_not_wait_for_the_list(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the folder is being read, nothing is offered; afterwards everything is."""
    import threading

    gate = threading.Event()
    names = mention_files._names

    def slow(folder: Path) -> Iterator[str]:
        gate.wait(20)
        return names(folder)

    monkeypatch.setattr(mention_files, "_names", slow)
    assert complete(Somewhere(root), "@src") == []  # type: ignore[arg-type]
    gate.set()
    assert offers(root, "@src/a")[0] == "@src/a.py"


def test_missing_folder_offers_nothing(root: Path) -> None:
    """No error while typing."""
    assert offers(root / "nowhere", "@x") == []


def test_completions_are_ranked(root: Path) -> None:
    """Prefix of the path, then of the name, then inside it; the shorter first."""
    (root / "thread.md").write_text("x", encoding="utf-8")
    (root / "my_thread.txt").write_text("x", encoding="utf-8")
    mention_files.warm(root)
    assert found_names(root, "thread") == ["thread.md", "src/engine/thread.py", "my_thread.txt"]
