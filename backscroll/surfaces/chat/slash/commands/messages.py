"""`/edit`, `/delete`, `/pin`, `/unpin`, `/hide`, `/unhide`: changing single messages.

Every change is an event that `/undo` reverts; `slash/arguments` finds the messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from backscroll.errors import Conflict, Forgotten, InvalidInput
from backscroll.surfaces.chat.slash.arguments import message_meant, messages_meant, wrong_use
from backscroll.surfaces.chat.slash.replies import line, remark, report_done
from backscroll.surfaces.cli.given_words import save_aside, with_words, words_of
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.words.conversation import excerpt, role_name
from backscroll.vocab.event import Kind

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.message import Message

_LATELY = 30  # messages of a picker
_LOOKED = 500  # messages that are searched for marks


# -- /edit -------------------------------------------------------------------------------------------------------


def edit_slash(talk: Talk, rest: str) -> None:
    """Edit a message in a field of several lines; then, if answers follow, offer to answer again."""
    thread = talk.thread
    message = thread.message(message_meant(thread, rest)) if rest else _pick_message(talk)
    if message is None:
        return
    before = words_of(message.content)
    if not before and message.role == "assistant":
        raise InvalidInput(t("slash.edit_no_words"), hint=t("slash.edit_no_words_hint"))
    number = thread.place(message.id) + 1
    after = talk.ask(t("slash.edit_ask", n=number), initial=before, lines=True)
    if after is None or after == before:
        remark(talk, t("editing.unchanged"))
        return
    try:
        thread.edit(message.id, with_words(message.content, after), seen=message.revision)
    except Conflict as conflict:
        conflict.hint = t("editing.kept", path=save_aside(after))
        raise
    report_done(talk, t("slash.edited", n=number))
    _answer_anew(talk, message)


def _pick_message(talk: Talk) -> Message | None:
    """Let the user pick one of the last messages with text, their own newest one preselected."""
    found = [m for m in talk.thread.recent(_LATELY) if m.role in ("user", "assistant") and m.text]
    if not found:
        remark(talk, t("slash.nothing_to_edit"))
        return None
    mine = max((n for n, m in enumerate(found) if m.role == "user"), default=len(found) - 1)
    options = labels(talk, found)
    chosen = talk.choose(t("slash.which_message"), options, initial=mine)
    return None if chosen is None else found[chosen]


def labels(talk: Talk, messages: Sequence[Message]) -> list[str]:
    """Return messages as lines of a picker: number, author, opening words."""
    room = max(20, talk.console.width - 24)
    return [
        cut(f"#{talk.thread.place(m.id) + 1} {role_name(m.role)}: {excerpt(m.content, room)}", room + 16)
        for m in messages
    ]


def _answer_anew(talk: Talk, message: Message) -> None:
    """After an edit of a user message, offer to answer it again, here or in a fork."""
    if message.role != "user":
        return
    thread = talk.thread
    later = len(thread) - thread.place(message.id) - 1
    here = count("slash.anew_here", later) if later else t("slash.anew_last")
    chosen = talk.choose(t("slash.anew"), [t("slash.anew_not"), here, t("slash.anew_fork")])
    if chosen == 1:
        if later:
            thread.delete(*(m.id for m in thread.messages(after=message.id)))
        talk.play(talk.agent.events(None))
    elif chosen == 2:
        talk.switch(thread.fork(message.id), answer=True)


# -- marks -------------------------------------------------------------------------------------------------------


def delete_slash(talk: Talk, rest: str) -> None:
    """Delete messages from the history."""
    if not rest:
        raise wrong_use("delete")
    found = messages_meant(talk.thread, rest)
    if len(found) > 1 and not talk.confirm(count("slash.delete_sure", len(found)), usual=True):
        remark(talk, t("slash.nothing_done"))
        return
    _report_marks(talk, "delete", talk.thread.delete(*found))


def _report_marks(talk: Talk, what: str, changed: int) -> None:
    if changed:
        report_done(talk, count(f"marking.{what}", changed))
    else:
        remark(talk, t("marking.nothing"))


def pin_slash(talk: Talk, rest: str) -> None:
    """Pin messages: every prompt keeps them."""
    if not rest:
        raise wrong_use("pin")
    _report_marks(talk, "pin", talk.thread.pin(*messages_meant(talk.thread, rest)))


def hide_slash(talk: Talk, rest: str) -> None:
    """Hide messages from prompts."""
    if not rest:
        raise wrong_use("hide")
    _report_marks(talk, "hide", talk.thread.hide(*messages_meant(talk.thread, rest)))


def unpin_slash(talk: Talk, rest: str) -> None:
    """Unpin messages; without arguments, list the pinned ones."""
    if rest:
        _report_marks(talk, "unpin", talk.thread.unpin(*messages_meant(talk.thread, rest)))
    else:
        _show(talk, [m for m in _marked_ones(talk, Kind.PINNED) if m.pinned], t("slash.none_pinned"))


def unhide_slash(talk: Talk, rest: str) -> None:
    """Unhide messages; without arguments, list the hidden ones."""
    if rest:
        _report_marks(talk, "unhide", talk.thread.unhide(*messages_meant(talk.thread, rest)))
    else:
        _show(talk, [m for m in _marked_ones(talk, Kind.HIDDEN) if m.hidden], t("slash.none_hidden"))


def _marked_ones(talk: Talk, kind: Kind) -> list[Message]:
    """Return messages that may be marked, in order: the newest, and older ones that the log says were marked."""
    thread = talk.thread
    events = thread.reading(lambda view: view.others())
    found = {m.id: m for m in thread.recent(_LOOKED)}
    for ref in {e.target for e in events if e.kind is kind and e.target is not None} - set(found):
        try:
            found[ref] = thread.message(ref)
        except Forgotten:
            continue
    return sorted((m for m in found.values() if not m.deleted), key=lambda m: m.position)


def _show(talk: Talk, messages: Sequence[Message], otherwise: str) -> None:
    if not messages:
        remark(talk, otherwise)
    for label in labels(talk, messages):
        line(talk, label)


def _numbers(talk: Talk) -> Iterable[tuple[str, str]]:
    """Offer the last messages: number and opening words."""
    held = len(talk.thread)
    found = talk.thread.recent(_LATELY)
    for back, message in enumerate(reversed(found)):
        yield str(held - back), f"{role_name(message.role)} {excerpt(message.content, 40)}"


def edit_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the last messages."""
    return [] if before else _numbers(talk)


def delete_offer(talk: Talk, _before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the last messages."""
    return _numbers(talk)


pin_offer = hide_offer = delete_offer


def unpin_offer(talk: Talk, _before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer pinned messages among the last."""
    return _list_flagged(talk, "pinned")


def unhide_offer(talk: Talk, _before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer hidden messages among the last."""
    return _list_flagged(talk, "hidden")


def _list_flagged(talk: Talk, flag: str) -> Iterable[tuple[str, str]]:
    held = len(talk.thread)
    for back, message in enumerate(reversed(talk.thread.recent(_LATELY))):
        if getattr(message, flag):
            yield str(held - back), excerpt(message.content, 40)
