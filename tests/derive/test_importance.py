"""What weighs more, and that a score explains itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.digest import digests_of
from backscroll.derive.essence.importance import score_sentence, weigh_message
from backscroll.vocab.message import Role
from tests.derive.planted import Talk


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("Never delete the backups.", "The backups are in a folder."),
        ("We decided to use Redis because it expires keys.", "Redis expires keys by itself."),
        ("The build fails with code 3 in src/app.py.", "The build takes a while here."),
        ("必须在周五之前完成。", "今天天气很好啊。"),
        ("我们决定改用 Rust，因为太慢。", "好的，我来看一下。"),
        ("Order OPS-4711 is the one.", "That order is the one."),
        ("The cause is a missing index.", "Sure, let me look into it!"),
    ],
)
def test_important_sentence_scores_higher(more: str, less: str) -> None:
    assert score_sentence(more) > score_sentence(less)


def test_user_sentence_scores_higher_than_a_reply() -> None:
    assert score_sentence("Keep it short.", role="user") > score_sentence("Keep it short.", role="assistant")


def test_pins_references_and_recency_raise_the_score() -> None:
    """The reasons name them."""
    message = Talk().say("assistant", "The table has three columns.")
    plain = weigh_message(message)
    raised = weigh_message(replace(message, pinned=True), referenced=3, recency=0.5)
    assert raised.value > plain.value + 5
    assert {"pinned", "referenced 3×", "recent"} <= set(raised.reasons)
    assert set(plain.reasons).isdisjoint({"pinned", "recent"})


def test_failed_calls_and_file_changes_raise_the_score() -> None:
    talk = Talk()
    talk.use("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "No such file", error=True)
    digests = digests_of(talk.messages)
    found = weigh_message(talk.messages[0], digests=digests)
    assert {"failed", "change"} <= set(found.reasons)
    assert found.value > weigh_message(talk.messages[0]).value


def test_learned_weights_apply_to_matching_features_only() -> None:
    """A feature that was learned raises its like and nothing else."""
    message = Talk().say("user", "Where is the log?")
    assert weigh_message(message, weights={"role:user": 2.0}).value == pytest.approx(
        2 * weigh_message(message).value, rel=1e-3
    )
    assert weigh_message(message, weights={"tool:read": 2.0}).value == weigh_message(message).value


@given(st.sampled_from(["user", "assistant", "tool", "system"]), st.text(max_size=300))
def test_every_message_has_a_score_with_reasons(role: Role, text: str) -> None:
    first, again = (weigh_message(Talk().say(role, text)) for _ in range(2))
    assert first == again
    assert first.reasons
