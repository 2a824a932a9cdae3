"""Framing of tool output that tries to instruct the model.

Owns the frame around results that address the model (orders, false speakers, marks that separate the speakers of a conversation),
and the sentence of the system prompt that explains the frame. Ordinary results cost nothing: they are already inside a tool
result, and are left unchanged, so that digests and edits see the exact bytes. The frame is the same for the same text, so
prompts stay cached. Refuses: deciding what may be done (`agent/approval/approval`); approval protects, a frame does not.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

_FRAME = re.compile(r"(?m)^(\s*)\[(?=(?:from [\w-]{1,64}: data\b|end of [\w-]{1,64}\]))")


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("backscroll.agent") / "marking.toml").read_text(encoding="utf-8"))


@cache
def _speaking() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in _table()["patterns"]), re.IGNORECASE | re.MULTILINE)


def speaks(text: str) -> bool:
    """Return True for text that tries to instruct a model."""
    return bool(_FRAME.search(text)) or _speaking().search(text) is not None


def frame_result(tool: str, text: str) -> str:
    """Return a result as a model may see it: unchanged, or framed if it tries to instruct the model."""
    if not speaks(text):
        return text
    words = _table()["en"]
    # Lines that look like the frame would end it early: they get one leading backslash.
    inside = _FRAME.sub(r"\1\\[", text)
    return f"{words['head'].format(tool=tool)}\n{inside}\n{words['foot'].format(tool=tool)}"


def rule(language: str = "en") -> str:
    """Return the sentences of a system prompt that explain what data is, and what the frame means."""
    table = _table()
    short = language.lower().replace("_", "-").split("-")[0]
    return str(table.get(short, table["en"])["rule"])
