"""Reproducible text for benchmarks, with the word frequencies of real English and Chinese."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

_SYLLABLES = (
    "ka",
    "to",
    "ri",
    "men",
    "sol",
    "va",
    "ne",
    "pur",
    "ti",
    "lon",
    "bas",
    "que",
    "dor",
    "im",
    "sel",
    "ga",
)
_HAN = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处理"


class Corpus:
    """An endless, repeatable stream of messages."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        names = random.Random(0)
        self._words = ["".join(names.choices(_SYLLABLES, k=names.randint(1, 4))) for _ in range(20_000)]
        self._weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(self._words))))
        self._pairs = ["".join(names.choices(_HAN, k=2)) for _ in range(8_000)]
        self._pair_weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(self._pairs))))

    def message(self, characters: int = 400) -> str:
        """One message of about this many characters, every fifth of them Chinese."""
        if self._random.random() < 0.2:
            words = self._random.choices(self._pairs, cum_weights=self._pair_weights, k=characters // 2)
            return "".join(words)
        words = self._random.choices(self._words, cum_weights=self._weights, k=characters // 6)
        return " ".join(words)

    def endless(self) -> Iterator[str]:
        """Messages without end."""
        while True:
            yield self.message()

    def queries(self) -> dict[str, list[str]]:
        """Queries of several kinds: common and rare words, several words, Chinese."""
        pick = random.Random(7)
        words = self._words
        return {
            "one word": [words[int(pick.paretovariate(0.4)) % 5000] for _ in range(60)],
            "the most common words": words[:20],
            "two words": [f"{pick.choice(words[:2000])} {pick.choice(words[:2000])}" for _ in range(60)],
            "Chinese words": [pick.choice(self._pairs[:3000]) for _ in range(60)],
            "Chinese phrases": [
                pick.choice(self._pairs[:200]) + pick.choice(self._pairs[:200]) for _ in range(40)
            ],
        }
