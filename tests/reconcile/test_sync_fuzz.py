"""Sync against a client that does random changes: the guarantees hold for all of them."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from backscroll.reconcile import operations as op
from backscroll.reconcile.normal import normal_text
from backscroll.reconcile.operations import (
    Ambiguity,
    ForgottenNote,
    InjectionNote,
    RegenerateRequest,
    SyncPlan,
    TrimNote,
)
from backscroll.reconcile.plan import plan
from tests.reconcile.sync_client import ACTIONS, Client, Line, Memory, Rendering, msg, said

SHORT = ("", "ok", "continue", "继续", "好的", "嗯", "yes")
ENGLISH = ("the", "forest", "elf", "runs", "dragon", "sword", "night", "river", "stone", "song")
CHINESE = "森林精灵夜晚河流石头歌声跑着龙剑的了在是我你他"
LORE = (
    "Lore: the river Isen floods in spring.",
    "[Author's note: keep it dark]",
    "世界书：北方的森林里住着精灵。",
)
RANDOM = st.integers(0, 2**32).map(Random)  # a seed: much faster than drawing every choice


def client_of(random: Random) -> Client:
    """A client with some chat, in the languages and the monotony of real ones."""

    def words() -> str:
        style = random.random()
        if style < 0.5:
            return random.choice(SHORT)
        if style < 0.75:
            return " ".join(random.choice(ENGLISH) for _ in range(random.randrange(3, 30)))
        return "".join(random.choice(CHINESE) for _ in range(random.randrange(3, 40)))

    client = Client(random.randrange, words)
    for _ in range(random.randrange(10)):
        client.send()
        client.reply()
    return client


def trimmed_in(found: SyncPlan) -> list[object]:
    """What a plan says was trimmed."""
    return [name for note in found.notes if isinstance(note, TrimNote) for name in note.ids]


@given(RANDOM, st.booleans(), st.booleans(), st.booleans())
def test_our_history_says_what_theirs_says(random: Random, complete: bool, swipes: bool, trims: bool) -> None:
    """After any acts: equal to their list but for the trimmed top, nothing more to do, nothing lost, no top deleted."""
    client, memory = client_of(random), Memory()
    for _ in range(4):
        for _ in range(random.randrange(1, 5)):
            client.act(random.choice(ACTIONS))
        theirs = client.chat(keep=random.randrange(1, 12) if trims else None, swipes=swipes)
        before = memory.everything()
        found = plan(memory.ours(), theirs, complete=complete)
        memory.apply(found)
        assert before <= memory.everything()
        live, trimmed = memory.live(), trimmed_in(found)
        assert [slot.id for slot in live[: len(trimmed)]] == trimmed
        if complete and theirs:
            assert not trimmed
        shown = [(s.role, s.content.text, s.content.author, s.hidden) for s in live[len(trimmed) :]]
        assert shown == [(m.role, m.content.text, m.content.author, m.hidden) for m in theirs]
        assert not plan(memory.ours(), theirs, complete=complete).changes


@given(RANDOM, st.integers(0, 30))
def test_trimming_alone_changes_nothing(random: Random, keep: int) -> None:
    """However a list repeats itself, its end deletes, hides and moves nothing."""
    client = client_of(random)
    memory = Memory.holding(client.chat())
    theirs = client.chat()[-keep:] if keep else []
    assert plan(memory.ours(), theirs).operations == ()


@given(
    RANDOM, st.sampled_from(["send", "reply", "delete", "hide", "touch_up", "copy", "insert", "swipe_new"])
)
def test_one_act_is_one_operation(random: Random, act: str) -> None:
    """A single act is never explained by several, or by the wrong one."""
    client = client_of(random)
    client.send()
    client.reply()
    memory = Memory()
    memory.apply(plan([], client.chat()))
    client.act(act)
    found = plan(memory.ours(), client.chat())
    expected = {
        "send": {"Append"},
        "reply": {"Append"},
        "delete": {"Delete"},  # or nothing, at the top
        "hide": {"Hide"},
        "touch_up": {"Edit"},
        "copy": {"Insert", "Append"},
        "insert": {"Insert"},
        "swipe_new": {"Regenerate", "Choose"},
    }[act]
    names = [type(operation).__name__ for operation in found.operations]
    assert len(names) <= 1
    assert set(names) <= expected or (act == "touch_up" and names == ["Regenerate"])
    if act in {"send", "reply", "hide", "touch_up", "copy", "insert"}:
        assert len(names) == 1


@given(RANDOM, st.booleans(), st.floats(0, 1), st.floats(0, 1))
def test_ids_times_and_holes_keep_the_promises(random: Random, knows: bool, ids: float, times: float) -> None:
    """With ids and times on some messages, copies that repeat them, and holes on our side, nothing forgotten returns."""
    client, memory = client_of(random), Memory()
    numbers = itertools.count(1)
    for _ in range(4):
        for _ in range(random.randrange(1, 4)):
            for line in client.lines:
                if line.source is None and line.at is None:
                    number = next(numbers)
                    line.source = f"id{number}" if random.random() < ids else None
                    line.at = f"2024-01-01T00:{number:04}" if random.random() < times else None
            client.act(random.choice(ACTIONS))
        theirs = client.chat()
        old = {slot.id for slot in memory.slots}
        found = plan(memory.ours(), theirs, knows_hidden=knows)
        memory.apply(found)
        matched = {index: name for name, index in found.matched}
        kept_out = {n.theirs for n in found.notes if isinstance(n, ForgottenNote) and n.alternative is None}
        aside = set(trimmed_in(found))
        if not knows:  # what is hidden here and unknown there stays where it is
            aside |= {
                s.id for s in memory.live() if s.hidden and s.id in old and s.id not in matched.values()
            }
        shown = [(s.role, s.content.text) for s in memory.live() if s.id not in aside]
        assert shown == [
            (m.role, memory.slot(matched[t]).content.text if t in kept_out else m.content.text)
            for t, m in enumerate(theirs)
            if t not in kept_out or t in matched
        ]
        rounds = 0
        while plan(memory.ours(), theirs, knows_hidden=knows).changes:
            # Where short words repeat beside a hole, which of them came back may be seen in two ways once.
            assert memory_has_holes(memory)
            assert rounds < 2
            memory.apply(plan(memory.ours(), theirs, knows_hidden=knows))
            rounds += 1
        if memory.live() and random.random() < 0.4:
            forget(memory, random.randrange(len(memory.live())))


def memory_has_holes(memory: Memory) -> bool:
    """True once something was forgotten."""
    return any(slot.forgotten for slot in memory.slots)


def forget(memory: Memory, at: int) -> None:
    """Forget a message of ours; the check still knows all its words."""
    slot = memory.live()[at]
    words, role = {content.text for _, content in slot.revisions}, slot.role
    slot.forgotten = True
    slot.forget_check = lambda message: message.role == role and message.content.text in words


def merged(pairs: list[tuple[str, str]], *, join: bool) -> list[tuple[str, str]]:
    """What a rendering leaves of messages: no empty ones, and neighbours joined if it joins."""
    out: list[tuple[str, str]] = []
    for role, text in pairs:
        if not text:
            continue
        if join and out and out[-1][0] == role:
            out[-1] = (role, f"{out[-1][1]}\n\n{text}")
        else:
            out.append((role, text))
    return [(role, normal_text(text)) for role, text in out]


def paragraphs(pairs: list[tuple[str, str]]) -> Counter[str]:
    """The pieces of which joined texts are made."""
    return Counter(piece for _, text in pairs for piece in text.split("\n\n") if piece)


@given(RANDOM, st.booleans(), st.booleans(), st.booleans())
def test_a_proxy_follows_the_chat(random: Random, join: bool, names: bool, marker: bool) -> None:
    """Whatever is edited, hidden, moved, joined, trimmed and injected: what we would show is what was shown.

    Blocks that were left out as lore are named in a note, with the doubt, and nothing is ever deleted.
    """
    client, memory = client_of(random), Memory()
    client.send()
    for _ in range(4):
        how = Rendering(
            random.choice([None, None, 4, 6, 8]),
            join,
            names,
            tuple((random.randrange(6), random.choice(LORE)) for _ in range(random.randrange(3))),
            marker="[Start a new Chat]" if marker else "",
        )
        last = client.lines.pop() if _swipes(client, random) else None
        if not client.shown(how):
            return
        prompt, shown = client.prompt(how), merged([(x.role, x.text) for x in client.shown(how)], join=join)
        if last is not None:
            client.lines.append(last)
        before = memory.everything()
        found = plan(memory.ours(), prompt, "prompt", names=[client.user, client.character])
        memory.apply(found)
        assert before <= memory.everything()
        assert not any(isinstance(operation, op.Delete) for operation in found.operations)
        assert not plan(memory.ours(), prompt, "prompt", names=[client.user, client.character]).changes
        compare(memory, found, shown, join=join)
        answer(client, memory, found, swiping=last is not None)
        for _ in range(random.randrange(3)):
            client.act(random.choice([act for act in ACTIONS if act != "rename"]))


def _swipes(client: Client, random: Random) -> bool:
    """Send something new, or ask for another reply where that is possible."""
    last = client.lines[-1] if client.lines else None
    if last is not None and not last.hidden and last.role == "assistant" and random.random() < 0.4:
        return True
    client.send()
    return False


def compare(memory: Memory, found: SyncPlan, shown: list[tuple[str, str]], *, join: bool) -> None:
    """What we would show is what was shown, but for what is named as left out."""
    aside = {i for n in found.notes if isinstance(n, TrimNote | RegenerateRequest) for i in n.ids}
    visible = [s for s in memory.live() if not s.hidden and s.id not in aside]
    ours = merged([(s.role, s.content.text) for s in visible], join=join)
    doubts = [n for n in found.notes if isinstance(n, Ambiguity) and n.what == "injected-or-said"]
    doubtful = {t for n in doubts if n.done == "left out" for t in n.theirs}
    left = [("", n.text) for n in found.notes if isinstance(n, InjectionNote) and n.theirs in doubtful]
    if left:
        assert paragraphs(ours) + paragraphs(left) == paragraphs(shown)
    else:
        assert ours == shown


def answer(client: Client, memory: Memory, found: SyncPlan, *, swiping: bool) -> None:
    """The model replies: a new message, or an alternative to the one that was awaited."""
    words = client.words()
    if swiping:
        client.lines[-1].swipes.append(words)
        client.lines[-1].chosen = len(client.lines[-1].swipes) - 1
    else:
        client.lines.append(Line("assistant", client.character, [words]))
    awaited = [n.ids[0] for n in found.notes if isinstance(n, RegenerateRequest)]
    if awaited:
        reply = op.Regenerate(awaited[0], said(words, client.character), None, 0)
        if memory.slot(awaited[0]).content != reply.content:
            memory.apply(SyncPlan((reply,), (), ()))
    else:
        memory.apply(SyncPlan((op.Append(op.NewRef(0), msg("assistant", words), 0),), (), ()))
