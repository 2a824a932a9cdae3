"""Clues: everything that speaks for or against a text as the answer to a question, as numbers.

Owns the list of clues (`NAMES`) and how each is measured. Every clue is relative to the conversation or to the best that was possible,
so that one weighing fits short chats, long answers and meetings alike. Before: `recall/index`. After: `recall/fuse` weighs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from backscroll.recall.index import Index
from backscroll.recall.lexical import K1, Matched, match, match_softly
from backscroll.recall.understand import Asked
from backscroll.recall.vectors import along, beside, products, ranks, ranks_among, share, smoothed, standard

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_BY_VECTORS = (
    "near",
    "near_z",
    "apart",
    "apart_z",
    "piece",
    "piece_z",
    "sentence",
    "sentence_last",
    "session_near",
)
_LONG = 40  # days
_SENTENCES = 8  # of a long question, the last ones


def measure(index: Index, asked: Asked) -> dict[str, NDArray[float64]]:
    """All clues by name, one number for each text of a (not empty) index."""
    about = [term for term in asked.words if term not in index.names]
    clues = _words(index, asked, about)
    clues |= _meaning(index, asked)
    clues |= _time(index, asked)
    clues["first"] = (
        0.5 * (clues["words_share"] + clues["pairs_share"] + clues["soft_share"])
        + np.maximum(clues["near_z"], 0) / 6
        + np.maximum(clues["apart_z"], 0) / 6
        + 0.4 * clues["inside"]
    )
    clues |= _around(index, clues)
    clues |= _session(index, clues, about)
    clues |= _speaker(index, asked)
    clues |= _form(index, asked)
    clues |= _kind(index, asked, about, clues)
    return clues


def _words(index: Index, asked: Asked, about: Sequence[str]) -> dict[str, NDArray[float64]]:
    shape, space = index.shape, index.space
    words = match(index.words, about, shape.words, 0.75)
    loose = match(index.words, about, shape.words, 0.3)
    same = index.pairs is index.words and asked.pairs == asked.words
    named = [term for term in asked.pairs if term not in index.names]
    pairs = words if same else match(index.pairs, named, shape.pairs, 0.6)
    likeness = None
    if space is not None and index.encode is not None and about:
        likeness = products(space.terms, index.encode(list(about)))
    soft = match_softly(index.words, about, shape.words, () if space is None else space.vocabulary, likeness)
    return {
        "words": words.score / (words.best * (K1 + 1)),
        "words_share": share(words.score),
        "words_loose": share(loose.score),
        "held": words.held / words.best,
        "pairs": pairs.score / (pairs.best * (K1 + 1)),
        "pairs_share": share(pairs.score),
        "soft": soft,
        "soft_share": share(soft),
        "last_words": _last(index, asked, words),
    }


def _last(index: Index, asked: Asked, whole: Matched) -> NDArray[float64]:
    """Words of the last sentence of a question that has several: the others only lead up to it."""
    if len(asked.sentences) < 2:
        return share(whole.score)
    from backscroll.recall.cut import terms_of

    terms = [t for t in dict.fromkeys(terms_of(asked.sentences[-1])[0]) if t not in index.names]
    return share(match(index.words, terms, index.shape.words, 0.75).score)


def _meaning(index: Index, asked: Asked) -> dict[str, NDArray[float64]]:
    space = index.space
    if space is None or index.encode is None:
        return dict.fromkeys(_BY_VECTORS, np.zeros(len(index)))
    sentences = asked.sentences[-_SENTENCES:]
    rows = index.encode([asked.text, *sentences] if len(sentences) > 1 else [asked.text]) - space.centre
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    question = rows[0]
    near = along(space.texts, question)
    peculiar = question - (themes := space.themes).T @ (themes @ question)
    apart = along(space.apart, peculiar / max(float(np.linalg.norm(peculiar)), 1e-6))
    piece = np.maximum.reduceat(along(space.pieces, question), space.first_piece)
    by_sentence = products(space.texts, rows[1:]).astype(float) if len(rows) > 1 else near[:, None]
    return {
        "near": near,
        "near_z": standard(near),
        "apart": apart,
        "apart_z": standard(apart),
        "piece": piece,
        "piece_z": standard(piece),
        "sentence": by_sentence.max(axis=1),
        "sentence_last": by_sentence[:, -1],
        "session_near": along(space.sessions, question)[index.shape.sessions],
    }


def _around(index: Index, clues: dict[str, NDArray[float64]]) -> dict[str, NDArray[float64]]:
    """What stands around a text: a short answer has its words in the question before it, a meeting speaks of one thing for long."""
    sessions = index.shape.sessions
    out: dict[str, NDArray[float64]] = {}
    names = ("words_share", "soft", "near", "first")
    rows = np.stack([clues[name] for name in names])
    for name, values in zip(names, rows, strict=True):
        for steps, where in ((1, "before"), (2, "before2"), (-1, "after")):
            out[f"{name}_{where}"] = beside(values, sessions, steps)
    for width, where, some in ((1.5, "by", slice(4)), (5, "around", slice(4)), (12, "wide", slice(2, 4))):
        for name, values in zip(names[some], smoothed(rows[some], sessions, width), strict=True):
            out[f"{name}_{where}"] = values
    for name in ("near_around", "first_around", "soft_around", "first_wide", "near_wide"):
        out[f"{name}_z"] = standard(out[name])
    return out


def _session(
    index: Index, clues: dict[str, NDArray[float64]], about: Sequence[str]
) -> dict[str, NDArray[float64]]:
    """A session that matches as a whole lifts its texts."""
    shape = index.shape
    found = match(index.by_session, about, shape.session_words, 0.75)
    best = np.maximum.reduceat(clues["first"], np.cumsum(shape.session_sizes) - shape.session_sizes)
    order = np.argsort(-clues["first"], kind="stable")[:3]
    out = {
        "session_words": share(found.score)[shape.sessions],
        "session_held": (found.held / found.best)[shape.sessions],
        "session_best": best[shape.sessions],
        "like_best": np.zeros(len(index)),
    }
    space = index.space
    if space is not None:  # near to what was found first: says the same in other words
        ideal = (space.texts[order] * clues["first"][order, None].astype(np.float32)).sum(axis=0)
        out["like_best"] = along(space.texts, ideal / max(float(np.linalg.norm(ideal)), 1e-6))
    return out


def _speaker(index: Index, asked: Asked) -> dict[str, NDArray[float64]]:
    """Who said it, where the question says whose words it wants."""
    named = {term for term in asked.words if term in index.names}
    spoke = np.zeros(len(index))
    if named:
        spoke = np.asarray([-1.0 if named.isdisjoint(text.names) else 1.0 for text in index.texts])
    return {"spoke": spoke, "assistant": index.shape.assistant}


def _time(index: Index, asked: Asked) -> dict[str, NDArray[float64]]:
    """How near in time, where the question names one."""
    days = index.shape.days
    inside, close = np.zeros(len(index)), np.zeros(len(index))
    for span in asked.times:
        if (span.last - span.first).days > _LONG:
            continue  # a whole year tells little
        away = np.maximum(np.maximum(span.first.toordinal() - days, days - span.last.toordinal()), 0)
        away = np.where(np.isnan(away), np.inf, away)
        inside = np.maximum(inside, away == 0)
        close = np.maximum(close, np.exp(-away / 7))
    return {"inside": inside, "close": close}


def _form(index: Index, asked: Asked) -> dict[str, NDArray[float64]]:
    """The look of a text, and whether it tells what is asked for."""
    shape = index.shape
    return {
        "letters": shape.letters,
        "letters_z": shape.letters - shape.letters.mean(),
        "asks": shape.asks,
        "asked_before": beside(shape.asks, shape.sessions, 1),
        "tells_numbers": shape.numbers,
        "tells_times": shape.times,
        "standing": shape.standing,
        "personal": shape.personal,
        "numbers": shape.numbers * asked.asks_number,
        "times": shape.times * asked.asks_time,
    }


def _kind(
    index: Index, asked: Asked, about: Sequence[str], clues: dict[str, NDArray[float64]]
) -> dict[str, NDArray[float64]]:
    """What kind of question and conversation this is: the same for all texts, it decides how much the others count."""
    shape = index.shape
    size = len(index)
    top = np.sort(clues["words_share"])[-5:]
    facts = {
        "q_terms": float(len(about)),
        "q_letters": float(np.log1p(len(asked.text))),
        "q_second_person": float(asked.second_person),
        "c_letters": float(shape.letters.mean()),
        "c_spread": float(shape.letters.std()),
        "c_assistant": float(shape.assistant.mean()),
        "top_words": float(clues["words"].max()),
        "top_soft": float(clues["soft"].max()),
        "top_near": float(clues["near"].max()),
        "top_even": float(top.mean()),
        "top_near_z": float(np.sort(clues["near_z"])[-3:].mean()),
    }
    out = {name: np.full(size, value) for name, value in facts.items()}
    out["session_size"] = np.log1p(shape.session_sizes)[shape.sessions]
    out["rank_words"] = ranks(clues["words_share"] + clues["pairs_share"])
    out["rank_near"] = ranks(clues["near"])
    out["rank_apart"] = ranks(clues["apart"])
    out["role_near"] = ranks_among(clues["near"], shape.assistant)
    out["role_first"] = ranks_among(clues["first"], shape.assistant)
    out["rank_soft"] = ranks(clues["soft"])
    out["rank_first"] = ranks(clues["first"])
    return out
