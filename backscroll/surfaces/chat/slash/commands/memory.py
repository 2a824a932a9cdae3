"""`/memory`: list, add, edit, pin and forget memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from backscroll.surfaces.chat.slash.arguments import first_word, wrong_use
from backscroll.surfaces.chat.slash.cli_bridge import borrow, screen_of
from backscroll.surfaces.chat.slash.replies import print_lines, remark, report_done
from backscroll.surfaces.cli.families.memory_views import why
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.memory import listing

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.task import Memory

_MOST = 30  # memories that are listed or offered


def memory_slash(talk: Talk, rest: str) -> None:
    """Run one of the actions below; without a word, list the memories."""
    verb, words = first_word(rest)
    work = _VERBS.get(_MEANT.get(verb, verb)) if rest else _list
    if work is None:
        raise wrong_use("memory")
    work(talk, words)


def _list(talk: Talk, words: str) -> None:
    found = talk.thread.memory.list(text=words)
    if not found:
        remark(talk, t("memory.nothing"))
        return
    print_lines(talk, listing(screen_of(talk), found[:_MOST]))
    if len(found) > _MOST:
        remark(talk, count("slash.memory_more", len(found) - _MOST))


def _add(talk: Talk, words: str) -> None:
    text = words or talk.ask(t("slash.memory_what"), lines=True) or ""
    if not text.strip():
        remark(talk, t("slash.nothing_done"))
        return
    made = talk.thread.memory.add(text)
    report_done(talk, t("memory.added", memory=made.id))


def _one(talk: Talk, name: str, *, hidden: bool = False) -> Memory | None:
    """Return the memory that is named, or picked."""
    if name:
        return talk.thread.memory.get(name)
    found = list(talk.thread.memory.list(hidden=hidden))[:_MOST]
    if not found:
        remark(talk, t("memory.nothing"))
        return None
    chosen = talk.choose(t("slash.memory_which"), [one_line(m.text or m.note) for m in found])
    return None if chosen is None else found[chosen]


def _edit(talk: Talk, rest: str) -> None:
    name, words = first_word(rest)
    memory = _one(talk, name)
    if memory is None:
        return
    text = words or talk.ask(t("slash.memory_words"), initial=memory.text, lines=True) or ""
    if not text.strip() or text == memory.text:
        remark(talk, t("editing.unchanged"))
        return
    report_done(talk, t("memory.edited", memory=talk.thread.memory.edit(memory.id, text).id))


def _pin(talk: Talk, name: str) -> None:
    if (memory := _one(talk, name)) is not None:
        report_done(talk, t("memory.now_pinned", memory=talk.thread.memory.pin(memory.id).id))


def _unpin(talk: Talk, name: str) -> None:
    if (memory := _one(talk, name)) is not None:
        report_done(talk, t("memory.now_unpinned", memory=talk.thread.memory.unpin(memory.id).id))


def _forget(talk: Talk, name: str) -> None:
    """Hide a memory; it can be restored."""
    memory = _one(talk, name)
    if memory is None:
        return
    talk.thread.memory.forget(memory.id)
    report_done(talk, t("slash.memory_forgot", memory=memory.id))


def _restore(talk: Talk, name: str) -> None:
    memory = talk.thread.memory.restore(name) if name else _one(talk, "", hidden=True)
    if memory is None:
        return
    if not name:
        memory = talk.thread.memory.restore(memory.id)
    report_done(talk, t("memory.restored", memory=memory.id))


def _why(talk: Talk, name: str) -> None:
    if (memory := _one(talk, name)) is not None:
        borrow(talk, why, "--", talk.thread.id, memory.id)


_VERBS: Mapping[str, Callable[[Talk, str], None]] = {
    "list": _list,
    "add": _add,
    "edit": _edit,
    "pin": _pin,
    "unpin": _unpin,
    "forget": _forget,
    "restore": _restore,
    "why": _why,
}
#: Synonyms.
_MEANT: Mapping[str, str] = {
    "ls": "list",
    "列表": "list",
    "添加": "add",
    "编辑": "edit",
    "固定": "pin",
    "取消固定": "unpin",
    "忘记": "forget",
    "恢复": "restore",
    "为什么": "why",
}


def memory_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the actions, then the memories that they apply to."""
    if not before:
        return [(verb, t(f"slash_memory.{verb}")) for verb in _VERBS]
    if len(before) == 1 and before[0] in ("edit", "pin", "unpin", "forget", "why"):
        return [(m.id, m.text[:60]) for m in list(talk.thread.memory.list())[:_MOST]]
    return []
