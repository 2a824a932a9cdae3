"""`/threads`, `/new`, `/rename`, `/tag`, `/export`: conversations as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput
from backscroll.surfaces.chat.input.attachments import own_path
from backscroll.surfaces.chat.slash.arguments import words, wrong_use
from backscroll.surfaces.chat.slash.replies import remark, report_done
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.conversation import project_name, title_of

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.thread import ThreadInfo

_LISTED = 50  # threads of a picker
_LOOKED = 500  # newest threads that are searched for words
_FILE_NAME = 60  # characters of a title used as a file name
#: File name suffixes; the others are JSON.
_ENDS = {
    "markdown": "md",
    "native": "jsonl",
    "sillytavern": "jsonl",
    "claude-code": "jsonl",
    "codex": "jsonl",
}


# -- choosing and making -----------------------------------------------------------------------------------------


def threads_slash(talk: Talk, rest: str) -> None:
    """Pick another conversation, the newest first; with words, only those whose titles contain them."""
    found = _fitting(talk, rest)
    if not found:
        remark(talk, t("slash.no_threads_fit") if rest else t("slash.no_threads"))
        return
    here = next((n for n, info in enumerate(found) if info.id == talk.thread.id), 0)
    chosen = talk.choose(t("slash.which_thread"), [_line(info, talk) for info in found], initial=here)
    if chosen is None or found[chosen].id == talk.thread.id:
        remark(talk, t("slash.thread_stays"))
        return
    _go(talk, talk.engine.thread(found[chosen].id, actor=talk.thread.actor))


def _go(talk: Talk, thread: Thread) -> None:
    talk.switch(thread)
    report_done(talk, t("slash.switched", title=one_line(title_of(thread.info)), id=thread.id[:8]))


def _fitting(talk: Talk, text: str) -> list[ThreadInfo]:
    wanted = [word.casefold() for word in words(text)]
    out: list[ThreadInfo] = []
    for info in talk.engine.threads(limit=_LOOKED if wanted else _LISTED * 2):
        told = f"{info.title} {info.project} {' '.join(info.tags)} {info.id}".casefold()
        if not info.forgotten and all(word in told for word in wanted):
            out.append(info)
        if len(out) == _LISTED:
            break
    return out


def _line(info: ThreadInfo, talk: Talk) -> str:
    facts = [
        ("⑂ " if info.parent else "") + one_line(title_of(info)),
        count("words.turns", info.turns),
        project_name(info.project),
        format_time(info.updated_at, short=True),
        info.id[:8],
    ]
    return cut(" · ".join(fact for fact in facts if fact), max(30, talk.console.width - 6))


def threads_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the newest conversations by title."""
    if before:
        return []
    return [(info.title, info.id[:8]) for info in talk.engine.threads(limit=_LISTED) if info.title]


def new_slash(talk: Talk, rest: str) -> None:
    """Start a new conversation in the same folder, for the same project."""
    info = talk.thread.info
    metadata = {"workspace": str(info.metadata.get("workspace") or talk.root)}
    made = talk.engine.create(
        rest,
        project=info.project,
        user=info.user,
        kind=info.kind,
        language=info.language,
        metadata=metadata,
        actor=talk.thread.actor,
    )
    _go(talk, made)


def rename_slash(talk: Talk, rest: str) -> None:
    """Give this conversation a title."""
    title = " ".join(words(rest))
    if not title:
        raise wrong_use("rename")
    talk.thread.rename(title)
    report_done(talk, t("slash.renamed", title=one_line(title)))


def tag_slash(talk: Talk, rest: str) -> None:
    """Add tags, remove them (`-name`), or show them."""
    given = words(rest)
    off = [word[1:].lstrip("#") for word in given if word.startswith("-") and word[1:].lstrip("#")]
    on = [word.lstrip("#") for word in given if not word.startswith("-") and word.lstrip("#")]
    if len(on) + len(off) < len(given):
        raise wrong_use("tag")
    if on:
        talk.thread.tag(*on)
    if off:
        talk.thread.untag(*off)
    tags = " ".join(f"#{tag}" for tag in talk.thread.info.tags)
    text = t("slash.tags", tags=tags) if tags else t("slash.no_tags")
    (report_done if given else remark)(talk, text)


def tag_offer(talk: Talk, _before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer this conversation's tags to remove, and other tags to add."""
    own = talk.thread.info.tags
    known = dict.fromkeys(tag for info in talk.engine.threads(limit=_LISTED) for tag in info.tags)
    return [
        *((f"-{tag}", t("slash.offer_untag")) for tag in own),
        *((tag, "") for tag in known if tag not in own),
    ]


# -- /export -----------------------------------------------------------------------------------------------------


def export_slash(talk: Talk, rest: str) -> None:
    """Export this conversation to a file; as Markdown by default."""
    given = words(rest)
    formats = [name for name, _, _, writes in talk.engine.formats() if writes]
    if len(given) > 2:
        raise wrong_use("export")
    name = given[0] if given else "markdown"
    if name not in formats:
        if len(given) == 1 and Path(name).suffix:  # only a file: its suffix determines the format
            given, name = ["", name], _format_for(name)
        else:
            raise InvalidInput(
                t("slash.no_format", name=name), hint=t("slash.formats", names=", ".join(formats))
            )
    target = _target(talk, given[1] if len(given) > 1 else "", name)
    if target.exists() and not talk.confirm(t("slash.overwrite", path=str(target))):
        remark(talk, t("slash.nothing_done"))
        return
    report = talk.engine.export([talk.thread.id], name, str(target))
    for path in report.files:
        report_done(talk, t("exporting.wrote", path=one_line(path)))
    if report.problems:
        remark(talk, count("exporting.unsaid", len(report.problems)))


def _format_for(file: str) -> str:
    end = Path(file).suffix.lower().lstrip(".")
    return {"md": "markdown", "markdown": "markdown", "jsonl": "native", "json": "openai"}.get(
        end, "markdown"
    )


def _target(talk: Talk, typed: str, format_: str) -> Path:
    if typed:
        path = own_path(typed)
        return path if path.is_absolute() else talk.root / path
    title = "".join(
        c if c.isalnum() or c in "-_" else "-" for c in talk.thread.info.title[:_FILE_NAME]
    ).strip("-")
    return talk.root / f"{title or talk.thread.id[:8]}.{_ENDS.get(format_, 'json')}"


def export_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the formats that can be written."""
    return [] if before else [(n, label) for n, label, _, writes in talk.engine.formats() if writes]
