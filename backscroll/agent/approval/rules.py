"""Rules on calls: `run_command(git status *)`, `write_file(docs/**)`, `recall`.

Owns how rules are written, what they are compared with and which of two is the more exact. A pattern for commands is compared word
by word with every simple command of a line, and with where it runs (`agent/approval/place`, `agent/approval/folders`); one for
files with every path; anything else with the subject as a whole. `=` in front means: exactly this. Refuses: files of rules
(`agent/approval/permissions`), deciding (`agent/approval/approval`), proposing rules (`agent/approval/offers`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Literal, TypeAlias, get_args
from unicodedata import normalize

from backscroll.agent.approval.folders import Folders, folders_of, is_cd, leads
from backscroll.agent.approval.place import EXACTLY, CommandPlace, render_pattern, where_of
from backscroll.agent.approval.shell import CommandLine, SimpleCommand, read, scan_words
from backscroll.agent.approval.wildcards import fits_path, wild
from backscroll.agent.person import Proposal
from backscroll.errors import InvalidInput

Verdict: TypeAlias = Literal["allow", "deny", "ask"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: How exact a rule is; the greater wins.
Rank: TypeAlias = tuple[int, int]

_WRITTEN = re.compile(r"(?P<tool>[A-Za-z0-9_*-]{1,64})(?:\((?P<pattern>.*)\))?", re.DOTALL)
_ANYTHING = ("*", "**")
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Rule:
    """The verdict for calls of a tool (its name may contain `*`): for all of them, or for those that match a pattern."""

    verdict: Verdict
    tool: str
    pattern: str | None = None  # None: every call
    source: str = "session"  # session, flag, project, always

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"

    @property
    def rank(self) -> Rank:
        """Its exactness: the exact words, then patterns by how much they fix, then a tool, then many tools."""
        if self.pattern is None:
            return (0 if "*" in self.tool else 1, len(self.tool))
        if where_of(self.pattern)[1].startswith(EXACTLY):
            return (3, len(self.pattern))
        return (2, sum(c not in "*?" for c in self.pattern))


def rule_of(text: str, verdict: Verdict, source: str = "session") -> Rule:
    """Parse a rule as the user wrote it, or raise a clear error."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(
            f"not a rule: {text[:80]!r}",
            hint="write the name of a tool and a pattern: run_command(git status *), write_file(docs/**)",
        )
    pattern = found["pattern"]
    if pattern is not None:
        pattern = pattern.strip()
        if not pattern or where_of(pattern)[1] in ("", EXACTLY):
            raise InvalidInput(
                f"the rule {text[:80]!r} has an empty pattern",
                hint="leave the brackets out to mean every call of the tool",
            )
        if len(pattern) > _LONGEST:
            raise InvalidInput(
                f"the pattern of a rule has {len(pattern)} characters", hint=f"at the most {_LONGEST}"
            )
    return Rule(verdict, found["tool"], pattern, source)


# -- what a rule is compared with --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlacedCommand:
    """A simple command of a line, and where it may run."""

    simple: SimpleCommand
    folders: Folders  # relative to the working folder; None among them: unknown

    @property
    def folder(self) -> str | None:
        """The one folder it runs in; None if that is not certain."""
        return next(iter(self.folders)) if len(self.folders) == 1 else None


