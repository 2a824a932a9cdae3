"""Assertions from a model's answer: the second of two pure halves.

Owns the checks: the answer is JSON of the required schema; every quote is in the message that it names, in words that
people really said; every name is in the turn or in the world description. Problems are described so that a model
understands them (`FormatError`). On the last try valid items are kept and the others counted.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import cast

from backscroll.derive.extract.assertions import MOST, in_order, limit_claims
from backscroll.derive.extract.storage import from_rows, rows_of
from backscroll.derive.extract.tuning import MODEL_SURE
from backscroll.derive.models.assertions import AssertionPlan, AssertionResult, rests_on_tools
from backscroll.derive.models.request import RecipeRequest, again
from backscroll.derive.models.turn import NOTHING, QuoteLookup, TurnReading, from_json, read_turn, to_json
from backscroll.errors import FormatError
from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import DAMAGE, make_corrupt_error
from backscroll.vocab.assertion import PRONOUN, Assertion, Claim
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json
from backscroll.vocab.values.unicode import valid_json

_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)\n?```", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL)
_PREDICATE = re.compile(r"[a-z][a-z0-9_]{0,47}")
_PRONOUNS = frozenset(
    PRONOUN + word for word in ("she", "he", "they", "it", "you", "we", "here", "there", "this", "that")
)
_ROLES = frozenset({"user", "assistant"})
_POSSESSIVE = re.compile(r"['’]s\s+|的")
_LONGEST = 400  # characters of a name or a value
_TOLD = 6  # reasons that are shown
_FIELDS = ("subject", "type", "predicate", "value", "object", "object_type", "quote")
_TYPOGRAPHY = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "—": "-", "–": "-", "‑": "-"})


class _UnusableItem(Exception):
    """Why one item cannot be used."""


def fold(plan: AssertionPlan, answer: str, *, whole: bool = True, last: bool = False) -> AssertionResult:
    """Return the assertions in an answer, together with what the rules know from tools.

    `whole` is False if the answer was cut at its token limit. An answer with unusable items is rejected
    with the reasons, so that the request can be repeated; on the `last` try the other items are kept.
    """
    if not whole:
        raise FormatError("the answer was cut off: give fewer and shorter statements")
    told = _parse_answer(answer)
    items = _items(told)
    made: list[Assertion] = []
    wrong: list[str] = []
    names = _names(plan)
    for number, item in enumerate(items, 1):
        try:
            made.append(_read(plan, item, names))
        except _UnusableItem as error:
            wrong.append(f"statement {number}: {error}")
    if len(items) > MOST:
        wrong.append(f"there are {len(items)} statements; give the most important {MOST}")
    if wrong and not (last and made):
        more = f"; and {len(wrong) - _TOLD} more like these" if len(wrong) > _TOLD else ""
        raise FormatError("; ".join(wrong[:_TOLD]) + more)
    tools = [claim for claim in plan.stand_in.assertions if rests_on_tools(claim, plan)]
    kept = limit_claims(in_order([*made[:MOST], *tools], plan.messages))
    return AssertionResult(kept, len(items) - len(made[:MOST]), _beside(plan, told, names))


def _beside(plan: AssertionPlan, told: Json, names: str) -> TurnReading:
    """Return the answer's other readings of the turn."""
    if not isinstance(told, dict):
        return NOTHING

    def user(quote: str, number: int) -> tuple[int, str] | None:
        place = number - 1
        heard = plan.heard[place] if 0 <= place < len(plan.heard) else None
        if not quote or heard is None or heard.role != "user":
            return None
        found = _standing(quote, heard.text)
        return (place, found) if found else None

    quotable = QuoteLookup(
        user,
        lambda words: _standing(words, plan.world) if words and plan.world else "",
        lambda name: _is_known_name(name, names),
        lambda name: _PREDICATE.fullmatch(name) is not None,
    )
    return read_turn(cast("dict[str, Json]", told), quotable)


