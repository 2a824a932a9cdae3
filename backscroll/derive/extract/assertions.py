"""Assertions by rules, without a model: what a turn says about the world, in English, Chinese and coding sessions.

Local: reads one turn and nothing else. Owns the recipe's name and key, putting together what the readers find (`derive/extract/en`,
`derive/extract/zh`, `derive/extract/code`), the check that every quote is in its message, and the bound on their number. Which
words count is decided in `derive/extract/speech`: never injected memory, summaries, tool output or system reminders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from backscroll.derive.extract import personal
from backscroll.derive.extract.code import reader as extract_code
from backscroll.derive.extract.language import in_tongue
from backscroll.derive.extract.script_lines import lines_apart
from backscroll.derive.extract.speech import Echo, collect_speech, counts, fold_text
from backscroll.derive.extract.storage import from_body, to_body
from backscroll.derive.extract.tuning import LABELLED
from backscroll.derive.extract.utterance import Utterance
from backscroll.derive.flat import flat
from backscroll.derive.recipe import Recipe
from backscroll.record.content import encode_content
from backscroll.vocab.assertion import LEANS, PRONOUN, Assertion, Claim
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

__all__ = ["MOST", "RECIPE", "extract", "from_body", "rule_key", "to_body"]

#: Raise `version` whenever the same turn would give other assertions.
RECIPE = Recipe("assertions", 4)
#: Maximum number of assertions of one turn.
MOST = 60
_LONGEST = 400  # characters of a name, a value or a quote
_Name: TypeAlias = tuple[str, ...]
_CODED = re.compile(r"[a-z][A-Z]|\w_\w|[(){}<>=+/\\]|^[A-Z]{2,}$|\w\.\w")
_TICKED = re.compile(r"`[^`\n]{1,200}`")
_WEIGHT = {Claim.END: 1.3, Claim.ALIAS: 1.2, Claim.RELATION: 1.1, Claim.ATTRIBUTE: 1.0, Claim.NODE: 0.6}


def rule_key(messages: Sequence[Message]) -> bytes:
    """Return the key of what the rules find in these messages. Revision names are not in it: equal turns share the artefact."""
    return RECIPE.key(_input(m) for m in messages if m.role != "system")


def earlier_keys(messages: Sequence[Message]) -> tuple[bytes, ...]:
    """Return the keys by earlier versions of the rules, newest first."""
    inputs = [_input(m) for m in messages if m.role != "system"]
    return tuple(replace(RECIPE, version=v).key(inputs) for v in range(RECIPE.version - 1, 0, -1))


def _input(message: Message) -> str:
    digest = message.digest or encode_content(message.role, message.content)[1].hex()
    return f"{message.role} {message.author or ''} {digest} {int(counts(message))}"


def extract(messages: Sequence[Message]) -> tuple[Assertion, ...]:
    """Return what these messages (one turn, in order) say about the world, in the order in which it is said."""
    told, programs = collect_speech(messages)
    work = extract_code.at_work(messages)
    people = [one for one in told if one.role == "user"] if work else lines_apart(told)
    found: list[Assertion] = []
    if spoken := in_tongue(people, "en"):
        # start-up: a conversation in Chinese needs no English rules (35 ms)
        from backscroll.derive.extract.en import reader as extract_en

        found += extract_en.read(spoken)
    if spoken := in_tongue(people, "zh"):
        # start-up: a conversation in English needs no Chinese rules (90 ms)
        from backscroll.derive.extract.zh import reader as extract_zh

        found += extract_zh.read(spoken)
    own = personal.read(people)
    found = _without_echo([*personal.without_repeats(found, own), *own], told, programs)
    found = [*_claim_speakers(people, {one.speaker for one in told}), *found]
    code = extract_code.read(messages, told)
    if found and extract_code.about_code(messages, told):
        found = _without_code(found, code)
    return limit_claims(in_order(_standing([*found, *code], messages), messages))


def _claim_speakers(told: Sequence[Utterance], authors: set[str]) -> list[Assertion]:
    """Assert a person for every author and labelled speaker; forms of address are resolved by these."""
    return [
        Assertion(
            Claim.NODE,
            one.speaker,
            type="person",
            quote=one.text.strip().splitlines()[0][:60],
            source=one.source,
            speaker=one.speaker,
            sure=1.0 if one.speaker in authors else LABELLED,
        )
        for one in told
        if one.speaker and one.text.strip()
    ]


def _without_echo(found: Sequence[Assertion], told: Sequence[Utterance], programs: Echo) -> list[Assertion]:
    """Drop statements of a reply that only repeat tool output in other words."""
    if not programs:
        return list(found)
    replies = {one.source for one in told if one.role == "assistant"}
    asked = fold_text("\n".join(one.text for one in told if one.role == "user"))
    out: list[Assertion] = []
    for claim in found:
        what = claim.object or claim.value or (claim.subject if claim.kind is Claim.NODE else "")
        passed_on = (
            claim.source is not None
            and claim.source in replies
            and bool(what)
            and programs.is_injected(what, claim.source)
            and fold_text(what).strip() not in asked
        )
        if not passed_on:
            out.append(claim)
    return out


def _without_code(found: Sequence[Assertion], code: Sequence[Assertion]) -> list[Assertion]:
    """Return what the language readers found, without names that are code, which the code reader handles.

    In a coding turn a name of which nothing is said is most likely the name of a tool, a key or a heading.
    """
    typed = {claim.subject for claim in code} | {claim.object for claim in code if claim.object}
    told = {claim.subject for claim in found if claim.kind is not Claim.NODE}
    out: list[Assertion] = []
    for claim in found:
        names = [name for name in (claim.subject, claim.object) if name]
        if any(name in typed or _is_code(name, claim.quote) for name in names):
            continue
        if claim.kind is Claim.NODE and not claim.type and claim.subject not in told:
            continue
        out.append(claim)
    return out


def _is_code(name: str, quote: str) -> bool:
    """Return True for a name written as code: in backticks, in camel case, with underscores, in capitals."""
    if _CODED.search(name):
        return True
    return any(name in ticked for ticked in _TICKED.findall(quote)) and name not in _TICKED.sub("", quote)


def _standing(found: Iterable[Assertion], messages: Sequence[Message]) -> list[Assertion]:
    """Return the assertions whose quote is in the message they name, with names and values stripped of white space."""
    homes = {m.revision: m for m in messages}
    texts: dict[Ref, tuple[str, str]] = {}
    out: list[Assertion] = []
    for claim in found:
        home = homes.get(claim.source) if claim.source is not None else None
        if home is None or not claim.quote.strip() or not claim.subject.strip():
            continue
        words = texts.get(home.revision) or texts.setdefault(home.revision, _words(home))
        if claim.quote not in words[0] and fold_text(claim.quote).strip() not in words[1]:
            continue
        out.append(_trim_claim(claim))
    return out


def _words(message: Message) -> tuple[str, str]:
    text = flat(message)
    return text, fold_text(text)


def _trim_claim(claim: Assertion) -> Assertion:
    return replace(
        claim,
        subject=claim.subject.strip()[:_LONGEST],
        object=claim.object.strip()[:_LONGEST],
        value=claim.value.strip()[:_LONGEST],
        quote=claim.quote.strip()[:_LONGEST],
        sure=round(min(1.0, max(0.0, claim.sure)), 3),
    )


def in_order(found: Iterable[Assertion], messages: Sequence[Message]) -> list[Assertion]:
    """Order assertions by message: text later in the turn comes later, whichever reader found it."""
    claims = list(found)
    named = {claim.source for claim in claims}
    places = {m.revision: (n, flat(m)) for n, m in enumerate(messages) if m.revision in named}
    nowhere = (len(messages), "")

    def place(claim: Assertion) -> tuple[int, int]:
        number, text = nowhere if claim.source is None else places.get(claim.source, nowhere)
        at = text.find(claim.quote)
        return number, at if at >= 0 else len(text)

    return sorted(claims, key=place)  # stable: assertions of one sentence keep their reader's order


def limit_claims(found: Sequence[Assertion], most: int = MOST) -> tuple[Assertion, ...]:
    """Return each assertion once, at most the allowed number: the most important ones, in text order."""
    once = _once(found)
    if len(once) > most:
        named = {name for c in once if c.kind is not Claim.NODE for name in (c.subject, c.object) if name}
        ranked = sorted(range(len(once)), key=lambda n: (-_worth(once[n], named), n))
        once = [once[n] for n in sorted(ranked[:most])]
    return tuple(once)


def _once(found: Sequence[Assertion]) -> list[Assertion]:
    """Drop repetitions, unless something else was said about the same thing in between."""
    out: list[Assertion] = []
    latest: dict[_Name, int] = {}  # index of the last assertion with a subject, a predicate and an object
    said: dict[_Name, int] = {}
    for claim in found:
        same = (claim.kind.value, claim.subject, claim.predicate, claim.value, claim.object, _where(claim))
        about = (claim.subject, claim.predicate)
        before = said.get(same)
        again = before is not None and (claim.kind in (Claim.NODE, Claim.ALIAS) or latest[about] == before)
        if before is not None and again:
            kept = out[before]
            if kept.hint == LEANS and claim.type:
                kept = replace(kept, type=claim.type, hint=claim.hint)
            out[before] = replace(
                kept,
                type=kept.type or claim.type,
                hint=kept.hint if kept.type else claim.hint,
                object_type=kept.object_type or claim.object_type,
                sure=max(kept.sure, claim.sure),
            )
            continue
        said[same] = latest[about] = len(out)
        out.append(claim)
    return out


def _where(claim: Assertion) -> str:
    """Return the message if the speaker matters: for forms of address and for who uses a name."""
    signed = claim.speaker not in ("", "user", "assistant")
    call = claim.kind is Claim.ALIAS and claim.subject.startswith(PRONOUN)
    return str(claim.source) if call or (signed and claim.kind is Claim.NODE) else ""


def _worth(claim: Assertion, named: set[str]) -> float:
    worth = claim.sure * _WEIGHT[claim.kind]
    if claim.kind is Claim.NODE and claim.subject not in named:
        worth *= 0.5  # a mere mention
    return worth * (1.0 if claim.speaker != "assistant" else 0.9)
