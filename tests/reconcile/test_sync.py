"""Sync with another program's chat: each kind of change there is recognised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backscroll.reconcile import operations as op
from backscroll.reconcile.operations import Ambiguity, ForgottenNote, OurEntry, SyncPlan, TrimNote
from backscroll.reconcile.plan import plan
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Reasoning, Text, ToolCall, ToolResult
from tests.reconcile.sync_client import Memory, chat_of, msg, said

TALK: tuple[str, ...] = (
    "a Welcome to the forest, traveller.",
    "u I look around for the old stone bridge.",
    "a The bridge lies to the north, half hidden by ivy.",
    "u 继续",
    "a 她沿着小路慢慢走，听见远处的水声。",
    "u 继续",
    "a 水声越来越近，雾气从河面升起。",
)


def kinds(found: SyncPlan) -> list[str]:
    """The operations of a plan by name, in order."""
    return [type(operation).__name__ for operation in found.operations]


def what(found: SyncPlan) -> list[str]:
    """What a plan calls ambiguous."""
    return [note.what for note in found.notes if isinstance(note, Ambiguity)]


def synced(memory: Memory, theirs: list[ForeignMessage], *, complete: bool = False) -> SyncPlan:
    """Plan, carry out, and make sure that there is nothing left to do."""
    found = plan(memory.ours(), theirs, complete=complete)
    memory.apply(found)
    again = plan(memory.ours(), theirs, complete=complete)
    assert not again.changes, again.operations
    return found


def test_first_sync_appends_everything() -> None:
    """In order."""
    memory = Memory()
    found = synced(memory, chat_of(*TALK))
    assert kinds(found) == ["Append"] * len(TALK)
    assert memory.texts() == [line[2:] for line in TALK]


def test_unchanged_list_changes_nothing() -> None:
    """No operation and no note."""
    found = plan(Memory.holding(chat_of(*TALK)).ours(), chat_of(*TALK))
    assert (found.operations, found.notes) == ((), ())
    assert [theirs for _, theirs in found.matched] == list(range(len(TALK)))


@pytest.mark.parametrize("at", range(len(TALK)))
def test_small_change_is_one_edit(at: int) -> None:
    """Of that message and nothing else."""
    memory = Memory.holding(chat_of(*TALK))
    lines = list(TALK)
    lines[at] = f"{TALK[at][:2]}好的，{TALK[at][2:]}"
    found = synced(memory, chat_of(*lines))
    assert kinds(found) == ["Edit"]
    (edit,) = found.operations
    assert isinstance(edit, op.Edit)
    assert edit.id == memory.live()[at].id
    assert memory.texts() == [line[2:] for line in lines]


@pytest.mark.parametrize("at", [1, 2, 4])
def test_rewritten_message_in_the_middle_is_an_edit_with_a_note(at: int) -> None:
    """Between the same neighbours it is the same message; the note states the doubt."""
    memory = Memory.holding(chat_of(*TALK))
    lines = list(TALK)
    lines[at] = f"{TALK[at][:2]}Something else entirely, about boats."
    found = synced(memory, chat_of(*lines))
    assert kinds(found) == ["Edit"]
    assert what(found) in (["edited-or-replaced"], ["edited-or-regenerated"])


@pytest.mark.parametrize("at", range(1, len(TALK)))
def test_missing_message_is_one_deletion(at: int) -> None:
    """In the middle or at the end, and only that."""
    memory = Memory.holding(chat_of(*TALK))
    gone = memory.live()[at].id
    found = synced(memory, chat_of(*TALK[:at], *TALK[at + 1 :]))
    assert found.operations == (op.Delete(gone),)


@pytest.mark.parametrize("keep", range(1, len(TALK)))
def test_trimmed_top_is_no_deletion(keep: int) -> None:
    """A list that lacks its beginning says nothing about the beginning."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(*TALK[-keep:]))
    assert found.operations == ()
    assert found.notes == (TrimNote(tuple(slot.id for slot in memory.live()[:-keep])),)


def test_trimmed_top_before_repeated_text_is_no_deletion() -> None:
    """The first `ok` of a trimmed list need not be our first one."""
    memory = Memory.holding(chat_of("u ok", "a I see a fox.", "u ok", "a The fox runs.", "u go on"))
    found = synced(memory, chat_of("u ok", "a The fox runs.", "u go on", "a It is gone."))
    assert kinds(found) == ["Append"]
    assert memory.texts()[-4:] == ["ok", "The fox runs.", "go on", "It is gone."]


