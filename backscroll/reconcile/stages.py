"""The stages of matching, from the strongest evidence to the weakest: ids, text, known revisions, times, likeness, position.

Each stage works on what the earlier ones left free and never changes existing matches; only `reconcile/slides` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from backscroll.reconcile.alignment import Pair, common, heaviest_rising, longest_rising
from backscroll.reconcile.likeness import pair_versions
from backscroll.reconcile.matching import Gap, Matching, Sides
from backscroll.reconcile.normal import WEIGHTY, call_ids, substance
from backscroll.reconcile.operations import Ambiguity, Note

REPLIES = 8  # how many of the last replies a prompt may request again
NEAR = 2  # how far a short message may have moved and still be taken for the same one


def by_tail(sides: Sides, matching: Matching, ours: Sequence[int], theirs: Sequence[int]) -> bool:
    """Match the usual case: their list equals ours, or the newest part of it. Return True if so.

    A prompt may lack the last reply, because it asks for another.
    """
    said = [sides.their_tokens[t] for t in theirs]
    end = len(ours)
    while said and end >= len(said):
        tail = ours[end - len(said) : end]
        if [sides.our_tokens[o] for o in tail] == said:
            pairs = list(zip(tail, theirs, strict=True))
            if not any(_at_odds(sides, o, t) for o, t in pairs):
                matching.take(pairs)
                return True
        end -= 1
        if sides.mode == "full" or sides.ours[ours[end]].role == "user" or len(ours) - end > REPLIES:
            break
    return False


def _at_odds(sides: Sides, o: int, t: int) -> bool:
    """Return True if times or ids show that equal texts are different messages."""
    entry, message = sides.ours[o], sides.blocks[t].message
    if entry.at is not None and message.at is not None and entry.at != message.at:
        return True
    return (
        message.source_id is not None and bool(entry.source_ids) and message.source_id not in entry.source_ids
    )


def by_ids(sides: Sides, matching: Matching) -> None:
    """Match by the other program's ids. Copies repeat them; ids of copies with equal text are ignored."""
    owners: dict[str, list[int]] = {}
    for o, entry in enumerate(sides.ours):
        for source in entry.source_ids:
            owners.setdefault(source, []).append(o)
    if not owners:
        return
    claims: dict[str, list[int]] = {}
    for t, block in enumerate(sides.blocks):
        source = block.message.source_id
        if source is not None and source in owners:
            claims.setdefault(source, []).append(t)
    pairs: list[Pair] = []
    for source, blocks in claims.items():
        standing = [o for o in owners[source] if sides.live(o)] or owners[source]
        if all(sides.ours[o].forgotten for o in standing):
            matching.withheld.update((t, standing[0]) for t in blocks)
            continue
        pairs.extend(_sole_pairs(sides, [o for o in standing if not sides.ours[o].forgotten], blocks))
    pairs = _one_to_one(pairs)
    chain = longest_rising(pairs)
    kept = set(chain)
    matching.take(chain, firm=True)
    matching.cross((pair for pair in pairs if pair not in kept), firm=True)


def _sole_pairs(sides: Sides, ours: Sequence[int], theirs: Sequence[int]) -> list[Pair]:
    """Return the pair that an id names; if it names several, those with equal text, if unique."""
    pairs = [(o, t) for o in ours for t in theirs if sides.ours[o].role == sides.blocks[t].message.role]
    if len(pairs) > 1:
        pairs = [(o, t) for o, t in pairs if sides.our_tokens[o] == sides.their_tokens[t]]
    often_ours = Counter(o for o, _ in pairs)
    often_theirs = Counter(t for _, t in pairs)
    return [(o, t) for o, t in pairs if often_ours[o] == often_theirs[t] == 1]


