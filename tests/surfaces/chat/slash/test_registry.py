"""Recognising commands, near names, completion, and that nothing they do ends the chat."""

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
    """What is listed can be run, and is explained in both languages."""
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
def test_what_is_a_command(line: str, is_one: bool) -> None:
    """A path, a fraction or a comment is a message, not a command."""
    assert registry.is_slash(line) is is_one


def test_found_by_name_alias_and_line() -> None:
    """The slash, the case and what follows do not matter."""
    for text in ("context", "/context", "/CTX all", "上下文"):
        slash = registry.find(text)
        assert slash is not None
        assert slash.name == "context"
    assert registry.find("/nothing") is None
    assert registry.find("") is None


def test_unknown_commands_suggest_near_ones(talk: HandTalk) -> None:
    """A slip of the finger is answered with what was meant, and the chat goes on."""
    said = talk.run("/contxt")
    assert "unknown command: /contxt" in said
    assert "/context" in said
    i18n.use("zh")
    assert "没有 /zzz 这个命令" in talk.run("/zzz")
    assert "/context" in talk.run("/上下")


def test_wrong_arguments_say_how_it_is_used(talk: HandTalk) -> None:
    """Every command that wants something says what, in the language in use."""
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
def test_everything_works_in_an_empty_conversation(empty: HandTalk, language: i18n.Language) -> None:
    """Nothing said yet is no reason for a crash, nor for silence."""
    i18n.use(language)
    for slash in registry.all():
        for rest in ("", " 1", " last", " xyz", " 中文", ' "a b"'):
            if slash.name in ("new", "lang", "quit", "clear", "export", "system", "fork"):
                continue
            assert empty.run(f"/{slash.name}{rest}").strip() or empty.finished, slash.name
        empty.finished.clear()


def test_names_are_completed_with_their_help(talk: HandTalk) -> None:
    """What begins so comes first, then aliases, then letters in order."""
    offered = registry.complete(talk, "/re")
    assert [c.text for c in offered][:2] == ["/regenerate", "/redo"]
    assert offered[0].start == -3
    assert offered[0].meta
    assert talk.offers("/rgn") == ["/regenerate"]
    assert talk.offers("/上") == ["/context"]
    assert talk.offers("hello /re") == []
    assert len(talk.offers("/")) == min(len(NAMES), 40)


def test_arguments_are_completed(talk: HandTalk) -> None:
    """Directions, numbers, tasks, languages, formats: whatever a command can take."""
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


def test_a_completion_replaces_what_was_typed(talk: HandTalk) -> None:
    """`start` reaches back to the beginning of the word at the cursor."""
    found = registry.complete(talk, "/export mark")[0]
    assert ("/export mark"[: found.start] + found.text) == "/export markdown"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAMES), rest=st.text(max_size=30))
def test_completion_never_raises(empty: HandTalk, name: str, rest: str) -> None:
    """Whatever is typed, completion offers something or nothing."""
    for text in (f"/{name} {rest}", f"/{rest}", rest):
        for offer in registry.complete(empty, text):
            assert offer.start <= 0


def test_a_store_that_cannot_be_read_offers_nothing(talk: HandTalk) -> None:
    """Typing goes on where the store is gone."""
    talk.engine.store.close()
    assert talk.offers("/threads ") == []


def test_long_threads_are_not_read_as_a_whole(
    make_talk: Callable[..., HandTalk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that look read a page or two of a long conversation, never all of it."""
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


def test_a_fault_of_a_command_is_owned_and_the_chat_goes_on(
    talk: HandTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even an error that nobody foresaw is a line on the screen, not the end of the conversation."""

    def broken(_talk: HandTalk, _rest: str) -> None:
        raise ZeroDivisionError("oh no")

    monkeypatch.setattr("backscroll.surfaces.chat.slash.commands.undo.undo_slash", broken)
    assert "ZeroDivisionError" in talk.run("/undo")
    assert "Traceback" not in talk.run("/undo")
    monkeypatch.setenv("BACKSCROLL_DEBUG", "1")
    assert "Traceback" in talk.run("/undo")
