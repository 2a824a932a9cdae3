"""`/context`, `/crop`, `/uncrop`, `/compact`, `/system`: what the model is shown of the history.

Commands that take something out of prompts show a preview first; nothing leaves the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from backscroll.engine.crops.crop_amounts import possible_amounts
from backscroll.engine.crops.crops import crops, each_relevance
from backscroll.errors import InvalidInput
from backscroll.surfaces.chat.slash.arguments import first_word, no_words, whole_number, wrong_use
from backscroll.surfaces.chat.slash.cli_bridge import screen_of
from backscroll.surfaces.chat.slash.commands.agent import wire_of
from backscroll.surfaces.chat.slash.replies import line, print_lines, remark, report_done, warning
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.receipts import number
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import safe
from backscroll.surfaces.words import picture
from backscroll.surfaces.words.conversation import excerpt, role_name

if TYPE_CHECKING:
    from backscroll.engine.crops.crops import Crop
    from backscroll.engine.inputs.inputs import CropMark
    from backscroll.engine.prompts.builder import Prompt
    from backscroll.engine.prompts.compaction.compaction import CompactionReport
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.message import Message

_WINDOW = 32_000  # prompt budget in tokens if none is set; the same as the agent's
_CROPPED = 12  # messages of a crop shown one by one
_FIRST = 20  # messages that are searched for the conversation's own system message


def asked_with(talk: Talk) -> dict[str, Any]:
    """Return the budget and the model of the agent's next prompt."""
    agent, settings = talk.agent, talk.engine.settings
    budget = agent.budget or settings.budget or (None if agent.model else _WINDOW)
    return {"budget": budget, "model": agent.model or None}


def rehearse_prompt(talk: Talk) -> Prompt:
    """Build the agent's next prompt, tools included; nothing is written."""
    wire = wire_of(talk.agent)
    return talk.thread.prompt(
        tools=talk.agent.toolbox.specs(wire), wire=wire, dry_run=True, **asked_with(talk)
    )


# -- /context ----------------------------------------------------------------------------------------------------


def context_slash(talk: Talk, rest: str) -> None:
    """Show the next prompt as a picture; with `all`, every message of it."""
    if rest not in ("", "all", t("slash.all")):
        raise wrong_use("context")
    made = rehearse_prompt(talk)
    screen = screen_of(talk)
    print_lines(talk, picture.summary(screen, made.receipt))
    print_lines(talk, picture.facts(screen, made.receipt, crops(talk.thread)))
    if rest and made.receipt.items:
        print_lines(talk, picture.items(screen, made))
    elif made.receipt.items:
        remark(talk, count("slash.context_items", len(made.receipt.items)))