def _one_to_one(pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs in our order, each entry once: an entry may have several ids."""
    out: dict[int, int] = {}
    for o, t in sorted(pairs):
        out.setdefault(o, t)
    return list(out.items())


def by_words(sides: Sides, matching: Matching, pool: Callable[[int], bool]) -> None:
    """Match equal words in the same order; first unique ones with a time that both sides know."""
    ours = [(sides.our_tokens[o], e.at) if e.at and pool(o) else None for o, e in enumerate(sides.ours)]
    theirs = [
        (sides.their_tokens[t], b.message.at) if b.message.at else None for t, b in enumerate(sides.blocks)
    ]
    if any(ours) and any(theirs):
        often_ours, often_theirs = Counter(ours), Counter(theirs)
        once = [key for key in often_ours if key and often_ours[key] == often_theirs[key] == 1]
        numbers: dict[tuple[int, str] | None, int] = {key: number for number, key in enumerate(once)}
        left = [numbers.get(key, -1) for key in ours]
        right = [numbers.get(key, -2) for key in theirs]  # equal to nothing on the left
        matching.take(_in_gaps(matching, lambda o: pool(o) and left[o] >= 0, left, right), firm=True)
    matching.take(_in_gaps(matching, pool, sides.our_tokens, sides.their_tokens))


def _in_gaps(
    matching: Matching, pool: Callable[[int], bool], left: Sequence[int], right: Sequence[int]
) -> list[Pair]:
    found: list[Pair] = []
    for gap in matching.gaps(pool):
        pairs = common([left[o] for o in gap.ours], [right[t] for t in gap.theirs])
        found.extend((gap.ours[i], gap.theirs[j]) for i, j in pairs)
    return found


def by_absence(sides: Sides, matching: Matching, pool: Callable[[int], bool]) -> None:
    """Match deleted or hidden entries whose words are back in their old position."""
    pairs = _in_gaps(matching, pool, sides.our_tokens, sides.their_tokens)
    matching.take((o, t) for o, t in pairs if not _at_odds(sides, o, t))


def by_move(sides: Sides, matching: Matching, pool: Callable[[int], bool], top: int) -> list[Note]:
    """Match equal words in another position, unique on both sides.

    `top`: entries before this index may only have been trimmed away, and said again below; they move if they stay near.
    """
    notes: list[Note] = []
    gaps = matching.gaps(pool, both=False)
    our_gap = {o: gap.number for gap in gaps for o in gap.ours}
    their_gap = {t: gap.number for gap in gaps for t in gap.theirs}
    if not our_gap or not their_gap:
        return notes
    often_ours = Counter(sides.our_tokens[o] for o in our_gap)
    often_theirs = Counter(sides.their_tokens[t] for t in their_gap)
    where = {sides.their_tokens[t]: t for t in their_gap}
    pairs: list[Pair] = []
    lone = len(our_gap) == len(their_gap) == 1
    for o, gap_number in our_gap.items():
        token = sides.our_tokens[o]
        t = where.get(token)
        if t is None or often_ours[token] > 1 or often_theirs[token] > 1 or not sides.our_loose[o]:
            continue
        far = abs(gap_number - their_gap[t])
        inside = their_gap[t] < len(matching.chain)  # at the end, short words are more likely to be new ones
        near = far <= NEAR and (inside or sides.mode == "full")
        if far and (near or (o >= top and (_telling(sides, o, t) or (lone and inside)))):
            pairs.append((o, t))
        elif far:
            considered = ("moved", "gone there, said again here")
            place = (sides.blocks[t].theirs,)
            notes.append(Ambiguity("moved-or-resaid", considered, "said again", (sides.ours[o].id,), place))
    matching.cross(_with_neighbours(sides, pairs, our_gap, their_gap))
    return notes


def _telling(sides: Sides, o: int, t: int) -> bool:
    at = sides.ours[o].at
    return substance(sides.our_loose[o]) >= WEIGHTY or (at is not None and at == sides.blocks[t].message.at)


def _with_neighbours(
    sides: Sides, pairs: Sequence[Pair], our_gap: dict[int, int], their_gap: dict[int, int]
) -> list[Pair]:
    """Extend moved pairs with the short messages among them."""
    free_ours = sorted(our_gap)
    rank = {o: k for k, o in enumerate(free_ours)}
    used_ours = {o for o, _ in pairs}
    used_theirs = {t for _, t in pairs}
    out = list(pairs)
    for start in pairs:
        for step in (1, -1):
            o, t = start
            while 0 <= rank[o] + step < len(free_ours):
                o, t = free_ours[rank[o] + step], t + step
                crossing = t in their_gap and our_gap[o] != their_gap[t]
                if (
                    not crossing
                    or o in used_ours
                    or t in used_theirs
                    or sides.our_tokens[o] != sides.their_tokens[t]
                ):
                    break
                used_ours.add(o)
                used_theirs.add(t)
                out.append((o, t))
    return out


def by_knowledge(sides: Sides, matching: Matching, pool: Callable[[int], bool]) -> None:
    """Match an earlier revision, another alternative, or the same tool call."""
    found: list[Pair] = []
    for gap in map(Gap.near, matching.gaps(pool)):
        ours = [_our_keys(sides, o) for o in gap.ours]
        theirs = [_their_keys(sides, t) for t in gap.theirs]
        owners = _sole_owners(ours)
        weights: dict[Pair, float] = {}
        for key, j in _sole_owners(theirs).items():
            i = owners.get(key)
            if i is None or sides.another(gap.ours[i], gap.theirs[j]):
                continue
            if sides.our_kinds[gap.ours[i]] == sides.blocks[gap.theirs[j]].kind:
                weights[i, j] = weights.get((i, j), 0.0) + 1.0
        found.extend((gap.ours[i], gap.theirs[j]) for i, j in heaviest_rising(weights))
    matching.take(found, firm=True)


def _our_keys(sides: Sides, o: int) -> set[str]:
    entry = sides.ours[o]
    keys = {sides.our_loose[o], *(sides.key(k.content) for k in entry.known), *call_ids(entry.content)}
    return keys - {""}


def _their_keys(sides: Sides, t: int) -> set[str]:
    block = sides.blocks[t]
    swipes = (sides.key(content) for content in block.message.alternatives)
    return {block.loose, *swipes, *call_ids(block.message.content)} - {""}


def _sole_owners(keys: Sequence[set[str]]) -> dict[str, int]:
    often = Counter(key for some in keys for key in some)
    return {key: index for index, some in enumerate(keys) for key in some if often[key] == 1}


def by_time(sides: Sides, matching: Matching, pool: Callable[[int], bool]) -> None:
    """Match the same role at the same time: an edit keeps the time."""
    found: list[Pair] = []
    for gap in map(Gap.near, matching.gaps(pool)):
        ours = [{f"{sides.our_kinds[o]} {at}" for at in (sides.ours[o].at,) if at} for o in gap.ours]
        blocks = [sides.blocks[t] for t in gap.theirs]
        theirs = [{f"{b.kind} {at}" for at in (b.message.at,) if at} for b in blocks]
        owners = _sole_owners(ours)
        pairs = {(owners[k], j): 1.0 for k, j in _sole_owners(theirs).items() if k in owners}
        found.extend((gap.ours[i], gap.theirs[j]) for i, j in heaviest_rising(pairs))
    matching.take((pair for pair in found if not sides.another(*pair)), firm=True)


def by_likeness(sides: Sides, matching: Matching, pool: Callable[[int], bool]) -> None:
    """Match similar words between the same neighbours."""
    found: list[Pair] = []
    for gap in map(Gap.near, matching.gaps(pool)):
        pairs = pair_versions(
            [sides.our_loose[o] for o in gap.ours],
            [sides.blocks[t].loose for t in gap.theirs],
            [sides.our_kinds[o] for o in gap.ours],
            [sides.blocks[t].kind for t in gap.theirs],
        )
        found.extend((gap.ours[i], gap.theirs[j]) for i, j in pairs)
    matching.take(pair for pair in found if not sides.another(*pair))


def top_of(sides: Sides, matching: Matching) -> int:
    """Return the index before which unmatched entries were trimmed: a system message kept above it proves nothing."""
    leading = next((t for t, b in enumerate(sides.blocks) if b.message.role != "system"), len(sides.blocks))
    proofs = (o for o, t in matching.chain if sides.ours[o].role != "system" or t > leading)
    return next(proofs, len(sides.ours))
