"""Numeric features for and against a new subject at a message.

Owns the running state of one conversation (its subjects and its style) and the measuring of each message against
it. Nothing looks ahead. Numbers are relative if possible, because a chat of one-liners and a support desk differ in
everything but the drop at a boundary. Not here: weights.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import expm1, log1p, sqrt

from backscroll.recall.text.terms import tagged_words, terms_of
from backscroll.tasks.boundary.cues import KINDS, CueReading, ends_of, read_cues, sentences_of
from backscroll.tasks.boundary.tuning import FADE, FRESH, NAMES_READ, PEERS, READ, WINDOW, WORDS

_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][a-zA-Z]{2,}")
_TITLE = re.compile('《([^》]{1,40})》|“([^”]{1,30})”|「([^」]{1,30})」|"([^"]{1,30})"')
_WORD = re.compile("[a-z0-9']+|[\u3400-\u9fff\uf900-\ufaff]", re.IGNORECASE)
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_NAME_TAGS = ("nr", "ns", "nt", "nz")
_TYPES = ("fix", "build", "find", "explain")
#: Cues that open a subject in any case, and those that do together with something new.
_OPENING = frozenset({"shift", "start"})
_OPENING_TOO = frozenset({"more", "want", "greeting", "end", "thanks"})

#: Cues of the previous message, and of the speaker's own last message, that are considered.
_PREV = (
    "shift",
    "want",
    "end",
    "thanks",
    "closing",
    "greeting",
    "offer",
    "settled",
    "accept",
    "refuse",
    "ask_you",
    "tell_me",
)
_OWN = ("want", "end", "thanks", "accept", "shift")

_BASIC = (
    "user", "same_role", "number", "words", "prev_words", "words_rel", "prev_words_rel", "sentences", "question", "asks_last",
    "prev_question", "prev_asks_last", "before_question", "pronouns", "prev_pronouns", "digits", "titles",
)  # fmt: skip
_LEXICAL = (
    "in_prev", "in_prev2", "in_window", "in_all", "cosine", "cosine_rel", "fresh", "fresh_share", "fresh_rel", "prev_fresh_share",
    "from_prev_fresh", "returns", "in_own", "last_in_window", "new_names", "known_names", "prev_new_names", "type_changed", "prev_in_window",
    "names_in_prev", "names_in_window", "since_name",
)  # fmt: skip
_PROFILE = (
    "asks_here", "other_asks_here", "wants_here", "tells_here", "shifts_here", "other_tells_here", "since_want", "since_shift", "mean_in_window", "words_here", "turns_words_ratio",
    "wants_lead", "asks_lead", "both_tell",
)  # fmt: skip
NAMES: tuple[str, ...] = (
    *_BASIC,
    *(f"cue_{kind}" for kind in KINDS),
    *(f"last_{kind}" for kind in ("shift", "more", "want", "ask_you", "tell_me", "back", "follow", "thanks", "find", "build", "fix", "explain")),
    *(f"prev_{kind}" for kind in _PREV),
    *(f"own_{kind}" for kind in _OWN),
    *_LEXICAL,
    *_PROFILE,
)  # fmt: skip
_LAST = tuple(name[5:] for name in NAMES if name.startswith("last_") and name != "last_in_window")


@dataclass(slots=True)
class _RunningMean:
    """A mean that starts from a guess and adapts slowly."""

    mean: float
    weight: float = 2.0

    def learn(self, value: float) -> None:
        self.weight += 1.0
        self.mean += (value - self.mean) / self.weight


@dataclass(frozen=True, slots=True)
class MessageFeatures:
    """The features of one message by itself."""

    user: bool
    read: CueReading
    terms: frozenset[str]
    last_terms: frozenset[str]
    names: frozenset[str]
    fresh: frozenset[str]  # terms that are new to the conversation
    fresh_names: int
    words: int
    digits: bool
    in_window: float
    bare: bool  # it contains too little new to open a subject, and no words that open one
    replies: float  # words that the other side usually writes
    peers: bool  # both sides talk about themselves: two people chatting, not a person being served


def _manners() -> dict[str, _RunningMean]:
    first = {"asks": 0.3, "wants": 0.3, "tells": 0.3, "shifts": 0.1, "words": 2.5}
    return {name: _RunningMean(value) for name, value in first.items()}


@dataclass(slots=True)
class ConversationState:
    """The state of the conversation so far."""

    count: int = 0
    said: deque[MessageFeatures] = field(default_factory=lambda: deque(maxlen=WINDOW))
    own: dict[bool, MessageFeatures] = field(default_factory=dict[bool, MessageFeatures])
    known: set[str] = field(default_factory=set[str])
    known_names: set[str] = field(default_factory=set[str])
    faded: Counter[str] = field(default_factory=Counter[str])
    manners: dict[bool, dict[str, _RunningMean]] = field(
        default_factory=lambda: {True: _manners(), False: _manners()}
    )
    usual: dict[str, _RunningMean] = field(
        default_factory=lambda: {
            "cosine": _RunningMean(0.15),
            "in_window": _RunningMean(0.25),
            "fresh": _RunningMean(0.5),
        }
    )
    last_type: str = ""
    since_want: int = 0
    since_shift: int = 0
    since_name: int = 0  # messages since a name first appeared

    def measure(self, role: str, text: str) -> tuple[list[float], MessageFeatures]:
        """Return the features of the next message, then add it to the state."""
        said = self._read(role == "user", text)
        row = self._basic(said) + self._cues(said) + self._lexical(said) + self._profile(said)
        self._learn(said)
        return row, said

    def _read(self, user: bool, text: str) -> MessageFeatures:
        text = text[:READ]
        read = read_cues(text)
        terms = _terms(text)
        pieces = sentences_of(ends_of(text))
        last = _terms(pieces[-1]) if len(pieces) > 1 else terms
        names = frozenset(_names(text))
        recent = _union(self.said)
        fresh, words = terms - self.known, len(_WORD.findall(text))
        mine, other = self.manners[user], self.manners[not user]
        return MessageFeatures(
            user, read, terms, last, names, fresh, len(names - self.known_names), words,
            any(c.isdigit() for c in text), _share(terms, recent), self._bare(user, read, terms, fresh, words),
            expm1(other["words"].mean), min(mine["tells"].mean, other["tells"].mean) > PEERS,
        )  # fmt: skip

    def _bare(
        self, user: bool, read: CueReading, terms: frozenset[str], fresh: frozenset[str], words: int
    ) -> bool:
        """Limit the weight of style: a message needs new words, or words that open a subject."""
        if read.cues & _OPENING:
            return False
        if terms and not fresh:
            return True  # nothing in it is new: the same question again, or a repetition
        if not user or read.cues & _OPENING_TOO:
            return False
        prev = self.said[-1].read.cues if self.said else frozenset[str]()
        own = self.own[user].read.cues if user in self.own else frozenset[str]()
        few = len(fresh) < FRESH or words < WORDS
        return few and not prev & {"offer", "closing"} and "end" not in own

    def _basic(self, said: MessageFeatures) -> list[float]:
        prev = self.said[-1] if self.said else None
        before = self.said[-2] if len(self.said) > 1 else None
        manner = self.manners[said.user]
        words = log1p(said.words)
        return [
            float(said.user),
            float(prev is not None and prev.user == said.user),
            log1p(min(self.count, 40)),
            words,
            log1p(prev.words) if prev else 0.0,
            words - manner["words"].mean,
            log1p(prev.words) - self.manners[prev.user]["words"].mean if prev else 0.0,
            float(min(said.read.sentences, 5)),
            float(said.read.question),
            float(said.read.asks_last),
            float(prev is not None and prev.read.question),
            float(prev is not None and prev.read.asks_last),
            float(before is not None and before.read.question),
            float(min(said.read.pronouns, 4)),
            float(min(prev.read.pronouns, 4)) if prev else 0.0,
            float(said.digits),
            float(min(len(said.names), 4)),
        ]

    def _cues(self, said: MessageFeatures) -> list[float]:
        prev = self.said[-1].read.cues if self.said else frozenset[str]()
        own = self.own[said.user].read.cues if said.user in self.own else frozenset[str]()
        return [
            *(float(kind in said.read.cues) for kind in KINDS),
            *(float(kind in said.read.last) for kind in _LAST),
            *(float(kind in prev) for kind in _PREV),
            *(float(kind in own) for kind in _OWN),
        ]

    def _lexical(self, said: MessageFeatures) -> list[float]:
        prev = self.said[-1] if self.said else None
        recent = _union(self.said)
        cosine = _cosine(said.terms, self.faded)
        fresh = len(said.fresh) / len(said.terms) if said.terms else 0.5
        own = self.own.get(said.user)
        kind = _type(said.read)
        old = (said.terms & self.known) - recent
        return [
            _share(said.terms, prev.terms) if prev else 0.0,
            _share(said.terms, _union(list(self.said)[-2:])),
            said.in_window,
            _share(said.terms, self.known),
            cosine,
            cosine - self.usual["cosine"].mean,
            log1p(len(said.fresh)),
            fresh,
            fresh - self.usual["fresh"].mean,
            len(prev.fresh) / len(prev.terms) if prev and prev.terms else 0.0,
            _share(said.terms, prev.fresh) if prev else 0.0,
            len(old) / len(said.terms) if said.terms else 0.0,
            _share(said.terms, own.terms) if own else 0.0,
            _share(said.last_terms, recent),
            float(min(said.fresh_names, 4)),
            float(min(len(said.names & self.known_names), 4)),
            float(min(prev.fresh_names, 4)) if prev else 0.0,
            float(bool(kind) and bool(self.last_type) and kind != self.last_type),
            prev.in_window if prev else 0.0,
            _share(said.names, prev.names) if prev and said.names else 0.0,
            _share(said.names, frozenset[str]().union(*(s.names for s in self.said))) if said.names else 0.0,
            float(min(self.since_name, 8)),
        ]

    def _profile(self, said: MessageFeatures) -> list[float]:
        mine, other = self.manners[said.user], self.manners[not said.user]
        return [
            mine["asks"].mean,
            other["asks"].mean,
            self.manners[True]["wants"].mean,
            mine["tells"].mean,
            mine["shifts"].mean,
            other["tells"].mean,
            float(min(self.since_want, 12)),
            float(min(self.since_shift, 12)),
            self.usual["in_window"].mean,
            mine["words"].mean,
            mine["words"].mean - other["words"].mean,
            mine["wants"].mean - other["wants"].mean,
            mine["asks"].mean - other["asks"].mean,
            min(mine["tells"].mean, other["tells"].mean),
        ]

    def _learn(self, said: MessageFeatures) -> None:
        cosine = _cosine(said.terms, self.faded)
        if self.count:
            self.usual["cosine"].learn(cosine)
            self.usual["in_window"].learn(said.in_window)
            if said.terms:
                self.usual["fresh"].learn(len(said.fresh) / len(said.terms))
        cues = said.read.cues
        manner = self.manners[said.user]
        manner["asks"].learn(float(said.read.question))
        manner["wants"].learn(float("want" in cues))
        manner["tells"].learn(float("tell_me" in cues))
        manner["shifts"].learn(float("shift" in cues))
        manner["words"].learn(log1p(said.words))
        self.since_want = 0 if "want" in cues and said.user else self.since_want + 1
        self.since_shift = 0 if "shift" in cues else self.since_shift + 1
        self.since_name = 0 if said.fresh_names else self.since_name + 1
        if said.user:
            self.last_type = _type(said.read) or self.last_type
        for term in self.faded:
            self.faded[term] *= FADE  # pyright: ignore[reportArgumentType]
        self.faded.update(said.terms)
        if len(self.faded) > 2_000:
            self.faded = Counter(dict(self.faded.most_common(1_000)))
        self.known |= said.terms
        self.known_names |= said.names
        self.own[said.user] = said
        self.said.append(said)
        self.count += 1


def _terms(text: str) -> frozenset[str]:
    words, _ = terms_of(text)
    return frozenset(words)


def _names(text: str) -> list[str]:
    """Return names and titles: capitals inside a sentence, text in quotation marks, Chinese names as tagged by the word
    segmenter.
    """
    text = text[:NAMES_READ]
    quoted = [group for found in _TITLE.finditer(text) for group in found.groups() if group]
    tagged = tagged_words(text) if _HAN.search(text) else []
    chinese = [
        word
        for word, tag in tagged
        if len(word) >= (2 if tag.startswith(_NAME_TAGS) else 3) and tag[:1] in "nil"
    ]
    return [*_NAME.findall(text), *quoted, *chinese]


def _type(read: CueReading) -> str:
    """Return the kind of work a message requests; empty if none."""
    return next((kind for kind in _TYPES if kind in read.last), "") or next(
        (kind for kind in _TYPES if kind in read.cues), ""
    )


def _union(many: Sequence[MessageFeatures] | deque[MessageFeatures]) -> frozenset[str]:
    return frozenset[str]().union(*(said.terms for said in many))


def _share(terms: frozenset[str], among: frozenset[str] | set[str]) -> float:
    """Return the share of terms that are among others; the middle if there are none."""
    return len(terms & among) / len(terms) if terms else 0.3


def _cosine(terms: frozenset[str], bag: Counter[str]) -> float:
    if not terms or not bag:
        return 0.0
    dot = sum(bag[term] for term in terms if term in bag)
    return dot / sqrt(len(terms) * sum(v * v for v in bag.values()))