def asked_again(plan: AssertionPlan, answer: str, why: str) -> RecipeRequest:
    """Return the second request, with the problems of the first answer."""
    return again(plan, answer, why, "assertions")


# -- the stored shape --------------------------------------------------------------------------------------------


def to_text(claimed: AssertionResult, messages: Sequence[Message]) -> str:
    """Return the stored form of a reading of these messages."""
    rows = rows_of(claimed.assertions, messages)
    return dumps({"claims": rows, "dropped": claimed.dropped, **to_json(claimed.reading)})


def from_text(text: str, revisions: Sequence[Ref]) -> AssertionResult:
    """Return a stored reading, for a turn whose messages are in these revisions."""
    try:
        told = _load_object(text)
        return AssertionResult(from_rows(told["claims"], revisions), int(told["dropped"]), from_json(told))
    except DAMAGE as error:
        raise make_corrupt_error("what a model read in a turn", error) from error


def reading_from_text(text: str) -> TurnReading:
    """Return a stored reading without its assertions."""
    try:
        return from_json(_load_object(text))
    except DAMAGE as error:
        raise make_corrupt_error("what a model read in a turn", error) from error


def _load_object(text: str) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", valid_json(json.loads(text)))


# -- the answer --------------------------------------------------------------------------------------------------


def _parse_answer(answer: str) -> Json:
    """Parse an answer: JSON as requested, fenced, surrounded by thoughts or a remark; or the bare list."""
    bare = _THOUGHT.sub("", answer).strip()
    fenced = _FENCE.search(bare)
    bare = fenced[1].strip() if fenced else bare
    if not bare:
        raise FormatError("the answer is empty")
    try:
        return valid_json(json.loads(_strip_remarks(bare), strict=False))
    except (ValueError, RecursionError) as error:
        raise FormatError("the answer is no valid JSON") from error


def _items(told: Json) -> list[Json]:
    items: Json = cast("dict[str, Json]", told).get("assertions") if isinstance(told, dict) else told
    if not isinstance(items, list):
        raise FormatError("the answer has no field assertions that is a list")
    return cast("list[Json]", items)


def _strip_remarks(text: str) -> str:
    """Return the text from the first bracket to the last: some models add remarks."""
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    end = max(text.rfind("}"), text.rfind("]"))
    return text[min(starts) : end + 1] if starts and end > min(starts) else text


def _read(plan: AssertionPlan, item: Json, names: str) -> Assertion:
    fields = _fields(item)
    try:
        kind = Claim(fields["kind"])
    except ValueError:
        known = ", ".join(k.value for k in Claim)
        raise _UnusableItem(f"kind is {_short(fields['kind'])}; it must be one of {known}") from None
    _complete(kind, fields)
    place, quote = _locate_quote(plan, fields)
    heard = plan.heard[place]
    for key in ("subject", "object"):
        if fields[key] and not _is_known_name(fields[key], names):
            raise _UnusableItem(
                f"the name {_short(fields[key])} stands neither in the turn nor in the world description"
            )
    predicate = "" if kind in (Claim.NODE, Claim.ALIAS) else fields["predicate"]
    return Assertion(
        kind,
        fields["subject"],
        predicate,
        fields["value"] if kind in (Claim.ALIAS, Claim.ATTRIBUTE, Claim.END) else "",
        fields["object"] if kind in (Claim.RELATION, Claim.END) else "",
        fields["type"],
        fields["object_type"] if fields["object"] else "",
        quote,
        plan.messages[place].revision,
        heard.speaker or heard.role,
        MODEL_SURE,
    )


def _fields(item: Json) -> dict[str, str]:
    """Return the fields of an item as texts; missing ones are empty."""
    if not isinstance(item, dict):
        raise _UnusableItem("it is no object")
    given = cast("dict[str, Json]", item)
    out = {"kind": str(given.get("kind", "")).strip().lower()}
    for name in _FIELDS:
        value = given.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
            raise _UnusableItem(f"{name} is no text")
        out[name] = "" if value is None else str(value).strip()
        if name != "quote" and len(out[name]) > _LONGEST:
            raise _UnusableItem(f"{name} is longer than {_LONGEST} characters")
    for name in ("type", "object_type", "predicate"):
        out[name] = re.sub(r"[\s-]+", "_", out[name].lower())
    number = given.get("message")
    out["message"] = str(number) if isinstance(number, int) and not isinstance(number, bool) else ""
    return out