def test_system_prompt_above_a_trimmed_top_is_no_proof() -> None:
    """Programs keep it when they trim the messages below it."""
    memory = Memory.holding(chat_of("s Be kind.", *TALK))
    found = synced(memory, chat_of("s Be kind.", *TALK[-3:], "u And then?"))
    assert kinds(found) == ["Append"]


def test_complete_list_deletes_at_the_top_too() -> None:
    """A file that promises to be complete lacks nothing by accident."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(*TALK[2:]), complete=True)
    assert kinds(found) == ["Delete", "Delete"]


@pytest.mark.parametrize("complete", [False, True])
def test_empty_list_deletes_nothing(complete: bool) -> None:
    """A failing server sends an empty chat."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, [], complete=complete)
    assert found.operations == ()
    assert what(found) == ["empty-list"]


def test_unrelated_list_is_appended_and_noted() -> None:
    """Another conversation, or the same much later: kept after ours, with the doubt."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of("u A new day.", "a Indeed it is one."))
    assert kinds(found) == ["Append", "Append"]
    assert what(found) == ["nothing-in-common"]


def test_cut_end_is_deleted() -> None:
    """Exactly the end."""
    memory = Memory.holding(chat_of(*TALK))
    gone = [op.Delete(slot.id) for slot in memory.live()[3:]]
    assert list(synced(memory, chat_of(*TALK[:3])).operations) == gone


def test_one_of_several_equal_turns_is_deleted_whole() -> None:
    """With `继续` before every reply, question and answer go together, and the note says which."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(*TALK[:3], *TALK[5:]))
    assert [memory.slot(o.id).role for o in found.operations if isinstance(o, op.Delete)] == [
        "user",
        "assistant",
    ]
    assert memory.texts() == [line[2:] for line in (*TALK[:3], *TALK[5:])]
    assert what(found) == ["which-of-equals"]


def test_regenerated_last_reply_is_an_alternative() -> None:
    """Also if the conversation has continued since."""
    for more in ((), ("u And now?", "a Now we rest.")):
        memory = Memory.holding(chat_of(*TALK))
        found = synced(memory, chat_of(*TALK[:-1], "a Suddenly a heron takes wing from the reeds.", *more))
        assert kinds(found) == ["Regenerate", *(["Append"] * len(more))]


def test_continued_reply_is_an_edit() -> None:
    """It goes on where it had stopped."""
    memory = Memory.holding(chat_of(*TALK[:3]))
    longer = TALK[2] + " Beyond it a light moves, slowly, and whoever carries it is singing to the trees." * 3
    assert kinds(synced(memory, chat_of(*TALK[:2], longer))) == ["Edit"]


def test_known_reply_is_selected() -> None:
    """Going back to an earlier alternative or wording creates nothing new."""
    memory = Memory.holding(chat_of(*TALK))
    synced(memory, chat_of(*TALK[:-1], "a Suddenly a heron takes wing from the reeds."))
    size = len(memory.everything())
    assert kinds(synced(memory, chat_of(*TALK))) == ["Choose"]
    assert len(memory.everything()) == size


def test_swipes_are_alternatives() -> None:
    """A new one is a regeneration, another selected one a choice, one never selected an unused alternative."""
    memory = Memory.holding(chat_of("u hi", "a first answer"))
    texts = ["first answer", "second try", "a third one"]

    def shown(count: int, chosen: int) -> list[ForeignMessage]:
        contents = tuple(said(text) for text in texts[:count])
        return [
            msg("user", "hi"),
            replace(msg("assistant", texts[chosen]), alternatives=contents, chosen=chosen),
        ]

    assert kinds(synced(memory, shown(2, 1))) == ["Regenerate"]
    assert kinds(synced(memory, shown(2, 0))) == ["Choose"]
    assert kinds(synced(memory, shown(3, 0))) == ["AddAlternative"]
    assert memory.texts() == ["hi", "first answer"]


def test_edited_swipe_is_an_edit() -> None:
    """Other text in its place, the other swipes kept, is an edit."""
    reply = replace(msg("assistant", "one"), alternatives=(said("one"), said("two")))
    memory = Memory.holding([msg("user", "hi"), reply])
    edited = replace(reply, content=said("something else entirely"))
    assert kinds(synced(memory, [msg("user", "hi"), edited])) == ["Edit"]


