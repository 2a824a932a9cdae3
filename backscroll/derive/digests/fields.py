"""The salient fields of structured results: JSON, YAML-like records, tables.

Owns: gathering the values of equal names across a whole value, ranking them (errors, ids, states, names, amounts, dates
first), and writing as many as fit. Values that the call itself named are left out: they are in the prompt already. Refuses:
text without structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from backscroll.derive.digests.calls import plain_name, scalars
from backscroll.derive.digests.cues import table
from backscroll.derive.digests.output_text import cut, join_items, one_line, plain, width
from backscroll.vocab.part import Json
from backscroll.vocab.values.pattern import late

_MOST = 3_000  # leaves that are examined
_DEPTH = 14
_SHOWN = 24  # names whose values may be shown
_AGAIN = 0.8  # how much less the next name of the same sort counts
_PAIR = late(
    r"^(?P<indent>\s*)(?P<item>-\s+)?(?P<key>[\w一-鿿][\w一-鿿 ./-]{0,40}?)\s*[:：]\s+(?P<value>\S.*)$|^(?P<indent2>\s*)(?P<item2>-\s+)?(?P<key2>[\w一-鿿][\w一-鿿 ./-]{0,40}?)\s*[:：]\s*$"
)
_ITEM = late(r"^\s*-\s+(?P<value>\S.*)$")
_IDLIKE = late(r"(?=.{0,64}\d)[A-Za-z0-9][\w.:#/-]{3,63}")
_CODE = late(
    r"#?(?:(?=\S{0,42}\d)(?=\S{0,42}[A-Za-z])[A-Za-z0-9][\w#-]{3,40}|[A-Z][A-Z0-9]{4,11}|\d{7,20}|#\w{3,20})"
)
_MEASURE = late(r"\d+(?:\.\d+)?[-\s]?[a-z%°]+", re.IGNORECASE)
_MOMENT = late(r"\d{4}-\d{2}-\d{2}.*|\d{1,2}:\d{2}.*")
_ROWS = late(r"^\s*\|?(?:\s*:?-{2,}:?\s*[|+])+\s*(?::?-{2,}:?)?\s*\|?\s*$")
_COUNT = late(r"(?i)^\(?(\d+) rows?(?: in set| affected)?\b|^(?:共|返回)\s*(\d+)\s*行")
_EMPTY = frozenset({"null", "none", "[]", "{}", "''", '""', "false", "n/a", "~", ""})


@dataclass(slots=True)
class _FieldValues:
    """The values of one name."""

    name: str
    first: int
    weight: float
    values: dict[str, None] = field(default_factory=dict[str, None])


def fields_outcome(value: Json, limit: int, known: str) -> str:
    """Return a JSON value on one line."""
    if value in ({}, []):
        return "empty result" if isinstance(value, dict) else "0 items"
    return _render_groups(_head(value), _group_values(_leaves(value), known), limit)


def record_outcome(text: str, limit: int, known: str) -> str | None:
    """Return lines of `name: value` on one line; None if the text is not such a record."""
    pairs = _pairs(text)
    if pairs is None:
        return None
    items = len(re.findall(r"^- ", text, re.MULTILINE))
    head = f"{items} items" if items > 1 and text.lstrip().startswith("- ") else ""
    return _render_groups(head, _group_values(iter(pairs), known), limit)


def rows_outcome(value: Json, text: str, limit: int) -> str | None:
    """Return database rows on one line: how many, which columns, and the first values."""
    if isinstance(value, dict):
        inner: list[Json] = [v for v in cast("dict[str, Json]", value).values() if v and isinstance(v, list)]
        value = inner[0] if len(inner) == 1 else cast("Json", value)
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in cast("list[Json]", value)):
        rows = cast("list[dict[str, Json]]", value)
        columns = list(dict.fromkeys(str(key) for row in rows[:50] for key in row))
        head = f"{len(rows)} rows ({cut(', '.join(columns), limit * 2 // 5)})"
        shown = [" ".join(one_line(plain(v)) for v in scalars(row)) for row in rows[:50]]
        kept = [cut(row, max(40, limit // 2)) for row in shown if row]
        return (
            f"{head}: {join_items(kept, limit - width(head) - 2, ' | ', total=len(rows))}" if kept else head
        )
    return _table(text, limit)


def _table(text: str, limit: int) -> str | None:
    """Parse a table drawn with bars and dashes."""
    lines = [line for line in text.split("\n") if line.strip()]
    ruled = next((i for i, line in enumerate(lines) if _ROWS.match(line)), 0)
    if not ruled:
        return None
    drawn = [line for line in lines if not _ROWS.match(line) and ("|" in line)]
    if not drawn:
        return None
    columns = [cell.strip() for cell in drawn[0].strip().strip("|").split("|")]
    stated = next(
        (found[1] or found[2] for line in lines[-3:] if (found := _COUNT.match(line.strip()))), None
    )
    count = int(stated) if stated else len(drawn) - 1
    head = f"{count} rows ({cut(', '.join(columns), limit * 2 // 5)})"
    rows = [" ".join(one_line(cell) for cell in line.strip().strip("|").split("|")) for line in drawn[1:]]
    return f"{head}: {join_items(rows, limit - width(head) - 2, ' | ', total=count)}" if rows else head


def _head(value: Json) -> str:
    if isinstance(value, list):
        count = len(cast("list[Json]", value))
        return f"{count} items" if count > 1 else ""
    return ""


def _leaves(value: Json) -> Iterator[tuple[str, str]]:
    """Yield every scalar with the name of its field; of mappings keyed by ids, the keys are yielded as values."""
    stack: list[tuple[str, Json, int]] = [("", value, 0)]
    left = _MOST
    while stack and left:
        name, item, depth = stack.pop()
        if isinstance(item, dict) and depth < _DEPTH:
            given = cast("dict[object, Json]", item)
            keyed = _has_id_keys(given)
            inner = [((name if keyed else str(key)), v, depth + 1) for key, v in given.items()]
            stack += reversed(inner)
            if keyed:
                for key in given:
                    left -= 1
                    yield name, str(key)
        elif isinstance(item, list | tuple) and depth < _DEPTH:
            stack += reversed([(name, v, depth + 1) for v in cast("list[Json]", item)[:_MOST]])
        elif item is not None and item != "" and not isinstance(item, dict | list | tuple):
            left -= 1
            yield name, str(item).lower() if isinstance(item, bool) else str(item)


def _has_id_keys(given: Mapping[object, Json]) -> bool:
    """Return True for a mapping from ids to records."""
    keys = [str(key) for key in given]
    return bool(keys) and all(_IDLIKE.fullmatch(key) for key in keys)


def _pairs(text: str) -> list[tuple[str, str]] | None:
    lines = [line for line in text.split("\n")[:1500] if line.strip()]
    if len(lines) < 2:
        return None
    out: list[tuple[str, str]] = []
    name, fits = "", 0
    for line in lines:
        if found := _PAIR.match(line):
            fits += 1
            name = found["key"] or found["key2"]
            if found["value"]:
                out.append((name, found["value"].strip().strip("'\"")))
        elif item := _ITEM.match(line):
            fits += 1
            out.append((name, item["value"].strip().strip("'\"")))
        elif out and line.startswith(" "):
            fits += 1
            out[-1] = (out[-1][0], f"{out[-1][1]} {line.strip()}")  # a long value continues on the next line
    keys = len({key for key, _ in out})
    return out if fits * 10 >= len(lines) * 8 and keys > 1 else None


def _group_values(leaves: Iterator[tuple[str, str]], known: str) -> list[_FieldValues]:
    """Return the values by name, the most informative names first."""
    groups: dict[str, _FieldValues] = {}
    for place, (name, raw) in enumerate(leaves):
        value = one_line(plain(raw))
        if value.lower() in _EMPTY:
            continue
        if len(value) > 3 and value in known:
            continue
        key = plain_name(name) if name else ""
        group = groups.setdefault(key, _FieldValues(name.strip(), place, _weight(key)))
        if len(group.values) < 60:
            group.values[value] = None
    return _rank_groups(list(groups.values()))


def _rank_groups(groups: Sequence[_FieldValues]) -> list[_FieldValues]:
    """Order values, most informative first; a second name of the same sort (another id, another amount) counts less."""
    worth = {id(group): _worth(group) for group in groups}
    sorts = {id(group): _sort(group) for group in groups}
    left = sorted(groups, key=lambda group: (-worth[id(group)], group.first))
    out: list[_FieldValues] = []
    taken: dict[str, int] = {}
    while left and len(out) < _SHOWN:
        best = max(left, key=lambda g: (worth[id(g)] - _AGAIN * taken.get(sorts[id(g)], 0), -g.first))
        left.remove(best)
        taken[sorts[id(best)]] = taken.get(sorts[id(best)], 0) + 1
        out.append(best)
    return out


def _sort(group: _FieldValues) -> str:
    sample = next(iter(group.values), "")
    if _MOMENT.fullmatch(sample):
        return "moment"
    if sample.replace(".", "").lstrip("-").isdigit() and len(sample) < 8:
        return "number"
    return "code" if _is_code(sample) else "word"


def _is_code(value: str) -> bool:
    """Return True if a value looks like an identifier: an id, a reference, a code."""
    return bool(_CODE.fullmatch(value)) and not _MOMENT.fullmatch(value) and not _MEASURE.fullmatch(value)


@lru_cache(maxsize=4096)
def _weight(key: str) -> float:
    weights = cast("dict[str, int]", table("fields")["weights"])
    if key in weights:
        return weights[key]
    last = key.rsplit("_", 1)[-1]
    if last in weights:
        return weights[last] - 0.5
    ends = [weight for name, weight in weights.items() if not name.isascii() and key.endswith(name)]
    return float(max(ends, default=3))


def _worth(group: _FieldValues) -> float:
    """Return the weight of a name, adjusted by what its values look like."""
    sample = list(group.values)[:8]
    if not sample:
        return -100
    coded = sum(map(_is_code, sample)) / len(sample)
    prose = sum(len(v) > 60 for v in sample) / len(sample)
    plain_flag = all(v in ("true", "false") for v in sample)
    # Whatever the field is called, values that look like codes are identifiers.
    weight = max(group.weight, 8.6) if coded > 0.6 else group.weight
    if all(v.isdigit() and len(v) > 3 for v in sample):
        weight = max(weight, 6)
    tiny = all(len(v) < 3 for v in sample)
    return weight + 1.5 * coded - 2 * prose - 3 * plain_flag - 2 * tiny


def _render_groups(head: str, groups: Sequence[_FieldValues], limit: int) -> str:
    out: list[str] = [head] if head else []
    used = width(head)
    seen: set[str] = set()
    for group in groups:
        values = [cut(v, 60) for v in group.values if v not in seen]
        if not values:
            continue
        label = f"{group.name} " if group.name else ""
        room = limit - used - width(label) - 2
        if room < 6:
            break
        share = room if len(groups) == 1 else min(room, max(24, limit * 2 // 5))
        text = join_items(values, share)
        if not text or (width(values[0]) > share and out):
            continue
        seen.update(group.values)
        out.append(label + text)
        used += width(out[-1]) + 2
    return "; ".join(out)
