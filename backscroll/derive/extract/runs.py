"""Long runs without a break, split so that every rule-based reader takes bounded time.

A rule searches from every place of a text to the next break, so its cost grows with the square of the longest run: minified
code, a base64 blob or `a.b.a.b…` would take seconds. People do not write a thousand characters without a space or a comma; such
text gets line breaks, and a gap of a thousand white spaces is shortened. Measured in `bench/hostile`.
Refuses: changing a text that has no such run; what is shown, sent or exported never passes here.
"""

from __future__ import annotations

from backscroll.vocab.values.pattern import late

LONGEST_RUN = 1_000  # characters without a break; far above any word, path, address or sentence of a script without spaces
_RUN = late(rf"[^\s。！？；，、：…]{{{LONGEST_RUN}}}")
_GAP = late(rf"\s{{{LONGEST_RUN},}}+")


def break_long_runs(text: str) -> str:
    """Return the text with a line break after every so many unbroken characters; the same object if it has no such run."""
    if len(text) < LONGEST_RUN:
        return text
    made = _GAP.sub("\n\n", text)
    return _RUN.sub(lambda run: f"{run[0]}\n", made)
