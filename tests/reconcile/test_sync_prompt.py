"""What a proxy learns from the prompts that pass through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from backscroll.reconcile import operations as op
from backscroll.reconcile.operations import (
    Ambiguity,
    ForgottenNote,
    InjectionNote,
    JoinNote,
    RegenerateRequest,
    SyncPlan,
    TrimNote,
)
from backscroll.reconcile.plan import plan
from backscroll.vocab.foreign import ForeignMessage
from tests.reconcile.sync_client import Memory, chat_of, joined, msg

TALK: tuple[str, ...] = (
    "a Welcome to the forest, traveller.",
    "u I look around for the old stone bridge.",
    "a The bridge lies to the north, half hidden by ivy.",
    "u 我想过桥，可是桥上有雾。",
    "a 雾里传来歌声，像是在叫你的名字。",
    "u Who is singing there?",
)
HEAD = ("s You are Ellie, a forest elf.", "s [Start a new Chat]")


def kinds(found: SyncPlan) -> list[str]:
    """The operations of a plan by name, in order."""
    return [type(operation).__name__ for operation in found.operations]


def what(found: SyncPlan) -> list[str]:
    """What a plan calls ambiguous."""
    return [note.what for note in found.notes if isinstance(note, Ambiguity)]


def left_out(found: SyncPlan) -> list[str]:
    """The texts that a plan takes for injected."""
    return [note.text for note in found.notes if isinstance(note, InjectionNote)]


def synced(memory: Memory, prompt: Sequence[ForeignMessage], names: Sequence[str] = ()) -> SyncPlan:
    """Plan, carry out, and make sure that nothing is deleted and nothing left to do."""
    found = plan(memory.ours(), prompt, "prompt", names=names)
    assert not any(isinstance(operation, op.Delete) for operation in found.operations)
    memory.apply(found)
    again = plan(memory.ours(), prompt, "prompt", names=names)
    assert not again.changes, again.operations
    return found


def shown(memory: Memory) -> list[str]:
    """What we would show in a prompt."""
    return [slot.content.text for slot in memory.live() if not slot.hidden]


def test_first_prompt_gives_the_chat_without_its_frame() -> None:
    """System prompt and marker are not part of the chat; everything after the marker is."""
    memory = Memory()
    found = synced(memory, chat_of(*HEAD, *TALK))
    assert shown(memory) == [line[2:] for line in TALK]
    assert left_out(found) == ["You are Ellie, a forest elf.", "[Start a new Chat]"]


def test_examples_before_the_marker_are_not_imported() -> None:
    """Example dialogues look like a chat; the marker tells them apart."""
    examples = ("u Example question?", "a Example answer.")
    memory = Memory()
    synced(memory, chat_of(HEAD[0], *examples, HEAD[1], *TALK[:2]))
    assert shown(memory) == [line[2:] for line in TALK[:2]]


def test_marker_inside_a_joined_block_is_found() -> None:
    """Joining puts the marker at the end of the system prompt, or before the first message."""
    memory = Memory()
    prompt = [msg("system", "You are Ellie.\n\n[Start a new Chat]"), *chat_of(*TALK[:2])]
    synced(memory, prompt)
    assert shown(memory) == [line[2:] for line in TALK[:2]]
    memory = Memory()
    synced(
        memory, [msg("user", "Be Ellie.\n\n[Start a new Chat]\n\nHello, elf."), msg("assistant", "Hello.")]
    )
    assert shown(memory) == ["Hello, elf.", "Hello."]


def test_next_prompt_appends_new_messages() -> None:
    """A new message at the end is appended, whatever lore is in between."""
    memory = Memory.holding(chat_of(*TALK[:-1]))
    lore = "s Lore: the singer is the river."
    found = synced(memory, chat_of(*HEAD, *TALK[:3], lore, *TALK[3:]))
    assert kinds(found) == ["Append"]
    assert lore[2:] in left_out(found)


def test_trimmed_prompt_is_the_end_of_the_chat() -> None:
    """What did not fit is neither deleted nor hidden."""
    memory = Memory.holding(chat_of(*TALK[:-1]))
    found = synced(memory, chat_of(*HEAD, *TALK[-3:]))
    assert kinds(found) == ["Append"]
    assert [len(n.ids) for n in found.notes if isinstance(n, TrimNote)] == [3]


def test_missing_message_inside_is_hidden_and_noted() -> None:
    """It may have been deleted or hidden; hiding is reverted when it is shown again."""
    memory = Memory.holding(chat_of(*TALK))
    name = memory.live()[2].id
    found = synced(memory, chat_of(*HEAD, *TALK[:2], *TALK[3:]))
    assert found.operations == (op.Hide(name),)
    assert what(found) == ["deleted-or-hidden"]
    assert synced(memory, chat_of(*HEAD, *TALK)).operations == (op.Unhide(name),)


def test_prompt_without_our_last_reply_asks_for_another() -> None:
    """Swipe and regenerate send the list without the reply; the reply itself is unchanged."""
    memory = Memory.holding(chat_of(*TALK, "a It is the river.", "a Come, it says."))
    replies = tuple(slot.id for slot in memory.live()[-2:])
    found = synced(memory, chat_of(*HEAD, *TALK))
    assert found.operations == ()
    assert [n.ids for n in found.notes if isinstance(n, RegenerateRequest)] == [replies]


def test_prompt_that_ends_earlier_hides_what_came_after() -> None:
    """Regenerating an earlier reply means later turns are gone; its own reply is awaited."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(*HEAD, *TALK[:2]))
    assert found.operations == tuple(op.Hide(slot.id) for slot in memory.live()[3:])
    assert [n.ids for n in found.notes if isinstance(n, RegenerateRequest)] == [(memory.live()[2].id,)]


