"""The user at this terminal: approves, refuses with a reason, judges results, answers questions.

Owns what is shown before a decision (the exact command, the diff, warnings, an earlier refusal) and its
keys. A key that was pressed before the question appeared decides nothing. Escape and Ctrl-C stop the run.
Refuses: rules (`agent/approval/approval`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.text import Text

from backscroll.agent.approval import offers as approval_offers
from backscroll.agent.person import Decision, Judgement, Proposal, Span, WiderRule
from backscroll.surfaces.chat.input import questions as asking
from backscroll.surfaces.chat.screen.diffs import BRIEF, diff_lines
from backscroll.surfaces.chat.screen.invisible_characters import reveal_invisible
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import cut, wrap
from backscroll.surfaces.screen.plain import one_line, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from backscroll.surfaces.chat.input.typeahead import TypeaheadGuard

_SPANS: tuple[Span, ...] = ("once", "session", "project", "always")
_KINDS = {"words": "chat.wider_words", "below": "chat.wider_below", "folder": "chat.wider_folder"}
_TEXT = 30  # lines of a preview's text shown at once


class QuestionScreen(Protocol):
    """Where questions are shown: the live lines are removed, nothing typed ahead is left, and the bell has rung."""

    def asking(self) -> AbstractContextManager[None]:
        """Prepare the screen for a question."""
        ...

    def show(self, *what: RenderableType) -> None:
        """Print something."""
        ...

    @property
    def width(self) -> int:
        """The width of a line in cells."""
        ...

    @property
    def ahead(self) -> TypeaheadGuard | None:
        """Keeps keys pressed before a question appeared from deciding it."""
        ...


class TerminalPerson:
    """Asks the user at the terminal."""

    def __init__(self, place: QuestionScreen) -> None:
        self._place = place
        self.proposed: dict[str, Proposal] = {}  # what was asked about, by call id

    # -- approval --------------------------------------------------------------------------------------------

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        """Return a decision for each proposal, one by one or all at once."""
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
        """Ask about one proposal; return the decision, and whether it applies to all that follow."""
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
        """Confirm approval of the rest: what a single line did not show is shown first, then asked about again."""
        room = self._place.width - 1
        hidden = [(n, p) for n, p in enumerate(rest, number + 1) if not _fits_a_line(p, n, room)]
        if not hidden:
            return True
        for place, proposal in hidden:
            self._place.show("", *proposal_lines(proposal, place, of, self._place.width))
        return asking.press(t("chat.approve_all_sure"), ["y", "n"], self._place.ahead) == "y"

    def _decision(self, key: str, proposal: Proposal) -> Decision | None:
        """Return the decision of a key; None if the user came back from a further question."""
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
        """Offer a rule that covers more: chosen explicitly, and shown with what it would allow before it is made."""
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
        """Ask for how long a rule applies; None if the user came back from here."""
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
        """Ask whether the task is done. "Not yet" takes feedback, and images by their paths."""
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
        """Return one of the options, or the user's own text; None leaves the question open."""
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
            ahead = None  # a user who chose to answer in their own words may type at once
        given = asking.ask(t("chat.answer_free"), lines=True, ahead=ahead)
        return given.strip() if given is not None and given.strip() else None


# -- what is shown -----------------------------------------------------------------------------------------------


def proposal_lines(proposal: Proposal, number: int, of: int, width: int) -> list[Text]:
    """Return a proposal for a decision; warnings come last, next to the keys."""
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
    """Return a proposal as one line of a list."""
    return f"  {number}. {one_line(proposal.tool)}  {one_line(say(proposal.preview.line))}"


def _fits_a_line(proposal: Proposal, number: int, room: int) -> bool:
    """Return True if its line in the list shows everything."""
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
    """Return the complete preview, however long."""
    out = [Text(f"  {line}") for line in safe(proposal.preview.text).rstrip("\n").split("\n") if line]
    return [*out, *diff_lines(proposal.preview.diff, None)]


def suggest_rule(proposal: Proposal) -> str:
    """Return what a lasting decision covers, as a rule is written; empty: exactly this call."""
    return approval_offers.suggest_rule(proposal) if proposal.narrow is None else proposal.narrow


def wider_rules(proposal: Proposal) -> tuple[WiderRule, ...]:
    """Return wider rules that the user may choose."""
    return approval_offers.wider(proposal) if proposal.narrow is None else proposal.wider


def own_rule(proposal: Proposal, pattern: str) -> WiderRule:
    """Return a pattern that the user wrote, with what it would allow."""
    examples = approval_offers.examples_of(pattern) if proposal.effect == "command" else ()
    return WiderRule(pattern, "own", examples)


def wider_line(rule: WiderRule) -> str:
    """Return a wider rule as one line of a list."""
    return t("chat.wider_line", pattern=one_line(rule.pattern), kind=t(_KINDS[rule.kind]))


def wider_lines(rule: WiderRule) -> list[Text]:
    """Return a wider rule for a decision: what it is, what it allows, and what still requires approval."""
    out = [Text(t("chat.wider_allows", pattern=one_line(rule.pattern)), style="bold yellow")]
    out += [Text(f"    {one_line(say(example))}") for example in rule.examples]
    return [*out, Text(f"  {t('chat.wider_still')}", style="dim")]


def protected_words(proposal: Proposal) -> str:
    """Return which protected path a call touches, with the reason."""
    path, _, why = proposal.protected.rpartition(": ")
    return t("chat.protected", path=one_line(path), why=one_line(say(why)))


def _keys(proposal: Proposal, *, several: bool) -> tuple[str, list[str]]:
    """Return the keys that decide, and their labels."""
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
    """Yield lines that fit; continuation lines are indented."""
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
    from rich.console import Console

    # start-up: the chat is ready before Markdown can be drawn
    from backscroll.surfaces.chat.screen.markdown_look import as_texts, block_lines

    room = max(20, place.width - 3)
    lines = as_texts(block_lines(Console(width=room, force_terminal=True), safe(source), room))
    return [Text.assemble("  ", line) for line in lines]