def test_hidden_flag_is_followed() -> None:
    """Where the other program has one."""
    memory = Memory.holding(chat_of(*TALK))
    theirs = chat_of(*TALK)
    theirs[3] = replace(theirs[3], hidden=True)
    assert kinds(plan(memory.ours(), theirs, knows_hidden=False)) == []
    assert kinds(synced(memory, theirs)) == ["Hide"]
    assert kinds(synced(memory, chat_of(*TALK))) == ["Unhide"]


def test_message_hidden_here_is_not_missing_there() -> None:
    """A program without hidden messages does not delete them by leaving them out."""
    memory = Memory.holding(chat_of(*TALK))
    memory.live()[2].hidden = True
    theirs = chat_of(*TALK[:2], *TALK[3:])
    assert plan(memory.ours(), theirs, knows_hidden=False).operations == ()
    assert kinds(plan(memory.ours(), theirs)) == ["Delete"]


@pytest.mark.parametrize(("source", "target"), [(1, 4), (4, 1), (2, 3), (6, 0), (2, 6)])
def test_moved_message_is_moved(source: int, target: int) -> None:
    """The same text in another place is the same message."""
    memory = Memory.holding(chat_of(*TALK))
    lines = list(TALK)
    lines.insert(target, lines.pop(source))
    found = synced(memory, chat_of(*lines))
    assert set(kinds(found)) == {"Move"}
    assert memory.texts() == [line[2:] for line in lines]


def test_moved_block_takes_its_short_messages_along() -> None:
    """`ok` and all."""
    lines = [f"{'ua'[k % 2]} A sentence of its own, number {k}, with words." for k in range(12)]
    lines[3:3] = ["u ok", "a yes"]
    memory = Memory.holding(chat_of(*lines))
    moved = [*lines[:2], *lines[6:], *lines[2:6]]
    assert kinds(synced(memory, chat_of(*moved))) == ["Move"] * 4
    assert memory.texts() == [line[2:] for line in moved]


def test_repeated_short_message_is_not_moved() -> None:
    """Gone above and new at the end: it may have been said again; a note says so."""
    memory = Memory.holding(chat_of("a Hello there.", "u ok", *TALK[2:]))
    found = synced(memory, chat_of("a Hello there.", *TALK[2:], "u ok"))
    assert kinds(found) == ["Delete", "Append"]
    assert what(found) == ["moved-or-resaid"]


def test_trimmed_message_said_again_stays_where_it_was() -> None:
    """It is repeated at the end, not moved."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(*TALK[3:], TALK[1]))
    assert kinds(found) == ["Append"]


def test_copied_message_is_new() -> None:
    """A duplicate is one more message, after the first."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(*TALK[:3], TALK[2], *TALK[3:]))
    assert kinds(found) == ["Insert"]
    (insert,) = found.operations
    assert isinstance(insert, op.Insert)
    assert insert.after == memory.live()[2].id


def test_several_insertions_are_chained() -> None:
    """New messages in a row refer to the new ones before them."""
    memory = Memory.holding(chat_of(*TALK))
    found = synced(memory, chat_of(TALK[0], "u Who are you?", "a Nobody at all.", *TALK[1:]))
    after = [o.after for o in found.operations if isinstance(o, op.Insert)]
    assert after == [memory.live()[0].id, op.NewRef(0)]


def test_deleted_message_that_returns_is_restored() -> None:
    """In its old place, with its old id."""
    memory = Memory.holding(chat_of(*TALK))
    name = memory.live()[4].id
    synced(memory, chat_of(*TALK[:4], *TALK[5:]))
    assert synced(memory, chat_of(*TALK)).operations == (op.Restore(name, 4),)


def test_deleted_text_said_again_later_is_new() -> None:
    """The same text at another time is another message."""
    first = replace(msg("user", "ok"), at="2024-01-01T10:00:00+00:00")
    memory = Memory.holding([msg("assistant", "hi"), first])
    synced(memory, [msg("assistant", "hi")])
    found = synced(memory, [msg("assistant", "hi"), replace(first, at="2024-01-02T10:00:00+00:00")])
    assert kinds(found) == ["Append"]


def test_times_distinguish_equal_messages() -> None:
    """Of several `继续` the one whose time is missing was deleted."""
    theirs = [replace(msg("user", "继续"), at=f"2024-01-01T10:0{k}:00+00:00") for k in range(5)]
    memory = Memory.holding(theirs)
    gone = memory.live()[2].id
    found = synced(memory, [*theirs[:2], *theirs[3:]])
    assert found.operations == (op.Delete(gone),)


