"""The finished prompt: what is sent, and the receipt that explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backscroll.assemble.receipt import Money, Receipt, warnings_for, with_cached
from backscroll.assemble.wires import RenderedPrompt
from backscroll.engine.budget.costs import prices_of
from backscroll.engine.prompts.composition.composer import Composer
from backscroll.engine.prompts.coverage import coverage_of, pending_in
from backscroll.engine.prompts.prefixes import goes_on_from, why_broken, with_lost
from backscroll.engine.prompts.rendering import PromptRenderer, count_tokens
from backscroll.llm.prices.ledger import Tokens
from backscroll.llm.prices.prices import rates_for
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Block, Wire


@dataclass(frozen=True, slots=True)
class Prompt:
    """What to send, and the receipt that explains it."""

    messages: list[dict[str, Json]]
    system: Json  # Anthropic's top-level system text, or the instructions of the Responses wire; None: in the messages
    tools: tuple[Mapping[str, Json], ...]
    wire: Wire
    receipt: Receipt
    blocks: tuple[Block, ...]
    cache_key: str = ""  # a suggested `prompt_cache_key`: the same for all prompts of a thread

    @property
    def request(self) -> dict[str, Json]:
        """The request body, without model and sampling parameters."""
        body: dict[str, Json] = {"input" if self.wire == "openai-responses" else "messages": self.messages}
        if self.system is not None:
            body["instructions" if self.wire == "openai-responses" else "system"] = self.system
        if self.tools:
            body["tools"] = list(self.tools)
        return body


def make_prompt(
    job: PromptRenderer, blocks: Sequence[Block], rendered: RenderedPrompt, why: str, *, cut: bool
) -> Prompt:
    """Return the prompt with its receipt; `why` details were recalled or not, `cut`: something was left out for lack of room."""
    ask, composer = job.ask, job.composer
    last, lost = job.last, 0 if job.prefix is None else job.prefix.count_lost_reasoning(ask.model)
    cached_by = last if last is not None and goes_on_from(ask, last, job.offered) else None
    items, cached = with_cached(job.items(blocks), cached_by)
    compacted = bool(job.compaction)
    broken = why_broken(composer, blocks, items, last, job.offered, compacted=compacted, cut=cut)
    tokens = count_tokens(blocks, rendered)
    coverage = coverage_of(composer, blocks)
    receipt = Receipt(
        thread=composer.thread.id,
        event=composer.sheet.head,
        at=composer.thread.engine.means.now(),
        wire=ask.wire,
        model=ask.model,
        tokenizer=ask.tokenizer.name,
        exact=ask.tokenizer.exact,
        budget=ask.budget,
        reserve=ask.reserve,
        tools=ask.tools_tokens,
        tokens=tokens,
        items=items,
        messages=composer.sheet.messages,
        left_out=coverage.summarised + coverage.unseen,
        summarised=coverage.summarised,
        pending=pending_in(composer),
        compaction=job.compaction,
        cached=cached,
        money=_money(composer, tokens + ask.tools_tokens, cached),
        recall=why,
        broken=with_lost(broken, lost),
        cut=cut,
        offered=job.offered,
        doubted=job.prefix is not None and job.prefix.doubted,
        repairs=tuple(dict.fromkeys(change.rule.id for change in rendered.changes)),
    )
    receipt = replace(receipt, warnings=warnings_for(receipt.usage))
    marked = rendered.add_cache_marks()
    tools = tuple(marked.tools) if marked.tools is not None else ask.tools
    return Prompt(
        marked.messages,
        marked.system,
        tools,
        ask.wire,
        receipt,
        tuple(job.strip_handles(blocks)),
        rendered.cache_key,
    )


def _money(composer: Composer, tokens: int, cached: int) -> Money:
    ask = composer.ask
    if not ask.model:
        return Money()

    engine = composer.thread.engine
    at = datetime.fromisoformat(engine.means.now())
    rates = rates_for(ask.model, at=at, table=prices_of(engine))
    if rates is None:
        return Money()
    return Money(
        warm=rates.nano(Tokens(input=tokens, cached=cached, written=tokens - cached)),
        cold=rates.nano(Tokens(input=tokens, written=tokens)),
    )
