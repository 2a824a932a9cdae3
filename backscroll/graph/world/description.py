"""The world description: entries of a lorebook or project description, with their statements read by rules.

Owns the names under which an entry is found, the type of its subject, and its statements about itself and in passing about others
("All elves are …"). Not here: completing nodes (`graph/world/completion`) and inventing anything: an entry that the rules do not
understand still has its text, for a model's prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from backscroll.derive.extract.ontology import types
from backscroll.errors import InvalidInput
from backscroll.formats.lorebooks.json_books import TOLD
from backscroll.formats.lorebooks.rule import LoreEntry, rule_from_json
from backscroll.graph.view import WorldEntry
from backscroll.graph.world.dialogue import read_dialogue, unseen_before
from backscroll.graph.world.en import read_english
from backscroll.graph.world.fields import read_fields
from backscroll.graph.world.traits import traits
from backscroll.graph.world.words import (
    WorldStatement,
    covers,
    is_han,
    kind_words,
    noun_of,
    plain,
    telling_fields,
    tidy,
    type_of_category,
)
from backscroll.graph.world.zh import read_chinese
from backscroll.vocab.part import Json

_READ = 20_000  # characters of one entry that are read for facts; the text is kept whole
_REGEX_KEY = re.compile(r"^/(.*)/[a-z]*$", re.DOTALL)
_PLAIN_KEY = re.compile(r"^[\w\s'’.-]+$")
_DECORATOR = re.compile(r"^@@@?[^\n]*\n?", re.MULTILINE)
_SENTENCE_MARK = re.compile(r"[。！？，；…]|[.!?,;:]\s")
_MINDLESS = frozenset(
    {"place", "thing", "work", "event", "concept", "project", "file", "function", "package"}
)
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SHE = re.compile(r"(?:^|[.!?]\s+)(?:She|He)\b|(?:^|[。！？，；\n])[她他](?![们的])")
_OF_STORY = frozenset(
    {"genre", "genres", "tag", "tags", "scenario", "setting", "tone", "类型", "标签", "场景"}
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def world_entries(entries: Sequence[LoreEntry], char: str = "") -> list[WorldEntry]:
    """Return the entries of a world description; nothing is left out, disabled entries included.

    `char`: the referent of `{{char}}` in entries written as a dialogue; by default the character of the card among them.
    """
    char = char or next(
        (entry.name for entry in entries if entry.in_card and entry.category == "character"), ""
    )
    return [_entry(entry, char) for entry in entries]


def _entry(entry: LoreEntry, char: str = "") -> WorldEntry:
    if entry.category == TOLD:
        text = _SURROGATE.sub("\ufffd", entry.text)
        return WorldEntry(entry.name, (), text, source=entry.source, enabled=entry.enabled, rule=entry.rule)
    text = _DECORATOR.sub("", entry.text) if entry.text.startswith("@@") else entry.text
    text = _SURROGATE.sub("\ufffd", text)
    own = entry.name if entry.category == "character" else char
    spoken = read_dialogue(_FENCED.sub("", text[:_READ]), own)
    fields = read_fields(spoken.rest)
    name = tidy(_SURROGATE.sub("\ufffd", entry.name)) or next(iter(fields.names), "")
    keys = _keys([*([name] if _is_name(name) else ()), *entry.keys, *fields.names])
    names = _names(name, keys, fields.names, text)
    known = frozenset(plain(each) for each in names)
    said = [*fields.said, *read_english(fields.rest, known), *read_chinese(fields.rest, known)]
    if entry.category == "character":  # in a card this also contains the subject of the story
        said = [s for s in said if s.predicate not in _OF_STORY]
    own_words = [s._replace(subject="") if plain(s.subject) in known else s for s in spoken.said]
    said += unseen_before(said, own_words)
    aliases = [s.value for s in said if not s.subject and s.predicate == "alias" and len(s.value) <= 40]
    keys, names = _keys([*keys, *aliases]), _keys([*names, *aliases])
    kind = _type(entry, fields.type, name, said)
    own = [
        (_fitting(s.predicate, kind), s.value)
        for s in said
        if not s.subject and s.predicate not in {"alias", "type"}
    ]
    stated = {predicate for predicate, _ in own}
    if kind not in _MINDLESS:  # a forest has no temper
        own += [(t.predicate, t.value) for t in traits(fields.rest) if t.predicate not in stated]
    also = [
        (s.subject, _fitting(s.predicate, noun.type if (noun := noun_of(s.subject)) else ""), s.value)
        for s in said
        if s.subject and s.predicate != "type"
    ]
    return WorldEntry(
        name,
        keys,
        text,
        kind,
        tuple(dict.fromkeys(own)),
        entry.source,
        entry.constant,
        entry.enabled,
        tuple(dict.fromkeys(also)),
        names,
        entry.rule,
    )


def _is_name(text: str) -> bool:
    """Return False for the beginning of a text used as a name."""
    return 0 < len(text) <= 40 and len(text.split()) <= 6 and not _SENTENCE_MARK.search(text)


def _names(name: str, keys: tuple[str, ...], stated: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the keys that name the entry's subject. A key may be any word that activates the entry: the family that runs the market is
    not the market. So a key counts if it is another form of the name, or if the name is only a note of the author.
    """
    own = [*([name] if _is_name(name) else ()), *stated]
    written = plain(text)
    if not any(plain(each) in written for each in own) and keys:
        own += [key for key in keys if plain(key) in written][:1] or keys[:2]
    few = len(keys) <= 4
    akin = [key for key in keys if any(_akin(key, each, few=few) for each in own)]
    return _keys([*own, *akin])