class RuleSubject:
    """A proposal, split up for comparison with rules; `root` is the folder that paths are relative to."""

    def __init__(self, proposal: Proposal, root: Path | None = None) -> None:
        self.proposal = proposal
        self._root = root

    @property
    def is_command(self) -> bool:
        """True if the subject is a command line."""
        return self.proposal.effect == "command"

    @cached_property
    def where(self) -> CommandPlace:
        """Where the command would run."""
        preview, folder = self.proposal.preview, self.proposal.arguments.get("folder")
        held = "outside" if preview.outside else "sandboxed" if preview.sandbox else ""
        return CommandPlace(held, _normalize_path(preview.folder or str(folder or "."), self._root))

    @property
    def is_about_files(self) -> bool:
        """True if the subject is a path."""
        return self.proposal.effect in ("read", "write")

    @cached_property
    def line(self) -> CommandLine:
        """The command line, parsed."""
        return read(self.subject)

    @property
    def subject(self) -> str:
        """What the call is about: a command, a path, or nothing. For a command the exact line, not its display form."""
        preview = self.proposal.preview
        return preview.subject if preview.subject and self.is_command else preview.command or preview.subject

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The files it touches, relative to the root; paths that lead out of it keep their leading `..` or `/`."""
        given = self.proposal.preview.paths or ((self.subject,) if self.subject else ())
        return tuple(dict.fromkeys(_normalize_path(path, self._root) for path in given))

    @property
    def doubt(self) -> str:
        """Why no pattern may allow it; empty if one may."""
        if self.is_command:
            return self.line.doubt
        if self.is_about_files and any(_outside(path) for path in self.paths):
            return "outside"
        return ""

    @cached_property
    def commands(self) -> list[PlacedCommand]:
        """Every simple command of a line, with where it may run."""
        start = self.where.folder
        places = folders_of(self.line.inside, None if _outside(start) else start, self._root)
        return [PlacedCommand(c, at) for c, at in zip(self.line.commands, places, strict=True)]

    def is_step(self, unit: PlacedCommand) -> bool:
        """Return True for a `cd` within the working folder: it determines where the others run, and does nothing else."""
        return is_cd(unit.simple) and None not in leads(unit.simple, unit.folders, self._root)

    def units(self) -> list[PlacedCommand | str]:
        """Return everything that rules must cover: every simple command, every path, or the subject as a whole."""
        if self.is_command:
            return list(self.commands)
        return list(self.paths) if self.is_about_files else [self.subject]


def _normalize_path(path: str, root: Path | None) -> str:
    text = normalize("NFC", path.replace("\\", "/") if "/" not in path else path)
    if root is not None and text.startswith("/"):
        try:
            text = str(PurePosixPath(text).relative_to(root.as_posix()))
        except ValueError:
            return normpath(text)
    return normpath(text)


def _outside(path: str) -> bool:
    return path.startswith(("/", "~", "../")) or path == ".."


# -- comparing ---------------------------------------------------------------------------------------------------


def names_tool(rule: Rule, matter: RuleSubject) -> bool:
    """Return True if the rule is about this tool at all."""
    return wild(rule.tool, matter.proposal.tool)


def covers_whole(rule: Rule, matter: RuleSubject) -> bool:
    """Return True if a rule covers the call as a whole: every call of the tool, or exactly this one."""
    if not names_tool(rule, matter):
        return False
    if rule.pattern is None:
        return True
    if rule.pattern.startswith(EXACTLY):
        wanted = _strip_blanks(rule.pattern[1:])
        return wanted == _strip_blanks(matter.subject) or (
            matter.is_about_files and [normpath(wanted)] == list(matter.paths)
        )
    return not matter.subject and not matter.paths and rule.pattern in _ANYTHING


def allows_whole(rule: Rule, matter: RuleSubject) -> bool:
    """Return the same for an allow rule: for commands, the place must match too."""
    if not matter.is_command or not matter.subject:
        return covers_whole(rule, matter)
    if rule.pattern is None:  # nothing lets a command leave its sandbox implicitly
        return names_tool(rule, matter) and matter.where.held != "outside"
    where, rest = where_of(rule.pattern)
    return (
        where.allows(matter.where) and rest.startswith(EXACTLY) and covers_whole(_plain(rule, rest), matter)
    )


def _plain(rule: Rule, pattern: str) -> Rule:
    return Rule(rule.verdict, rule.tool, pattern, rule.source)


def covers(rule: Rule, matter: RuleSubject, unit: PlacedCommand | str) -> bool:
    """Return True if a rule's pattern allows one part of a call; narrow: False if in doubt."""
    if not names_tool(rule, matter) or rule.pattern is None:
        return False
    if rule.pattern.startswith(EXACTLY):
        return isinstance(unit, str) and matter.is_about_files and normpath(rule.pattern[1:].strip()) == unit
    if isinstance(unit, PlacedCommand):
        where, rest = where_of(rule.pattern)
        held = matter.where.held
        there = all(at is not None and where.allows(CommandPlace(held, at)) for at in unit.folders)
        if rest.startswith(EXACTLY) or not there or unit.simple.doubt:
            return False
        return any(_fits(words, unit.simple.words, unit.simple.open) for words in pattern_words(rest))
    if matter.is_about_files:
        return fits_path(rule.pattern, unit)
    return wild(rule.pattern, unit)


