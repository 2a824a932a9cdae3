"""Deciding whether a call may run: rules, the mode, its effect, or asking the user.

In this order: a deny rule refuses; a protected path requires approval, unless a rule names that very path; of the allow and ask
rules that match, the more exact one wins (ask, on a tie); then the mode (`agent.approval`:
`strict`, `ask`, `edits`, `all`) decides. Reading files inside the folder, thinking and asking the user need no permission, nor do
read-only commands (`agent/approval/readonly_commands`), except in mode `strict`. A command that wants to leave its sandbox
requires approval in every mode; one confined to it may run unasked (`agent.sandbox_unasked`). A broken permissions file
allows nothing: then every call requires approval. Owns that order and the asking. Refuses: drawing the question (`surfaces`), the text of a
refusal (`agent/approval/refusals`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from backscroll.agent.approval import permissions
from backscroll.agent.approval.offers import suggest_rule, wider
from backscroll.agent.approval.place import EXACTLY, where_of
from backscroll.agent.approval.protected_paths import ProtectedPaths
from backscroll.agent.approval.readonly_commands import ReadonlyCommands
from backscroll.agent.approval.rules import (
    PlacedCommand,
    Rank,
    Rule,
    RuleSubject,
    Verdict,
    allows_whole,
    catches,
    covers,
    names_tool,
    rule_of,
    rules_for,
)
from backscroll.agent.person import Decision, Person, Proposal
from backscroll.config import CHOICES, permissions_file
from backscroll.errors import BackscrollError, InvalidInput

if TYPE_CHECKING:
    from backscroll.config import Settings

__all__ = ["Mode", "Rules", "decide", "suggest_rule"]

Mode: TypeAlias = Literal["strict", "ask", "edits", "all"]
#: Effects that need no permission, and those that still need none if the permissions file cannot be read.
_FREE = frozenset({"none", "read", "ask"})
_FREE_ANYWAY = frozenset({"none", "ask"})
_HARMLESS: Rank = (0, 0)
CROPPER = "smart_context_cropper"
RUNNER = "run_command"
LOOK = "look"  # decided by what the command does, judged from the folder
_BETWEEN = re.compile(r"[\s;|&<>(){}`$]+")
_QUOTING = re.compile(r"[\\'\"]")
UNDECIDED = "no decision was made on this call"
OWN_FILE = "the file of permissions is the person's own; ask them to change it"


class Rules:
    """The rules in force in one folder. The permissions file is read again when it changes."""

    def __init__(
        self,
        mode: str = "ask",
        *,
        root: str | Path | None = None,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        ask: Iterable[str] = (),
        file: Path | None = None,
        sandboxed_unasked: bool = False,
    ) -> None:
        self.mode = mode
        self.sandboxed_unasked = sandboxed_unasked  # sandboxed commands run unasked
        self.root = None if root is None else Path(root).expanduser().resolve()
        self.file = permissions_file() if file is None else file
        given: tuple[tuple[Verdict, Iterable[str]], ...] = (("allow", allow), ("deny", deny), ("ask", ask))
        self._own = [rule_of(text, verdict, "flag") for verdict, texts in given for text in texts]
        self._kept: list[Rule] = []
        self._confirm_unseen: tuple[int, ...] | None = None
        self._trouble = ""
        self._read_again()
        self._protected = ProtectedPaths(self.root)
        self._looking = ReadonlyCommands(self._protected)
        self._guarded = True  # protected paths require approval

    @classmethod
    def load(cls, root: str | Path | None, settings: Settings) -> Rules:
        """Return the rules for a folder, from the settings and the permissions file."""
        return cls(settings.agent_approval, root=root, sandboxed_unasked=settings.agent_sandbox_unasked)

    @classmethod
    def allow_everything(cls) -> Rules:
        """Return rules that allow everything: for what the user does manually."""
        made = cls("all", file=Path(os.devnull))
        made._guarded = False
        return made

    @property
    def mode(self) -> Mode:
        """What happens to calls that no rule matches."""
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        if mode not in CHOICES["agent_approval"]:
            raise InvalidInput(
                f"unknown approval mode: {mode!r}",
                hint=f"use one of {', '.join(CHOICES['agent_approval'])}",
            )
        self._mode: Mode = cast("Mode", mode)

    @property
    def trouble(self) -> str:
        """Why the permissions file cannot be used; empty if it can. Until then nothing is allowed unasked."""
        self._read_again()
        return self._trouble

    def list_rules(self) -> list[Rule]:
        """Return every rule in force: given, made in this run, from the file."""
        self._read_again()
        return [*self._own, *self._kept]

    # -- deciding --------------------------------------------------------------------------------------------

    def verdict(self, proposal: Proposal) -> Decision | None:
        """Return the decision made without asking; None if the user must be asked."""
        rules = self.list_rules()
        matter = RuleSubject(proposal, self.root)
        for rule in rules:
            if rule.verdict == "deny" and catches(rule, matter):
                return Decision(False, f"a rule forbids this: {rule.text}", by="rule")
        if self._own_file(matter):
            return Decision(False, OWN_FILE, by="policy")
        if self._trouble:
            return Decision(True, by="policy") if proposal.effect in _FREE_ANYWAY else None
        allows = [r for r in rules if r.verdict == "allow"]
        if self._guarded and self._list_protected_paths(matter) and not self._is_named(matter, allows):
            return None
        asks = max((r.rank for r in rules if r.verdict == "ask" and catches(r, matter)), default=None)
        found = self._rank_allowed(matter, allows)
        if found is not None and (asks is None or found > asks):
            return Decision(True, by=LOOK if found == _HARMLESS else "rule")
        return None if asks is not None else self._by_mode(matter, rules)

    def _rank_allowed(self, matter: RuleSubject, rules: Sequence[Rule]) -> Rank | None:
        """Return the rank of a call's least exactly allowed part; None if some part is not allowed."""
        whole = max((r.rank for r in rules if allows_whole(r, matter)), default=None)
        units = matter.units()
        certain = matter.line.whole if matter.is_command else not matter.doubt
        if not certain or not units:
            return whole
        parts: list[Rank] = []
        steps = 0
        for unit in units:
            ranks = [r.rank for r in rules if covers(r, matter, unit)]
            ranks += [whole] if whole is not None else []
            if not ranks and isinstance(unit, PlacedCommand) and matter.is_step(unit):
                steps += 1
                continue
            ranks += [_HARMLESS] if not ranks and self._only_looks(matter, unit) else []
            if not ranks:
                return None
            parts.append(max(ranks))
        return min(parts, default=_HARMLESS if steps and self.mode != "strict" else None)

    def _only_looks(self, matter: RuleSubject, unit: PlacedCommand | str) -> bool:
        """Return True for a command that is read-only in every folder it may run in."""
        proposal = matter.proposal
        if (
            self.mode == "strict"
            or not isinstance(unit, PlacedCommand)
            or proposal.refused_before is not None
        ):
            return False
        if proposal.tool != RUNNER or matter.where.held == "outside":
            return False
        return all(self._looking.glance(unit.simple, folder).looks for folder in unit.folders)

    # -- protected paths -------------------------------------------------------------------------------------

    def find_protected_path(self, proposal: Proposal) -> str:
        """Return the protected path that a call touches, with the reason; empty if there is none."""
        touched = self._list_protected_paths(RuleSubject(proposal, self.root))
        return touched[0] if touched else ""

    def _list_protected_paths(self, matter: RuleSubject) -> list[str]:
        if matter.is_about_files:
            whys = {path: self._protected.why(path) for path in matter.paths}
            return [f"{path}: {why}" for path, why in whys.items() if why]
        if not matter.is_command or not matter.subject:
            return []
        if not matter.line.whole:
            # A line that cannot be parsed is searched word by word, with and without quoting characters.
            texts = (matter.subject, _QUOTING.sub("", matter.subject))
            words = dict.fromkeys(word for text in texts for word in _BETWEEN.split(text) if word)
            found = self._protected.in_words(words, matter.where.folder)
            return [found] if found else []
        glances = (self._looking.glance(u.simple, at).protected for u in matter.commands for at in u.folders)
        found = next((why for why in glances if why), "")
        return [found] if found else []

    def _is_named(self, matter: RuleSubject, rules: Sequence[Rule]) -> bool:
        """Return True if rules name this exact line, or each of the protected paths; wide patterns do not count."""
        if matter.is_command:
            exact = [r for r in rules if r.pattern is not None and where_of(r.pattern)[1].startswith(EXACTLY)]
            return any(allows_whole(rule, matter) for rule in exact)
        named = [r for r in rules if r.pattern is not None and self._protected.why(r.pattern.lstrip(EXACTLY))]
        touched = [path for path in matter.paths if self._protected.why(path)]
        return all(any(covers(rule, matter, path) for rule in named) for path in touched)

    def prepare_proposal(self, proposal: Proposal) -> Proposal:
        """Return a proposal ready to show to the user, with what it touches and the rules that an answer may create."""
        touched = self.find_protected_path(proposal) if self._guarded else ""
        if touched:
            return replace(proposal, protected=touched, narrow="", wider=())
        matter = RuleSubject(proposal, self.root)

        def needless(unit: PlacedCommand) -> bool:
            return self._only_looks(matter, unit)

        narrow = suggest_rule(proposal, self.root, needless)
        return replace(proposal, narrow=narrow, wider=wider(proposal, self.root, needless))

    def _by_mode(self, matter: RuleSubject, rules: Sequence[Rule]) -> Decision | None:
        proposal = matter.proposal
        if proposal.effect in _FREE:
            return Decision(True, by="policy")
        if proposal.preview.outside:
            return None
        if self.mode == "all" or (self.sandboxed_unasked and proposal.preview.sandbox):
            # A user who forbids some commands wants to be asked if a line may contain one of them.
            unsure = matter.doubt and any(
                r.verdict != "allow" and r.pattern is not None and names_tool(r, matter) for r in rules
            )
            return None if unsure else Decision(True, by="policy")
        unheard = proposal.refused_before is None and not proposal.preview.warnings and not matter.doubt
        if self.mode == "edits" and unheard and (proposal.effect == "write" or _willing(proposal)):
            return Decision(True, by="policy")
        return None

    def _own_file(self, matter: RuleSubject) -> bool:
        if matter.proposal.effect != "write" or self.root is None:
            return False
        folder = self.file.parent.resolve()
        touched = ((self.root / path).resolve() for path in matter.paths)
        return any(path in (folder, self.file.resolve()) or folder in path.parents for path in touched)

    # -- remembering -----------------------------------------------------------------------------------------

    def remember(self, proposal: Proposal, decision: Decision) -> list[Rule]:
        """Keep a decision for its scope; return the rules made from it."""
        if decision.span == "once" or (
            decision.allowed and self._guarded and self.find_protected_path(proposal)
        ):
            return []
        verdict: Verdict = "allow" if decision.allowed else "deny"
        rules = rules_for(proposal, decision.pattern, verdict, decision.span)
        if decision.span == "session":
            self._own += [rule for rule in rules if rule not in self._own]
            return rules
        root = self.root if decision.span == "project" else None
        if decision.span == "project" and root is None:
            raise InvalidInput(
                "no folder to remember this for",
                hint="allow it for this session, or always",
            )
        for rule in rules:
            permissions.add(rule, root, self.file)
        return rules

    def allow(self, text: str, verdict: Verdict = "allow") -> Rule:
        """Add a rule for this run of the program."""
        rule = rule_of(text, verdict)
        self._own.append(rule)
        return rule

    def _read_again(self) -> None:
        seen = _stamp(self.file)
        if seen == self._confirm_unseen:
            return
        self._confirm_unseen = seen
        try:
            self._kept, self._trouble = permissions.rules_in_force(self.root, self.file), ""
        except InvalidInput as error:
            self._kept, self._trouble = [], error.message


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return (found.st_mtime_ns, found.st_size, found.st_ino)


