"""Measure each reader on hostile texts, at one size and at four times that.

`python -m bench hostile`. One row for each reader with the family that took longest, in milliseconds for each kB, and how much
longer the large text took than the small one: 4 is linear, 16 is quadratic. `tests/derive/test_runs.py` proves without a clock that
no rule gets a run longer than `derive/extract/runs` allows; this shows what that is worth. These are parts, not the product: each reader is
called by itself, on texts that it does not remember, while the garbage collector rests: a collection that falls into one of two runs
costs as much as the whole heap is large, and says nothing about the reader.
"""

from __future__ import annotations

import gc
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from backscroll.derive import digest
from backscroll.derive.essence import cues as sentences_cues
from backscroll.derive.essence import importance, sentences
from backscroll.derive.essence import reader as essentials_reading
from backscroll.derive.extract import assertions
from backscroll.derive.summaries import gist
from backscroll.errors import BackscrollError
from backscroll.formats import language, secrets
from backscroll.formats.lorebooks import reader as lorebook
from backscroll.formats.markdown import writer as markdown
from backscroll.graph.claims import names
from backscroll.graph.world import description as world
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.recall import snippet
from backscroll.recall.index import candidate
from backscroll.recall.question import analysis as understand
from backscroll.recall.question import query, times
from backscroll.recall.text import terms as cut
from backscroll.recall.text import words
from backscroll.tasks import relevance
from backscroll.tasks.boundary import cues as boundary_cues
from backscroll.tasks.boundary import signals as boundary_signals
from backscroll.tasks.lifecycle import points as planning_points
from backscroll.tasks.lifecycle import tiers
from backscroll.tasks.memory import memory
from backscroll.tasks.preferences import reader as preferences_reading
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Json, Part, Text, ToolCall, ToolResult
from backscroll.vocab.task import TaskState
from bench.table import Row

THREAD = "0" * 32
_SIZE = 20_000  # characters of the large text
_BAR = 40.0  # milliseconds for a kB, on a loaded machine

#: A few characters each; a text is one of them over and over.
FAMILIES: dict[str, str] = {
    "a.b.": "a.b.", "aaaa": "a", "a a a": "a ", "Aa Aa": "Aa ", "AB": "AB", "aB": "aB", "a_b_": "a_b_", "a-b-": "a-b-", "1-": "1-", "1,1,": "1,1,",
    "1.": "1.", "hex": "deadbeef", "base64": "QUJDRA+/", "((((": "(", "))))": ")", "[[[[": "[", "{{{{": "{", "<<<<": "<", "<a>": "<a>", "[a](": "[a](",
    '"\\"': '"\\"', "quotes": '"', "“": "“", "”": "”", "“a‘b": "“a‘b", "「a」": "「a」", "a'": "a'", "`": "`", "fences": "```\n", "/a/a": "/a", "a/b.py": "a/b.py ",
    "a.py:1:": "a.py:1: ", "@a": "@a", "a@b.c": "a@b.c ", "address": "http://a.b/c?d=e&", "key=": "key=", "sk-a": "sk-a", "- [ ]": "- [ ] ", "boxes": "- [ ] a\n",
    "|a|a|": "|a", "rows": "|a|b|\n", "CRLF": "\r\n", "lines CRLF": "a\r\n", "line breaks": "\n", "spaces": " ", "tabs": "\t", "wide spaces": "\u3000",
    "...": "...", "…": "…", "?!": "?!", "？": "？", "。": "。", "，": "，", "、": "、", "----": "-", "**a": "**a", "# a": "# a\n", "> a": "> a\n", "1. a": "1. a\n",
    "accents": "e\u0301", "only accents": "\u0301", "joined emoji": "👩\u200d", "emoji": "😀", "NUL": "\0", "escapes": "\x1b[0m", "open escapes": "\x1b[",
    "他说他说": "他说", "他说：“": "他说：“", "小明和": "小明和", "小明的": "小明的", "我的，": "我的，", "不要": "不要", "是": "是", "三天前": "三天前", "is a": "is a ", "the": "the ", "and": "and ",
    "who is the": "who is the ", "Tom's": "Tom's ", "said Tom": '"a" said Tom. ', "known as": "known as Tom ", "Mr.": "Mr. ", "e.g. A": "(e.g. A ", "I prefer": "I prefer ",
    "never use a,": "never use a, ", "TODO:": "TODO: ", "Error:": "Error: ", "trace": '  File "a.py", line 1\n', "stack": "  at a.b(c.py:1)\n", "diff": "+a\n-b\n", "a: b": "a: b\n",
    "x = 1": "x = 1\n", "def": "def a():\n", "class": "class A(B):\n", "csv": "a,b,c\n", "json": '{"a":', "json lines": '{"a":1}\n', "2026-01-01": "2026-01-01 ",
    "Hebrew": "שלום ", "Arabic": "مرحبا", "Korean": "안녕", "Thai": "สวัส", "a=b;": "a=b;", "a:b:": "a:b:", "\\": "\\", "%a": "%a",
}  # fmt: skip