def _akin(key: str, name: str, *, few: bool) -> bool:
    """Return True for another form of a name: a part of it, the plural, the other script (in a short list: else it is just a word)."""
    if is_han(key) != is_han(name):
        return few
    if is_han(key):
        return plain(key) in plain(name) or plain(name) in plain(key)
    one, other = kind_words(key)[1], kind_words(name)[1]
    return bool(one and other) and (one <= other or other <= one)


def _fitting(predicate: str, kind: str) -> str:
    """Turn character traits of something without a mind (a forest has no temper) into its description."""
    return "description" if predicate == "disposition" and kind in _MINDLESS else predicate


def _keys(raw: Iterable[str]) -> tuple[str, ...]:
    """Return the names under which an entry is found: cleaned, once each; a pattern gives the plain words in it."""
    out: dict[str, str] = {}
    for key in raw:
        for word in _words_of(key):
            cleaned = tidy(_SURROGATE.sub("\ufffd", word))
            if cleaned and plain(cleaned):
                out.setdefault(plain(cleaned), cleaned)
    return tuple(out.values())


def _words_of(key: str) -> list[str]:
    found = _REGEX_KEY.match(key.strip())
    if not found:
        return [key]
    body = re.sub(r"\\b|\(\?[:=!<]*|[()^$]", "", found[1])
    return [
        piece for piece in body.split("|") if _PLAIN_KEY.match(piece) or (is_han(piece) and piece.isalnum())
    ]


def _type(entry: LoreEntry, header: str, name: str, said: Sequence[WorldStatement]) -> str:
    own = [s for s in said if not s.subject]
    stated = next(
        (type_of_category(s.value) or _check_type(s.value) for s in own if s.predicate == "type"), ""
    )
    noun = noun_of(name) if _is_name(name) else None
    by_name = ("group" if noun.predicate == "race" else noun.type) if noun is not None else ""
    if stated and len(plain(name).split()) == 1 and not is_han(name):
        by_name = ""  # one word may be a person's title or a mere name; the text decides
    somebody = "person" if any(s.predicate in telling_fields() for s in own) else ""
    if not somebody and noun is None and own and _SHE.search(entry.text):
        somebody = "person"
    return header or by_name or stated or somebody or type_of_category(entry.category)


def _check_type(value: str) -> str:
    return value if value in types() else ""


