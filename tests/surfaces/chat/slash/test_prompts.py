"""`/context`, `/crop`, `/uncrop`, `/compact`, `/system`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backscroll.surfaces import i18n
from backscroll.vocab.message import Content
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.surfaces.chat.slash.hand import HandTalk


def test_context_shows_the_prompt(talk: HandTalk) -> None:
    """Shares by section, tools included; `all` lists every message; nothing is written."""
    head = talk.thread.head
    said = talk.run("/context")
    assert "16,000 tokens" in said
    assert "tools" in said
    assert "list them with /context all" in said
    assert "To the sea." in talk.run("/context all")
    assert talk.thread.head == head
    i18n.use("zh")
    assert "工具" in talk.run("/ctx")


def test_crop_is_shown_and_confirmed(talk: HandTalk) -> None:
    """Without a yes nothing is cropped; /uncrop restores it."""
    head = talk.thread.head
    said = talk.run("/crop top 2")
    assert "would crop 2 messages" in said
    assert "% user: Where shall we go?" in said
    assert "nothing was changed" in said
    assert talk.thread.head == head
    talk.yeses = [True]
    said = talk.run("/crop top 2 they spoke of the sea")
    assert "/uncrop bs:" in said
    assert "they spoke of the sea" in str(talk.thread.prompt(16_000, dry_run=True).messages)
    assert "2 messages are back" in talk.run("/uncrop")
    assert "no cropped messages" in talk.run("/uncrop")


def test_relevant_crop_defaults_to_no(
    make_talk: Callable[..., HandTalk],
) -> None:
    """If the messages belong to the task, this is shown, and Enter means no."""
    talk = make_talk(
        ("The database password rotation breaks the billing job", "The billing job reads the old password."),
        ("How does the billing job read the password of the database?", "From the old file."),
    )
    talk.yeses = [False]
    said = talk.run("/crop top 2")
    assert "relevant to the current task" in said
    assert "nothing was changed" in said


def test_crop_that_would_separate_a_call_from_its_result_is_rounded(
    make_talk: Callable[..., HandTalk],
) -> None:
    """To the nearest number, the smaller if two are as near; this is shown, and confirmed."""
    talk = make_talk(("Where shall we go?", "To the sea."))
    calls = tuple(ToolCall(f"c{n}", "look", {}) for n in range(4))
    talk.thread.append("assistant", Content((Text("I look."), *calls)))
    for call in calls:
        talk.thread.append(
            "tool", Content((ToolResult(call.id, (Text(f"seen {call.id} " * 9),), False, "look"),))
        )
    talk.thread.append("user", "And now?")
    said = talk.run("/crop top 4")
    assert "2 messages instead of 4: a call and its result are cropped together" in said
    assert "would crop 2 messages" in said
    assert "nothing was changed" in said
    assert "7 messages instead of 5" in talk.run("/crop top 5")
    talk.yeses = [True]
    assert "cropped 7 messages" in talk.run("/crop top 6")
    talk.run("/uncrop")
    said = talk.run("/crop top 99")
    assert "only 7 messages can be cropped, not 99" in said
    assert "would crop 7 messages" in said
    assert "nothing may be cropped" in talk.run("/crop bottom 3")
    i18n.use("zh")
    assert "移出 2 条，而不是 4 条" in talk.run("/crop top 4")


def test_crop_from_the_bottom_is_rounded_too(make_talk: Callable[..., HandTalk]) -> None:
    """A call with its result counts as two from either end; what cannot be rounded is refused."""
    talk = make_talk()
    talk.thread.append("user", "Look around.")
    for n in range(3):
        talk.thread.append("assistant", Content((ToolCall(f"c{n}", "look", {}),)))
        talk.thread.append(
            "tool", Content((ToolResult(f"c{n}", (Text("much to see " * 9),), False, "look"),))
        )
    assert "2 messages instead of 1" in talk.run("/crop bottom 1")
    assert "2 messages instead of 3" in talk.run("/crop bottom 3")
    assert "1 or more" in talk.run("/crop bottom 0")


def test_uncrop_picks_one_of_several_crops(talk: HandTalk) -> None:
    """By picker, or directly by handle."""
    talk.yeses = [True, True]
    talk.run("/crop top 1")
    talk.run("/crop top 1")
    assert len(talk.offers("/uncrop ")) == 2
    talk.picks = [None]
    talk.run("/uncrop")
    assert len(talk.shown_options[0]) == 2
    handle = talk.offers("/uncrop ")[0]
    assert "1 message is back" in talk.run(f"/uncrop {handle}")
    assert "handle" in talk.run("/uncrop nonsense")


def test_compact_shows_the_saving_first(make_talk: Callable[..., HandTalk]) -> None:
    """Without a yes nothing happens; /undo reverts it."""
    long = "The committee looked at the harbour, the lighthouse and the old mill again. " * 40
    talk = make_talk(*((f"{n}: {long}", f"answer {n}: {long}") for n in range(14)))
    talk.agent.budget = 12_000
    head = talk.thread.head
    said = talk.run("/compact")
    assert "tokens" in said
    assert "nothing was changed" in said
    assert talk.thread.head == head
    talk.yeses = [True]
    assert "compacted" in talk.run("/compact")
    assert talk.thread.head > head
    assert "Undone" in talk.run("/undo")


@pytest.mark.parametrize("way", ["undo", "--undo", "撤销"])
def test_compaction_can_be_undone_whoever_made_it(make_talk: Callable[..., HandTalk], way: str) -> None:
    """Also an automatic one; /redo applies it again, and without one that is said."""
    long = "The committee looked at the harbour, the lighthouse and the old mill again. " * 40
    talk = make_talk(*((f"{n}: {long}", f"answer {n}: {long}") for n in range(14)))
    assert "no compaction" in talk.run(f"/compact {way}")
    talk.thread.prompt(12_000, recall=False)
    condensed = talk.thread.prompt(20_000, recall=False, dry_run=True).receipt.tokens
    assert "full history again" in talk.run(f"/compact {way}")
    assert talk.thread.prompt(20_000, recall=False, dry_run=True).receipt.tokens > condensed
    assert "Redone" in talk.run("/redo")
    assert talk.thread.prompt(20_000, recall=False, dry_run=True).receipt.tokens == condensed
    assert "undo" in talk.offers("/compact ")
    assert "/compact [undo]" in talk.run("/compact everything")


def test_nothing_to_compact_is_reported(talk: HandTalk) -> None:
    """A short thread cannot shrink, and nothing is asked."""
    assert "Nothing to compact" in talk.run("/compact")
    assert talk.questions == []


def test_system_prompt_is_shown_and_extended(talk: HandTalk) -> None:
    """The agent's part stays; the user's text follows it and survives the next run."""
    assert "no system prompt yet" in talk.run("/system")
    talk.run("/system Speak like a pirate")
    talk.say("hello")
    said = talk.run("/system")
    assert "Speak like a pirate" in said
    assert "You are Backscroll" in said
    sent = str(talk.parrot.asked[-1])
    assert "Speak like a pirate" in sent
    assert "already" in talk.run("/system Speak like a pirate")
    talk.run("/system Speak like a poet")
    assert [m.text for m in talk.thread if m.role == "system"][-1] == "Speak like a poet"
    talk.run("/undo")
    assert [m.text for m in talk.thread if m.role == "system"][-1] == "Speak like a pirate"
