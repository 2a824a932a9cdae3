"""Rules say where they hold: in which folder, in the sandbox or outside of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.agent.approval.approval import Rules, decide
from backscroll.agent.approval.offers import suggest_rule, wider
from backscroll.agent.approval.place import CommandPlace, fits_folder, render_pattern, where_of
from backscroll.agent.approval.rules import rule_of, rules_for
from backscroll.agent.person import Decision, Preview, Proposal
from backscroll.errors import InvalidInput


def command(line: str, folder: str = "", held: str = "", before: str | None = None) -> Proposal:
    preview = Preview(
        line,
        command=line,
        subject=line,
        folder=folder,
        sandbox="in the sandbox" if held == "sandboxed" else "",
        outside=held == "outside",
    )
    return Proposal(
        "c", "run_command", "command", {"command": line, "folder": folder or "."}, preview, before
    )


def said(rules: Rules, proposal: Proposal) -> str:
    decision = rules.verdict(proposal)
    return "ask" if decision is None else "allow" if decision.allowed else "deny"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings" / "permissions.toml"


# -- folders -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "folder", "verdict"),
    [
        ("run_command(make test *)", "", "allow"),
        ("run_command(make test *)", "vendor/evil", "ask"),
        ("run_command(=make test)", "", "allow"),
        ("run_command(=make test)", "vendor/evil", "ask"),
        ("run_command(in vendor/evil: make test *)", "vendor/evil", "allow"),
        ("run_command(in vendor/evil: make test *)", "", "ask"),
        ("run_command(in vendor/evil: =make test)", "vendor/evil", "allow"),
        ("run_command(in vendor: make test *)", "vendor/evil", "ask"),
        ("run_command(in vendor/**: make test *)", "vendor/evil", "allow"),
        ("run_command(in vendor/**: make test *)", "vendor", "allow"),
        ("run_command(in vendor/*: make test *)", "vendor/a/b", "ask"),
        ("run_command(in **: make test *)", "vendor/evil", "allow"),
        ("run_command(in **: make test *)", "", "allow"),
        ("run_command", "vendor/evil", "allow"),
    ],
)
def test_allow_rule_with_a_folder_applies_only_there(
    rule: str, folder: str, verdict: str, file: Path
) -> None:
    """`make test` in the project is not `make test` in what came with it."""
    assert said(Rules("ask", allow=[rule], file=file), command("make test", folder)) == verdict


@pytest.mark.parametrize("folder", ["", "vendor/evil"])
def test_deny_rule_without_a_folder_applies_everywhere(folder: str, file: Path) -> None:
    """Unless the rule names one."""
    proposal = command("git push", folder)
    assert said(Rules("all", deny=["run_command(git push *)"], file=file), proposal) == "deny"
    assert said(Rules("all", deny=["run_command(=git push)"], file=file), proposal) == "deny"
    assert said(Rules("all", ask=["run_command(git push *)"], file=file), proposal) == "ask"
    named = Rules("all", deny=["run_command(in Vendor/**: git push *)"], file=file)
    assert said(named, proposal) == ("deny" if folder else "allow")


def test_read_only_commands_run_unasked_only_inside_folder_and_sandbox(file: Path, tmp_path: Path) -> None:
    """In the folder, in those below, and not outside of a sandbox."""
    rules = Rules("ask", root=tmp_path, file=file)
    assert said(rules, command("ls")) == "allow"
    assert said(rules, command("ls", "vendor")) == "allow"
    assert said(rules, command("ls", held="sandboxed")) == "allow"
    assert said(rules, command("ls", held="outside")) == "ask"


def test_suggested_rule_includes_the_folder(file: Path, tmp_path: Path) -> None:
    """It is stored with the folder and read back unchanged."""
    proposal = command("make test && make lint", "vendor/good one")
    assert suggest_rule(proposal) == 'in "vendor/good one": make test && make lint'
    assert wider(proposal)[0].pattern == 'in "vendor/good one": make test * && make lint *'

    class Yes:
        def approve(self, proposals: object) -> list[Decision]:
            return [Decision(True, span="project", pattern=suggest_rule(proposal))]

    rules = Rules("ask", root=tmp_path, file=file)
    assert decide(rules, Yes(), [proposal])[0].allowed  # type: ignore[arg-type]
    again = Rules("ask", root=tmp_path, file=file)
    assert [rule.text for rule in again.list_rules()] == [
        'run_command(in "vendor/good one": make test)',
        'run_command(in "vendor/good one": make lint)',
    ]
    assert said(again, proposal) == "allow"
    assert said(again, command("make test")) == "ask"
    assert said(again, command("make test", "vendor")) == "ask"


def test_folder_that_no_rule_can_name_is_allowed_only_once(file: Path) -> None:
    """A star in its name would mean others, too."""
    proposal = command("make", "all*")
    assert suggest_rule(proposal) == ""
    with pytest.raises(InvalidInput, match="no rule can name"):
        rules_for(proposal, "", "allow", "session")

    class Always:
        def approve(self, proposals: object) -> list[Decision]:
            return [Decision(True, span="always")]

    rules = Rules("ask", file=file)
    assert decide(rules, Always(), [proposal])[0].span == "once"  # type: ignore[arg-type]
    assert rules.list_rules() == []


# -- the sandbox -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "free", "sandboxed", "outside"),
    [
        ("run_command(npm test *)", "allow", "allow", "ask"),
        ("run_command(sandboxed: npm test *)", "ask", "allow", "ask"),
        ("run_command(outside: npm test *)", "allow", "ask", "allow"),
        ("run_command(sandboxed: =npm test)", "ask", "allow", "ask"),
        ("run_command(sandboxed: *)", "ask", "allow", "ask"),
        ("run_command", "allow", "allow", "ask"),
        ("run_*", "allow", "allow", "ask"),
    ],
)
def test_rule_must_name_outside_to_let_a_command_leave_the_sandbox(
    rule: str, free: str, sandboxed: str, outside: str, file: Path
) -> None:
    """Without a sandbox, in one, and outside of one."""
    rules = Rules("ask", allow=[rule], file=file)
    found = [said(rules, command("npm test", held=held)) for held in ("", "sandboxed", "outside")]
    assert found == [free, sandboxed, outside]


def test_leaving_the_sandbox_needs_approval_in_every_mode(file: Path) -> None:
    """`all` means all that the sandbox lets through."""
    rules = Rules("all", file=file)
    assert said(rules, command("npm test", held="sandboxed")) == "allow"
    assert said(rules, command("npm test", held="outside")) == "ask"
    never = Rules("all", deny=["run_command(outside: *)"], file=file)
    assert said(never, command("npm test", held="outside")) == "deny"
    assert said(never, command("npm test", held="sandboxed")) == "allow"


def test_sandboxed_commands_may_run_unasked(file: Path) -> None:
    """Doubtful lines too, if the setting allows it; deny and ask rules still apply."""
    line = "pytest $(cat args) > out"
    assert said(Rules("ask", file=file), command(line, held="sandboxed")) == "ask"
    rules = Rules("ask", file=file, sandboxed_unasked=True)
    assert said(rules, command(line, held="sandboxed")) == "allow"
    assert said(rules, command(line, "sub", held="sandboxed")) == "allow"
    assert said(rules, command(line)) == "ask"
    assert said(rules, command(line, held="outside")) == "ask"
    careful = Rules("ask", file=file, sandboxed_unasked=True, ask=["run_command(git push *)"])
    assert said(careful, command("git push", held="sandboxed")) == "ask"
    assert said(careful, command("$(echo git) push", held="sandboxed")) == "ask"
    assert said(careful, command("ls", held="sandboxed")) == "allow"


def test_remembered_rule_includes_sandbox_and_folder(file: Path) -> None:
    """Approval inside the sandbox does not apply outside, and vice versa."""
    for held, other in (("sandboxed", "outside"), ("outside", "sandboxed")):
        proposal = command("pip install x", "web", held)
        assert suggest_rule(proposal) == f"{held} in web: pip install x"
        assert wider(proposal)[0].pattern == f"{held} in web: pip install *"
        for pattern in (suggest_rule(proposal), ""):
            (rule,) = rules_for(proposal, pattern, "allow", "session")
            rules = Rules("ask", file=file, allow=[rule.text])
            assert said(rules, proposal) == "allow"
            assert said(rules, command("pip install x", "web", other)) == "ask"
            assert said(rules, command("pip install x", "", held)) == "ask"


# -- writing -----------------------------------------------------------------------------------------------------


@given(
    st.sampled_from(["", "sandboxed", "outside"]),
    st.lists(
        st.text("ab c:'é中-._(", min_size=1, max_size=5)
        .map(str.strip)
        .filter(lambda p: p not in ("", ".", "..")),
        max_size=3,
    ),
    st.sampled_from(["make *", "=make > log: x", "git commit -m 'in a: b' *", "in: x"]),
)
def test_what_is_written_is_read_as_the_same(held: str, parts: list[str], pattern: str) -> None:
    """Whatever the folder is called."""
    place = CommandPlace(held, "/".join(parts) or ".")
    if not held and not parts and where_of(pattern)[0] != CommandPlace():
        return
    rule = rule_of(f"run_command({render_pattern(place, pattern)})", "allow")
    assert rule.pattern is not None
    found, rest = where_of(rule.pattern)
    assert (found.held, rest) == (held, pattern)
    assert found.allows(place)
    assert not found.allows(CommandPlace(held, f"{place.folder}/more"))
    assert not found.allows(CommandPlace("outside" if held != "outside" else "sandboxed", place.folder))


@pytest.mark.parametrize(
    "text", ["run_command(in web:)", "run_command(sandboxed: )", "run_command(in web: =)"]
)
def test_place_without_a_pattern_is_refused(text: str) -> None:
    """It would allow nothing, and look as if it did."""
    with pytest.raises(InvalidInput, match="empty pattern"):
        rule_of(text, "allow")


def test_folders_are_compared_by_path_component() -> None:
    """`web` is not `website`, and not `web/app`."""
    assert fits_folder("web", "web")
    assert not fits_folder("web", "website")
    assert not fits_folder("web", "web/app")
    assert not fits_folder(".", "web")
    assert fits_folder("*", "web")
    assert not fits_folder("*", ".")
    assert fits_folder("**/app", "web/app")
