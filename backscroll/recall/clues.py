"""Clues: numeric evidence for or against a text as the answer to a question.

Owns the list of clues (`NAMES`) and how each is measured. Every clue is relative to the conversation or to the best possible
value, so that one set of weights fits short chats, long answers and meetings alike.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from backscroll.recall.index.index import RecallIndex
from backscroll.recall.index.lexical import K1, Across, LexicalScores, match, match_softly
from backscroll.recall.index.vectors import along, beside, products, ranks, share, smooth_rows, standard
from backscroll.recall.passages import texts_across
from backscroll.recall.question.analysis import QuestionAnalysis
from backscroll.recall.text.terms import terms_of

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_BY_VECTORS = tuple("near near_z apart apart_z piece piece_z sentence sentence_last session_near".split())
_LONG = 40  # days
#: Of more texts than this only the best by each of some simple orders are scored.
_ALL, _BEST = 1_000, 150
_FIRST = ("first", "near", "soft", "first_around", "passage_held")
_SENTENCES = 8  # of a long question, the last ones
_TOLD, _STEPS = 200, 8  # terms of the first results, and the number of those used for a second search


@dataclass(frozen=True, slots=True)
class ClueTable:
    """The clues of candidate texts: all of a short conversation, of a long one the best by some simple orders."""

    rows: NDArray[np.intp]  # the numbers of these texts, in order
    clues: dict[str, NDArray[float64]]  # one number for each of them


def measure(index: RecallIndex, asked: QuestionAnalysis) -> dict[str, NDArray[float64]]:
    """Return all clues by name, one number for each text of a (not empty) index."""
    return _compute_row_clues(index, asked, _compute_shared_clues(index, asked), np.arange(len(index)))


def measure_best(index: RecallIndex, asked: QuestionAnalysis, others: Collection[int] = ()) -> ClueTable:
    """Return the clues of those texts of a (not empty) index that are worth scoring, and of some others."""
    clues = _compute_shared_clues(index, asked)
    rows = np.arange(len(index))
    if len(index) > _ALL:
        best = [_highest(clues[name], _BEST) for name in _FIRST]
        best.append(np.asarray(list(others), np.intp))
        inside = np.flatnonzero(clues["inside"])
        if len(inside):
            best.append(inside[_highest(clues["first"][inside], _BEST)])
        rows = np.unique(np.concatenate(best))
    return ClueTable(rows, _compute_row_clues(index, asked, clues, rows))


def _highest(values: NDArray[float64], most: int) -> NDArray[np.intp]:
    if len(values) <= most:
        return np.arange(len(values))
    return np.argpartition(-values, most)[:most]


def _compute_shared_clues(index: RecallIndex, asked: QuestionAnalysis) -> dict[str, NDArray[float64]]:
    """Compute what depends on all texts, because each is compared with the others."""
    about = [term for term in asked.words if term not in index.names]
    across = texts_across(index, asked)
    clues = _words(index, asked, about, across)
    clues |= _meaning(index, asked)
    clues |= _time(index, asked)
    clues["first"] = (
        0.5 * (clues["words_share"] + clues["pairs_share"] + clues["soft_share"])
        + np.maximum(clues["near_z"], 0) / 6
        + np.maximum(clues["apart_z"], 0) / 6
        + 0.4 * clues["inside"]
    )
    clues |= _around(index, clues)
    clues |= _session(index, clues, about, across)
    return clues


def _compute_row_clues(
    index: RecallIndex,
    asked: QuestionAnalysis,
    all_clues: dict[str, NDArray[float64]],
    rows: NDArray[np.intp],
) -> dict[str, NDArray[float64]]:
    """Return all clues of some texts."""
    clues = {name: values[rows] for name, values in all_clues.items()}
    clues |= _beside(index, all_clues, rows)
    clues |= _speaker(index, asked, rows)
    clues |= _form(index, asked, rows)
    clues |= _kind(index, asked, all_clues, rows)
    return clues


def _words(
    index: RecallIndex, asked: QuestionAnalysis, about: Sequence[str], across: Across
) -> dict[str, NDArray[float64]]:
    shape, space = index.shape, index.space
    words = match(index.words, about, shape.words, 0.75, across)
    loose = match(index.words, about, shape.words, 0.3, across)
    same = index.pairs is index.words and asked.pairs == asked.words
    named = [term for term in asked.pairs if term not in index.names]
    pairs = words if same else match(index.pairs, named, shape.pairs, 0.6)
    kin = space.kin(about) if space is not None and about else ()
    soft = match_softly(index.words, about, shape.words, kin, across)
    return {
        **_pieces(index, about, words),
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


def _pieces(index: RecallIndex, about: Sequence[str], whole: LexicalScores) -> dict[str, NDArray[float64]]:
    """Return how much of the question occurs in one piece of a text: a long text contains a little of everything."""
    held, score = whole.held / whole.best, whole.score
    texts = index.shape.piece_of
    if len(texts):
        found = match(index.by_piece, about, index.shape.piece_words, 0.75)
        held, score = held.copy(), score.copy()
        held[texts] = score[texts] = 0
        # Rarity differs between pieces and texts: only shares of the maximum are comparable.
        np.maximum.at(held, texts, found.held / found.best)
        np.maximum.at(score, texts, found.score * (whole.best / found.best))
    return {"passage_held": held, "passage_words": share(score)}


def _last(index: RecallIndex, asked: QuestionAnalysis, whole: LexicalScores) -> NDArray[float64]:
    """Return words of the last sentence of a question that has several: the others only lead up to it."""
    if len(asked.sentences) < 2:
        return share(whole.score)
    terms = [t for t in dict.fromkeys(terms_of(asked.sentences[-1])[0]) if t not in index.names]
    return share(match(index.words, terms, index.shape.words, 0.75).score)


def _meaning(index: RecallIndex, asked: QuestionAnalysis) -> dict[str, NDArray[float64]]:
    space = index.space
    if space is None or index.encode is None:
        return dict.fromkeys(_BY_VECTORS, np.zeros(len(index)))
    sentences = asked.sentences[-_SENTENCES:]
    rows = index.encode([asked.text, *sentences] if len(sentences) > 1 else [asked.text]) - space.centre
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    question = rows[0]
    peculiar = question - (themes := space.themes).T @ (themes @ question)
    peculiar /= max(float(np.linalg.norm(peculiar)), 1e-6)
    found = products(space.texts, np.concatenate([rows, peculiar[None, :]])).astype(float)
    near, apart = found[:, 0], found[:, -1] / space.peculiar
    by_sentence = found[:, 1:-1] if len(rows) > 1 else found[:, :1]
    piece = near
    if len(space.parted):
        piece = near.copy()
        piece[space.parted] = np.maximum.reduceat(along(space.pieces, question), space.first_piece)
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


_SHARED = ("words_share", "soft", "near", "first")  # clues that a text shares with those around it


def _around(index: RecallIndex, clues: dict[str, NDArray[float64]]) -> dict[str, NDArray[float64]]:
    """Return clues from the surroundings of a text: a short answer has its words in the question before it, a meeting keeps one subject for
    long.
    """
    shape = index.shape
    out: dict[str, NDArray[float64]] = {}
    rows = np.stack([clues[name] for name in _SHARED])
    for reach, where, some in ((2, "by", slice(4)), (6, "around", slice(4)), (14, "wide", slice(2, 4))):
        found = smooth_rows(rows[some], shape.starts, shape.ends, reach)
        out |= {f"{name}_{where}": values for name, values in zip(_SHARED[some], found, strict=True)}
    for name in ("near_around", "first_around", "soft_around", "first_wide", "near_wide"):
        out[f"{name}_z"] = standard(out[name])
    return out


def _beside(
    index: RecallIndex, clues: dict[str, NDArray[float64]], rows: NDArray[np.intp]
) -> dict[str, NDArray[float64]]:
    """Return the texts next to a text."""
    sessions = index.shape.sessions
    values = {name: clues[name] for name in _SHARED}
    out = {
        f"{name}_{where}": beside(found, sessions, steps, rows)
        for name, found in values.items()
        for steps, where in ((1, "before"), (2, "before2"), (-1, "after"))
    }
    out["asked_before"] = beside(index.shape.asks, sessions, 1, rows)
    return out


def _session(
    index: RecallIndex, clues: dict[str, NDArray[float64]], about: Sequence[str], across: Across
) -> dict[str, NDArray[float64]]:
    """Return session clues: a session that matches as a whole lifts its texts."""
    shape = index.shape
    found = match(index.words, about, shape.session_words, 0.75, across, shape.sessions)
    best = np.maximum.reduceat(clues["first"], np.cumsum(shape.session_sizes) - shape.session_sizes)
    order = np.sort(_highest(clues["first"], 3))
    out = {
        "session_words": share(found.score)[shape.sessions],
        "session_held": (found.held / found.best)[shape.sessions],
        "session_best": best[shape.sessions],
        "like_best": np.zeros(len(index)),
        "hop": _hop(index, about, order),
    }
    space = index.space
    if space is not None:  # near to the first results: the same in other words
        ideal = (space.texts[order] * clues["first"][order, None].astype(np.float32)).sum(axis=0)
        out["like_best"] = along(space.texts, ideal / max(float(np.linalg.norm(ideal)), 1e-6))
    return out


def _hop(index: RecallIndex, about: Sequence[str], best: NDArray[np.intp]) -> NDArray[float64]:
    """Return clues from words that the first results introduce (a name, a place), and that only some texts contain: a second step from
    there.
    """
    most = max(4, len(index) // 25)
    told: dict[str, None] = {}
    for number in best:
        told |= dict.fromkeys(index.texts[int(number)].words[:_TOLD])
    rare = [term for term in told if term not in about and 2 <= len(index.words.held[term]) <= most]
    rare.sort(key=lambda term: (len(index.words.held[term]), term))
    return share(match(index.words, rare[:_STEPS], index.shape.words, 0.75).score)


def _speaker(
    index: RecallIndex, asked: QuestionAnalysis, rows: NDArray[np.intp]
) -> dict[str, NDArray[float64]]:
    """Return speaker clues, if the question asks for someone's words."""
    meant = {number for term in asked.words if (number := index.speaker_called(term)) is not None}
    named = {term for term in asked.words if term in index.names}
    meant |= {number for names, number in index.speakers.items() if not named.isdisjoint(names)}
    spoke = np.zeros(len(rows))
    if meant:
        by_speaker = np.full(len(index.speakers), -1.0)
        by_speaker[sorted(meant)] = 1.0
        spoke = by_speaker[index.shape.speakers[rows]]
    return {"spoke": spoke, "assistant": index.shape.assistant[rows]}


