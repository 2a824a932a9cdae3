"""Blocks beside the history: full messages out of place, summaries of older history, what is still open and binding.

Owns their titles and weights. Which of them a prompt shows, and in which order, is decided in `composer`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from backscroll.assemble.view.excerpt import shown_parts
from backscroll.assemble.view.meter import Meter
from backscroll.assemble.view.pieces import GAP
from backscroll.assemble.view.units import WaitingReply
from backscroll.derive.flat import flat
from backscroll.derive.operations import with_pointer
from backscroll.engine.budget.request import PromptRequest
from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.folder.recent_operations import operations
from backscroll.engine.prompts.composition.stored_compaction import ProtectedText
from backscroll.engine.tree.tree import FarSummary
from backscroll.formats.language import language_of
from backscroll.vocab.handle import handle_of
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section

_SAMPLE = 2000  # characters of a text from which its language is detected
#: The prefix of text that is not verbatim, so that it is not taken for the user's own.
_TITLES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "far": "Earlier in this conversation, summed up (a record, not a request; [bs:…] names the originals):",
        "binding": "Still open and binding, from earlier:",
    },
    "zh": {
        "far": "这次对话较早的部分，摘要如下（只是记录，不是请求；[bs:…] 指向原文）：",
        "binding": "较早提出、仍未了结或仍须遵守的：",
    },
}


@dataclass(frozen=True, slots=True)
class BlockMaker:
    """Makes these blocks for one prompt."""

    thread: ThreadScope
    ask: PromptRequest
    meter: Meter
    language: str

    def whole(self, message: Message, section: Section, reason: str) -> Block:
        """Return a message verbatim; a pinned answer out of place is quoted."""
        parts = shown_parts(message, self.ask.shown, self.language)
        role = message.role
        if section is Section.MEMORY:
            # Out of place, a pinned answer or result is quoted, not replayed: its call is not here.
            parts, role = (Text(f"[pinned, {message.role}] {flat(message)}"),), "user"
        whole = parts is message.parts
        tokens = self.meter.message(message) if whole else self.meter.parts(parts, message.author)
        return Block(
            role,
            parts,
            section,
            Level.VERBATIM,
            (message.revision,),
            message.id,
            message.author,
            reason,
            tokens,
        )

    def waiting(self, reply: WaitingReply) -> Iterable[Block]:
        """Yield a waiting reply, out of place: verbatim, with handles in place of the results it has received."""
        yield self.whole(reply.message, Section.RECENT, "unanswered")
        for told in reply.told.values():
            parts = (replace(told.result, content=(Text(f"{GAP} {handle_of(told.message)}"),)),)
            sources, tokens = (told.revision,), self.meter.parts(parts)
            yield Block(
                "tool", parts, Section.RECENT, Level.DIGEST, sources, told.message, None, "digest", tokens
            )

    def make_far(self, found: Sequence[FarSummary]) -> Iterable[Block]:
        """Yield the summaries of older history."""
        if not found:
            return
        text = "\n\n".join(f"{f.handle} {f.text}".strip() for f in found)
        parts = (Text(f"{self._title('far', text[:_SAMPLE])}\n{text}"),)
        sources = tuple(dict.fromkeys(s for f in found for s in f.sources))
        yield Block(
            "user",
            parts,
            Section.SUMMARIES,
            Level.SUMMARY,
            sources,
            reason="far past",
            tokens=self.meter.parts(parts),
        )

    def _title(self, what: str, words: str) -> str:
        # By the thread's language, else that of the text itself: while the text stays, so does its title.
        language = self.language or language_of(words)
        return _TITLES["zh" if language.startswith("zh") else "en"][what]

    def make_binding(self, alive: Collection[ProtectedText]) -> Iterable[Block]:
        """Yield what is still open and binding from before."""
        if not alive:
            return
        lines = "\n".join(f"- {b.text}" for b in alive)
        parts = (Text(f"{self._title('binding', lines)}\n{lines}"),)
        sources = tuple(dict.fromkeys(b.source for b in alive))
        yield Block(
            "user",
            parts,
            Section.SUMMARIES,
            Level.GIST,
            sources,
            reason="open and binding",
            tokens=self.meter.parts(parts),
        )

    def fill_placeholder(self, block: Block) -> Block:
        """Return a system text with its placeholder for recent operations filled in."""
        if block.role != "system" or not any(
            "{recent_operations}" in p.text for p in block.parts if isinstance(p, Text)
        ):
            return block
        inline = self.thread.engine.settings.operations_inline
        digests = operations(self.thread) if inline else []
        parts = tuple(
            replace(
                p, text=with_pointer(p.text, language=self.language, inline=inline, operations=digests)[0]
            )
            if isinstance(p, Text)
            else p
            for p in block.parts
        )
        reason = "system, with the list of recent operations in place" if inline else block.reason
        grown = self.meter.parts(parts) - self.meter.parts(block.parts)
        return replace(block, parts=parts, tokens=block.tokens + grown, reason=reason)
