"""Language detection from letters: `zh`, `en`, or empty if unclear."""

from __future__ import annotations

from backscroll.vocab.values.pattern import late

_HAN = late(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_KANA_OR_HANGUL = late(r"[\u3040-\u30ff\u1100-\u11ff\uac00-\ud7af]")
_LATIN = late(r"[A-Za-z]+")
#: Function words that are frequent in English and absent from related languages.
_ENGLISH = frozenset(
    ["the", "and", "to", "of", "is", "that", "it", "you", "in", "for", "with", "this", "what", "i"]
)


def language_of(text: str) -> str:
    """Return `zh` or `en` if the letters are conclusive; empty for other languages or too little text.

    A Han character carries about as much as a short English word, so characters are weighed against words. Code and
    names in English inside Chinese sentences therefore do not tip the balance.
    """
    han, other_cjk = len(_HAN.findall(text)), len(_KANA_OR_HANGUL.findall(text))
    words = _LATIN.findall(text)
    if han and han > 10 * other_cjk and han >= 0.15 * (han + len(words)):
        return "zh"
    if other_cjk or not words:
        return ""
    english = sum(1 for word in words if word.lower() in _ENGLISH)
    return "en" if english >= max(1, 0.04 * len(words)) else ""
