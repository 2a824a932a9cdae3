"""The prompt as a page: the bar, the figures, and every message with its words, folded.

Owns one self-contained HTML file: it opens without a network and prints well. All text is data and is escaped. Refuses:
deciding anything; the receipt did.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from backscroll.surfaces.cli.parts import folded
from backscroll.surfaces.cli.picture import dollars, number, reason_words, section_name
from backscroll.surfaces.i18n import find, spoken, t
from backscroll.vocab.part import Text

if TYPE_CHECKING:
    from backscroll.engine.prompting import Prompt
    from backscroll.vocab.prompt import Block

_COLOURS = {
    "tools": "#8d6e63",
    "system": "#7e57c2",
    "memory": "#ec407a",
    "summaries": "#26a69a",
    "history": "#42a5f5",
    "recent": "#1565c0",
    "operations": "#ffa726",
    "recalled": "#d4a017",
    "graph": "#66bb6a",
    "reserve": "#b0bec5",
}
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --quiet: #7a7a7a; }
body { font: 15px/1.55 system-ui, "Noto Sans CJK SC", sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.35rem; margin: 0 0 .3rem; } .quiet { color: var(--quiet); }
.bar { display: flex; height: 2rem; border-radius: .4rem; overflow: hidden; border: 1px solid var(--line); margin: 1rem 0 .6rem; }
.bar span { display: block; min-width: 2px; } ul.key { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem; margin-right: .4rem; vertical-align: -.05rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } td.mark { border-left: .35rem solid; }
summary { cursor: pointer; } pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, "Noto Sans Mono CJK SC", monospace; margin: .4rem 0; }
.warn { color: #c62828; } .cached { color: var(--quiet); }
@media print { details { break-inside: avoid; } }
""".strip()


def page(prompt: Prompt, title: str) -> str:
    """The page of a prompt."""
    heading = escape(t("context.page_title", title=title))
    lines = [
        "<!doctype html>",
        f'<html lang="{"zh-CN" if spoken() == "zh" else "en"}"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{heading}</h1>",
        *_figures(prompt),
        *_table(prompt),
        "</body></html>",
    ]
    text = "\n".join(lines) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")


def _figures(prompt: Prompt) -> Iterator[str]:
    receipt = prompt.receipt
    about = f"{receipt.wire} · {receipt.model or receipt.tokenizer}"
    if not receipt.exact:
        about += f" · {t('context.estimated')}"
    yield f'<p class="quiet">{escape(about)} · {escape(receipt.at)}</p>'
    sections = receipt.sections()
    whole = max(receipt.budget, sum(sections.values()), 1)
    bars = "".join(
        f'<span style="width:{tokens / whole:.4%};background:{_COLOURS.get(name, "#999")}" title="{escape(section_name(name))}: {number(tokens)}"></span>'
        for name, tokens in sections.items()
    )
    yield f'<div class="bar" role="img" aria-label="{escape(_usage(prompt))}">{bars}</div>'
    keys = "".join(
        f'<li><i style="background:{_COLOURS.get(name, "#999")}"></i>{escape(section_name(name))} <b>{number(tokens)}</b></li>'
        for name, tokens in sections.items()
    )
    yield f'<ul class="key">{keys}</ul><p>{escape(_usage(prompt))}</p>'
    for line in _facts(prompt):
        yield f"<p>{escape(line)}</p>"
    for warning in receipt.warnings:
        yield f'<p class="warn">{escape(reason_words(warning))}</p>'


def _usage(prompt: Prompt) -> str:
    receipt = prompt.receipt
    return t(
        "context.usage",
        total=number(receipt.total),
        budget=number(receipt.budget),
        share=f"{receipt.usage:.0%}",
        free=number(max(0, receipt.room)),
    )


def _facts(prompt: Prompt) -> Iterator[str]:
    receipt = prompt.receipt
    if receipt.cached:
        yield t("context.cached", tokens=number(receipt.cached))
    if receipt.left_out:
        yield t("context.left_out", n=number(receipt.left_out), all=number(receipt.messages))
    if receipt.money.cold is not None:
        warm = receipt.money.warm if receipt.money.warm is not None else receipt.money.cold
        yield t("context.money", warm=dollars(warm), cold=dollars(receipt.money.cold))


def _table(prompt: Prompt) -> Iterator[str]:
    heads = ("section", "role", "tokens", "level", "handle", "why")
    cells = "".join(
        f"<th{' class=n' if h == 'tokens' else ''}>{escape(t(f'columns.{h}'))}</th>" for h in heads
    )
    yield f"<table><thead><tr>{cells}</tr></thead><tbody>"
    for block, item in zip(prompt.blocks, prompt.receipt.items, strict=True):
        colour = _COLOURS.get(item.section, "#999")
        quiet = ' class="cached"' if item.cached else ""
        yield (
            f'<tr{quiet}><td class="mark" style="border-color:{colour}">{escape(section_name(item.section))}</td>'
            f"<td>{escape(find(f'roles.{item.role}') or item.role)}</td>"
            f'<td class="n">{number(item.tokens)}{" ≡" if item.cached else ""}</td>'
            f"<td>{escape(find(f'levels.{item.level}') or item.level)}</td><td>{escape(item.handle)}</td>"
            f"<td><details><summary>{escape(reason_words(item.reason))}</summary><pre>{escape(_words(block))}</pre></details></td></tr>"
        )
    yield "</tbody></table>"


def _words(block: Block) -> str:
    return "\n".join(p.text if isinstance(p, Text) else folded(p, 2000) or "" for p in block.parts)