def test_equal_time_marks_an_edit() -> None:
    """Other text at the same time is the same message, without doubt."""
    theirs = [replace(m, at=f"2024-01-01T10:0{k}:00+00:00") for k, m in enumerate(chat_of(*TALK))]
    memory = Memory.holding(theirs)
    theirs[5] = replace(theirs[5], content=said("Where does this river come from?"))
    found = synced(memory, theirs)
    assert (kinds(found), what(found)) == (["Edit"], [])


def test_ids_decide() -> None:
    """With ids, changed text is an edit, equal text with another id is another message, and order is known."""
    theirs = [replace(msg("user", "ok"), source_id=f"m{k}") for k in range(4)]
    memory = Memory.holding(theirs)
    ids = [slot.id for slot in memory.live()]
    edited = replace(theirs[1], content=said("quite another thing"))
    found = synced(memory, [theirs[0], edited, theirs[3]])
    assert found.operations == (op.Delete(ids[2]), op.Edit(ids[1], edited.content, 1))
    assert kinds(synced(memory, [theirs[3], theirs[0], edited])) == ["Move"]


def test_copied_id_is_not_trusted() -> None:
    """A copy carries the id of its original; the text tells which is which."""
    theirs = [replace(m, source_id=f"m{k}") for k, m in enumerate(chat_of(*TALK))]
    memory = Memory.holding(theirs)
    copy = replace(theirs[2], content=said("A copy that was changed afterwards."))
    found = synced(memory, [*theirs[:3], copy, *theirs[3:]])
    assert kinds(found) == ["Insert"]


def test_tool_result_is_identified_by_its_call() -> None:
    """A masked result of the same call is an edit of that result."""
    call = ForeignMessage("assistant", Content((ToolCall("c7", "read", {"path": "a"}),)))
    result = ForeignMessage("tool", Content((ToolResult("c7", (Text("line\n" * 500),)),)))
    theirs = [msg("user", "read it"), call, result, call, msg("assistant", "done")]
    memory = Memory.holding(theirs)
    theirs[2] = replace(result, content=Content((ToolResult("c7", (Text("[cleared]"),)),)))
    found = synced(memory, theirs)
    assert (kinds(found), what(found)) == (["Edit"], [])


def test_unstated_thinking_and_names_are_not_denied() -> None:
    """A list without them is the same list; other thinking or another name is an edit."""
    thought = Content((Reasoning("hm"), Text("yes")), "Ellie")
    memory = Memory.holding([msg("user", "hi"), ForeignMessage("assistant", thought)])
    assert kinds(synced(memory, [msg("user", "hi"), msg("assistant", "yes")])) == []
    renamed = ForeignMessage("assistant", said("yes", "Elli"))
    assert kinds(synced(memory, [msg("user", "hi"), renamed])) == ["Edit"]
    rethought = ForeignMessage("assistant", Content((Reasoning("well"), Text("yes")), "Elli"))
    assert kinds(synced(memory, [msg("user", "hi"), rethought])) == ["Edit"]


def test_edit_without_a_name_keeps_the_author() -> None:
    """Words without a name do not take the name away."""
    memory = Memory.holding([ForeignMessage("user", said("hello there", "Sam"))])
    synced(memory, [msg("user", "hello there!")])
    assert memory.live()[0].content.author == "Sam"


def test_whitespace_changes_are_edits_in_a_chat() -> None:
    """A chat is compared exactly, so that our history says exactly what theirs says."""
    memory = Memory.holding(chat_of("u a list:\n  - one"))
    synced(memory, chat_of("u a list:\r\n  - one \n"))
    assert memory.texts() == ["a list:\r\n  - one \n"]


def test_incoming_pictures_are_recognised() -> None:
    """Bytes compare equal to the blob that the store keeps for them."""
    stored = Content((Text("look"), Media("image/png", blob="png!")))
    arriving = Content((Text("look"), Media("image/png", data=b"png")))
    memory = Memory.holding([ForeignMessage("user", stored)])
    found = plan(
        memory.ours(), [ForeignMessage("user", arriving)], blob_name=lambda data: f"{data.decode()}!"
    )
    assert found.operations == ()


def hole(memory: Memory, at: int) -> Ref:
    """Forget a message of ours; the check still knows its words."""
    slot = memory.slots[at]
    words, role = slot.content.text, slot.role
    slot.forgotten = True
    slot.forget_check = lambda message: message.role == role and message.content.text == words
    return slot.id


