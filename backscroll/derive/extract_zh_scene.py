"""One sentence as it is read: who speaks to whom, what the words are, what the turn talks about.

Owns settling a mention (我 is the speaker, 她 whoever the turn makes plain) and making an assertion that carries its sentence.
Refuses to find anything. Before: `extract_zh_marks`, `extract_zh_context`. After: `extract_zh_reading`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from backscroll.derive.extract_zh_context import Context
from backscroll.derive.extract_zh_marks import KIND_OF, Marked, Mention
from backscroll.derive.extract_zh_names import PLACE
from backscroll.derive.said import Said
from backscroll.vocab.assertion import Assertion, Claim

_HINTS = {"@she": "female", "@he": "male", "@it": "thing"}


@dataclass(frozen=True, slots=True)
class Scene:
    """One sentence as it is read: who speaks to whom, the words, what the turn talks about."""

    said: Said
    me: str  # what "I" means here
    you: str
    marked: Marked
    context: Context
    number: int  # of the message in the turn
    sure: float = 1.0

    def settle(self, mention: Mention) -> str:
        """Whom or what a mention means: a name, or a pronoun marker."""
        if mention.name == "@i":
            return self.me
        if mention.name == "@you":
            return self.you or "@you"
        if not mention.name.startswith("@") or mention.of:
            return mention.name
        if mention.name in ("@he", "@she"):
            before = [m for m in self.marked.mentions if m.kind == "P" and m.end <= mention.start]
            named = {
                m.name
                for m in before
                if not m.name.startswith("@") and not (m.of and any(n.start == m.end for n in before))
            }
            if named:  # somebody stands before it in the sentence: that one, unless there are two
                return named.pop() if len(named) == 1 else mention.name
        return self.context.who(mention.name)

    def claim(
        self, kind: Claim, subject: str, predicate: str = "", sure: float = 0.9, **facts: str
    ) -> Assertion | None:
        """An assertion of this sentence; None where it would say nothing."""
        other = facts.get("object", "")
        if (
            not subject
            or subject == other
            or "@the" in subject
            or "@the" in other
            or re.match(r"@\w+的", subject)
            or re.match(r"@\w+的", other)
        ):
            return None
        return Assertion(
            kind,
            subject,
            predicate,
            quote=self.marked.plain.strip(),
            source=self.said.source,
            speaker=self.said.who,
            sure=round(sure * self.sure * (0.8 if subject == "@it" else 1.0), 2),
            hint=PLACE if subject == "@it" and facts.get("type") == PLACE else _HINTS.get(subject, ""),
            **facts,
        )


def nearest(scene: Scene, kinds: tuple[str, ...], before: int, after: int = 0) -> str:
    """The thing of one of these kinds that a place of the sentence speaks of: the nearest in the clause, or what opens an earlier one."""
    marked = scene.marked
    limit, floor = marked.places[before], marked.places[after]
    opens = max((marked.text.rfind(c, 0, before) for c in "，。！？；,!?;"), default=-1) + 1
    clause = marked.places[opens]
    best = ""
    for one in marked.mentions:
        if one.end > limit or one.start < floor or KIND_OF.get(one.kind) not in kinds:
            continue
        if marked.plain[one.end : one.end + 1] in set("店馆号站总分") or (
            one.of and marked.plain[: one.start].endswith("是")
        ):
            continue  # a piece of a longer name; 小芳是我的同事，其生日 …: hers
        name = scene.settle(one)
        if (name.startswith("@") or name in (scene.me, scene.you)) and one.name != "@i":
            continue
        lead = marked.plain[max(0, one.start - 3) : one.start]
        if one.start >= clause or (
            not re.search(r"[在于到去从]$", lead)
            and re.search(r"(?:^|[，。！？；,!?\s《])[^，。！？；]{0,3}$", lead)
        ):
            best = name
    return best