# -- asking ------------------------------------------------------------------------------------------------------


def decide(rules: Rules, person: Person, proposals: Sequence[Proposal]) -> list[Decision]:
    """Return a decision for each call of one reply. The user is asked about all undecided calls together, and decides each separately."""
    out = [rules.verdict(proposal) for proposal in proposals]
    open_ones = [n for n, decision in enumerate(out) if decision is None]
    if open_ones:
        answers = list(person.approve([rules.prepare_proposal(proposals[n]) for n in open_ones]))
        answers += [Decision(False, UNDECIDED, by="policy")] * (len(open_ones) - len(answers))
        for n, answer in zip(open_ones, answers, strict=False):
            out[n] = _remember_decision(rules, proposals[n], answer)
    return [decision or Decision(False, UNDECIDED, by="policy") for decision in out]


def _remember_decision(rules: Rules, proposal: Proposal, answer: Decision) -> Decision:
    """Remember a decision; if it cannot be written down, it holds for this run only."""
    try:
        rules.remember(proposal, answer)
    except BackscrollError:
        session = Decision(answer.allowed, answer.reason, "session", answer.pattern, answer.by)
        try:
            rules.remember(proposal, session)
        except BackscrollError:
            return Decision(answer.allowed, answer.reason, by=answer.by)
        return session
    return answer


def _willing(proposal: Proposal) -> bool:
    """Return True for a crop that asks to run without approval (`need_user_approve` false): it only changes prompts, and can be undone."""
    return proposal.tool == CROPPER and proposal.arguments.get("need_user_approve") is False