def catches(rule: Rule, matter: RuleSubject) -> bool:
    """Return True if a deny (or ask) rule matches any part of a call; wide: True if in doubt."""
    if matter.is_command and rule.pattern is not None:
        where, rest = where_of(rule.pattern)
        rule = _plain(rule, rest)
        if not names_tool(rule, matter):
            return False
        whole = where.catches(matter.where) and covers_whole(rule, matter)
        return whole or _catches_command(rest, where, matter)
    if covers_whole(rule, matter):
        return True
    if not names_tool(rule, matter) or rule.pattern is None:
        return False
    if matter.is_about_files:
        return any(fits_path(rule.pattern.casefold(), path.casefold()) for path in matter.paths)
    return wild(rule.pattern, matter.subject)


def _catches_command(pattern: str, where: CommandPlace, matter: RuleSubject) -> bool:
    held = matter.where.held
    runs: list[tuple[str, ...]] = []
    for unit in matter.commands:
        if any(at is None or where.catches(CommandPlace(held, at)) for at in unit.folders):
            runs += [(unit.simple.name, *unit.simple.words[1:]), unit.simple.words]
    if matter.line.doubt and (not matter.line.whole or where.catches(matter.where)):
        runs += scan_words(matter.subject)
    # On case-insensitive file systems, `RM` and `rm` are the same program.
    folded = {tuple(word.casefold() for word in run) for run in runs}
    if pattern.startswith(EXACTLY):
        return tuple(pattern[1:].casefold().split()) in folded
    return any(
        _fits(words, run, frozenset()) for words in pattern_words(pattern.casefold()) for run in folded
    )


def _fits(pattern: Sequence[str], words: Sequence[str], opened: frozenset[int]) -> bool:
    """Match word for word; a last word that ends in `*` covers all that follow, a last `*` also none."""
    if not pattern:
        return False
    last = len(pattern) - 1
    for place, piece in enumerate(pattern):
        if place == last and piece in _ANYTHING:
            return True
        if place >= len(words):
            return False
        if place in opened:
            # What the shell inserts here is unknown: only the identical word matches.
            if piece != words[place] and piece not in _ANYTHING:
                return False
        elif not wild(piece, words[place]):
            return False
    return len(words) == len(pattern) or pattern[last].endswith("*")


@lru_cache(maxsize=1024)
def pattern_words(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of a pattern; quotes keep blanks together, `&&` separates several patterns."""
    line = read(pattern)
    if line.commands and line.doubt in ("", "name", "carrier"):
        return tuple(command.words for command in line.commands)
    return (tuple(pattern.split()),)


def _strip_blanks(text: str) -> str:
    return text.strip(" \t\n")


# -- writing -----------------------------------------------------------------------------------------------------


def rules_for(proposal: Proposal, pattern: str, verdict: Verdict, source: str) -> list[Rule]:
    """Return the rules that result from a decision on a proposal; without a pattern: exactly this call."""
    matter = RuleSubject(proposal)
    if not pattern.strip():
        return _exactly(matter, verdict, source)
    whole = _WRITTEN.fullmatch(pattern.strip())
    if whole is not None and whole["pattern"] is not None and whole["tool"] == proposal.tool:
        pattern = whole["pattern"]  # the user also wrote the name of the tool
    if matter.is_command:
        where, rest = where_of(pattern.strip())
        patterns = (
            [rest] if rest.startswith(EXACTLY) else [as_pattern(words) for words in pattern_words(rest)]
        )
        return [
            rule_of(f"{proposal.tool}({render_pattern(where, each)})", verdict, source) for each in patterns
        ]
    return [rule_of(f"{proposal.tool}({pattern})", verdict, source)]


def _exactly(matter: RuleSubject, verdict: Verdict, source: str) -> list[Rule]:
    """Return rules for this exact call: its line and place; each of its files; without either, the tool."""
    proposal, subject = matter.proposal, _strip_blanks(matter.subject)
    if matter.is_about_files and matter.paths:
        return [Rule(verdict, proposal.tool, f"{EXACTLY}{path}", source) for path in matter.paths]
    exact = f"{EXACTLY}{subject}" if subject else None
    if exact is not None and matter.is_command:
        exact = render_pattern(matter.where, exact)
    return [Rule(verdict, proposal.tool, exact, source)]


def as_pattern(words: Sequence[str]) -> str:
    """Return words as the text of a pattern."""
    return " ".join(
        word if word and not re.search(r"[\s'\"&|;]", word) else _quote_word(word) for word in words
    )


def _quote_word(word: str) -> str:
    mark = '"' if "'" in word else "'"
    return f"{mark}{word}{mark}"
