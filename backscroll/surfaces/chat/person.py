"""The person at this terminal: approves, refuses with a reason, judges results, answers questions.

Owns what is shown before a decision (the command to the letter, the diff, warnings, that it was refused before) and the keys of
it. A key that was pressed before the question stood there decides nothing. Escape and Ctrl-C stop the run.
Refuses: rules (`agent/approval/approval`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.text import Text

from backscroll.agent.person import Decision, Judgement, Proposal, Span, WiderRule
from backscroll.surfaces.chat.input import questions as asking
from backscroll.surfaces.chat.screen.diffs import BRIEF, diff_lines
from backscroll.surfaces.chat.screen.invisible_characters import reveal_invisible
from backscroll.surfaces.cli.screen.cells import cut, wrap
from backscroll.surfaces.cli.screen.plain import one_line, safe
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say

if TYPE_CHECKING:
    from rich.console import RenderableType

    from backscroll.surfaces.chat.input.typeahead import TypeaheadGuard

_SPANS: tuple[Span, ...] = ("once", "session", "project", "always")
_KINDS = {"words": "chat.wider_words", "below": "chat.wider_below", "folder": "chat.wider_folder"}
_TEXT = 30  # lines of a preview's text that are shown at once


class QuestionScreen(Protocol):
    """Where questions are shown: the live lines are away, nothing typed ahead is left, and the bell has rung."""

    def asking(self) -> AbstractContextManager[None]:
        """For the time of a question."""
        ...

    def show(self, *what: RenderableType) -> None:
        """Print something."""
        ...

    @property
    def width(self) -> int:
        """Cells of a line."""
        ...

    @property
    def ahead(self) -> TypeaheadGuard | None:
        """Keeps keys that were pressed before a question stood there from deciding it."""
        ...


class TerminalPerson:
    """Asks whoever sits at the terminal."""

    def __init__(self, place: QuestionScreen) -> None:
        self._place = place
        self.proposed: dict[str, Proposal] = {}  # what was asked about, by call

    # -- approval --------------------------------------------------------------------------------------------

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        """One decision for each, one by one or all at once."""
        self.proposed.clear()
        self.proposed.update({proposal.call_id: proposal for proposal in proposals})
        with self._place.asking():
            if len(proposals) > 1:
                self._list(proposals)
            out: list[Decision] = []
            for number, proposal in enumerate(proposals, 1):
                rest = proposals[number - 1 :]
                decision, all_of_them = self._one(proposal, number, len(proposals), rest[1:])
                out.append(decision)
                self._place.show(_outcome(proposal, decision))
                if all_of_them:
                    out += [decision] * (len(rest) - 1)
                    break
            return out

    def _list(self, proposals: Sequence[Proposal]) -> None:
        self._place.show("", Text(count("chat.several", len(proposals)), style="bold"))
        for number, proposal in enumerate(proposals, 1):
            self._place.show(Text(cut(_render_list_line(proposal, number), self._place.width - 1)))

    def _one(
        self, proposal: Proposal, number: int, of: int, rest: Sequence[Proposal]
    ) -> tuple[Decision, bool]:
        """A decision, and whether it is meant for all that follow."""
        self._place.show("", *proposal_lines(proposal, number, of, self._place.width))
        words, keys = _keys(proposal, several=number < of)
        while True:
            key = asking.press(words, keys, self._place.ahead)
            if not key:
                raise KeyboardInterrupt
            if key == "d":
                self._place.show(*whole_preview(proposal))
            elif key == "+" and not self._confirm_unseen(rest, number, of):
                continue
            elif (decision := self._decision(key, proposal)) is not None:
                return decision, key in {"+", "-"}

    def _confirm_unseen(self, rest: Sequence[Proposal], number: int, of: int) -> bool:
        """Nothing is allowed unseen: what one line did not show of the others is shown first, and asked for once more."""
        room = self._place.width - 1
        hidden = [(n, p) for n, p in enumerate(rest, number + 1) if not _fits_a_line(p, n, room)]
        if not hidden:
            return True
        for place, proposal in hidden:
            self._place.show("", *proposal_lines(proposal, place, of, self._place.width))
        return asking.press(t("chat.approve_all_sure"), ["y", "n"], self._place.ahead) == "y"

    def _decision(self, key: str, proposal: Proposal) -> Decision | None:
        """What a key means; None where the person came back from a further question."""
        pattern = suggest_rule(proposal)
        match key:
            case "n" | "-":
                reason = asking.ask(t("chat.why_not"))
                return None if reason is None else Decision(False, reason.strip())
            case "s":
                return Decision(True, span="session", pattern=pattern)
            case "a":
                return self._for_longer(pattern)
            case "w":
                return self._wider(proposal, pattern)
            case _:
                return Decision(True)

    def _wider(self, proposal: Proposal, narrow: str) -> Decision | None:
        """A rule that covers more: chosen on purpose, and shown with what it would let through before it is made."""
        rules = wider_rules(proposal)
        lines = [wider_line(rule) for rule in rules]
        found = asking.choose(t("chat.wider_title"), [*lines, t("chat.wider_own")], ahead=self._place.ahead)
        if found is None:
            return None
        if found < len(rules):
            rule = rules[found]
        else:
            edited = asking.ask(t("chat.edit_pattern"), initial=narrow)
            if edited is None or not edited.strip():
                return None
            rule = own_rule(proposal, edited.strip())
        self._place.show("", *wider_lines(rule))
        return self._for_longer(rule.pattern)

    def _for_longer(self, pattern: str) -> Decision | None:
        """For how long; None where the person came back from here."""
        shown = one_line(pattern) or t("chat.exactly_this")
        found = asking.choose(
            t("chat.for_how_long", pattern=shown),
            [t(f"chat.span_{span}") for span in _SPANS],
            initial=1,
            ahead=self._place.ahead,
        )
        if found is None:
            return None
        span = _SPANS[found]
        return Decision(True, span=span, pattern="" if span == "once" else pattern)

    # -- results and questions -------------------------------------------------------------------------------

    def judge(self, result: str, command: str = "") -> Judgement:
        """Is it done? Not yet takes feedback, and pictures by their paths."""
        with self._place.asking():
            self._place.show("", Text(t("chat.result_title"), style="bold green"))
            self._place.show(*_markdown(self._place, result))
            if command:
                self._place.show(
                    Text.assemble((t("chat.result_command"), "dim"), " ", (safe(command), "bold"))
                )
            while True:
                match asking.press(t("chat.judge_keys"), ["y", "n", "l"], self._place.ahead):
                    case "y":
                        self._place.show(Text(f"✓ {t('chat.accepted')}", style="green"))
                        return Judgement(True)
                    case "n":
                        judgement = self._not_yet()
                        if judgement is not None:
                            return judgement
                    case "l":
                        self._place.show(Text(t("chat.left_open"), style="dim"))
                        return Judgement(None)
                    case _:
                        raise KeyboardInterrupt

    def _not_yet(self) -> Judgement | None:
        feedback = asking.ask(t("chat.what_is_missing"), lines=True)
        if feedback is None:
            return None
        images: list[str] = []
        while (given := asking.ask(t("chat.add_image"))) and given.strip():
            path = Path(given.strip().strip("'\"")).expanduser()
            if path.is_file():
                images.append(str(path))
            else:
                self._place.show(Text(t("chat.no_such_file", path=one_line(str(path))), style="yellow"))
        self._place.show(Text(f"↺ {t('chat.not_yet', feedback=one_line(feedback) or '–')}", style="yellow"))
        return Judgement(False, feedback.strip(), tuple(images))

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        """One of the options, or an answer of one's own; None leaves the question open."""
        with self._place.asking():
            self._place.show("", Text(t("chat.question_title"), style="bold cyan"))
            self._place.show(*_markdown(self._place, question))
            given = self._ask_choice(options)
            if given is None:
                self._place.show(Text(t("chat.left_open"), style="dim"))
            else:
                self._place.show(Text.assemble(("› ", "cyan"), safe(given)))
            return given

    def _ask_choice(self, options: Sequence[str]) -> str | None:
        ahead = self._place.ahead
        if options:
            own = t("chat.answer_own")
            found = asking.choose(t("chat.answer_choose"), [*options, own], ahead=ahead)
            if found is None:
                return None
            if found < len(options):
                return options[found]
            ahead = None  # who chose to answer in own words may type on at once
        given = asking.ask(t("chat.answer_free"), lines=True, ahead=ahead)
        return given.strip() if given is not None and given.strip() else None