def _complete(kind: Claim, fields: Mapping[str, str]) -> None:
    """Check that an item has the fields that its kind requires."""
    needed = {
        Claim.NODE: ("subject", "type"),
        Claim.ALIAS: ("subject", "value"),
        Claim.ATTRIBUTE: ("subject", "predicate", "value"),
        Claim.RELATION: ("subject", "predicate", "object"),
        Claim.END: ("subject", "predicate"),
    }[kind]
    for name in (*needed, "quote"):
        if not fields[name]:
            raise _UnusableItem(f"{name} is empty, which {kind.value} needs")
    for name in ("predicate", "type", "object_type"):
        if fields[name] and not _PREDICATE.fullmatch(fields[name]):
            raise _UnusableItem(f"{name} is {_short(fields[name])}; it must be in lower_case letters")


# -- quotes and names --------------------------------------------------------------------------------------------


def _locate_quote(plan: AssertionPlan, fields: Mapping[str, str]) -> tuple[int, str]:
    """Return the place of the quoted message, and the quote as it is there."""
    number, quote = fields["message"], fields["quote"]
    place = int(number) - 1 if number else -1
    if not 0 <= place < len(plan.heard) or not plan.heard[place].text:
        raise _UnusableItem(f"message is {number or 'no number'}; there is no such message")
    found = _standing(quote, plan.heard[place].text)
    if found:
        return place, found
    if _standing(quote, plan.heard[place].whole):
        raise _UnusableItem(f"the quote {_short(quote)} stands in text that nobody said")
    other = next((n for n, h in enumerate(plan.heard, 1) if h.text and _standing(quote, h.text)), None)
    if other is not None:
        raise _UnusableItem(f"the quote {_short(quote)} stands in message {other}, not in {number}")
    raise _UnusableItem(f"the quote {_short(quote)} does not stand in message {number}")


def _standing(quote: str, text: str) -> str:
    """Return the quote as it is in a text, ignoring white space, letter width and quotation marks; empty: not found."""
    if quote in text:
        return quote
    whole, _ = _narrow(quote)
    hay, places = _narrow(text)
    for needle in (whole, whole.strip("\"' .…")):
        at = hay.find(needle) if needle else -1
        if at >= 0:
            return text[places[at] : places[at + len(needle) - 1] + 1]
    return ""


def _narrow(text: str) -> tuple[str, list[int]]:
    """Return a text without insignificant differences of spelling, and the offset of each of its letters."""
    letters: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text.translate(_TYPOGRAPHY)):
        if char.isspace():
            continue
        for narrow in unicodedata.normalize("NFKC", char).casefold():
            if not narrow.isspace():
                letters.append(narrow)
                places.append(at)
    return "".join(letters), places


def _names(plan: AssertionPlan) -> str:
    """Return all text in which a name may occur, normalized for comparison."""
    said = [h.text for h in plan.heard]
    signed = [h.speaker for h in plan.heard if h.text]
    rules = [
        name for claim in plan.stand_in.assertions for name in (claim.subject, claim.object, claim.value)
    ]
    return _narrow("\n".join([*said, *signed, plan.world, *rules]))[0]


def _is_known_name(name: str, names: str) -> bool:
    """Return True for a known name, for roles and pronouns, and for what belongs to one of these ("Ann's brother")."""
    low = name.lower()
    if low in _ROLES or low in _PRONOUNS:
        return True
    if _narrow(name)[0] in names:
        return True
    owner, *rest = _POSSESSIVE.split(name)
    return (
        bool(rest)
        and bool(owner)
        and all(rest)
        and all(_is_known_name(part, names) for part in (owner, *rest))
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else text[:57] + "…")
