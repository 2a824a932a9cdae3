"""Recognising commands, similar names, completion; no command error ends the chat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.surfaces import i18n
from backscroll.surfaces.chat.slash import registry
from tests.surfaces.chat.slash.hand import HandTalk, with_many

NAMES = [slash.name for slash in registry.all()]


def test_names_and_aliases_are_unique() -> None:
    """No word calls two commands."""
    said = [name for slash in registry.all() for name in (slash.name, *slash.aliases)]
    assert len(said) == len(set(said))


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_command_has_a_function_and_help(language: i18n.Language) -> None:
    """In both languages."""
    i18n.use(language)
    for slash in registry.all():
        assert callable(registry.work_of(slash))
        assert slash.help
        assert slash.call.startswith(f"/{slash.name}")
    assert set(NAMES) == set(i18n.section("slash_help", language))
    assert set(i18n.section("slash_more", language)) <= set(NAMES)
    assert {s.family for s in registry.all()} == set(i18n.section("slash_family", language))


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("/context", True),
        ("  /crop top 5", True),
        ("／上下文", True),
        ("/?", True),
        ("/nosuch thing", True),
        ("/no-such", True),
        ("/HELP", True),
        ("/etc/hosts is broken", False),
        ("/", False),
        ("// a comment", False),
        ("half / half", False),
        ("/123", False),
        ("", False),
    ],
)
def test_slash_line_is_recognised_as_a_command(line: str, is_one: bool) -> None:
    """A path, a fraction or a comment is a message."""
    assert registry.is_slash(line) is is_one


def test_command_is_found_by_name_alias_and_line() -> None:
    """The slash, the case and the arguments do not matter."""
    for text in ("context", "/context", "/CTX all", "上下文"):
        slash = registry.find(text)
        assert slash is not None
        assert slash.name == "context"
    assert registry.find("/nothing") is None
    assert registry.find("") is None


def test_unknown_command_suggests_similar_ones(talk: HandTalk) -> None:
    """And the chat goes on."""
    said = talk.run("/contxt")
    assert "unknown command: /contxt" in said
    assert "/context" in said
    i18n.use("zh")
    assert "没有 /zzz 这个命令" in talk.run("/zzz")
    assert "/context" in talk.run("/上下")


def test_wrong_arguments_show_the_usage(talk: HandTalk) -> None:
    """Every command with arguments does, in the current language."""
    for line in ("/crop", "/crop sideways 3", "/crop top x", "/delete", "/pin", "/hide", "/recall", "/search", "/expand",
                 "/blame", "/rename", "/task dance", "/memory dance", "/permissions dance", "/undo now", "/redo x",
                 "/compact x", "/regenerate x", "/swipe far", "/fork x", "/turns x", "/context x", "/quit now",
                 "/clear x", "/cost x", "/tools x", "/todos x", "/rewind x", "/operations x", "/search -a"):  # fmt: skip
        slash = registry.find(line)
        assert slash is not None
        said = talk.run(line)
        assert slash.call in " ".join(said.split()), line
    i18n.use("zh")
    assert "用法：/crop" in talk.run("/crop")


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_command_works_in_an_empty_thread(empty: HandTalk, language: i18n.Language) -> None:
    """Neither a crash nor silence."""
    i18n.use(language)
    for slash in registry.all():
        for rest in ("", " 1", " last", " xyz", " 中文", ' "a b"'):
            if slash.name in ("new", "lang", "quit", "clear", "export", "system", "fork"):
                continue
            assert empty.run(f"/{slash.name}{rest}").strip() or empty.finished, slash.name
        empty.finished.clear()


def test_names_are_completed_with_their_help(talk: HandTalk) -> None:
    """Prefixes first, then aliases, then letters in order."""
    offered = registry.complete(talk, "/re")
    assert [c.text for c in offered][:2] == ["/regenerate", "/redo"]
    assert offered[0].start == -3
    assert offered[0].meta
    assert talk.offers("/rgn") == ["/regenerate"]
    assert talk.offers("/上") == ["/context"]
    assert talk.offers("hello /re") == []
    assert len(talk.offers("/")) == min(len(NAMES), 40)


def test_arguments_are_completed(talk: HandTalk) -> None:
    """Directions, numbers, tasks, languages, formats: whatever a command takes."""
    assert talk.offers("/crop ") == ["top", "bottom"]
    assert talk.offers("/crop t") == ["top"]
    assert "10" in talk.offers("/crop top ")
    assert talk.offers("/lang z") == ["zh"]
    assert talk.offers("/rewind ")[0] == "3"
    assert talk.offers("/edit ")[0] == "6"
    assert "markdown" in talk.offers("/export mark")
    assert "incomplete" in talk.offers("/task i")
    assert "allow" in talk.offers("/permissions ")
    assert "run_command" in talk.offers("/permissions allow run")
    assert talk.offers("/nosuch x") == []


def test_completion_replaces_the_typed_word(talk: HandTalk) -> None:
    """`start` is the beginning of the word at the cursor."""
    found = registry.complete(talk, "/export mark")[0]
    assert ("/export mark"[: found.start] + found.text) == "/export markdown"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAMES), rest=st.text(max_size=30))
def test_completion_never_raises(empty: HandTalk, name: str, rest: str) -> None:
    """Whatever is typed, completion offers something or nothing."""
    for text in (f"/{name} {rest}", f"/{rest}", rest):
        for offer in registry.complete(empty, text):
            assert offer.start <= 0


def test_unreadable_store_offers_no_completion(talk: HandTalk) -> None:
    """Typing goes on."""
    talk.engine.store.close()
    assert talk.offers("/threads ") == []


def test_long_threads_are_not_read_as_a_whole(
    make_talk: Callable[..., HandTalk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read-only commands load a page or two."""
    talk = make_talk()
    with_many(talk, 1200)
    read = counted(monkeypatch)
    for line in (
        "/turns",
        "/turns 300",
        "/swipe",
        "/unpin",
        "/todos",
        "/edit",
        "/operations",
        "/rewind",
        "/fork 5",
    ):
        before = read[0]
        talk.run(line)
        assert read[0] - before < 1100, line
    for typed in ("/edit ", "/rewind ", "/expand ", "/pin ", "/unpin "):
        before = read[0]
        assert talk.offers(typed) or typed == "/unpin "
        assert read[0] - before < 300, typed


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages were taken out of the store so far."""
    from backscroll.engine.core.lineage import View

    read = [0]
    page = View.page

    def counting(self: View, *args: Any, **more: Any) -> Any:
        rows = page(self, *args, **more)
        read[0] += len(rows)
        return rows

    monkeypatch.setattr(View, "page", counting)
    return read


def test_internal_error_of_a_command_does_not_end_the_chat(
    talk: HandTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one line on the screen."""

    def broken(_talk: HandTalk, _rest: str) -> None:
        raise ZeroDivisionError("oh no")

    monkeypatch.setattr("backscroll.surfaces.chat.slash.commands.undo.undo_slash", broken)
    assert "ZeroDivisionError" in talk.run("/undo")
    assert "Traceback" not in talk.run("/undo")
    monkeypatch.setenv("BACKSCROLL_DEBUG", "1")
    assert "Traceback" in talk.run("/undo")