def test_changed_text_is_an_edit() -> None:
    """Between the same neighbours, or at the end."""
    for at in (1, 3, 4):
        memory = Memory.holding(chat_of(*TALK))
        lines = list(TALK)
        lines[at] = f"{TALK[at]} 真的。"
        assert kinds(synced(memory, chat_of(*HEAD, *lines))) == ["Edit"]
        assert shown(memory) == [line[2:] for line in lines]


def test_known_alternative_is_selected() -> None:
    """A reply that we know as an alternative is the user's choice."""
    memory = Memory.holding(chat_of(*TALK))
    other = "The bridge is gone; only two pillars are left."
    reply = replace(
        memory.ours()[2], known=(op.KnownRevision(memory.live()[0].id, msg("assistant", other).content),)
    )
    ours = [reply if entry.id == reply.id else entry for entry in memory.ours()]
    found = plan(ours, chat_of(*HEAD, *TALK[:2], f"a {other}", *TALK[3:]), "prompt")
    assert found.operations == (op.Choose(reply.id, reply.known[0].id, 4),)


def test_rendering_is_no_edit() -> None:
    """Carriage returns, trailing blanks and names before the text change nothing."""
    memory = Memory.holding([msg("user", "one \r\ntwo"), msg("assistant", "three")])
    prompt = [msg("user", "Sam: one\ntwo"), msg("assistant", "Ellie: three")]
    assert synced(memory, prompt, names=["Sam", "Ellie"]).operations == ()


def test_name_before_the_text_becomes_the_author() -> None:
    """The new message is stored without it."""
    memory = Memory()
    synced(memory, [msg("user", "Sam: hello"), msg("assistant", "艾莉：你好")], names=["Sam", "艾莉"])
    assert [(s.content.author, s.content.text) for s in memory.live()] == [("Sam", "hello"), ("艾莉", "你好")]


def test_joined_messages_are_separated() -> None:
    """A block with several of our messages and new text after them is recognised."""
    lines = ("u one two three four", "u five six seven eight", "a nine ten eleven", "a twelve and more")
    memory = Memory.holding(chat_of(*lines))
    prompt = joined(chat_of(*lines, "u the latest words"))
    assert len(prompt) == 3
    found = synced(memory, prompt)
    assert kinds(found) == ["Append"]
    assert [len(n.ids) for n in found.notes if isinstance(n, JoinNote)] == [2, 2]