def _time(index: RecallIndex, asked: QuestionAnalysis) -> dict[str, NDArray[float64]]:
    """Return how near a text is in time, if the question names one."""
    days = index.shape.days
    inside, close = np.zeros(len(index)), np.zeros(len(index))
    for span in asked.times:
        if (span.last - span.first).days > _LONG:
            continue  # a whole year is weak evidence
        away = np.maximum(np.maximum(span.first.toordinal() - days, days - span.last.toordinal()), 0)
        away = np.where(np.isnan(away), np.inf, away)
        inside = np.maximum(inside, away == 0)
        close = np.maximum(close, np.exp(-away / 7))
    return {"inside": inside, "close": close}


def _form(index: RecallIndex, asked: QuestionAnalysis, rows: NDArray[np.intp]) -> dict[str, NDArray[float64]]:
    """Return the form of a text, and whether it has the kind of value that is asked for."""
    shape = index.shape
    letters, numbers, times = shape.letters[rows], shape.numbers[rows], shape.times[rows]
    return {
        "letters": letters,
        "letters_z": letters - shape.letters.mean(),
        "asks": shape.asks[rows],
        "tells_numbers": numbers,
        "tells_times": times,
        "standing": shape.standing[rows],
        "personal": shape.personal[rows],
        "idle": shape.idle[rows],
        "numbers": numbers * asked.asks_number,
        "times": times * asked.asks_time,
    }


