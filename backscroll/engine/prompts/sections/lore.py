"""The lore section of a prompt: the lorebook entries that the newest messages trigger, each placed once, within the budget.

An entry is placed after the newest message and stays there until the next compaction, as every insertion does, so it is not
placed again meanwhile. It rests on the message that triggered it and on the book.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.engine.knowledge.lore.books import TELLS, Books, lines_of, names_in
from backscroll.formats.lorebooks.rule import PLACES
from backscroll.recall.lore.activation import AwakeEntry, LoreActivation, LoreLine, LoreMessage, wake
from backscroll.recall.lore.keys import ScannedText
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section

if TYPE_CHECKING:
    from backscroll.engine.prompts.composition.composer import Composer

_TITLES = {"en": "[World info: {name}]", "zh": "[世界书：{name}]"}
_NAME = 80  # characters of a name that are shown
_HELD = 16  # threads whose entries are cached


@dataclass(frozen=True, slots=True)
class LoreScan:
    """One scan of the lorebooks: the triggered entries, and those placed now."""

    lines: tuple[LoreLine, ...]
    waking: LoreActivation
    blocks: tuple[Block, ...]
    over: frozenset[str]  # ids of triggered entries without room


def look_at_lore(
    composer: Composer, books: Books, stable: Sequence[Block], room: int, *, anew: bool
) -> LoreScan:
    """Return the entries that the newest messages trigger. `stable` is what the prompt shows already; `room`: free tokens."""
    window, settings = composer.sheet.window, composer.thread.engine.settings
    user, char = names_in(composer.thread, window, composer.language)
    lines = _lines(composer, books, user, char)
    depth = settings.lore_depth
    most = max((line.rule.scan_depth or 0) + line.rule.sticky for line in lines) if lines else 0
    most = max([depth + most, *(line.rule.scan_depth or 0 for line in lines)])
    standing = _standing(stable)
    waking = wake(
        lines,
        list(_messages(window, most)),
        depth=depth,
        count=composer.sheet.messages,
        char=char,
        standing=standing.__contains__,
        sticky=anew,
    )
    new = [woken for woken in waking.awake if woken.id not in standing]
    blocks, over = _within_budget(composer, new, stable, room, lines)
    return LoreScan(tuple(lines), waking, tuple(blocks), over)


def _lines(composer: Composer, books: Books, user: str, char: str) -> list[LoreLine]:
    """Return the entries with names filled in; remade only if the books or the names changed."""
    shelf = composer.thread.engine.memo.shelf("lore-lines", _HELD)
    known = shelf.get(composer.thread.id)
    if known is None or known[0] is not books.entries or known[1:3] != (user, char):
        known = (books.entries, user, char, lines_of(books.entries, user, char))
        shelf[composer.thread.id] = known
    return known[3]


def _standing(stable: Iterable[Block]) -> frozenset[str]:
    lore = (b for b in stable if b.section is Section.LORE)
    return frozenset(told.removeprefix(TELLS) for b in lore for told in b.tells)


def _messages(window: Sequence[Message], most: int) -> Iterable[LoreMessage]:
    """Yield the latest messages of users and characters, the newest first."""
    left = most
    for message in reversed(window):
        if left <= 0:
            return
        text = message.text
        ours = "backscroll" in message.content.metadata  # the summary of a crop, which is not a message
        if message.role not in ("user", "assistant") or ours or not text.strip():
            continue
        left -= 1
        mark = f"{message.id.seq}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
        said = f"{message.author}: {text}" if message.author else text
        yield LoreMessage(message.revision, mark, ScannedText.of(said))


def _within_budget(
    composer: Composer,
    new: Sequence[AwakeEntry],
    stable: Sequence[Block],
    room: int,
    lines: Sequence[LoreLine],
) -> tuple[list[Block], frozenset[str]]:
    """Return the entries that fit, in their order: constant ones are taken first, then the others by order."""
    share = int(composer.thread.engine.settings.share_lore * composer.ask.room)
    books = {line.id: line.book for line in lines}
    used: dict[str, int] = {}
    for block in stable:
        for told in block.tells if block.section is Section.LORE else ():
            book = books.get(told.removeprefix(TELLS), "")
            used[book] = used.get(book, 0) + block.tokens
    total, full = sum(used.values()), False
    taken: list[tuple[AwakeEntry, Block]] = []
    over: set[str] = set()
    for woken in sorted(new, key=lambda w: (not w.line.rule.constant, -w.line.rule.order)):
        rule, book = woken.line.rule, woken.line.book
        block = composer.weigh_block(_block(woken, composer.frames))
        spent = used.get(book, 0) + block.tokens
        free = rule.ignore_budget or not (
            full or total + block.tokens > share or (rule.book_budget and spent > rule.book_budget)
        )
        if not free or block.tokens > room:
            full = full or not rule.ignore_budget
            over.add(woken.id)
            continue
        room -= block.tokens
        total, used[book] = total + block.tokens, spent
        taken.append((woken, block))
    taken.sort(key=lambda pair: _place(pair[0]))
    return [block for _, block in taken], frozenset(over)


def _place(woken: AwakeEntry) -> tuple[int, int, int]:
    rule = woken.line.rule
    return PLACES.index(rule.position), -rule.depth if rule.position == "depth" else 0, rule.order


def _block(woken: AwakeEntry, language: str) -> Block:
    line = woken.line
    name = " ".join(line.name.split())
    title = _TITLES["zh" if language.startswith("zh") else "en"].format(name=name[:_NAME])
    sources = () if woken.message is None else (woken.message,)
    return Block(
        "user",
        (Text(f"{title}\n{line.text}"),),
        Section.LORE,
        Level.VERBATIM,
        sources,
        reason=reason_of(woken),
        tells=(f"{TELLS}{line.id}",),
    )


def reason_of(woken: AwakeEntry) -> str:
    """Return why an entry is in a prompt, for the receipt."""
    name, book = " ".join(woken.line.name.split())[:_NAME], " ".join(woken.line.book.split())[:_NAME]
    head = f"lorebook entry «{name}» of «{book}»"
    if not woken.key:
        return f"{head}: always"
    through = f" in entry «{' '.join(woken.through.split())[:_NAME]}»" if woken.through else ""
    return f"{head}: woken by «{' '.join(woken.key.split())[:_NAME]}»{through}"