#: Texts in which nothing is said twice: what a reader holds grows with them. `#` is a number that counts up.
COUNTED: dict[str, str] = {
    "to-dos": "TODO: fix item#.\n", "lists of to-dos": "TODO:\n- item#\n", "to-dos and done": "TODO: fix item# of part#.\nThe item# of part# is fixed.\n", "done": "The item# is done.\n",
    "decisions": "We decided to use item#. Because x# is slow.\n", "constraints": "Never use item#.\n", "questions": "What is item#?\n", "errors": "ValueError: item#\n",
    "failures": "The test# still fails.\n", "failures and fixes": "The test# fails in part#.\nThe test# in part# passes now.\n", "待办": "待办：处理第#项。\n第#项已完成。\n", "必须": "必须保留第#项。\n", "boxes and ticks": "- [ ] fix item #\n- [x] drop item #\n",
    "people": "Tom# is a friend of Ann#. ", "小明#": "小明#是小红#的朋友。", "likes": "I like tea#. My name is Tom#. ", "prefers": "I prefer item# over thing#. ", "quotations": '"item#" said Tom#. ',
    "paths": "src/a#.py\n", "tickets": "TX-# ", "words": "word# ", "Words": "Word# ", "mail": "a#@b.c ", "links": "[a#](http://a.b/#) ", "dates": "on 2026-01-# we met Tom#. ",
    "pairs": "key#: value#\n", "JSON lines": '{"a#":#}\n', "functions": "def a#():\n    return b#\n", "classes": "class A#(B#):\n", "x# = #": "x# = #\n", "log": "2026-01-01 12:00:# INFO worker-# did a#\n",
    "changes": "+a#\n-b#\n", "matches": "src/a#.py:#: x#\n", "table": "| a# | b# |\n", "steps": "#. Do item#\n", "headings": "Part #\n------\n", "commands": "git a# && make b#\n", "frames": '  File "a#.py", line #, in f#\n',
}  # fmt: skip


