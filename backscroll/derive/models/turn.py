"""Other readings of a turn by a model, in the same answer as its assertions: a gist, preferences, a new task, what the world implies.

Owns these nouns, their part of the schema, the checks (every preference quotes the user, everything implied quotes
the world description) and their stored form. Unsupported items are left out and counted: the assertions of
the same answer are good without it. Makes no calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import cast

from backscroll.vocab.part import Json

_TEXT = {"type": "string"}
_IMPLIED = ("subject", "predicate", "value", "because")
SIGNS = {"do": 1, "avoid": -1}
_LONG = 300  # characters of a field
_GIST = 1_200
_MANY = 8  # preferences, or implied attributes, of one turn


def _object(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


#: The fields of the answer beside `assertions`; strict services require every field to be named.
PROPERTIES: Mapping[str, Json] = {
    "gist": _TEXT,
    "preferences": {
        "type": "array",
        "items": _object(
            {"text": _TEXT, "sign": {"type": "string", "enum": list(SIGNS)}, "quote": _TEXT, "message": {"type": "integer"}}
        ),
    },
    "task": _object({"begins": {"type": "boolean"}, "title": _TEXT}),
    "implied": {"type": "array", "items": _object(dict.fromkeys(_IMPLIED, _TEXT))},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadPreference:
    """A lasting preference of the user."""

    text: str  # in a few words of the user's language
    sign: int  # 1: do; -1: do not
    quote: str
    place: int  # of the message in its turn, from 0


@dataclass(frozen=True, slots=True)
class ReadTask:
    """The effect of a turn on tasks."""

    begins: bool = False  # the user asks for something new
    title: str = ""


@dataclass(frozen=True, slots=True)
class ImpliedAttribute:
    """An attribute that the world description implies and the turn does not state."""

    subject: str
    predicate: str
    value: str
    because: str  # words of the world description


@dataclass(frozen=True, slots=True)
class TurnReading:
    """All other readings; empty if the model was not asked for them, or found nothing."""

    gist: str = ""
    preferences: tuple[ReadPreference, ...] = ()
    task: ReadTask | None = None  # None: not asked for
    implied: tuple[ImpliedAttribute, ...] = ()
    dropped: int = 0  # number of unusable items


#: The reading of a model that was not asked.
NOTHING = TurnReading()


@dataclass(frozen=True, slots=True)
class QuoteLookup:
    """Lookups for checking the quotes of a model."""

    user: Callable[
        [str, int], tuple[int, str] | None
    ]  # quote and number of a user's message: its place and the words there
    world: Callable[[str], str]  # the words as written in the world description; empty: not found
    known: Callable[[str], bool]  # whether a name is in the turn or the world
    predicate: Callable[[str], bool]  # whether it is one


def read_turn(answer: Mapping[str, Json], quotable: QuoteLookup) -> TurnReading:
    """Return the answer's other readings of the turn, as far as they are supported."""
    dropped = 0
    preferences: list[ReadPreference] = []
    for row in _rows(answer.get("preferences")):
        found = _preference(row, quotable)
        dropped += found is None
        preferences += [] if found is None else [found]
    implied: list[ImpliedAttribute] = []
    for row in _rows(answer.get("implied")):
        one = _parse_implied(row, quotable)
        dropped += one is None
        implied += [] if one is None else [one]
    gist = _text(answer.get("gist"))[:_GIST]
    return TurnReading(gist, tuple(preferences), _task(answer.get("task")), tuple(implied), dropped)


def _rows(value: Json) -> list[Mapping[str, Json]]:
    rows = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Json]", row) for row in rows[:_MANY] if isinstance(row, dict)]


def _text(value: Json) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())


def _short(row: Mapping[str, Json], name: str) -> str:
    return _text(row.get(name))[:_LONG]


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _preference(row: Mapping[str, Json], quotable: QuoteLookup) -> ReadPreference | None:
    """Return a preference stated in the user's own words; a mere conclusion of the model is dropped."""
    text, sign = _short(row, "text"), SIGNS.get(_text(row.get("sign")).lower() or "do")
    found = quotable.user(_text(row.get("quote")), _number(row.get("message")))
    if not text or sign is None or found is None:
        return None
    return ReadPreference(text, sign, found[1], found[0])


def _task(value: Json) -> ReadTask | None:
    """Return what the request means for tasks; it needs no quote, it is the request itself."""
    if not isinstance(value, dict):
        return None
    row = cast("Mapping[str, Json]", value)
    begins = row.get("begins") is True
    return ReadTask(begins, _short(row, "title") if begins else "")


def _parse_implied(row: Mapping[str, Json], quotable: QuoteLookup) -> ImpliedAttribute | None:
    subject, name, value = (_short(row, key) for key in ("subject", "predicate", "value"))
    name = "_".join(name.lower().replace("-", " ").split())
    because = quotable.world(_text(row.get("because")))
    if not (subject and value and because and quotable.predicate(name) and quotable.known(subject)):
        return None
    return ImpliedAttribute(subject, name, value, because)


# -- the stored shape --------------------------------------------------------------------------------------------


def to_json(reading: TurnReading) -> dict[str, Json]:
    """Return the stored form, without empty fields."""
    out: dict[str, Json] = {}
    if reading.gist:
        out["gist"] = reading.gist
    if reading.preferences:
        out["preferences"] = [asdict(p) for p in reading.preferences]
    if reading.task is not None:
        out["task"] = {
            f.name: v for f in fields(ReadTask) if (v := getattr(reading.task, f.name)) != f.default
        }
    if reading.implied:
        out["implied"] = [asdict(one) for one in reading.implied]
    return out


def from_json(data: Mapping[str, Json]) -> TurnReading:
    """Read a stored reading; those of the previous version lack the new fields."""
    task = cast("Mapping[str, Json] | None", data.get("task"))
    return TurnReading(
        str(data.get("gist", "")),
        tuple(ReadPreference(**row) for row in _as_rows(data.get("preferences"))),
        None if task is None else ReadTask(**cast("dict[str, Json]", task)),
        tuple(ImpliedAttribute(**row) for row in _as_rows(data.get("implied"))),
    )


def _as_rows(value: Json) -> Sequence[dict[str, Json]]:
    return cast("list[dict[str, Json]]", value or [])
