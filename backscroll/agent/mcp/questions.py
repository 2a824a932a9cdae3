"""Questions an MCP server asks the user during a call.

Owns the questions, reading the answers as the server's form requires (asked once more if one does not fit), and declining: by
an empty answer, or because no user is present. Only what was typed is sent. Refuses: the connection (`agent/mcp/line`), secrets (the
protocol forbids servers to ask for them this way). Words: `mcp_client_asking.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from backscroll.agent.arguments import check_arguments
from backscroll.agent.commands.output import readable
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.agent.person import Person

_TRIES = 3
_WORDS = 2_000  # characters of a server's text
_YES = frozenset({"y", "yes", "true", "1", "ok", "是", "好", "对"})


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """A question of a server."""

    server: str
    message: str
    schema: Mapping[str, Json]  # of a flat object; empty: only yes or no
    url: str = ""  # an address for the user to open


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The user's answer to it."""

    action: Literal["accept", "decline"]
    content: Mapping[str, Json] | None = None


Ask: TypeAlias = Callable[[ServerQuestion], ServerAnswer]
DECLINED = ServerAnswer("decline")


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    text = (files("backscroll.agent") / "mcp_client_asking.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


class QuestionRelay:
    """Puts a server's questions to the user."""

    def __init__(self, person: Person, language: str) -> None:
        self._person = person
        self._words = _table()["zh" if language.startswith("zh") else "en"]

    def ask(self, wanted: ServerQuestion) -> ServerAnswer:
        """Ask all questions, one after another; declining one declines all."""
        head = self._say("asks", server=wanted.server, message=readable(wanted.message)[:_WORDS].strip())
        properties = cast("Mapping[str, Mapping[str, Json]]", wanted.schema.get("properties") or {})
        if wanted.url or not properties:
            return self._ask_confirmation(head, wanted)
        needed = cast("list[str]", wanted.schema.get("required") or [])
        content: dict[str, Json] = {}
        for name, about in properties.items():
            said = self._field(head, name, about, needed=name in needed)
            if said is None:
                return DECLINED
            content |= said
        return ServerAnswer("accept", content)

    def _ask_confirmation(self, head: str, wanted: ServerQuestion) -> ServerAnswer:
        url = readable(wanted.url)[:_WORDS]
        what = self._say("open", url=url) if url else self._say("go_on")
        said = self._person.answer(f"{head}\n{what}", (self._words["yes"], self._words["no"]))
        agreed = said is not None and said.strip().lower() in _YES
        return ServerAnswer("accept", None if wanted.url else {}) if agreed else DECLINED

    def _field(
        self, head: str, name: str, about: Mapping[str, Json], *, needed: bool
    ) -> dict[str, Json] | None:
        """Ask for one entry of the form; empty if it is left out, None if the user declines."""
        title, told = (
            readable(str(about.get(key) or "")).strip()[:_WORDS] for key in ("title", "description")
        )
        question = f"{head}\n{': '.join(filter(None, (title or readable(name), told)))}"
        usual = about.get("default")
        if usual is not None:
            shown = self._words["yes" if usual else "no"] if isinstance(usual, bool) else usual
            question = f"{question}\n{self._say('usual', value=shown)}"
        else:
            question = f"{question}\n{self._words['needed' if needed else 'optional']}"
        trouble = ""
        for _ in range(_TRIES):
            said = self._person.answer(f"{question}{trouble}", self._options(about))
            if said is None:
                return None
            if not said.strip():
                return None if needed and usual is None else {} if usual is None else {name: usual}
            try:
                return {name: self._value(name, about, said.strip())}
            except InvalidInput as error:
                trouble = f"\n{error.message}"
        return None

    def _options(self, about: Mapping[str, Json]) -> tuple[str, ...]:
        if about.get("type") == "boolean":
            return self._words["yes"], self._words["no"]
        return tuple(_choices(about)) if about.get("type") != "array" else ()

    def _value(self, name: str, about: Mapping[str, Json], said: str) -> Json:
        """Return an answer as the form requires."""
        value: Json = said
        if about.get("type") == "boolean":
            value = said.lower() in _YES
        elif about.get("type") == "array":
            known = _choices(cast("Mapping[str, Json]", about.get("items") or {}))
            parts = [p.strip() for p in said.replace("，", ",").replace("、", ",").split(",")]
            value = [known.get(p, p) for p in parts if p]
        else:
            value = _choices(about).get(said, said)
        rules = {"type": "object", "properties": {name: dict(about)}, "required": [name]}
        return check_arguments(rules, {name: value})[name]

    def _say(self, key: str, **facts: object) -> str:
        return self._words[key].format(**facts)


def _choices(about: Mapping[str, Json]) -> dict[str, Json]:
    """Return the choices as shown, with the value that is sent for each."""
    titled = about.get("oneOf") or about.get("anyOf")
    if isinstance(titled, list):
        rows = [cast("Mapping[str, Json]", r) for r in cast("list[Json]", titled) if isinstance(r, Mapping)]
        return {str(row.get("title") or row["const"]): row["const"] for row in rows if "const" in row}
    values, names = about.get("enum"), about.get("enumNames")
    if not isinstance(values, list):
        return {}
    given = cast("list[Json]", values)
    shown = (
        cast("list[Json]", names)
        if isinstance(names, list) and len(cast("list[Json]", names)) == len(given)
        else given
    )
    return {str(word): value for word, value in zip(shown, given, strict=True)}