def context_offer(_talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer every message, or the picture alone."""
    return [] if before else [("all", t("slash.offer_all"))]


# -- /crop, /uncrop ----------------------------------------------------------------------------------------------


def crop_slash(talk: Talk, rest: str) -> None:
    """Preview a crop, show what goes and how relevant it is, ask, do it."""
    direction, rest = first_word(rest)
    amount, summary = first_word(rest)
    way = {t("slash.top"): "top", t("slash.bottom"): "bottom"}.get(direction, direction)
    if way not in ("top", "bottom") or not amount:
        raise wrong_use("crop")
    n, told = _rehearsed_crop(talk, way, whole_number(amount, "crop"), summary or None)
    _show_crop(talk, told)
    _show_relevance(talk, way, n)
    if told.ask_first:
        warning(talk, t("slash.crop_relevant", share=f"{told.relevance:.0%}"))
    if not talk.confirm(count("slash.crop_sure", told.messages), usual=not told.ask_first):
        remark(talk, t("slash.nothing_done"))
        return
    told = talk.thread.crop(way, n, summary or None)
    report_done(
        talk,
        count("slash.cropped", told.messages, tokens=_less(told), handle=told.handle.strip("[]")),
    )


def _rehearsed_crop(talk: Talk, way: str, wanted: int, summary: str | None) -> tuple[int, Crop]:
    """Return a preview: as many messages as typed, or the nearest number that separates no call from its result, with a note."""
    try:
        return wanted, talk.thread.crop(way, wanted, summary, dry_run=True)
    except InvalidInput:
        n, most = possible_amounts(talk.thread, way, wanted)
        if not n or n == wanted or wanted < 1:
            raise
    told = talk.thread.crop(way, n, summary, dry_run=True)
    remark(talk, count("slash.crop_all" if n == most < wanted else "slash.crop_rounded", n, wanted=wanted))
    return n, told


def _less(told: Crop) -> str:
    return number(max(0, told.tokens - told.summary_tokens))


def _show_price(talk: Talk, told: CompactionReport | Crop) -> None:
    """Show what it costs, what it saves, and after how many calls it pays off."""
    if told.pays_back_after is not None:
        costs = {"cost": number(round(told.cost_now)), "saves": number(round(told.saves_per_call))}
        remark(talk, count("cropping.pays", told.pays_back_after, **costs))


def _show_crop(talk: Talk, told: Crop) -> None:
    line(
        talk,
        count("slash.crop_would", told.messages, tokens=_less(told), share=f"{told.relevance:.0%}"),
    )
    _show_price(talk, told)
    width = max(20, talk.console.width - 4)
    for text in filter(None, told.summary.split("\n")):
        for piece in wrap(safe(text), width):
            remark(talk, f"  {piece}")


def _show_relevance(talk: Talk, way: str, amount: int) -> None:
    """Show the messages that go, each with its relevance to the current work; of many, the most relevant."""
    each = each_relevance(talk.thread, way, amount)
    shown = {id(one) for one in sorted(each, key=lambda one: -one[1])[:_CROPPED]}
    room = max(20, talk.console.width - 30)
    for one in each:
        if id(one) in shown:
            message, share = one
            line(talk, f"  {share:4.0%} {role_name(message.role)}: {excerpt(message.content, room)}")
    if len(each) > _CROPPED:
        remark(talk, "  " + count("slash.crop_more", len(each) - _CROPPED))


def crop_offer(_talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer a direction, then some numbers."""
    if not before:
        return [("top", t("slash.offer_top")), ("bottom", t("slash.offer_bottom"))]
    return [(str(n), "") for n in (5, 10, 20, 50)] if len(before) == 1 else []


def uncrop_slash(talk: Talk, rest: str) -> None:
    """Restore cropped messages: those of a handle, the only ones, or those that are picked."""
    handle = rest or _picked_crop(talk)
    if handle is None:
        return
    back = talk.thread.uncrop(handle)
    report_done(talk, count("slash.uncropped", back))


def _crops(thread: Thread) -> list[CropMark]:
    return list(crops(thread))


def _picked_crop(talk: Talk) -> str | None:
    found = _crops(talk.thread)
    if not found:
        remark(talk, t("slash.no_crops"))
        return None
    if len(found) == 1:
        return found[0].handle
    options = [count("slash.crop_named", mark.count, handle=mark.handle) for mark in found]
    chosen = talk.choose(t("slash.which_crop"), options)
    return None if chosen is None else found[chosen].handle


def uncrop_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the handles of cropped messages."""
    if before:
        return []
    return [(m.handle.strip("[]"), count("words.messages", m.count)) for m in _crops(talk.thread)]


# -- /compact ----------------------------------------------------------------------------------------------------


def compact_slash(talk: Talk, rest: str) -> None:
    """Preview a compaction, show what it saves, ask, do it; or undo the one in force."""
    if rest.strip() in ("undo", "--undo", "撤销"):
        talk.thread.undo_compaction()
        report_done(talk, t("slash.uncompacted"))
        return
    no_words(rest, "compact")
    asked = asked_with(talk)
    told = talk.thread.compact(dry_run=True, **asked)
    if not told.saved:
        remark(talk, t("cropping.nothing_to_gain", tokens=number(told.before)))
        return
    line(talk, t("cropping.would_compact", before=number(told.before), after=number(told.after)))
    _show_price(talk, told)
    if not talk.confirm(t("slash.compact_sure"), usual=True):
        remark(talk, t("slash.nothing_done"))
        return
    made = talk.thread.compact(**asked)
    report_done(talk, t("slash.compacted", before=number(made.before), after=number(made.after)))


def compact_offer(_talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer to undo it."""
    return [] if before else [("undo", t("slash.offer_uncompact"))]


# -- /system -----------------------------------------------------------------------------------------------------


def system_slash(talk: Talk, rest: str) -> None:
    """Show the system prompt, or set this conversation's own addition to it."""
    agents, own = _systems(talk.thread)
    if not rest:
        _show_system(talk, own)
        return
    if own is None:
        talk.thread.insert("system", rest, after=None if agents is None else agents.id)
    elif own.text == rest:
        raise InvalidInput(t("slash.system_same"), hint=t("slash.system_same_hint"))
    else:
        talk.thread.edit(own.id, rest)
    report_done(talk, t("slash.system_set"))


def _systems(thread: Thread) -> tuple[Message | None, Message | None]:
    """Return the system message that the agent keeps up to date, and the conversation's own."""
    found = [m for m in thread.messages(0, _FIRST) if m.role == "system"]
    kept = [m for m in found if "act" in m.content.metadata]
    own = [m for m in found if "act" not in m.content.metadata]
    return next(iter(kept), None), next(iter(own), None)


def _show_system(talk: Talk, own: Message | None) -> None:
    """Show the system section of the next prompt, exactly."""
    said = [block for block in rehearse_prompt(talk).blocks if block.role == "system"]
    if not said:
        remark(talk, t("slash.system_none"))
        return
    for block in said:
        for part in block.parts:
            line(talk, getattr(part, "text", ""))
    remark(talk, t("slash.system_own") if own is not None else t("slash.system_given"))
