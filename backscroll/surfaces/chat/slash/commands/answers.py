"""`/regenerate`, `/continue`, `/swipe`, `/fork`: other answers, and other continuations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from backscroll.errors import NotFound
from backscroll.surfaces.chat.completion import recent_turn_numbers
from backscroll.surfaces.chat.slash.arguments import (
    no_words,
    turn_meant,
    whole_number,
)
from backscroll.surfaces.chat.slash.cli_bridge import screen_of
from backscroll.surfaces.chat.slash.replies import print_lines, remark, report_done
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.words.conversation import body_lines, excerpt

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.message import Message

_LOOKED = 200  # messages that are searched for the last answer: a long run ends with tool results


def regenerate_slash(talk: Talk, rest: str) -> None:
    """Regenerate the last answer."""
    no_words(rest, "regenerate")
    talk.play(talk.agent.regenerate())
    answer = _last_answer(talk)
    if answer is not None and answer.alternatives > 1:
        remark(talk, t("slash.swipe_where", this=answer.alternative + 1, all=answer.alternatives))


def continue_slash(talk: Talk, rest: str) -> None:
    """Continue an answer that was stopped or cut off."""
    no_words(rest, "continue")
    if not talk.agent.unfinished:
        remark(talk, t("slash.nothing_open"))
        return
    talk.play(talk.agent.resume())


def _last_answer(talk: Talk) -> Message | None:
    found = (m for m in reversed(talk.thread.recent(_LOOKED)) if m.role == "assistant")
    return next(found, None)


def swipe_slash(talk: Talk, rest: str) -> None:
    """Switch to another alternative of the last answer: the next, the previous, or by number; without a word, a picker."""
    answer = _last_answer(talk)
    if answer is None:
        raise NotFound(t("slash.no_answer"), hint=t("slash.no_answer_hint"))
    this, held = answer.alternative, answer.alternatives
    if not rest:
        wanted = _pick_alternative(talk, answer)
    elif rest in ("right", "next", ">", t("slash.right")):
        wanted = this + 1
    elif rest in ("left", "prev", "<", t("slash.left")):
        wanted = this - 1
    else:
        wanted = whole_number(rest, "swipe") - 1
    if wanted is None or wanted == this:
        remark(talk, t("slash.swipe_where", this=this + 1, all=held))
        return
    if wanted == held and rest and not rest.lstrip("#").isdecimal():
        if talk.confirm(t("slash.swipe_more", n=held), usual=False):
            regenerate_slash(talk, "")
        return
    if not 0 <= wanted < held:
        raise NotFound(t("slash.no_alternative", n=wanted + 1), hint=t("slash.alternatives", n=held))
    chosen = talk.thread.choose(answer.id, wanted)
    _show(talk, chosen)
    report_done(talk, t("slash.swiped", this=wanted + 1, all=held))


def _pick_alternative(talk: Talk, answer: Message) -> int | None:
    """Pick one of the alternatives, by its opening words."""
    if answer.alternatives < 2:
        return None
    latest: dict[int, str] = {}
    room = max(20, talk.console.width - 12)
    for revision in talk.thread.revisions(answer.id):
        if revision.content is not None:
            latest[revision.alternative] = excerpt(revision.content, room)
    options = [latest.get(n, t("words.empty")) for n in range(answer.alternatives)]
    return talk.choose(t("slash.which_alternative"), options, initial=answer.alternative)


def _show(talk: Talk, message: Message) -> None:
    print_lines(talk, body_lines(screen_of(talk), message.content))


def swipe_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer directions, and the existing numbers."""
    if before:
        return
    yield from (("left", t("slash.offer_left")), ("right", t("slash.offer_right")))
    answer = _last_answer(talk)
    for n in range(0 if answer is None else answer.alternatives):
        yield str(n + 1), ""


def fork_slash(talk: Talk, rest: str) -> None:
    """Continue in a new conversation that shares the history up to and including a turn."""
    thread = talk.thread
    at = None
    if rest:
        at = thread.turn(turn_meant(thread, rest, "fork")).messages[-1].id
    made = thread.fork(at)
    talk.switch(made)
    report_done(talk, t("slash.forked", id=made.id[:8], turns=count("words.turns", made.info.turns)))


def fork_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the last turns."""
    return [] if before else recent_turn_numbers(talk)