# -- what is shown -----------------------------------------------------------------------------------------------


def proposal_lines(proposal: Proposal, number: int, of: int, width: int) -> list[Text]:
    """A proposal as one decides on it; what speaks against it stands last, where the keys are."""
    preview = proposal.preview
    place = f" ({number}/{of})" if of > 1 else ""
    title = t(f"chat.wants_{proposal.effect}", tool=one_line(proposal.tool))
    out = [Text(f"▲ {title}{place}", style="bold yellow")]
    if preview.command:
        lines = reveal_invisible(preview.command).split("\n")
        out += [Text(f"  {'$ ' if n == 0 else '  '}{line}", style="bold") for n, line in enumerate(lines)]
        out += [Text(f"  {one_line(say(preview.sandbox))}", style="green")] if preview.sandbox else []
    elif preview.line:
        out += [Text(f"  {line}") for line in wrap(reveal_invisible(say(preview.line)), max(20, width - 3))]
    if preview.text and one_line(preview.text) not in preview.line:
        out += [Text(line) for line in _hanging(_limit_lines(preview.text), max(20, width - 1))]
    if preview.diff:
        out += diff_lines(preview.diff, BRIEF)
    out += [Text(f"  ! {one_line(say(warning))}", style="bold red") for warning in preview.warnings]
    if proposal.protected:
        out += [
            Text(f"  ! {line}", style="bold red")
            for line in wrap(protected_words(proposal), max(20, width - 5))
        ]
    if proposal.refused_before is not None:
        reason = one_line(proposal.refused_before)
        said = t("chat.refused_before_with", reason=reason) if reason else t("chat.refused_before")
        out.append(Text(f"  ⟲ {said}", style="bold red"))
    return out