def test_forgotten_messages_do_not_return() -> None:
    """A list that still has them is accepted without them, every time."""
    for at in range(len(TALK)):
        memory = Memory.holding(chat_of(*TALK))
        name = hole(memory, at)
        found = synced(memory, chat_of(*TALK, "u One more."))
        assert kinds(found) == ["Append"]
        assert [n for n in found.notes if isinstance(n, ForgottenNote)] == [ForgottenNote(name, at)]


def test_forgotten_messages_do_not_return_elsewhere() -> None:
    """Text of substance is kept out wherever it was moved; a short word may be said again."""
    memory = Memory.holding(chat_of(*TALK))
    hole(memory, 2)
    hole(memory, 3)  # the first 继续
    found = synced(memory, chat_of(*TALK[:2], *TALK[4:], TALK[2], "u 继续"))
    assert [o.message.content.text for o in found.operations if isinstance(o, op.Append)] == ["继续"]


def test_forgotten_revision_does_not_return() -> None:
    """A message whose old text was forgotten keeps its new one when the old one is sent again."""
    memory = Memory.holding(chat_of(*TALK))
    slot = memory.live()[1]
    slot.forget_check = lambda message: "secret" in message.content.text
    theirs = chat_of(*TALK)
    theirs[1] = msg("user", "My secret is that I look around for the old stone bridge.")
    found = synced(memory, theirs)
    assert found.operations == ()
    assert found.notes == (ForgottenNote(slot.id, 1),)


def test_forgotten_swipe_does_not_return() -> None:
    """Of a message with swipes only those not forgotten are accepted."""
    memory = Memory.holding(chat_of("u hi", "a hello"))
    memory.live()[1].forget_check = lambda message: message.content.text == "the secret"
    swipes = (said("hello"), said("the secret"), said("good day"))
    found = synced(memory, [msg("user", "hi"), replace(msg("assistant", "hello"), alternatives=swipes)])
    assert [o.content.text for o in found.operations if isinstance(o, op.AddAlternative)] == ["good day"]
    assert found.notes == (ForgottenNote(memory.live()[1].id, 1, 1),)


def test_new_text_next_to_a_forgotten_message_is_new() -> None:
    """Other text where something was forgotten is accepted, with a note."""
    memory = Memory.holding(chat_of(*TALK))
    hole(memory, 2)
    found = synced(memory, chat_of(*TALK[:2], "a There is no bridge any more.", *TALK[3:]))
    assert kinds(found) == ["Insert"]
    assert what(found) == ["forgotten-or-new"]


def test_plan_can_be_applied_without_its_deletions() -> None:
    """For callers who keep what the other side deleted."""
    memory = Memory.holding(chat_of(*TALK))
    found = plan(memory.ours(), chat_of(*TALK[:2], "u New one.", TALK[6], TALK[4], "a Another."))
    kept = replace(found, operations=tuple(o for o in found.operations if not isinstance(o, op.Delete)))
    assert len(kept.operations) < len(found.operations)
    memory.apply(kept)
    assert {line[2:] for line in TALK} <= set(memory.texts())


def test_roles_are_never_changed() -> None:
    """The same text in another role is another message."""
    memory = Memory.holding(chat_of("u hi", "a hello there", "u bye"))
    assert kinds(synced(memory, chat_of("u hi", "u hello there", "u bye"))) == ["Delete", "Insert"]


def test_thousands_of_equal_messages_are_synced() -> None:
    """Long runs of the same few words cost little time and are matched sensibly."""
    lines = [f"{'ua'[k % 2]} {('ok', '继续', 'continue')[(k * k // 3) % 3]}" for k in range(5000)]
    memory = Memory.holding(chat_of(*lines))
    shorter = [line for k, line in enumerate(lines) if k % 1000 != 501]
    found = synced(memory, chat_of(*shorter, "u The end, my friend."))
    assert sorted(kinds(found)) == ["Append", *["Delete"] * 5]


def test_plans_do_not_depend_on_earlier_plans() -> None:
    """The same lists give the same plan."""
    memory = Memory.holding(chat_of(*TALK))
    theirs = chat_of(*TALK[2:], "u One more.", "a And one more.")
    ours: list[OurEntry] = memory.ours()
    assert plan(ours, theirs) == plan(tuple(ours), tuple(theirs))
