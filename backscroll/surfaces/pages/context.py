"""The prompt as a page: the bar, the figures, and every message with its text, folded.

Owns one self-contained HTML file: no script, nothing to load, it opens without a network and prints well. All text is data
and is escaped. Refuses: deciding anything; the receipt did, and `surfaces/receipts.py` has the texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from backscroll.surfaces import receipts
from backscroll.surfaces.i18n import get_language, t
from backscroll.surfaces.screen.plain import safe
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.parts import fold_part, unfold_part

if TYPE_CHECKING:
    from backscroll.engine.prompts.builder import Prompt, Receipt, ReceiptItem
    from backscroll.vocab.prompt import Block

#: Nothing may be loaded or run, whatever a conversation contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_OPENING = 120


def page(prompt: Prompt, title: str) -> str:
    """Return the page of a prompt."""
    style = files("backscroll.surfaces.pages").joinpath("context.css").read_text(encoding="utf-8")
    heading = _text(t("context.page_title", title=title))
    receipt = prompt.receipt
    lines = [
        "<!doctype html>",
        f'<html lang="{"zh-CN" if get_language() == "zh" else "en"}"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title>",
        f"<style>\n{style}</style></head><body>",
        f"<header><h1>{heading}</h1>",
        f'<p class="quiet">{_text(receipts.about(receipt))} · {_text(format_time(receipt.at))}</p></header>',
        *_figures(receipt),
        *_table(prompt),
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _text(words: str) -> str:
    """Escape text for any place in the page, including attributes."""
    return escape(safe(words), quote=True)


def _figures(receipt: Receipt) -> Iterator[str]:
    sections = receipts.shares(receipt)
    whole = max(receipt.budget, sum(sections.values()), 1)
    bars = "".join(
        f'<span class="s-{_text(name)}" style="width:{tokens / whole:.4%}" title="{_caption(name, tokens)}"></span>'
        for name, tokens in sections.items()
    )
    usage = _text(receipts.usage(receipt))
    yield f'<div class="bar" role="img" aria-label="{usage}">{bars}</div>'
    yield f'<p class="usage">{usage}</p>'
    keys = "".join(
        f'<li><i class="s-{_text(name)}"></i>{_text(receipts.section_name(name))} <b>{receipts.number(tokens)}</b> '
        f'<span class="quiet">{_text(receipts.share(tokens, receipt.budget))}</span></li>'
        for name, tokens in sections.items()
    )
    yield f'<ul class="key">{keys}</ul>'
    said = "".join(f"<li>{_text(line)}</li>" for line in receipts.facts(receipt))
    warned = "".join(f'<li class="warn">{_text(line)}</li>' for line in receipts.warnings(receipt))
    if said or warned:
        yield f'<ul class="facts">{said}{warned}</ul>'


def _caption(name: str, tokens: int) -> str:
    return _text(f"{receipts.section_name(name)}: {receipts.number(tokens)}")


def _table(prompt: Prompt) -> Iterator[str]:
    if not prompt.receipt.items:
        return
    heads = ("section", "role", "tokens", "level", "handle", "why")
    cells = "".join(
        f"<th{' class=n' if head == 'tokens' else ''}>{_text(t(f'columns.{head}'))}</th>" for head in heads
    )
    yield f"<table><thead><tr>{cells}</tr></thead><tbody>"
    for block, item in zip(prompt.blocks, prompt.receipt.items, strict=True):
        yield _row(block, item)
    yield "</tbody></table>"


def _row(block: Block, item: ReceiptItem) -> str:
    words = "\n".join(line for part in block.parts for line in unfold_part(part))
    opening = next((line for part in block.parts if (line := fold_part(part, _OPENING))), "")
    cached = ' <abbr class="quiet" title="≡">≡</abbr>' if item.cached else ""
    return (
        f'<tr><td class="mark"><i class="s-{_text(item.section)}"></i>{_text(receipts.section_name(item.section))}</td>'
        f"<td>{_text(receipts.role_name(item.role))}</td>"
        f'<td class="n">{receipts.number(item.tokens)}{cached}</td>'
        f"<td>{_text(receipts.level_name(item.level))}</td>"
        f"<td><code>{_text(item.handle)}</code></td>"
        f"<td><details><summary>{_text(receipts.reason_words(item.reason))} "
        f'<span class="quiet">{_text(opening)}</span></summary><pre>{_text(words)}</pre></details></td></tr>'
    )
