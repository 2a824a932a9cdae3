"""Words and texts for the fuzzers: every message carries words of its own, so that any surface can be searched for them.

All words have the same length and differ from each other, so none of them contains another one.
"""

from __future__ import annotations

import random

LETTERS = "bcdfghjklmnpqrstvwxz"  # no vowels: no stemmer, dictionary or name list knows such a word
LENGTH = 9
STEM = 7  # letters that no rule cuts off: every word has others at its beginning
HALF_HIGH, HALF_LOW = "\ud83d", "\ude00"  # the two halves of an emoji, each of them invalid alone

ENGLISH = (
    "Ellie lives in {w}.",
    "Tom works at {w} and likes {w}.",
    "We decided to use {w} instead of the old cache.",
    "Please always use {w}.",
    "TODO: write a test for {w}.",
    "It fails with ValueError: {w} is not known.",
    "What about {w}?",
    "The quick brown fox reads src/{w}.py and decides.",
    "My name is {w}.",
    "Never touch the {w} table!",
)
CHINESE = (
    "艾莉住在{w}。",
    "我们决定先把 {w} 调到三十秒，因为网络很慢。",
    "不要删除 {w}；下周三之前完成。",
    "接下来做{w}吧，先看看日志。",
    "艾莉的朋友叫{w}。",
    "你觉得{w}怎么样？",
)
CODE = (
    "{w} = [1, 2, 3]\n",
    "def {w}(path):\n    return open(path).read()\n",
    'Traceback (most recent call last):\n  File "src/{w}.py", line 3\nKeyError: 7\n',
    "$ pytest tests/{w}.py -x\n1 failed, 3 passed\n",
    '{{"{w}": null}}\n',
)
EMOJI = ("🙂 {w} 👩‍👩‍👧‍👦🏳️‍🌈", "🇨🇳{w}🚀", "e\u0301{w}\u200b\u202e ﷽ {w}")
HALVES = (
    HALF_HIGH + "{w}",
    "好" + HALF_HIGH + "吧 {w}",
    "{w} 我们" + HALF_LOW + "决定",
    "接下来" + HALF_HIGH + " {w} " + HALF_LOW,
    HALF_HIGH + HALF_HIGH + "。{w}",
)
ODD = (
    "a.b." * 40 + " {w}",
    "((((" * 20 + "{w}" + "))))" * 20,
    "{w}\r\n\t\x0b\x00 \x7f",
    "[bs:1] {w} [bs:2-9]",
    "<tool_result>{w}</tool_result>",
    "```\n{w}\n",
    "“{w}",
    "{w}" + " -" * 60,
)
KINDS = (ENGLISH, ENGLISH, CHINESE, CHINESE, CODE, EMOJI, HALVES, ODD)
BLANK = ("", " ", "\n\n", "\t \u3000", "\u200b", HALF_HIGH)


class Words:
    """Fresh words, and texts with them in it, all drawn from one generator."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.known: set[str] = set()
        self.stems: set[str] = set()

    def word(self) -> str:
        """A word that was never given before."""
        while True:
            word = "".join(self.dice.choices(LETTERS, k=LENGTH))
            if word[:STEM] not in self.stems:
                self.known.add(word)
                self.stems.add(word[:STEM])
                return word

    def text(self, word: str, lines: int = 1) -> str:
        """A text of so many sentences; the word is in the first, in the last and in some between."""
        dice = self.dice
        kind = dice.choice(KINDS)
        out: list[str] = []
        for n in range(max(1, lines)):
            if dice.random() < 0.15:
                kind = dice.choice(KINDS)
            edge = n in (0, lines - 1) or dice.random() < 0.05
            out.append(dice.choice(kind).replace("{w}", word if edge else "it"))
        return dice.choice(("\n", " ", "\n\n") if lines < 400 else ("\n",)).join(out)

    def lines(self) -> int:
        """How long a text is: mostly short, sometimes long, seldom a giant."""
        return self.dice.choices((1, 2, 6, 30, 150, 700), (50, 25, 14, 7, 3, 1))[0]
