"""Making text of conversations safe for a terminal.

Text comes from anywhere: an escape sequence in it could clear the screen, change the title, or fake output. Every control
character except line feed and tab is shown as a symbol instead of executed; so are the two overrides of writing direction.
Refuses: changing what is stored or exported; only displayed text goes through here.
"""

from __future__ import annotations

import re

_TAB = "    "
_RISKY = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202d\u202e\ud800-\udfff]")
_JSON_RISKY = re.compile("[\x7f-\x9f\u2028\u2029\u202d\u202e\ud800-\udfff]")


def safe(text: str) -> str:
    """Return text that a terminal displays but never executes; lines are kept, tabs become spaces."""
    text = text.replace("\r\n", "\n").replace("\t", _TAB)
    return _RISKY.sub(_sign, text)


def one_line(text: str) -> str:
    """Return the same on one line, with runs of white space collapsed."""
    return safe(" ".join(text.split()))


def safe_json(document: str) -> str:
    """Return JSON text with escapes for everything that a terminal might execute, or a line reader might cut at."""
    return _JSON_RISKY.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures: an escape character becomes its name in one cell
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"