def world_text(entries: Sequence[WorldEntry], names: Sequence[str], limit_chars: int) -> str:
    """Return the entries relevant to some names, for a model's prompt: those about them, then those about their kinds,
    then those about everything; whole entries while they fit, the last one cut at a line or sentence.
    """
    live = [entry for entry in entries if entry.enabled and entry.text.strip()]
    wanted = frozenset(plain(name) for name in names if plain(name))
    direct = [e for e in live if not wanted.isdisjoint(map(plain, e.keys))]
    values = {value for entry in direct for _, value in entry.attributes}
    near = [e for e in live if e not in direct and any(_matters(e, v) for v in values)]
    passing = [e for e in live if any(plain(who) in wanted for who, _, _ in e.also)]
    general = [e for e in live if e.constant]
    pieces: list[str] = []
    left = limit_chars
    for entry in dict.fromkeys([*direct, *near, *passing, *general]):
        piece = f"{entry.name}: {entry.text.strip()}" if entry.name else entry.text.strip()
        if len(piece) > left:
            piece = _cut(piece, left)
        if piece:
            pieces.append(piece)
            left -= len(piece) + 2
        if left < 40:
            break
    return "\n\n".join(pieces)


def _matters(entry: WorldEntry, value: str) -> bool:
    return any(plain(key) == plain(value) or covers(key, value) for key in entry.keys)


def _cut(text: str, limit: int) -> str:
    """Return the beginning of a text, up to the end of a sentence or line; empty if that would be too short."""
    if limit < 40:
        return ""
    head = text[: limit - 1]
    end = max(head.rfind(mark) for mark in (". ", "。", "\n", "！", "；"))
    return (head[: end + 1] if end >= limit // 3 else head).rstrip() + "…"


def to_json(entries: Sequence[WorldEntry]) -> list[dict[str, Json]]:
    """Encode an entry for the body of an event; empty fields are left out."""
    out: list[dict[str, Json]] = []
    for entry in entries:
        row: dict[str, Json] = {"name": entry.name, "text": entry.text}
        for field, items in (("keys", entry.keys), ("names", entry.names)):
            if items:
                row[field] = list(items)
        for field in ("type", "source"):
            if words := getattr(entry, field):
                row[field] = words
        if entry.attributes:
            row["attributes"] = [list(pair) for pair in entry.attributes]
        if entry.also:
            row["also"] = [list(triple) for triple in entry.also]
        if entry.constant:
            row["constant"] = True
        if not entry.enabled:
            row["enabled"] = False
        if entry.rule is not None:
            row["wakes"] = entry.rule.to_json()
        out.append(row)
    return out


def from_json(rows: Iterable[Mapping[str, Json]]) -> list[WorldEntry]:
    """Decode an entry from the body of an event, or from the user's own list of entries."""
    return [_from_row(number, row) for number, row in enumerate(rows, 1)]


def _from_row(number: int, row: Mapping[str, Json]) -> WorldEntry:
    def strings(field: str, size: int) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(str(item) for item in items) for items in row.get(field, ()) if len(items) == size)

    take: Callable[[str], str] = lambda field: str(row.get(field, "") or "")  # noqa: E731
    try:
        pairs = tuple((p, v) for p, v in strings("attributes", 2))
        triples = tuple((s, p, v) for s, p, v in strings("also", 3))
        keys, names = (tuple(str(key) for key in row.get(field, ())) for field in ("keys", "names"))
        constant, enabled = bool(row.get("constant", False)), bool(row.get("enabled", True))
        rule = None if row.get("wakes") is None else rule_from_json(row["wakes"])
    except (TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(
            f"entry {number} of the world description is not in the shape of one",
            hint="an entry has a name, keys and text; attributes are pairs",
        ) from error
    return WorldEntry(
        take("name"),
        keys,
        take("text"),
        take("type"),
        pairs,
        take("source"),
        constant,
        enabled,
        triples,
        names,
        rule,
    )
