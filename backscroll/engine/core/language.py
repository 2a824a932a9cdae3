"""The language and the subject of a text: for the rooms above, which do not import `formats` and `recall`.

Owns nothing; both are looked up there.
"""

from __future__ import annotations

from backscroll.formats import language
from backscroll.recall.question.analysis import understand


def language_of(text: str) -> str:
    """Return `zh` or `en` if the script shows it clearly; empty if that would be a guess."""
    return language.language_of(text)


def subject_words(text: str) -> tuple[str, ...]:
    """Return the distinct subject words of a text in normalised form, without stop words."""
    return understand(text).words
