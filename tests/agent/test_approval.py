"""Approval: what goes ahead, what is refused, what is asked; and what is remembered of the answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.agent.approval.approval import Rules, decide
from backscroll.agent.approval.offers import suggest_rule, wider
from backscroll.agent.approval.rules import fits_path, rule_of, wild
from backscroll.agent.person import Decision, Effect, Judgement, Nobody, Preview, Proposal
from backscroll.errors import InvalidInput


def command(line: str, **more: object) -> Proposal:
    return Proposal(
        "c", "run_command", "command", {"command": line, **more}, Preview(line, command=line, subject=line)
    )


def writing(
    *paths: str, tool: str = "write_file", warnings: tuple[str, ...] = (), before: str | None = None
) -> Proposal:
    preview = Preview("write", paths=paths, subject=paths[0], warnings=warnings)
    return Proposal("w", tool, "write", {"path": paths[0]}, preview, before)


def of(effect: Effect, tool: str = "thing") -> Proposal:
    return Proposal("x", tool, effect, {}, Preview("do it"))


def said(rules: Rules, proposal: Proposal) -> str:
    decision = rules.verdict(proposal)
    return "ask" if decision is None else "allow" if decision.allowed else "deny"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings" / "permissions.toml"


class Answers:
    """A person who says what the test wants, and remembers what they were asked."""

    def __init__(self, *decisions: Decision) -> None:
        self.decisions = decisions
        self.asked: list[list[str]] = []

    def approve(self, proposals: Sequence[Proposal]) -> Sequence[Decision]:
        self.asked.append([p.call_id for p in proposals])
        return self.decisions[: len(proposals)]

    def judge(self, result: str, command: str = "") -> Judgement:
        raise AssertionError(f"not asked for: {result}{command}")

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        raise AssertionError(f"not asked for: {question}{options}")


# -- the order ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("strict", {"write", "command", "memory", "network"}),
        ("ask", {"write", "command", "memory", "network"}),
        ("edits", {"command", "memory", "network"}),
        ("all", set()),
    ],
)
def test_mode_decides_when_no_rule_matches(mode: str, asked: set[str], file: Path) -> None:
    """Looking, thinking and asking the person never need a permission."""
    rules = Rules(mode, file=file)
    effects: tuple[Effect, ...] = ("none", "read", "ask", "write", "command", "memory", "network")
    assert {effect for effect in effects if said(rules, of(effect)) == "ask"} == asked


def test_deny_rule_beats_every_allow_rule(file: Path) -> None:
    """However much else allows it: as one of several commands, by its path, inside what cannot be read."""
    rules = Rules("all", allow=["run_command", "run_command(rm *)"], deny=["run_command(rm *)"], file=file)
    for line in (
        "rm x",
        "git status && rm x",
        "/bin/rm x",
        "sudo rm x",
        "echo $(rm x)",
        "find . -exec rm x",
        "FOO=1 rm x",
    ):
        assert said(rules, command(line)) == "deny", line
    assert said(rules, command("echo rm x")) == "allow"
    decision = rules.verdict(command("rm x"))
    assert decision is not None
    assert "run_command(rm *)" in decision.reason
    assert decision.by == "rule"


def test_unreadable_command_line_is_asked_about_when_a_command_is_denied(file: Path) -> None:
    """A deny rule cannot be evaded by a command line that the parser cannot read."""
    rules = Rules("all", deny=["run_command(rm *)"], file=file)
    assert said(rules, command("git status")) == "allow"
    assert said(rules, command('x="r"m; $x y')) == "ask"
    assert said(Rules("all", file=file), command("echo $HOME")) == "allow"


def test_more_specific_rule_wins(file: Path) -> None:
    """Both ways: an exception from asking, and asking as an exception."""
    rules = Rules(ask=["run_command"], allow=["run_command(git status *)"], file=file)
    assert said(rules, command("git status -s")) == "allow"
    rules = Rules(allow=["run_command(git *)"], ask=["run_command(git push *)"], file=file)
    assert (said(rules, command("git log")), said(rules, command("git push"))) == ("allow", "ask")
    rules = Rules(allow=["run_command(git *)"], ask=["run_command(git *)"], file=file)
    assert said(rules, command("git log")) == "ask"
    assert said(Rules("all", ask=["write_file"], file=file), writing("a")) == "ask"


def test_rules_apply_to_reading(file: Path) -> None:
    """What usually needs no permission can be forbidden, or asked about."""
    preview = Preview("read", paths=("secrets/a",), subject="secrets/a")
    proposal = Proposal("r", "read_file", "read", {}, preview)
    assert said(Rules(file=file), proposal) == "allow"
    assert said(Rules(deny=["read_file(secrets/**)"], file=file), proposal) == "deny"
    assert said(Rules(ask=["*(secrets/**)"], file=file), proposal) == "ask"


# -- commands ----------------------------------------------------------------------------------------------------


def test_every_command_of_a_line_must_be_covered(file: Path) -> None:
    """One pattern may cover one, another the next; one that is not covered asks for the whole line."""
    rules = Rules(allow=["run_command(git status *)", "run_command(npm test)"], file=file)
    assert said(rules, command("git status && npm test")) == "allow"
    assert said(rules, command("git status && npm test -x")) == "ask"
    assert said(rules, command("git status && rm -rf x")) == "ask"
    assert said(rules, command("git status; git stash")) == "ask"
    assert said(rules, command("./git status")) == "ask"
    assert said(rules, command('"git status"')) == "ask"


def test_no_pattern_covers_a_doubtful_line(file: Path) -> None:
    """Not even a catch-all pattern; only the tool as a whole, or this exact line."""
    rules = Rules(allow=["run_command(*)", "run_command(sudo *)"], file=file)
    assert said(rules, command("anything at all")) == "allow"
    for line in ("echo $(x)", "echo a > b", "sudo x", "a\nb", "find . -delete"):
        assert said(rules, command(line)) == "ask", line
    assert said(Rules(allow=["run_command"], file=file), command("echo a > b")) == "allow"
    exact = Rules(allow=["run_command(=echo a > b)"], file=file)
    assert (said(exact, command(" echo a > b\n")), said(exact, command("echo a > c"))) == ("allow", "ask")


def test_pattern_words_and_stars(file: Path) -> None:
    """`*` at the end covers the rest, in the middle one word; file names that the shell fills in are not guessed."""
    rules = Rules(
        allow=["run_command(docker * ls)", "run_command(cat a?)", 'run_command(say "a b")'], file=file
    )
    assert said(rules, command("docker image ls")) == "allow"
    assert said(rules, command("docker image rm ls")) == "ask"
    assert (said(rules, command("cat ab")), said(rules, command("cat a*"))) == ("allow", "ask")
    assert (said(rules, command("say 'a b'")), said(rules, command("say a b"))) == ("allow", "ask")


@pytest.mark.parametrize("mode", ["ask", "edits"])
def test_read_only_commands_run_unasked_except_in_strict_mode(mode: str, file: Path, tmp_path: Path) -> None:
    """In the folder and below, not after a refusal, and never against a rule."""
    assert said(Rules("strict", root=tmp_path, file=file), command("ls")) == "ask"
    rules = Rules(mode, root=tmp_path, allow=["run_command(npm test *)"], file=file)
    assert said(rules, command("ls -la && npm test")) == "allow"
    assert said(rules, command("ls", folder="web")) == "allow"
    assert said(rules, command("ls", folder="/elsewhere")) == "ask"
    assert said(rules, command("ls; rm x")) == "ask"
    assert said(Rules(mode, root=tmp_path, ask=["run_command(ls *)"], file=file), command("ls")) == "ask"
    again = Proposal("c", "run_command", "command", {}, Preview("ls", command="ls"), refused_before="no")
    assert said(rules, again) == "ask"
    assert said(Rules(mode, file=file), command("ls")) == "ask", "without a folder nothing is known"


# -- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("docs/**", ["docs/a.md", "docs/x/y.md"], ["src/docs/a.md", "docs2/a"]),
        ("*.md", ["a.md", "x/y/a.md"], ["a.mdx", "md"]),
        ("/*.md", ["a.md"], ["x/a.md"]),
        ("src/", ["src/a", "src/b/c"], ["a/src/b"]),
        ("src/*/test_*.py", ["src/a/test_b.py"], ["src/test_b.py", "src/a/b/test_c.py"]),
        ("**/test/**", ["test/a", "a/b/test/c"], ["atest/b"]),
        ("文档/**", ["文档/说明.md"], ["文件/说明.md"]),
        ("**", ["a", "a/b"], []),
    ],
)
def test_path_patterns(pattern: str, fits: list[str], fits_not: list[str]) -> None:
    assert [p for p in fits if not fits_path(pattern, p)] == []
    assert [p for p in fits_not if fits_path(pattern, p)] == []


def test_every_file_of_a_call_must_be_covered(file: Path, tmp_path: Path) -> None:
    """No file may be outside the folder, regardless of the pattern."""
    rules = Rules(allow=["*(docs/**)"], root=tmp_path, file=file)
    assert said(rules, writing("docs/a", "docs/b")) == "allow"
    assert said(rules, writing("docs/a", "src/b")) == "ask"
    assert said(rules, writing("docs/../src/b")) == "ask"
    assert said(rules, writing("docs/../../b")) == "ask"
    assert said(rules, writing(str(tmp_path / "docs" / "a"))) == "allow"
    everything = Rules("edits", allow=["write_file(**)"], root=tmp_path, file=file)
    assert said(everything, writing("../b")) == "ask"
    assert said(everything, writing("/etc/passwd")) == "ask"
    assert said(Rules("edits", deny=["*(Secret/**)"], file=file), writing("secret/a")) == "deny"


def test_edits_mode_asks_about_warnings_and_refused_edits(file: Path) -> None:
    """Edits refused before, or with a warning, need approval even in this mode."""
    rules = Rules("edits", file=file)
    assert said(rules, writing("a")) == "allow"
    assert said(rules, writing("a", warnings=("deletes files",))) == "ask"
    assert said(rules, writing("a", before="not this one")) == "ask"


def test_agent_cannot_write_the_permissions_file(tmp_path: Path) -> None:
    """Even if the file is inside its folder and everything is allowed."""
    rules = Rules("all", allow=["write_file"], root=tmp_path, file=tmp_path / "settings" / "permissions.toml")
    assert said(rules, writing("settings/permissions.toml")) == "deny"
    assert said(rules, writing("settings/config.toml")) == "deny"
    assert said(rules, writing("other/permissions.toml")) == "allow"


# -- asking and remembering --------------------------------------------------------------------------------------


def test_open_calls_of_a_reply_are_asked_in_one_question(file: Path) -> None:
    """What rules decide is not asked; each of the others gets its own answer and reason, in order."""
    rules = Rules(allow=["run_command(git status *)"], deny=["run_command(rm *)"], file=file)
    lines = {"a": "make", "b": "git status", "c": "rm x", "d": "npm publish"}
    proposals = [
        Proposal(name, "run_command", "command", {}, Preview(line, command=line))
        for name, line in lines.items()
    ]
    person = Answers(Decision(True), Decision(False, "还没测试"))
    decisions = decide(rules, person, proposals)
    assert person.asked == [["a", "d"]]
    assert [d.allowed for d in decisions] == [True, True, False, False]
    assert decisions[3].reason == "还没测试"


def test_person_is_not_asked_when_rules_decide_everything(file: Path) -> None:
    person = Answers()
    assert [d.allowed for d in decide(Rules("all", file=file), person, [command("x"), writing("y")])] == [
        True,
        True,
    ]
    assert person.asked == []


def test_missing_decision_counts_as_refusal(file: Path) -> None:
    """A person or program that returns fewer decisions than proposals refuses the rest."""
    decisions = decide(Rules(file=file), Answers(Decision(True)), [command("a"), command("b")])
    assert [d.allowed for d in decisions] == [True, False]
    assert decisions[1].reason
    assert [d.allowed for d in decide(Rules(file=file), Nobody(), [command("a")])] == [False]


def test_decision_holds_for_its_span(file: Path, tmp_path: Path) -> None:
    """Once; for this run; for this folder; for everything."""
    one, other = tmp_path / "one", tmp_path / "other"
    for span, here, again, elsewhere in (
        ("once", "ask", "ask", "ask"),
        ("session", "allow", "ask", "ask"),
        ("project", "allow", "allow", "ask"),
        ("always", "allow", "allow", "allow"),
    ):
        file.unlink(missing_ok=True)
        rules = Rules(root=one, file=file)
        answer = Decision(True, span=span, pattern="git fetch *")  # pyright: ignore[reportArgumentType]
        decide(rules, Answers(answer), [command("git fetch -p")])
        later = [
            said(r, command("git fetch"))
            for r in (rules, Rules(root=one, file=file), Rules(root=other, file=file))
        ]
        assert later == [here, again, elsewhere], span


def test_decision_without_a_pattern_covers_exactly_this_call(file: Path) -> None:
    """Also where the line could not be covered by any pattern, and where a tool has nothing to compare."""
    rules = Rules(file=file)
    decide(rules, Answers(Decision(True, span="always")), [command("make > log 2>&1")])
    assert said(rules, command("make > log 2>&1")) == "allow"
    assert said(rules, command("make > log")) == "ask"
    decide(rules, Answers(Decision(True, span="session")), [of("memory", "remember")])
    assert said(rules, of("memory", "remember")) == "allow"


def test_refusal_can_be_remembered(file: Path) -> None:
    rules = Rules("all", ask=["run_command"], file=file)
    decide(
        rules, Answers(Decision(False, "never", span="always", pattern="git push *")), [command("git push")]
    )
    assert said(Rules("all", file=file), command("git status; git push -f")) == "deny"


def test_pattern_for_several_commands_makes_several_rules(file: Path) -> None:
    """An offer for `a && b` makes one rule for each command."""
    proposal = command("git add x && git commit -m 'y z'")
    rules = Rules(file=file)
    made = rules.remember(proposal, Decision(True, span="session", pattern=suggest_rule(proposal)))
    assert [rule.text for rule in made] == ["run_command(git add x)", "run_command(git commit -m 'y z')"]
    assert said(rules, command("git commit -m 'y z'")) == "allow"
    assert said(rules, command("git commit -m 'z z'")) == "ask"
    rules = Rules(file=file)
    made = rules.remember(proposal, Decision(True, span="session", pattern=wider(proposal)[0].pattern))
    assert [rule.text for rule in made] == ["run_command(git add *)", "run_command(git commit *)"]
    assert said(rules, command("git commit -m 'z z'")) == "allow"


def test_change_of_several_files_is_remembered_per_file(file: Path) -> None:
    """Not as every call of the tool."""
    rules = Rules(file=file)
    both = Proposal("w", "apply_patch", "write", {}, Preview("edit", paths=("a.py", "src/b.py")))
    decide(rules, Answers(Decision(True, span="session")), [both])
    assert said(rules, both) == "allow"
    assert (
        said(rules, Proposal("w", "apply_patch", "write", {}, Preview("edit", paths=("c.py", "a.py"))))
        == "ask"
    )


def test_decision_holds_if_the_permissions_file_cannot_be_written(tmp_path: Path) -> None:
    """A folder that cannot be written to costs the memory, not the answer."""
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be", encoding="utf-8")
    rules = Rules(root=tmp_path, file=blocked / "permissions.toml")
    decided = decide(rules, Answers(Decision(True, span="always", pattern="touch *")), [command("touch a")])
    assert decided[0].allowed
    assert said(rules, command("touch b")) == "allow"


# -- the file ----------------------------------------------------------------------------------------------------


def test_broken_permissions_file_allows_nothing(file: Path) -> None:
    """Until the file is fixed, every call is asked about, with the reason."""
    file.parent.mkdir()
    file.write_text('[always]\n"run_command(ls *)" = "perhaps"\n', encoding="utf-8")
    rules = Rules("all", allow=["run_command"], file=file)
    assert "line 2" in rules.trouble
    assert [said(rules, p) for p in (command("ls"), writing("a"), of("read"), of("none"))] == [
        "ask",
        "ask",
        "ask",
        "allow",
    ]
    file.write_text('[always]\n"run_command(ls *)" = "deny"\n', encoding="utf-8")
    assert rules.trouble == ""
    assert (said(rules, command("ls")), said(rules, command("pwd"))) == ("deny", "allow")


def test_changes_to_the_permissions_file_apply_at_once(file: Path) -> None:
    """Another program, or a person with an editor, changes the rules of one that runs."""
    mine, theirs = Rules(file=file), Rules(file=file)
    assert said(mine, command("git fetch")) == "ask"
    theirs.remember(command("git fetch"), Decision(True, span="always", pattern="git fetch *"))
    assert said(mine, command("git fetch")) == "allow"


# -- writing rules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "git *", "run_command()", "run_command(=)", "a b(c)", "x(" + "y" * 3000 + ")", "(x)"]
)
def test_invalid_rule_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rule_of(text, "allow")
    assert refused.value.hint


def test_unknown_mode_is_refused(file: Path) -> None:
    with pytest.raises(InvalidInput, match="never"):
        Rules("never", file=file)


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=10))
def test_wildcards_mean_what_they_say(pattern: str, text: str) -> None:
    """The quick way agrees with trying everything."""

    def slow(p: str, s: str) -> bool:
        if not p:
            return not s
        if p[0] == "*":
            return slow(p[1:], s) or (bool(s) and slow(p, s[1:]))
        return bool(s) and p[0] in ("?", s[0]) and slow(p[1:], s[1:])

    assert wild(pattern, text) is slow(pattern, text)


def test_crop_may_skip_approval_in_edits_mode_only() -> None:
    """`need_user_approve=False` has an effect in the mode `edits` only."""

    def crop(**more: object) -> Proposal:
        return Proposal(
            "c", "smart_context_cropper", "memory", {"crop_direction": "top", **more}, Preview("crop")
        )

    assert Rules("edits", file=Path(os.devnull)).verdict(crop()) is None
    allowed = Rules("edits", file=Path(os.devnull)).verdict(crop(need_user_approve=False))
    assert allowed is not None
    assert allowed.allowed
    assert Rules("ask", file=Path(os.devnull)).verdict(crop(need_user_approve=False)) is None
