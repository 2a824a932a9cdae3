"""The state of a comparison: both sides and the matches so far.

`Sides` holds both lists with their keys. `Matching` grows a chain of pairs that rises on both sides; between two neighbours of
the chain lies a gap, and later stages look only at what is still free in the same gap. Pairs that cross the chain are moves.
Ids of tool calls count where both lists have some in common: a program that kept one has renamed none, so equal words under
another id are another call. If they have none in common, ids are ignored: programs rename them. The stages decide what
matches.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from backscroll.reconcile.alignment import Pair
from backscroll.reconcile.normal import BlobName, SpeakerNames, call_ids, exact, loose
from backscroll.reconcile.operations import Mode, OurEntry
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content

NEAR = 64  # search distance for a changed message in a long gap


@dataclass(frozen=True, slots=True)
class ForeignBlock:
    """A message of theirs, or a piece of one that holds several of ours."""

    message: ForeignMessage
    theirs: int
    loose: str
    kind: str
    glued: bool = False  # was joined with other pieces in one message
    signed: bool = False  # preceded by a speaker's name: a message


@dataclass(frozen=True, slots=True)
class Sides:
    """Both lists, made comparable."""

    mode: Mode
    ours: Sequence[OurEntry]
    blocks: Sequence[ForeignBlock]
    our_loose: list[str]
    our_kinds: list[str]
    our_tokens: list[int]
    their_tokens: list[int]
    key: Callable[[Content], str]  # the loose key, names of speakers removed where they may have been added
    letters: Callable[[Content], str]  # the exact key
    checkers: list[int]  # the entries that may contain forgotten words
    our_calls: list[tuple[str, ...]]  # ids of the calls made or answered; empty if ids are unreliable
    their_calls: list[tuple[str, ...]]

    def live(self, o: int) -> bool:
        """Return True for an entry in our history, hidden or not."""
        return not (self.ours[o].deleted or self.ours[o].forgotten)

    def another(self, o: int, t: int) -> bool:
        """Return True if call ids show that these are different messages, whatever their text."""
        ours, theirs = self.our_calls[o], self.their_calls[t]
        return bool(ours and theirs) and not set(ours) & set(theirs)


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys for comparing contents; in a rendered prompt, without a leading speaker's name."""

    mode: Mode
    names: SpeakerNames
    blob_name: BlobName

    def loose(self, content: Content) -> str:
        """Return the key of the content that rendering and saving preserve."""
        key = loose(content, self.blob_name)
        return key if self.mode == "full" else self.names.split_name(key)[1]

    def exact(self, content: Content) -> str:
        """Return the key of every letter."""
        return exact(content, self.blob_name)


def kind_of(mode: Mode, role: str) -> str:
    """Return the kind of speaker: a rendering distinguishes only the assistant from others."""
    if mode == "full":
        return role
    return "assistant" if role == "assistant" else "user"


def sides_of(ours: Sequence[OurEntry], blocks: Sequence[ForeignBlock], keys: Keys) -> Sides:
    """Compute the keys of our entries, and number equal keys of both sides alike."""
    our_loose = [keys.loose(entry.content) for entry in ours]
    our_kinds = [kind_of(keys.mode, entry.role) for entry in ours]
    our_calls = [call_ids(entry.content) for entry in ours]
    their_calls = [call_ids(b.message.content) for b in blocks]
    if not {name for some in our_calls for name in some} & {name for some in their_calls for name in some}:
        our_calls, their_calls = [()] * len(ours), [()] * len(blocks)
    numbers: dict[tuple[str, str, tuple[str, ...]], int] = {}
    our_tokens = [
        numbers.setdefault(key, len(numbers)) for key in zip(our_kinds, our_loose, our_calls, strict=True)
    ]
    their_tokens = [
        numbers.setdefault((b.kind, b.loose, calls), len(numbers))
        for b, calls in zip(blocks, their_calls, strict=True)
    ]
    checkers = [o for o, entry in enumerate(ours) if entry.forget_check is not None]
    return Sides(
        keys.mode,
        ours,
        blocks,
        our_loose,
        our_kinds,
        our_tokens,
        their_tokens,
        keys.loose,
        keys.exact,
        checkers,
        our_calls,
        their_calls,
    )