def _render_list_line(proposal: Proposal, number: int) -> str:
    """A proposal on one line of a list."""
    return f"  {number}. {one_line(proposal.tool)}  {one_line(say(proposal.preview.line))}"


def _fits_a_line(proposal: Proposal, number: int, room: int) -> bool:
    """True where its line in the list shows all there is to see."""
    preview, line = proposal.preview, _render_list_line(proposal, number)
    more = (
        preview.diff
        or preview.text
        or preview.warnings
        or proposal.protected
        or proposal.refused_before is not None
    )
    whole = reveal_invisible(preview.command) in line
    return not more and whole and cut(line, room) == line


def whole_preview(proposal: Proposal) -> list[Text]:
    """Everything there is to see, however long."""
    out = [Text(f"  {line}") for line in safe(proposal.preview.text).rstrip("\n").split("\n") if line]
    return [*out, *diff_lines(proposal.preview.diff, None)]


def suggest_rule(proposal: Proposal) -> str:
    """What a lasting decision covers, as the rules would write it; empty: exactly this call."""
    from backscroll.agent.approval import offers as approval_offers

    return approval_offers.suggest_rule(proposal) if proposal.narrow is None else proposal.narrow


def wider_rules(proposal: Proposal) -> tuple[WiderRule, ...]:
    """What it may cover beyond that, if the person wants it."""
    from backscroll.agent.approval import offers as approval_offers

    return approval_offers.wider(proposal) if proposal.narrow is None else proposal.wider


