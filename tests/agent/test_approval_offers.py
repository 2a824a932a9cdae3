"""The rules that a question offers: narrow by default, wider on purpose and shown with what they let through; and which are broad."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.agent.approval.approval import Rules, decide
from backscroll.agent.approval.offers import is_broad, suggest_rule, wider
from backscroll.agent.approval.rules import rule_of, rules_for
from backscroll.agent.person import Decision, Preview, Proposal
from tests.agent.approving import command, project, rules_in, said


def changing(*paths: str) -> Proposal:
    return Proposal("w", "write_file", "write", {}, Preview("write", paths=paths, subject=paths[0]))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("offers"))


@pytest.mark.parametrize(
    ("line", "covered", "asked"),
    [
        (
            "cd web && make test",
            [
                "cd ./web && make test",
                "bash -lc 'cd web && make test'",
                "cd web && timeout 9 make test | tail -3",
            ],
            [
                "cd src && make test",
                "make test",
                "cd web && make clean",
                "cd web; make test",
                "cd .. && make test",
            ],
        ),
        (
            "terraform apply",
            ["nice terraform apply"],
            ["terraform destroy", "terraform apply -destroy", "cd web && terraform apply"],
        ),
        (
            "git push origin main",
            ["git push origin main"],
            ["git push", "git push --force origin main", "git commit -m x"],
        ),
        ("npm run test", ["npm run test && ls"], ["npm run deploy", "npm install", "npm run test -- x"]),
        ("make test > log", ["make test > log"], ["make test > other", "make test"]),
    ],
)
def test_approval_for_the_session_covers_only_the_shown_command(
    line: str, covered: list[str], asked: list[str], root: Path
) -> None:
    """In any spelling; other words, and the same words in another folder, need approval."""

    class Session:
        def approve(self, proposals: list[Proposal]) -> list[Decision]:
            return [Decision(True, span="session", pattern=p.narrow or "") for p in proposals]

    rules = rules_in(root)
    assert said(rules, line) == "ask"
    assert decide(rules, Session(), [command(line)])[0].allowed  # type: ignore[arg-type]
    assert {each: said(rules, each) for each in (line, *covered)} == dict.fromkeys((line, *covered), "allow")
    assert {each: said(rules, each) for each in asked} == dict.fromkeys(asked, "ask")


_WORDS = st.text("abz-=./:@'\"$*? &|;中", min_size=1, max_size=8)


@given(
    st.lists(
        st.sampled_from(["make", "terraform", "npm", "pytest", "git", "x", "cargo"]), min_size=1, max_size=1
    ),
    st.lists(_WORDS, max_size=4),
    st.sampled_from(["", "cd web && ", "timeout 5 "]),
)
def test_what_a_key_stores_covers_the_call_itself(first: list[str], more: list[str], before: str) -> None:
    """Whatever words it has: the rule that is made of an answer lets the same call through, and no call with another word."""
    quoted = " ".join(f"'{word}'" if "'" not in word else f'"{word}"' for word in more)
    line = f"{before}{first[0]} {quoted}".strip()
    rules = Rules(file=Path("/nowhere/permissions.toml"))
    proposal = command(line)
    offered = rules.prepare_proposal(proposal)
    if offered.protected:
        return
    rules.remember(proposal, Decision(True, span="session", pattern=offered.narrow or ""))
    assert said(rules, line) == "allow"
    assert said(rules, f"{line} other") == "ask"
    assert said(rules, f"cd src && {first[0]} {quoted}") == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "cd web && make test",
        "terraform apply -x",
        "npm run test",
        "pip install x",
        "git add a && git commit -m b",
        "pytest",
        "x y z",
    ],
)
def test_offered_rule_allows_its_examples(line: str, root: Path) -> None:
    """The examples shown to the person match what the rule does."""
    offers = rules_in(root).prepare_proposal(command(line)).wider
    assert len(offers) == 2
    for offer in offers:
        rules = rules_in(
            root, allow=[r.text for r in rules_for(command(line), offer.pattern, "allow", "flag")]
        )
        folder = "web" if offer.pattern.startswith("in web:") else ""
        for example in offer.examples:
            at = command(
                example,
                "" if example.startswith("cd ") else folder or ("web" if "web/" in offer.pattern else ""),
            )
            assert said(rules, at) == "allow", (offer.pattern, example)
        assert said(rules_in(root), command(offer.examples[0])) == "ask"


def test_no_rule_is_offered_or_kept_for_protected_paths(root: Path) -> None:
    """Even if the decision asks for it."""
    rules = rules_in(root)
    for proposal in (command("cat .env"), changing(".github/workflows/ci.yml")):
        offered = rules.prepare_proposal(proposal)
        assert (bool(offered.protected), offered.narrow, offered.wider) == (True, "", ())
        assert rules.remember(proposal, Decision(True, span="session")) == []
        assert rules.remember(proposal, Decision(True, span="always", pattern="**")) == []
        assert said(rules, proposal) == "ask"
    assert rules.remember(command("cat .env"), Decision(False, span="session")) != []
    assert said(rules, "cat .env") == "deny"


def test_rules_for_files_are_offered_one_by_one(root: Path) -> None:
    assert suggest_rule(changing("docs/a.md")) == "docs/a.md"
    assert [offer.pattern for offer in wider(changing("docs/a.md"))] == ["docs/**"]
    assert (suggest_rule(changing("a.md")), wider(changing("a.md"))) == ("", ())
    rules = rules_in(root)
    rules.remember(changing("a.md"), Decision(True, span="session"))
    assert [said(rules, changing(path)) for path in ("a.md", "docs/a.md", "b.md")] == ["allow", "ask", "ask"]


@pytest.mark.parametrize("mode", ["ask", "edits", "all"])
def test_protected_files_need_approval_for_every_tool(mode: str, root: Path) -> None:
    """Reading, writing and changing several at once; a rule has to name the file itself."""
    paths = (
        ".github/workflows/ci.yml",
        "AGENTS.md",
        "docs/../AGENTS.md",
        ".vscode/settings.json",
        "agents.md",
        ".husky/pre-commit",
    )
    for path in paths:
        assert (
            said(rules_in(root, mode, allow=["write_file", "write_file(**)", "*"]), changing(path)) == "ask"
        ), path
        reading = Proposal("r", "read_file", "read", {}, Preview("read", paths=(path,), subject=path))
        assert said(rules_in(root, mode), reading) == "ask", path
    several = Proposal("p", "apply_patch", "write", {}, Preview("edit", paths=("src/a.py", "CLAUDE.md")))
    assert said(rules_in(root, mode), several) == "ask"
    assert (
        said(rules_in(root, mode, allow=["write_file(.github/workflows/**)"]), changing(paths[0])) == "allow"
    )
    assert (
        said(rules_in(root, mode, allow=["write_file(*.yml)", "write_file(.github/**)"]), changing(paths[0]))
        == "ask"
    )


@pytest.mark.parametrize(
    ("rule", "broad"),
    [
        ("run_command(cat *)", True),
        ("run_command(cd *)", True),
        ("run_command(terraform *)", True),
        ("run_command(git *)", True),
        ("run_command(npm run *)", True),
        ("run_command(*)", True),
        ("run_command(in **: git *)", True),
        ("run_command", True),
        ("run_*", True),
        ("write_file(**)", True),
        ("run_command(terraform apply *)", False),
        ("run_command(git status *)", False),
        ("run_command(npm run test *)", False),
        ("run_command(pytest *)", False),
        ("run_command(=cat x)", False),
        ("run_command(make)", False),
        ("run_command(in web: make test)", False),
        ("write_file(docs/**)", False),
        ("recall", False),
    ],
)
def test_broad_rules_are_recognised(rule: str, broad: bool) -> None:
    assert is_broad(rule_of(rule, "allow")) is broad
    assert is_broad(rule_of(rule, "deny")) is False
