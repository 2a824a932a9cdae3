"""Who answers questions while `run` works: a user at a plain terminal, or no user.

Owns the questions on standard error, one line each, and what was refused because no user was present. Refuses: a screen of its
own (`surfaces/chat` has one), rules (`agent/approval/approval`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from backscroll.agent.approval.offers import suggest_rule, wider
from backscroll.agent.approval.rules import rules_for
from backscroll.agent.person import Decision, Judgement, Nobody, Proposal, Span
from backscroll.errors import InvalidInput
from backscroll.surfaces.i18n import t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.screen import Screen

_LINES = 60  # lines of a diff shown at once
_SPANS: Mapping[str, Span] = {"s": "session", "p": "project", "a": "always"}


class UnattendedPerson(Nobody):
    """No user is present; a result may be accepted unseen, if an option says so."""

    def __init__(self, *, accepts: bool = False) -> None:
        self._accepts = accepts
        self.turned_away: list[Proposal] = []

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        """Refuse everything, and remember what it was."""
        self.turned_away += proposals
        return super().approve(proposals)

    def judge(self, result: str, command: str = "") -> Judgement:
        """Accept the result, or leave the attempt open."""
        return Judgement(True) if self._accepts else super().judge(result, command)

    def list_missing_rules(self) -> list[str]:
        """Return rules that would have allowed what was refused."""
        rules = [_rule(proposal) for proposal in self.turned_away]
        return list(dict.fromkeys(rules))


def _rule(proposal: Proposal) -> str:
    pattern = _narrow(proposal)
    if pattern and "&&" not in pattern:
        return f"{proposal.tool}({pattern})"
    try:
        return one_line(rules_for(proposal, "", "allow", "flag")[0].text)
    except InvalidInput:  # in a folder whose name a rule cannot express
        return proposal.tool


def _narrow(proposal: Proposal) -> str:
    return suggest_rule(proposal) if proposal.narrow is None else proposal.narrow


class AttendedPerson(UnattendedPerson):
    """A user at a plain terminal, who answers by typing lines."""

    def __init__(self, screen: Screen, *, accepts: bool = False) -> None:
        super().__init__(accepts=accepts)
        self._screen = screen
        self.asking = False  # a key that stops the run must reach the code that waits for a line

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        """Ask one question after another; each has its own answer and its own reason."""
        return [self._ask_decision(proposal) for proposal in proposals]

    def judge(self, result: str, command: str = "") -> Judgement:
        """Show the result and ask whether it is accepted."""
        if self._accepts:
            return Judgement(True)
        self._screen.remark(f"\n{safe(result)}")
        if command:
            self._screen.remark(f"  $ {one_line(command)}", "dim")
        answer = self._line(t("run.judge"))
        if answer is None:
            return Judgement(None)
        said = answer.strip()
        return Judgement(True) if _is_yes(said) or not said else Judgement(False, _without_no(said))

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        """Ask; a number chooses one of the options."""
        self._screen.remark(f"\n{safe(question)}")
        for number, option in enumerate(options, 1):
            self._screen.remark(f"  {number}. {one_line(option)}")
        line = self._line("> ")
        if line is None:
            return None
        said = line.strip()
        chosen = int(said) - 1 if said.isdecimal() and said.isascii() else -1
        return options[chosen] if 0 <= chosen < len(options) else said

    def _ask_decision(self, proposal: Proposal) -> Decision:
        self._show(proposal)
        pattern = _narrow(proposal)
        question = t("run.allow", pattern=one_line(pattern) or t("run.exactly"))
        if proposal.protected:
            question = t("run.allow_once")
        while True:
            said = (self._line(question) or "n").strip().lower()
            if _is_yes(said):
                return Decision(True)
            if said in _SPANS and not proposal.protected:
                return Decision(True, span=_SPANS[said], pattern=pattern)
            if said == "w" and not proposal.protected:
                decision = self._wider(proposal)
                if decision is not None:
                    return decision
            if said in ("n", "no", "否", ""):
                return Decision(False, (self._line(t("run.reason")) or "").strip())

    def _wider(self, proposal: Proposal) -> Decision | None:
        """Offer rules that cover more, with what they would allow; None if none is chosen."""
        rules = wider(proposal) if proposal.narrow is None else proposal.wider
        for number, rule in enumerate(rules, 1):
            self._screen.remark(f"  {number}. {one_line(rule.pattern)}", "strong")
            for example in rule.examples:
                self._screen.remark(f"       {one_line(say(example))}", "dim")
        if not rules:
            self._screen.remark(t("run.no_wider"), "dim")
            return None
        self._screen.remark(t("run.wider_still"), "dim")
        number, _, span = (self._line(t("run.wider")) or "").strip().lower().partition(" ")
        chosen = int(number) - 1 if number.isdecimal() and number.isascii() else -1
        if not 0 <= chosen < len(rules) or span.strip() not in _SPANS:
            return None
        return Decision(True, span=_SPANS[span.strip()], pattern=rules[chosen].pattern)

    def _show(self, proposal: Proposal) -> None:
        preview, screen = proposal.preview, self._screen
        screen.remark(f"\n{proposal.tool}: {one_line(say(preview.line))}", "strong")
        if preview.command:
            screen.remark("\n".join(f"  $ {line}" for line in safe(preview.command).splitlines()))
        screen.remark(f"  {one_line(say(preview.sandbox))}" if preview.sandbox else "", "dim")
        lines = safe(preview.diff or preview.text).splitlines()
        screen.remark("\n".join(f"  {line}" for line in lines[:_LINES]) if lines else "", "dim")
        if len(lines) > _LINES:
            screen.remark(t("run.more_lines", n=len(lines) - _LINES), "dim")
        for warning in preview.warnings:
            screen.remark(f"  ! {one_line(say(warning))}", "warn")
        if proposal.protected:
            path, _, why = proposal.protected.rpartition(": ")
            screen.remark(f"  ! {t('chat.protected', path=one_line(path), why=one_line(say(why)))}", "warn")
        if proposal.refused_before is not None:
            screen.remark(t("run.refused_before", reason=one_line(proposal.refused_before) or "–"), "warn")

    def _line(self, question: str) -> str | None:
        """Return a line of input; None if the input was closed."""
        sys.stdout.flush()
        sys.stderr.write(f"{question} ")
        sys.stderr.flush()
        self.asking = True
        try:
            line = sys.stdin.readline()
        finally:
            self.asking = False
        return line.rstrip("\n") if line else None


def _is_yes(said: str) -> bool:
    return said.lower() in ("y", "yes", "是", "好")


def _without_no(said: str) -> str:
    return "" if said.lower() in ("n", "no", "否") else said
