"""Which language something is in, and what it is about: for the rooms above, which do not reach into `formats` and `recall`.

Owns nothing; both are looked up there.
"""

from __future__ import annotations

from backscroll.formats import language
from backscroll.recall.question.analysis import understand


def language_of(text: str) -> str:
    """`zh` or `en` where the letters say so clearly; empty if that would be a mere guess."""
    return language.language_of(text)


def subject_words(text: str) -> tuple[str, ...]:
    """Return the words a text is about, in the form in which they are compared, each once; small words are left out."""
    return understand(text).words
