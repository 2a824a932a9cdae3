"""`/help`, `/lang`, `/unfold`, `/clear`, `/quit`."""

from __future__ import annotations

from backscroll.surfaces import i18n
from backscroll.surfaces.chat.slash import registry
from tests.surfaces.chat.slash.hand import HandTalk


def test_help_lists_every_command_in_both_languages(talk: HandTalk) -> None:
    """Nothing that can be typed is missing from the page."""
    for language, family in (("en", "Prompt"), ("zh", "模型看到什么")):
        i18n.use(i18n.find_language(language) or "en")
        said = talk.run("/help")
        assert family in said
        assert all(f"/{slash.name}" in said for slash in registry.all())


def test_help_explains_one_command(talk: HandTalk) -> None:
    """Usage, what it does, details, and its other names; by alias too."""
    said = talk.run("/help ctx")
    assert "/context [all]" in said
    assert "also: /ctx" in said
    assert "range 4:9" in talk.run("/help /delete")
    assert "/context" in talk.run("/help contxt")  # a near name


def test_language_changes_at_once(talk: HandTalk) -> None:
    """The next line is Chinese, and an unknown language is refused."""
    assert "从现在起使用中文" in talk.run("/lang zh")
    assert i18n.get_language() == "zh"
    assert "zh" in talk.run("/lang")
    assert "en, zh" in talk.run("/lang klingon")
    assert i18n.get_language() == "zh"


def test_unfolding_is_left_to_the_terminal(talk: HandTalk) -> None:
    """If the terminal can fold, it is asked; otherwise this is said."""
    assert "does not fold output" in talk.run("/unfold")
    seen: list[int | None] = []
    talk.unfold = seen.append  # type: ignore[attr-defined]
    talk.run("/unfold 3")
    talk.run("/unfold")
    assert seen == [3, None]


def test_clear_keeps_the_conversation(talk: HandTalk) -> None:
    """Only the screen is cleared."""
    before = talk.texts()
    assert "unchanged" in talk.run("/clear")
    assert talk.texts() == before


def test_quit_ends_the_chat(talk: HandTalk) -> None:
    """With arguments it is a mistake and does not."""
    talk.run("/quit now")
    assert not talk.left
    talk.run("/q")
    assert talk.left