@dataclass(frozen=True, slots=True)
class Gap:
    """The unmatched items between two neighbours of the chain."""

    number: int  # number of chain pairs before it
    ours: list[int]
    theirs: list[int]

    def near(self) -> Gap:
        """Return a narrower gap if ours are many times theirs (a trimmed top, say): entries near the neighbours."""
        most = NEAR + 4 * len(self.theirs)
        if len(self.ours) <= 2 * most:
            return self
        return Gap(self.number, self.ours[:most] + self.ours[-most:], self.theirs)


@dataclass(slots=True)
class Matching:
    """The matching of our entries to their blocks."""

    ours_of: list[int]  # by block; -1: none
    theirs_of: list[int]  # by entry; -1: none
    chain: list[Pair] = field(default_factory=list[Pair])
    firm: set[int] = field(default_factory=set[int])  # blocks whose match rests on more than text
    moved: set[int] = field(default_factory=set[int])  # blocks whose match crosses the chain
    withheld: dict[int, int] = field(default_factory=dict[int, int])  # forgotten blocks and their entries
    _lone_ours: list[int] = field(default_factory=list[int])  # at least the unmatched ones
    _lone_theirs: list[int] = field(default_factory=list[int])

    def take(self, pairs: Iterable[Pair], *, firm: bool = False) -> None:
        """Accept pairs of (ours, theirs) that rise together with the chain."""
        fresh = list(pairs)
        if fresh:
            self._note(fresh, firm=firm)
            self.chain = sorted(self.chain + fresh)

    def cross(self, pairs: Iterable[Pair], *, firm: bool = False) -> None:
        """Accept pairs that cross the chain."""
        fresh = list(pairs)
        self._note(fresh, firm=firm)
        self.moved.update(t for _, t in fresh)

    def _note(self, pairs: Iterable[Pair], *, firm: bool) -> None:
        for o, t in pairs:
            self.ours_of[t] = o
            self.theirs_of[o] = t
            if firm:
                self.firm.add(t)

    def rematch(self, pairs: Iterable[Pair]) -> None:
        """Reassign blocks and entries of the chain; the result must rise again."""
        fresh = list(pairs)
        if not fresh:
            return
        for o, t in fresh:
            if self.ours_of[t] >= 0:
                self.theirs_of[self.ours_of[t]] = -1
            if self.theirs_of[o] >= 0:
                self.ours_of[self.theirs_of[o]] = -1
        self._note(fresh, firm=False)
        self.chain = [(o, t) for t, o in enumerate(self.ours_of) if o >= 0 and t not in self.moved]
        self.forget_progress()

    def forget_progress(self) -> None:
        """Consider all free items again, as at the start."""
        self._lone_ours = list(range(len(self.theirs_of)))
        self._lone_theirs = list(range(len(self.ours_of)))

    def free_entries(self) -> list[int]:
        """Return our unmatched entries of any kind."""
        self._lone_ours = [o for o in self._lone_ours if self.theirs_of[o] < 0]
        return self._lone_ours

    def free_blocks(self) -> list[int]:
        """Return their unmatched blocks."""
        self._lone_theirs = [t for t in self._lone_theirs if self.ours_of[t] < 0 and t not in self.withheld]
        return self._lone_theirs

    def gaps(self, pool: Callable[[int], bool], *, both: bool = True) -> list[Gap]:
        """Return the free items by gap; `both`: only gaps with items on both sides."""
        theirs = self.free_blocks()
        ours = [o for o in self.free_entries() if pool(o)]
        if both and not (ours and theirs):
            return []
        left = [o for o, _ in self.chain]
        right = [t for _, t in self.chain]
        found: dict[int, Gap] = {}
        for t in theirs:
            number = bisect_left(right, t)
            found.setdefault(number, Gap(number, [], [])).theirs.append(t)
        for o in ours:
            number = bisect_left(left, o)
            if number in found or not both:
                found.setdefault(number, Gap(number, [], [])).ours.append(o)
        ordered = sorted(found.values(), key=lambda gap: gap.number)
        return [gap for gap in ordered if gap.ours and gap.theirs] if both else ordered


def start_matching(sides: Sides) -> Matching:
    """Return the state before the first stage."""
    ours, theirs = len(sides.ours), len(sides.blocks)
    matching = Matching([-1] * theirs, [-1] * ours)
    matching.forget_progress()
    return matching
