"""Assertions from prose about code: paths, functions with their files, packages with versions, decisions, errors.

Owns sentences, English and Chinese mixed as people write them, and blocks that a user pasted. Questions, conditions and
plans to investigate are not decisions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import cast

from backscroll.derive.essence.cues import CODE, paths_in
from backscroll.derive.essence.sentences import Sentence, sentences
from backscroll.derive.extract.code.errors import short_name, trouble_in
from backscroll.derive.extract.code.words import StatementPlace, decisions, error_names, shape, table, words
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.assertion import Assertion
from backscroll.vocab.values.pattern import late

_WIDE = 40_000  # characters of one message that are read
_MANY = 10  # paths in one message beyond which it is a listing
_QUOTE = 300
_HAN = late(r"[\u4e00-\u9fff]")
_IDENT = r"`?(?P<name>[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)(?:\(\))?`?"
_DISTINCT = late(r"(?=.{6})(?:.*[a-z][A-Z]|.*\w_\w|.*\w\.\w)")
_NUMBERED = late(r"\d+[:|→]")  # a line of a file or a listing, pasted without a fence
_TITLE = 80  # characters of a decision's name
_PINNED = late(
    r"(?<![\w./@-])(?P<name>@?[A-Za-z][\w.-]*(?:/[\w.-]+)?)(?:==|>=|~=|@\^?~?)(?P<version>\d+(?:\.\d+)*[\w.-]*)"
)
_UPGRADED = late(
    r"\b(?:upgrad(?:e|ed|ing)|updat(?:e|ed|ing)|bump(?:ed|ing)?|downgrad(?:e|ed|ing)|pin(?:ned|ning)?) (?:the )?`?(?P<name>[A-Za-z@][\w./-]*)`? (?:from \S+ )?to (?:version )?`?v?(?P<version>\d+(?:\.\d+)+[\w.-]*)",
    re.IGNORECASE,
)
_UPGRADED_ZH = late(
    r"(?:把|将)?\s*`?(?P<name>[A-Za-z@][\w./-]*)`?\s*(?:从\S+?)?(?:升级|更新|升|降级|降|固定)(?:到|至|为)\s*(?:版本)?\s*`?v?(?P<version>\d+(?:\.\d+)+[\w.-]*)"
)


def is_about_code(told: Sequence[Utterance]) -> bool:
    """Return True if the text names files, code or errors: only then are decisions about the work."""
    for one in told:
        text = one.text[:_WIDE]
        if "```" in text or CODE.search(text) or paths_in(text) or any(p.search(text) for p in error_names()):
            return True
    return False


def read_prose(told: Sequence[Utterance], known: Sequence[str] = ()) -> Iterator[Assertion]:
    """Yield statements about code. `known` are files that tools named in full: a short name refers to the one that ends with it."""
    files = _PathIndex(known)
    for one in told:
        text = one.text[:_WIDE]
        found = paths_in(text)
        listing = len(found) > _MANY
        for piece in sentences(text):
            if piece.shape == "code":
                if one.role == "user":
                    yield from _read_pasted_error(one, piece)
            elif piece.shape != "row":
                yield from _sentence(one, piece, files, listing=listing)


class _PathIndex:
    """Paths indexed by their ends."""

    def __init__(self, known: Sequence[str]) -> None:
        self._known = list(dict.fromkeys(known))

    def full(self, path: str) -> str:
        """Return the only known file with this ending; the path itself if there is none, or more than one."""
        short = path.removeprefix("./")
        ends = [k for k in self._known if k == path or k.endswith("/" + short)]
        return ends[0] if len(ends) == 1 else path


def _sentence(said: Utterance, piece: Sentence, files: _PathIndex, *, listing: bool) -> Iterator[Assertion]:
    text, user = piece.text, said.role == "user"
    if said.source is None or _NUMBERED.match(text):
        return
    spot = StatementPlace(text[:_QUOTE], said.source, said.who)
    said_paths = [p for p in paths_in(text) if _is_file(p) and not _is_example(text, p)]
    paths = [files.full(p) for p in said_paths]
    if not listing:
        for path in paths[:6]:
            yield spot.node(path, "file", 0.6)
    yield from _read_definitions(spot, text, dict(zip(said_paths, paths, strict=True)), user=user)
    yield from _packages(spot, text)
    yield from _errors(spot, text, paths)
    if len(text) <= 600:
        yield from _read_decisions(spot, text, user=user)


# -- functions and packages --------------------------------------------------------------------------------------


@cache
def _kinds() -> tuple[re.Pattern[str], re.Pattern[str], Mapping[str, str]]:
    english = cast("dict[str, str]", table()["names"]["kinds_en"])
    chinese = cast("dict[str, str]", table()["names"]["kinds_zh"])
    before = re.compile(
        rf"\b(?P<kind>{'|'.join(english)}) {_IDENT}|(?P<zh>{'|'.join(chinese)})\s?`?(?P<other>[A-Za-z_$][\w$.]*)(?:\(\))?`?"
    )
    behind = re.compile(rf"{_IDENT}\s?(?P<kind>{'|'.join([*english, *chinese])})(?![A-Za-z0-9_])")
    return before, behind, {**english, **chinese}


def _read_definitions(
    spot: StatementPlace, text: str, paths: Mapping[str, str], *, user: bool
) -> Iterator[Assertion]:
    """Yield functions and classes that a sentence names as such, and the file it places them in."""
    names: dict[str, str] = {}
    before, behind, kinds = _kinds()
    if not any(kind in text for kind in kinds) and "()`" not in text:
        return
    for found in before.finditer(text):
        name = found["name"] or found["other"]
        names.setdefault(name, kinds[found["kind"] or found["zh"]])
    for found in behind.finditer(text):
        names.setdefault(found["name"], kinds[found["kind"]])
    for found in re.finditer(r"`(?P<name>[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\(\)`", text):
        names.setdefault(found["name"], "function")
    for name, kind in list(names.items())[:6]:
        if not _is_identifier(name, text) or any(name in path for path in paths):
            continue
        if kind in ("module", "endpoint"):
            continue
        home = next((full for path, full in paths.items() if _holds(text, path, name)), "")
        if home:
            yield spot.relation(name, "function", "defined_in", home, "file", 0.7)
        elif user or _DISTINCT.search(name):
            yield spot.node(name, "function", 0.6)
        else:
            continue
        if kind != "function":
            yield spot.attribute(name, "function", "kind", kind, 0.6)


def _holds(text: str, path: str, name: str) -> bool:
    """Return True if a sentence says that a file contains something of this name."""
    at, place = text.find(name), text.find(path)
    if at < 0 or place < 0 or shape("names", "sought").search(text[: min(at, place)].rstrip("` ")):
        return False
    if at < place:
        between = text[at + len(name) : place].removeprefix("()")
        return any(shape("names", key).search(between) for key in ("held_en", "held_zh"))
    return bool(shape("names", "holds_zh").search(text[place + len(path) : at])) and bool(_HAN.search(text))


def _is_example(text: str, path: str) -> bool:
    """Return True if a sentence only gives an example of a file name."""
    return bool(shape("names", "example").search(text[: max(0, text.find(path))]))


def _is_file(path: str) -> bool:
    """Return True for a path that ends like a file name; folders do not count."""
    last = path.rsplit("/", 1)[-1]
    return bool(re.search(r"\w\.[A-Za-z][A-Za-z0-9]{0,7}$", last)) or last in words("names", "files")


def _is_identifier(name: str, text: str) -> bool:
    """Return True for code spelling: in backticks, with an underscore, camel case, a dot or following brackets."""
    if len(name) < 3 or name.lower() in words("decisions", "stop") | words("decisions", "end"):
        return False
    return (
        f"`{name}" in text
        or f"{name}(" in text
        or "_" in name.strip("_")
        or bool(re.search(r"[a-z][A-Z]|[A-Z][a-z]+[A-Z]", name))
    )


@cache
def _package_words() -> re.Pattern[str]:
    english = "|".join(cast("list[str]", table()["names"]["package_en"]))
    chinese = "|".join(cast("list[str]", table()["names"]["package_zh"]))
    ticked = r"`(?P<{}>@?[A-Za-z][\w.-]*(?:/[\w.-]+)?)`"
    return re.compile(
        rf"{ticked.format('a')} (?:{english})\b|\b(?:{english}) {ticked.format('b')}"
        rf"|{ticked.format('c')}\s?(?:这个|那个)?(?:{chinese})|(?:{chinese})\s?{ticked.format('d')}"
    )


def _packages(spot: StatementPlace, text: str) -> Iterator[Assertion]:
    """Yield packages that a sentence calls so, and their versions."""
    if re.search(r"[=@~]\^?~?\d|\d\.\d", text):
        for pattern in (_PINNED, _UPGRADED, _UPGRADED_ZH):
            for found in pattern.finditer(text):
                version = found["version"].rstrip(".-")
                yield spot.attribute(found["name"], "package", "version", version, 0.8)
    if "`" not in text:
        return
    for found in _package_words().finditer(text):
        name = next(filter(None, found.groups()))
        if "(" not in name and not paths_in(name):
            yield spot.node(name, "package", 0.7)


# -- errors ------------------------------------------------------------------------------------------------------


def _read_pasted_error(said: Utterance, fence: Sentence) -> Iterator[Assertion]:
    """Yield the error in a block that a user pasted."""
    trouble = trouble_in(fence.text)
    if trouble is None or said.source is None or not trouble.message:
        return
    spot = StatementPlace(trouble.line, said.source, said.who)
    yield spot.attribute(trouble.name, "error", "status", "open", 0.8)
    yield spot.attribute(trouble.name, "error", "message", trouble.message, 0.8)
    if trouble.place:
        yield spot.relation(trouble.name, "error", "occurs_in", trouble.place, "file", 0.8)


def _errors(spot: StatementPlace, text: str, paths: Sequence[str]) -> Iterator[Assertion]:
    """Yield errors that a sentence names, and whether it says that they occur or are fixed."""
    names: dict[str, str] = {}
    for pattern in error_names():
        for found in pattern.finditer(text):
            name = short_name(found["name"])
            if name not in words("errors", "idle") and not _in_code(text, found["name"]):
                names.setdefault(name, (found["message"] or "").strip())
    if not names or "?" in text[-2:] or "？" in text[-2:]:
        return
    later = shape("errors", "not_yet").search(text)
    over = shape("errors", "fixed").search(text)
    here = shape("errors", "open").search(text)
    for name in list(names)[:3]:
        if over and not later:
            yield spot.attribute(name, "error", "status", "fixed", 0.8)
            yield spot.end(name, "error", "occurs_in", "", 0.7)
        elif here and not later:
            yield spot.attribute(name, "error", "status", "open", 0.8)
            if len(paths) == 1:
                yield spot.relation(name, "error", "occurs_in", paths[0], "file", 0.75)
        else:
            yield spot.node(name, "error", 0.5)


def _in_code(text: str, name: str) -> bool:
    """Return True if a name is inside code rather than by itself: a signature that throws is not an error."""
    return any(name in ticked and " " in ticked for ticked in re.findall(r"`([^`\n]{1,300})`", text))


# -- decisions ---------------------------------------------------------------------------------------------------


def _read_decisions(spot: StatementPlace, text: str, *, user: bool) -> Iterator[Assertion]:
    if shape("decisions", "unsure").search(text):
        return
    tongue = "zh" if _HAN.search(text) else "en"
    sure = 0.9 if user else 0.75
    for pattern in decisions(tongue, person=user):
        found = pattern.search(text)
        if found is None:
            continue
        parts = found.groupdict()
        new, old = _thing(parts.get("new"), tongue), _thing(parts.get("old"), tongue)
        what = _clause(parts.get("what"))
        if (parts.get("what") and not what) or (not what and not new) or ("old" in parts and not old):
            continue
        if new and not old and shape("decisions", "acting").search(text[text.find(new) + len(new) :]):
            continue
        if new and old and new.lower() != old.lower():
            yield spot.relation(new, "", "replaces", old, "", sure)
        if not user and shape("decisions", "done").search(text):
            return  # a report of what was done
        name = what or (_phrase_decision(new, old, tongue))
        yield spot.node(name, "decision", sure)
        why = shape("decisions", f"reason_{tongue}").search(text)
        if why and why["why"].strip() not in name:
            yield spot.attribute(name, "decision", "reason", why["why"].strip(), sure)
        if new:
            yield spot.relation(name, "decision", "concerns", new, "", sure)
        return


def _phrase_decision(new: str, old: str, tongue: str) -> str:
    if tongue == "zh":
        return f"用 {new} 代替 {old}" if old else f"使用 {new}"
    return f"use {new} instead of {old}" if old else f"use {new}"


def _clause(what: str | None) -> str:
    """Return the rest of a sentence as the name of a decision."""
    if not what:
        return ""
    text = re.split(r"\b(?:because|since|so that|due to)\b|因为|由于", what)[0]
    text = re.sub(r"[*_`\"“”]", "", " ".join(text.split())).strip(" ,，:：-–—")
    if len(text) > _TITLE:
        text = text[:_TITLE].rsplit(" ", 1)[0] if " " in text[:_TITLE] else text[:_TITLE]
    enough = len(_HAN.findall(text)) >= 3 or text.count(" ") >= 1
    return text if enough else ""


def _thing(name: str | None, tongue: str) -> str:
    """Return the name of a thing, without leading articles and trailing clauses; empty if nothing is left."""
    if not name:
        return ""
    ticked = re.match(r"\s?[`\"「“]([^`\"」”]{1,60})[`\"」”]", name)
    if ticked:
        # A whole expression is not the name of a choice.
        return "" if re.search(r"\(.+\)|=|;", ticked[1]) else ticked[1].strip()
    if tongue == "zh":
        text = name.strip(" .,，").removesuffix("了").removesuffix("吧").strip()
        return "" if text in words("decisions", "dull") or len(text) < 2 else text
    found = name.split()
    common = False  # "a script" is not a name, "a Redis cache" may be one
    while found and found[0].lower() in words("decisions", "stop"):
        common, found = True, found[1:]
    kept: list[str] = []
    for word in found:
        if word.lower().strip(".,") in words("decisions", "end"):
            break
        kept.append(word)
    text = " ".join(kept).strip(" .,-")
    dull = not kept or kept[-1].lower() in words("decisions", "dull")
    if common and not re.search(r"[A-Z0-9_./]", text):
        return ""
    return "" if dull or len(text) < 2 else text
