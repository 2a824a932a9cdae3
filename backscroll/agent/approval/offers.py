"""Rules that a question offers: a narrow one by default, and wider ones with examples.

Owns both. Narrow is this very command, with these words, in the folder it runs in. Wider keeps the subcommand (`terraform apply *`,
never `terraform *`) and the folder, or takes the folders below as well; each comes with examples that it covers. Nothing is offered
for protected paths. Also determines which kept rules are broad. Refuses: asking (`surfaces`), deciding (`agent/approval/approval`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import cast

from backscroll.agent.approval.place import EXACTLY, CommandPlace, render_pattern, where_of
from backscroll.agent.approval.rules import PlacedCommand, Rule, RuleSubject, as_pattern, pattern_words
from backscroll.agent.approval.shell import SimpleCommand
from backscroll.agent.person import Proposal, WiderRule
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json

_NAME = re.compile(r"[\w./+@%,:-]+")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_WILD = re.compile(r"[*?]")
_MANY = ("*", "**")
#: Tools that a rule without a pattern would allow entirely, with whatever they change.
_WEIGHTY = frozenset({"run_command", "write_file", "edit_file", "apply_patch"})
_EXAMPLES = 3

#: Whether a part of a line needs no rule.
Needless = Callable[[PlacedCommand], bool]


def _never(_unit: PlacedCommand) -> bool:
    return False


def suggest_rule(proposal: Proposal, root: Path | None = None, needless: Needless = _never) -> str:
    """Return the narrow rule: these words, in this folder; this file. Empty: exactly this call, to the letter."""
    matter = RuleSubject(proposal, root)
    if matter.is_command:
        parts = _parts(matter, needless)
        if parts is None:
            return ""
        where, units = parts
        patterns = [as_pattern(unit.words) for unit in units]
        plain = all(_is_plain(unit, text) for unit, text in zip(units, patterns, strict=True))
        return _render_patterns(where, patterns) if plain else ""
    if not matter.is_about_files or len(matter.paths) != 1 or matter.doubt:
        return ""
    (path,) = matter.paths
    return "" if _WILD.search(path) or path.startswith(EXACTLY) or "/" not in path else path


def wider(proposal: Proposal, root: Path | None = None, needless: Needless = _never) -> tuple[WiderRule, ...]:
    """Return wider rules to offer, from narrow to wide, each with examples of what it covers."""
    matter = RuleSubject(proposal, root)
    if matter.is_command:
        parts = _parts(matter, needless)
        patterns = [] if parts is None else [kept_words(unit) for unit in parts[1]]
        if parts is None or not all(patterns):
            return ()
        below = "**" if parts[0].folder == "." else f"{parts[0].folder}/**"
        places = [(parts[0], "words"), (CommandPlace(parts[0].held, below, said=True), "below")]
        found = [(_render_patterns(where, patterns), kind) for where, kind in places]
        return tuple(WiderRule(text, kind, examples_of(text)) for text, kind in found if text)
    if not matter.is_about_files or not matter.paths or matter.doubt:
        return ()
    folders = {str(PurePosixPath(path).parent) for path in matter.paths}
    pattern = f"{folders.pop()}/**" if len(folders) == 1 else ""
    return (WiderRule(pattern, "folder", _files_in(pattern)),) if pattern not in ("", "./**") else ()


def _parts(matter: RuleSubject, needless: Needless) -> tuple[CommandPlace, list[SimpleCommand]] | None:
    """Return the one folder in which the commands of a line run, and those that need a rule; None if no pattern can express it."""
    units = [u for u in matter.commands if not matter.is_step(u) and not needless(u)]
    if not matter.line.whole or not units or any(unit.simple.doubt for unit in units):
        return None
    folders = {unit.folder for unit in units}
    folder = next(iter(folders))
    if len(folders) != 1 or folder is None:
        return None
    where = CommandPlace(matter.where.held, folder)
    return (where, [unit.simple for unit in units]) if where.can_be_written else None


def _render_patterns(where: CommandPlace, patterns: list[str]) -> str:
    try:
        return render_pattern(where, " && ".join(dict.fromkeys(patterns)))
    except InvalidInput:
        return ""


def _is_plain(unit: SimpleCommand, text: str) -> bool:
    """Return True if a pattern matches exactly these words."""
    if unit.open or unit.inputs or any(_WILD.search(word) for word in unit.words):
        return False
    return pattern_words(text) == (unit.words,)


# -- wider -------------------------------------------------------------------------------------------------------


def kept_words(command: SimpleCommand) -> str:
    """Return a pattern that covers a command and similar ones: its subcommand, and anything behind; empty if none should be offered."""
    exactly, words = cast("dict[str, list[str]]", _tables()["exactly"]), command.words
    two = " ".join(words[:2])
    if two in exactly["subcommands"] or (words[0] in exactly["names"] and two not in _depths()):
        return ""
    depth = depth_of(words)
    kept = words[:depth]
    if len(kept) < depth or any(not _NAME.fullmatch(word) for word in kept):
        return ""
    if not command.open.isdisjoint(range(depth)):
        return ""
    if any(word.startswith("-") for word in kept[1:]) and two not in _depths():
        return ""
    return " ".join([*kept, "*"])


def depth_of(words: tuple[str, ...]) -> int:
    """Return how many words identify what a command does: `git status`, `npm run test`; for unknown commands, words that look like a subcommand."""
    depths = _depths()
    listed = depths.get(" ".join(words[:2])) or depths.get(words[0])
    if listed is not None:
        return listed
    return 2 if len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]) else 1


def examples_of(pattern: str) -> tuple[str, ...]:
    """Return command lines that a pattern covers: the bare one, and some that are easy to overlook."""
    where, rest = where_of(pattern)
    out: list[str] = []
    for words in pattern_words(rest):
        fixed = " ".join(word for word in words if word not in _MANY)
        known = cast("dict[str, list[str]]", _tables()["examples"]).get(fixed) or [
            "--any-option",
            "any/other/file",
        ]
        more = known if words[-1] in _MANY else []
        out += [fixed, *(f"{fixed} {each}" for each in more)][:_EXAMPLES] if fixed else ["(any command)"]
    below = where.folder.removesuffix("**").rstrip("/")
    if where.folder.endswith("**"):
        out.append(f"cd {f'{below}/' if below else ''}any/folder && {out[0]}")
    return tuple(out)


def _files_in(pattern: str) -> tuple[str, ...]:
    folder = pattern.removesuffix("**")
    return (f"{folder}any-file", f"{folder}any/folder/any-file")


# -- broad rules -------------------------------------------------------------------------------------------------


def is_broad(rule: Rule) -> bool:
    """Return True for a rule that allows far more than one kind of call: `cat *`, `cd *`, `git *`, a whole tool."""
    if rule.verdict != "allow":
        return False
    if rule.pattern is None:
        return rule.tool in _WEIGHTY or "*" in rule.tool
    if rule.tool != "run_command":
        return rule.pattern in _MANY
    rest = where_of(rule.pattern)[1]
    return not rest.startswith(EXACTLY) and any(_is_broad(words) for words in pattern_words(rest))


def _is_broad(words: tuple[str, ...]) -> bool:
    """Return True if a pattern leaves open what the command does; file and folder arguments do not make it narrow."""
    last = words[-1]
    fixed = tuple(word for word in words[:-1] if not _WILD.search(word)) if last.endswith("*") else words
    if not fixed:
        return True
    if not last.endswith("*"):
        return False
    listed = _depths().get(" ".join(fixed[:2])) or _depths().get(fixed[0])
    return len(fixed) < (listed or 2)


@cache
def _tables() -> dict[str, Json]:
    return tomllib.loads((files("backscroll.agent") / "approval.toml").read_text(encoding="utf-8"))


def _depths() -> dict[str, int]:
    return cast("dict[str, int]", _tables()["suggest"])