def test_signed_new_messages_are_separated() -> None:
    """In a group chat the names tell where one speaker ends and the next begins."""
    memory = Memory()
    text = "Ellie: first thing\n\nsecond paragraph\n\nBran: my turn"
    synced(memory, [msg("user", "Sam: hi"), msg("assistant", text)], names=["Sam", "Ellie", "Bran"])
    assert [(s.content.author, s.content.text) for s in memory.live()] == [
        ("Sam", "hi"),
        ("Ellie", "first thing\n\nsecond paragraph"),
        ("Bran", "my turn"),
    ]


def test_lore_joined_to_a_message_is_left_out() -> None:
    """A program that joins lore to user text does not change what the user said."""
    memory = Memory.holding(chat_of(*TALK))
    prompt = chat_of(*HEAD, *TALK)
    prompt[3] = msg("user", f"Lore: the bridge is older than the forest.\n\n{TALK[1][2:]}")
    found = synced(memory, prompt)
    assert found.operations == ()
    assert "Lore: the bridge is older than the forest." in left_out(found)
    assert what(found) == ["injected-or-said"]


def test_unsigned_user_text_is_treated_as_lore() -> None:
    """A user block never said before, next to a user message, is left out, with a note."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(*HEAD, *TALK[:3], "u [Keep the answers short.]", *TALK[3:]))
    assert found.operations == ()
    assert what(found) == ["injected-or-said"]


def test_missed_turns_are_inserted() -> None:
    """Turns that did not pass through the proxy, question and answer, are put in their place."""
    memory = Memory.holding(chat_of(*TALK[:3], *TALK[5:]))
    found = synced(memory, chat_of(*HEAD, *TALK))
    assert kinds(found) == ["Insert", "Insert"]
    assert shown(memory) == [line[2:] for line in TALK]


def test_older_messages_are_added_at_the_beginning() -> None:
    """A proxy that joined late learns the beginning when the budget grows."""
    memory = Memory.holding(chat_of(*TALK[3:]))
    assert kinds(synced(memory, chat_of(*HEAD, *TALK))) == ["Insert"] * 3
    assert shown(memory) == [line[2:] for line in TALK]


def test_deleted_message_that_is_sent_is_restored() -> None:
    """What we had deleted and they still send is restored."""
    memory = Memory.holding(chat_of(*TALK))
    memory.slots[2].deleted = True
    assert kinds(synced(memory, chat_of(*HEAD, *TALK))) == ["Restore"]


def test_forgotten_text_stays_out_of_a_rendering() -> None:
    """Next to a tombstone, text in the same role is taken for the forgotten one, though rendering changed it."""
    memory = Memory.holding(chat_of(*TALK))
    slot = memory.slots[2]
    slot.forgotten = True
    slot.forget_check = lambda message: message.content.text == "to the letter only"
    found = synced(memory, chat_of(*HEAD, *TALK))
    assert found.operations == ()
    assert what(found) == ["forgotten-or-new"]
    assert [n.id for n in found.notes if isinstance(n, ForgottenNote)] == [slot.id]


def test_empty_message_is_not_missing() -> None:
    """A message without text is in no prompt, and not deleted for that."""
    memory = Memory.holding(chat_of(*TALK[:2], "a ", *TALK[2:]))
    assert synced(memory, chat_of(*HEAD, *TALK)).operations == ()


@pytest.mark.parametrize("prompt", [[], chat_of(*HEAD)])
def test_prompt_without_a_chat_changes_nothing(prompt: list[ForeignMessage]) -> None:
    """A background call with instructions alone leaves the history as it is."""
    memory = Memory.holding(chat_of(*TALK))
    assert synced(memory, prompt).operations == ()


def test_instruction_at_the_end_is_no_message() -> None:
    """A background call adds a system instruction after the chat."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(*HEAD, *TALK, "s Summarise the story so far."))
    assert found.operations == ()
    assert "Summarise the story so far." in left_out(found)


def test_markers_can_be_configured() -> None:
    """Without any, the whole list is read."""
    prompt = chat_of("u an example", "a of a chat", "s <<chat>>", *TALK[:2])
    memory = Memory()
    memory.apply(plan([], prompt, "prompt", markers=["<<chat"]))
    assert shown(memory) == [line[2:] for line in TALK[:2]]
    memory = Memory()
    memory.apply(plan([], prompt, "prompt", markers=[]))
    assert len(shown(memory)) == 4
