"""Choice of the reader for a sentence: English, Chinese, or none.

Owns the dispatch, sentence by sentence, because people mix languages. A sentence in a language that no reader knows
(Japanese, French …) is left unread: rules for another language would make nonsense of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Literal, TypeAlias

from backscroll.derive.essence.sentences import sentences
from backscroll.derive.extract.speech import words_of
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.values.pattern import late

Tongue: TypeAlias = Literal["en", "zh", ""]

_HAN = late(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_OTHER_CJK = late(r"[\u3040-\u30ff\u31f0-\u31ff\u1100-\u11ff\uac00-\ud7af]")
_LATIN = late(r"[A-Za-zÀ-ɏ]+(?:['’][a-z]+)?")
_OTHER_SCRIPT = late(r"[\u0370-\u1cff]")
#: Characters that carry the grammar of a Chinese sentence; a Chinese name in an English sentence has none of them.
_GRAMMAR = late(r"[的了是在我你他她它们不没有就也都吗呢吧和跟与这那把被给让着过很还又要会能，。！？；：]")
_FEW = 3  # in shorter sentences small words are no evidence


@cache
def _small(key: str) -> frozenset[str]:
    return frozenset(words_of("foreign", key))


def tongue_of(sentence: str) -> Tongue:
    """Return the language of one sentence."""
    han = len(_HAN.findall(sentence))
    other = len(_OTHER_CJK.findall(sentence))
    if other and other * 4 >= han:
        return ""
    words = [w.lower().replace("’", "'") for w in _LATIN.findall(sentence)]
    if han:
        english = sum(w in _small("english") for w in words)
        if han >= len(words) or (_GRAMMAR.search(sentence) and english < 3):
            return "zh"
    if not words or len(_OTHER_SCRIPT.findall(sentence)) > sum(map(len, words)):
        return ""
    if len(words) > _FEW and not any(w in _small("english") for w in words):
        foreign = sum(w in _small("other") for w in words)
        return "" if foreign >= 2 else "en"
    if len(words) > _FEW:
        clear = sum(w in _small("english") and w not in _small("other") for w in words)
        foreign = sum(w in _small("other") and w not in _small("english") for w in words)
        return "" if foreign > 2 * clear + 1 else "en"
    return "en"


def in_tongue(said: Sequence[Utterance], tongue: Tongue) -> list[Utterance]:
    """Return the text in one language, message by message; a line break replaces sentences in others."""
    out: list[Utterance] = []
    for one in said:
        text = _only(one.text, tongue)
        if text.strip():
            out.append(one if text == one.text else replace(one, text=text))
    return out


def _only(text: str, tongue: Tongue) -> str:
    if tongue == "zh" and not _HAN.search(text):
        return ""
    pieces = [(p, "" if p.shape == "code" else tongue_of(p.text)) for p in sentences(text)]
    if all(spoken == tongue for _, spoken in pieces):
        return text
    out: list[str] = []
    last = -1  # end of the previous piece, if it is kept
    for piece, spoken in pieces:
        if spoken != tongue:
            last = -1
            continue
        # Text between two pieces of one language is unchanged, so that a quote across both is still found.
        out.append(text[last : piece.start] if last >= 0 else "\n" if out else "")
        out.append(piece.text)
        last = piece.end
    return "".join(out)