def own_rule(proposal: Proposal, pattern: str) -> WiderRule:
    """A pattern that the person wrote, with what it would let through."""
    from backscroll.agent.approval import offers as approval_offers

    examples = approval_offers.examples_of(pattern) if proposal.effect == "command" else ()
    return WiderRule(pattern, "own", examples)


def wider_line(rule: WiderRule) -> str:
    """A wider rule on one line of a list."""
    return t("chat.wider_line", pattern=one_line(rule.pattern), kind=t(_KINDS[rule.kind]))


def wider_lines(rule: WiderRule) -> list[Text]:
    """A wider rule as one decides on it: what it is, what it lets through, and what is asked about all the same."""
    out = [Text(t("chat.wider_allows", pattern=one_line(rule.pattern)), style="bold yellow")]
    out += [Text(f"    {one_line(say(example))}") for example in rule.examples]
    return [*out, Text(f"  {t('chat.wider_still')}", style="dim")]


def protected_words(proposal: Proposal) -> str:
    """Which protected path a call touches, and why it is one."""
    path, _, why = proposal.protected.rpartition(": ")
    return t("chat.protected", path=one_line(path), why=one_line(say(why)))


def _keys(proposal: Proposal, *, several: bool) -> tuple[str, list[str]]:
    """The keys that decide, and how they are told."""
    words, keys = [t("chat.approve_keys")], ["y", "n", "a", "s"]
    if proposal.protected:
        words, keys = [t("chat.approve_once_keys")], ["y", "n"]
    elif proposal.effect in ("command", "read", "write"):
        words.append(t("chat.approve_wider_key"))
        keys.append("w")
    if several:
        words.append(t("chat.approve_all_keys"))
        keys += ["+", "-"]
    if _more(proposal):
        words.append(t("chat.approve_more_key"))
        keys.append("d")
    told = " · ".join([*words, t("chat.approve_stop_key")])
    if not proposal.protected:
        covered = one_line(suggest_rule(proposal)) or t("chat.exactly_this")
        told += "\n" + t("chat.approve_covers", pattern=covered)
    return told, keys


def _more(proposal: Proposal) -> bool:
    preview = proposal.preview
    return preview.diff.count("\n") > BRIEF or preview.text.count("\n") >= _TEXT


def _hanging(lines: Iterable[str], room: int) -> Iterator[str]:
    """Lines that fit; what a long one goes on with stands further in."""
    for line in lines:
        for number, piece in enumerate(wrap(line, room - 4)):
            yield f"{'    ' if number else '  '}{piece}"


def _limit_lines(text: str) -> list[str]:
    lines = safe(text).rstrip("\n").split("\n")
    left = len(lines) - _TEXT
    return lines if left <= 0 else [*lines[:_TEXT], t("chat.diff_more", n=left)]


def _outcome(proposal: Proposal, decision: Decision) -> Text:
    tool = one_line(proposal.tool)
    if not decision.allowed:
        reason = one_line(decision.reason)
        said = t("chat.refused_with", reason=reason) if reason else t("chat.refused")
        return Text(f"✗ {tool}: {said}", style="yellow")
    if decision.span == "once":
        return Text(f"✓ {tool}: {t('chat.allowed')}", style="green")
    pattern = one_line(decision.pattern) or t("chat.exactly_this")
    said = t("chat.allowed_for", span=t(f"chat.span_{decision.span}"), pattern=pattern)
    return Text(f"✓ {tool}: {said}", style="green")


def _markdown(place: QuestionScreen, source: str) -> list[Text]:
    # start-up: the chat is ready before Markdown can be drawn
    from rich.console import Console

    from backscroll.surfaces.chat.screen.markdown_look import as_texts, block_lines

    room = max(20, place.width - 3)
    lines = as_texts(block_lines(Console(width=room, force_terminal=True), safe(source), room))
    return [Text.assemble("  ", line) for line in lines]