def _kind(
    index: RecallIndex, asked: QuestionAnalysis, clues: dict[str, NDArray[float64]], rows: NDArray[np.intp]
) -> dict[str, NDArray[float64]]:
    """Return the kind of question and conversation: the same for all texts, it determines how much the other clues count."""
    shape = index.shape
    about = sum(term not in index.names for term in asked.words)
    top = np.sort(clues["words_share"])[-5:]
    facts = {
        "q_terms": float(about),
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
    out = {name: np.full(len(rows), value) for name, value in facts.items()}
    out["session_size"] = np.log1p(shape.session_sizes)[shape.sessions[rows]]
    for name, values in (
        ("rank_words", clues["words_share"] + clues["pairs_share"]),
        ("rank_near", clues["near"]),
        ("rank_apart", clues["apart"]),
        ("rank_soft", clues["soft"]),
        ("rank_first", clues["first"]),
    ):
        out[name] = ranks(values[rows], values)
    out["role_near"] = _ranks_by_role(shape.assistant, clues["near"], rows)
    out["role_first"] = _ranks_by_role(shape.assistant, clues["first"], rows)
    return out


def _ranks_by_role(
    kinds: NDArray[float64], values: NDArray[float64], rows: NDArray[np.intp]
) -> NDArray[float64]:
    """Return ranks among the texts of the same role."""
    out = np.empty(len(rows))
    for kind in (0.0, 1.0):
        mine = kinds[rows] == kind
        out[mine] = ranks(values[rows][mine], values[kinds == kind])
    return out
