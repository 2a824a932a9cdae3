"""The graph as a page: one interactive HTML file, with every fact and the sentence that supports it.

Owns the file: it contains its own script and style, nothing is loaded, and the page's policy lets only that one script run (by
its hash). Text of a conversation is data in a block that no browser executes, and the script only ever sets it as text.
Refuses: deciding what is in the graph.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import LANGUAGES, Language, get_language, section
from backscroll.surfaces.screen.plain import one_line

if TYPE_CHECKING:
    from backscroll.engine.knowledge.graph_shapes import Fact, NodeView
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.part import Json

#: Characters that could end the data block, or that HTML treats specially, become JSON escapes.
_ESCAPES = {
    ord(c): f"\\u{ord(c):04x}"
    for c in "<>&\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}


def page(
    nodes: Sequence[NodeView],
    relations: Sequence[Fact],
    *,
    title: str,
    number: Callable[[Ref], int],
    language: Language | None = None,
    history: Mapping[str, Sequence[Fact]] | None = None,
) -> str:
    """Return the page of a graph; `history` maps the id of a node to its earlier facts."""
    # start-up: loaded when a page is written
    from backscroll.engine.knowledge.graph_shapes import page_data

    chosen = language if language in LANGUAGES else get_language()
    words = {name: str(text) for name, text in section("graph_page", chosen).items()}
    data = page_data(nodes, relations, number, chosen, history)
    left_out = words["left_out"].format(n=data["left_out"]) if data["left_out"] else ""
    heading = _text(words["title"].format(title=one_line(title)))
    script, style = _file("graph.js"), _file("graph.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    lines = [
        "<!doctype html>",
        f'<html lang="{"zh-CN" if chosen == "zh" else "en"}"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title>",
        f"<style>{style}</style></head><body>",
        f'<header><h1 dir="auto">{heading}</h1><p class="quiet" id="count"></p>',
        f'<p class="quiet">{_text(left_out)}</p></header>',
        *_controls(words, empty=not nodes),
        f'<script type="application/json" id="data">{_data({**data, "words": words})}</script>',
        f"<script>{script}</script>",
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _controls(words: Mapping[str, str], *, empty: bool) -> list[str]:
    """Return the controls; the script fills them."""
    return [
        f'<nav aria-label="{_text(words["nodes"])}">',
        f'<input type="search" id="search" placeholder="{_text(words["search"])}" aria-label="{_text(words["search"])}">',
        f'<fieldset id="types"><legend>{_text(words["types"])}</legend></fieldset>',
        '<ul id="list"></ul></nav>',
        f'<main><canvas id="graph" tabindex="0" role="img" aria-label="{_text(words["canvas"])}"></canvas>',
        f'<p class="empty">{_text(words["empty"])}</p>' if empty else "",
        f'<div class="tools"><button type="button" id="closer" aria-label="{_text(words["closer"])}">+</button>',
        f'<button type="button" id="farther" aria-label="{_text(words["farther"])}">−</button>',
        f'<button type="button" id="fit">{_text(words["fit"])}</button></div>',
        '<aside id="panel" aria-live="polite" hidden></aside>',
        f'<noscript><p class="empty">{_text(words["noscript"])}</p></noscript></main>',
    ]


@cache
def _file(name: str) -> str:
    return files("backscroll.surfaces.pages").joinpath(name).read_text(encoding="utf-8")


def _text(words: str) -> str:
    return escape(one_line(words), quote=True)


def _data(data: Mapping[str, Json]) -> str:
    """Return JSON that cannot end its block; lone surrogates as escapes, so that the file is UTF-8."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    return "".join(c if not 0xD800 <= ord(c) <= 0xDFFF else f"\\u{ord(c):04x}" for c in text)
