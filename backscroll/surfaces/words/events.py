"""Events of the log in a few words each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.conversation import excerpt, role_name
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.handle import Handle
from backscroll.vocab.ids import parse_ref
from backscroll.vocab.message import Content
from backscroll.vocab.part import part_from_json

_WIDE = 300


def kind_words(event: Event) -> str:
    """Return the name of an event's kind."""
    return t(f"events.{event.kind}")


def what_happened(event: Event) -> str:
    """Return the details of an event on one line."""
    if event.forgotten:
        return t("words.forgotten")
    if event.kind in SPEAKING:
        return _describe_message(event)
    teller = _TELLERS.get(event.kind)
    return teller(event) if teller else ""


def _body(event: Event) -> dict[str, Any]:
    data: Any = json.loads((event.body or b"{}").decode("utf-8", "surrogatepass"))
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _describe_message(event: Event) -> str:
    parts = tuple(part_from_json(part) for part in _body(event).get("parts", ()))
    text = excerpt(Content(parts), _WIDE)
    role = event.head.get("role")
    return t("words.says", role=role_name(role), text=text) if isinstance(role, str) else text


def _about(event: Event) -> str:
    about = _body(event).get("about", {})
    return "; ".join(f"{name}: {one_line(_format_value(value))}" for name, value in about.items() if value)


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _title(event: Event) -> str:
    return one_line(str(_body(event).get("about", {}).get("title", "")))


def _describe_fork(event: Event) -> str:
    return t("log.forked", parent=str(event.head.get("parent", ""))[:8], event=event.head.get("at", 0))


def _tag(event: Event) -> str:
    return f"#{one_line(str(_body(event).get('tag', '')))}"


def _describe_choice(event: Event) -> str:
    return t("log.chosen", number=int(event.head.get("alternative", 0)) + 1)


def _code(event: Event) -> str:
    body = _body(event)
    return " · ".join(one_line(str(body[key])) for key in ("file", "description") if body.get(key))


def _rewound(event: Event) -> str:
    key = "log.rewind_redone" if event.head.get("redo") else "log.rewound"
    gone = count("words.messages", int(event.head.get("count", 0)))
    return t(key, turn=event.head.get("turn", 0), messages=gone)


def _describe_undo(event: Event) -> str:
    return t("log.of_events", events=", ".join(f"{seq}" for seq in event.head.get("of", ())))


def _describe_crop(event: Event) -> str:
    runs = event.head.get("runs") or [[0, 0]]
    handle = str(Handle(int(runs[0][0]), int(runs[-1][1])))
    return f"{count('words.messages', int(event.head.get('count', 0)))}, {handle}"


def _describe_compaction(event: Event) -> str:
    head = event.head
    return t("log.compacted", before=f"{int(head.get('before', 0)):,}", after=f"{int(head.get('now', 0)):,}")


def _describe_placement(event: Event) -> str:
    behind = parse_ref(event.head["behind"]).seq
    texts = _body(event).get("texts", ())
    said = " ".join(str(text.get("text", "")) for text in texts)
    return one_line(f"{t('log.behind', message=Handle(behind, behind))} {said}"[:_WIDE])


def _describe_forget(event: Event) -> str:
    if event.head.get("thread"):
        return t("log.whole_thread")
    return count("words.messages", len(event.head.get("messages", ())))


def _remark(event: Event) -> str:
    body = _body(event)
    kind = event.head.get("kind") or body.get("kind")
    said = body.get("what") or body.get("note") or body.get("raw") or ""
    return one_line(" ".join(str(word) for word in (kind, said) if word)[:_WIDE])


def _overridden(event: Event) -> str:
    body = _body(event)
    words = (t(f"changes.{body.get('change', '')}"), body.get("node"), body.get("predicate"))
    rest = body.get("value") or body.get("object")
    return one_line(" ".join(str(w) for w in (*words, "=" if rest and words[2] else "", rest) if w))


def _world(event: Event) -> str:
    body = _body(event)
    return one_line(f"{body.get('name', '')} ({len(body.get('entries', ()))})")


def _describe_task(event: Event) -> str:
    body = _body(event)
    words = next((str(body[k]) for k in ("title", "result", "feedback", "reason") if body.get(k)), "")
    return one_line(
        f"{event.head.get('task', '')} {t('acts.' + str(event.head.get('act', '')))} {words}"[:_WIDE]
    )


def _describe_memory(event: Event) -> str:
    body = _body(event)
    return one_line(f"{event.head.get('act') or body.get('act', '')} {body.get('text', '')}"[:_WIDE])


_TELLERS: dict[Kind, Callable[[Event], str]] = {
    Kind.CREATED: _title,
    Kind.FORKED: _describe_fork,
    Kind.RENAMED: _title,
    Kind.TAGGED: _tag,
    Kind.UNTAGGED: _tag,
    Kind.DESCRIBED: _about,
    Kind.CHOSEN: _describe_choice,
    Kind.CODE_CHANGED: _code,
    Kind.REWOUND: _rewound,
    Kind.UNDONE: _describe_undo,
    Kind.REDONE: _describe_undo,
    Kind.CROPPED: _describe_crop,
    Kind.UNCROPPED: _describe_undo,
    Kind.COMPACTED: _describe_compaction,
    Kind.PLACED: _describe_placement,
    Kind.FORGOTTEN: _describe_forget,
    Kind.OVERRIDDEN: _overridden,
    Kind.LIFTED: _describe_undo,
    Kind.WORLD_TOLD: _world,
    Kind.TASKED: _describe_task,
    Kind.REMEMBERED: _describe_memory,
    Kind.ASIDE: _remark,
    Kind.NOTED: _remark,
}