def text_of(family: str, size: int) -> str:
    """A hostile text of so many characters."""
    piece = FAMILIES.get(family)
    if piece is not None:
        return (piece * (size // len(piece) + 1))[:size]
    pattern, out, length = COUNTED[family], list[str](), 0
    while length < size:
        out.append(pattern.replace("#", str(len(out))))
        length += len(out[-1])
    return "".join(out)[:size]


def said(text: str, number: int = 1, role: Role = "user") -> Message:
    """A message of so many words."""
    return _message((Text(text),), role, number)


def _message(parts: tuple[Part, ...], role: Role, number: int) -> Message:
    ref = Ref(THREAD, number)
    moment = "2026-01-01T00:00:00+00:00"
    return Message(ref, role, ref, Content(parts), moment, digest=f"{number}", position=bytes([number]))


def _used(result: str, tool: str = "bash", arguments: Json = None) -> list[Message]:
    call = ToolCall("c", tool, {"command": "make"} if arguments is None else arguments)
    return [_message((call,), "assistant", 2), _message((ToolResult("c", (Text(result),)),), "tool", 3)]


#: Every reader of rules, as the product calls it.
READERS: dict[str, Callable[[str], object]] = {
    "sentences": sentences.sentences,
    "cues of sentences": lambda t: (
        sentences_cues.mark_sentences(t),
        sentences_cues.paths_in(t),
        sentences_cues.ids_in(t),
    ),
    "check boxes": sentences_cues.box_text,
    "assertions of a user": lambda t: assertions.extract([said(t)]),
    "assertions of an answer": lambda t: assertions.extract([said("Tell me."), said(t, 2, "assistant")]),
    "assertions of a result": lambda t: assertions.extract([said("Run it."), *_used(t)]),
    "assertions of a command": lambda t: assertions.extract(
        [said("Run it."), *_used("ok", "bash", {"command": t})]
    ),
    "assertions of an edit": lambda t: assertions.extract(
        [said("Do it."), *_used("ok", "edit_file", {"path": "a.py", "content": t})]
    ),
    "findings of a user": lambda t: essentials_reading.findings([said(t)]),
    "findings of a result": lambda t: essentials_reading.findings(_used(t)),
    "digest of a result": lambda t: digest.digests_of(_used(t)),
    "digest of a file": lambda t: digest.digests_of(_used(t, "read_file", {"path": "a.py"})),
    "digest of a search": lambda t: digest.digests_of(_used(t, "search_files", {"pattern": "x"})),
    "digest of a listing": lambda t: digest.digests_of(_used(t, "list_files", {"path": "."})),
    "digest of arguments": lambda t: digest.digests_of(_used("ok", "odd", t)),
    "digest of a command": lambda t: digest.digests_of(_used("ok", "bash", {"command": t})),
    "digest of an edit": lambda t: digest.digests_of(
        _used("ok", "edit_file", {"path": "a", "old_string": t, "new_string": f"{t}x"})
    ),
    "gist": lambda t: gist.gist_messages(
        [said(t), said(f"{t}!", 2, "assistant")], count=sentences.rough_count
    ),
    "importance": lambda t: importance.weigh_message(said(t)),
    "terms": cut.terms_of,
    "index words": lambda t: words.tsvector_of(words.index_words(t)),
    "query": lambda t: query.parse_query(f"{t} a"),
    "question": understand.understand,
    "times": times.find_times,
    "candidate": lambda t: candidate.prepare(
        candidate.Candidate(Ref(THREAD, 1), t, "", False, None, ("a", 0))
    ),
    "snippet": lambda t: snippet.snippet(t, query.parse_query("parser a"), 160),
    "names": lambda t: (
        names.key_of(t),
        names.value_key(t),
        names.readable(t),
        names.shape_of(names.key_of(t)),
    ),
    "world": lambda t: world.world_entries(lorebook.read_lorebook(f"Ellie: {t}", "n")),
    "preferences": lambda t: preferences_reading.statements(said(t)),
    "boundary cues": boundary_cues.read_cues,
    "boundary signals": lambda t: boundary_signals.signals_of([said("fix it"), said(t, 3)]),
    "memory of a task": lambda t: memory.found_in(
        TaskState.COMPLETED, [said(t), said(f"{t}.", 2, "assistant")]
    ),
    "memory of a failure": lambda t: memory.found_in(
        TaskState.CANCELLED, [said("go"), *_used(f"Error: {t}")]
    ),
    "points of feedback": lambda t: (planning_points.points_of(t), planning_points.is_vague(t)),
    "relevance": lambda t: (relevance.prepare_text(t), relevance.kind_of(t)),
    "titles": lambda t: (tiers.same_title(t, f"{t}a"), tiers.alike(t, f"{t}a")),
    "secrets": secrets.find_secrets,
    "language": language.language_of,
    "Markdown": markdown.contain_markdown,
    "tokens": lambda t: tokenizer_for("gpt-4o").count(t),
}


def read(reader: str, text: str) -> None:
    """Let a reader read; that it refuses a text is an answer."""
    try:
        READERS[reader](text)
    except BackscrollError:
        return


def hostile(_folder: Path, _options: Namespace) -> list[Row]:
    """The worst family of every reader."""
    out: list[Row] = []
    for reader in READERS:
        gc.enable()
        read(reader, "Warm up, 他说。")
        gc.collect()
        gc.disable()
        worst, family, ratio = 0.0, "", 0.0
        for name in (*FAMILIES, *COUNTED):
            small, large = (_seconds(reader, text_of(name, size)) for size in (_SIZE // 4, _SIZE))
            if large > worst:
                worst, family, ratio = large, name, large / max(small, 1e-4)
        each = worst * 1000 / (_SIZE / 1000)
        out.append(
            Row(
                f"{reader}: {family!r}, x{ratio:.1f}",
                f"{each:.1f} ms/kB",
                bar=f"under {_BAR:.0f} ms/kB",
                ok=each < _BAR,
            )
        )
    gc.enable()
    return out


def _seconds(reader: str, text: str) -> float:
    gist.let_go()
    began = time.process_time()
    read(reader, text)
    return time.process_time() - began
