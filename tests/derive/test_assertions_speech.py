"""Which words of a turn count: never injected memory, summaries, reminders, tool output, nor what repeats them."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.digest import Digest, digest_call
from backscroll.derive.extract.assertions import extract
from backscroll.derive.extract.language import in_tongue, tongue_of
from backscroll.derive.extract.speech import cleaned_text, counts, speeches
from backscroll.derive.extract.utterance import Utterance
from backscroll.derive.operations import render_operations
from backscroll.engine.prompts.composition import blocks as composing
from backscroll.engine.search import recall_choice
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Json, Part, Reasoning, Text, ToolCall, ToolResult

THREAD = "0" * 32


def message(
    role: Role, *parts: Part | str, seq: int = 1, author: str | None = None, **metadata: Json
) -> Message:
    ref = Ref(THREAD, seq)
    told = tuple(Text(p) if isinstance(p, str) else p for p in parts)
    return Message(ref, role, ref, Content(told, author, metadata), "2026-11-01T09:00:00+00:00")


def words(*messages: Message) -> str:
    return "\n".join(said.text for said in speeches(messages))


def digest() -> Digest:
    """Some operation."""
    ref = Ref(THREAD, 3)
    return digest_call(
        ToolCall("1", "Read", {"path": "a"}), None, at="", call_message=ref, result_message=None
    )


def table(package: str, name: str) -> dict[str, dict[str, str]]:
    """A table of texts that a room ships."""
    return tomllib.loads(resources.files(package).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


INJECTED = [
    "<system-reminder>\nZara is a spy.\n</system-reminder>",
    "<environment_details>\nZara is a spy.\n</environment_details>",
    "<environment_details>\nZara is a spy.\n",
    "<context>Zara is a spy.</context>",
    "<relevant_memories>\n- Zara is a spy.\n</relevant_memories>",
    '<memory id="7">Zara is a spy.</memory>',
    "<summary>Zara is a spy.</summary>",
    "<conversation-summary>Zara is a spy.</conversation-summary>",
    "<local-command-stdout>Zara is a spy.</local-command-stdout>",
    "<command-name>/init</command-name><command-args>Zara is a spy.</command-args>",
    '<file_content path="a.md">\nZara is a spy.\n</file_content>',
    "<user_instructions>Zara is a spy.</user_instructions>",
    "<think>Zara is a spy.</think>",
    "<tool_result>Zara is a spy.</tool_result>",
    "<my_own_context>Zara is a spy.</my_own_context>",
    "User memories:\n- Zara is a spy.\n- She likes tea.",
    "**Relevant memories:**\n- Zara is a spy.",
    "[Summary: Zara is a spy.]",
    "Summary of the conversation so far:\nZara is a spy.",
    "相关记忆：\nZara is a spy.",
    "【前情提要】Zara is a spy.",
    "This session is being continued from a previous conversation that ran out of context.\n\nZara is a spy.",
    "[bs:17] user, 2026-11-01: Zara is a spy.",
    "> Zara is a spy.",
]


@pytest.mark.parametrize("injected", INJECTED)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_injected_blocks_are_ignored(injected: str, role: Role) -> None:
    """The words around it are; the block is not, wherever it is."""
    before, after = message(role, f"Ellie is an elf.\n\n{injected}"), message(role, f"{injected}\n\n")
    assert "Zara" not in words(before)
    assert "Ellie is an elf." in words(before)
    assert words(after).strip() == ""


@pytest.mark.parametrize("injected", INJECTED)
def test_assistant_repeating_an_injected_block_is_ignored(injected: str) -> None:
    """A reply that repeats a memory is not new evidence for it."""
    turn = [
        message("user", f"Who is she?\n\n{injected}", seq=1),
        message("assistant", "As I recall: well. Zara is a spy. Shall we go on?", seq=2),
    ]
    assert "Zara is a spy" not in words(*turn)
    assert "Shall we go on?" in words(*turn)
    assert not any("Zara" in (a.subject, a.object) for a in extract(turn))


def test_frames_of_our_own_prompts_are_ignored() -> None:
    """Recalled details, recent operations, far summaries and crops of our own prompts, in both languages."""
    heads = [
        *recall_choice._HEAD.values(),
        *(text for texts in composing._TITLES.values() for text in texts.values()),
        *(
            line
            for language in ("en", "zh")
            for line in [render_operations([digest()], language).split("\n")[0]]
        ),
        *(table("backscroll.graph", "telling")[language]["head"] for language in ("en", "zh")),
        *(table("backscroll.tasks", "lifecycle_words")[language]["title"] for language in ("en", "zh")),
        *(table("backscroll.tasks", "memory_words")[language]["title_memory"] for language in ("en", "zh")),
    ]
    for head in heads:
        framed = f"{head}\n[bs:3] user, 2026-11-01: Zara is a spy.\nZara is a spy.\n\nZara has a cat."
        kept, gone = cleaned_text(f"Go on, please.\n\n{framed}")
        assert kept.strip() == "Go on, please.", head
        assert any("Zara" in text for text in gone)


def test_generated_hidden_and_system_messages_do_not_count() -> None:
    """Messages that are marked as ours, as summaries or as reminders, hidden, deleted or of the system are left out."""
    said = "Zara is a spy."
    assert counts(message("user", said))
    assert not counts(message("system", said))
    assert not counts(message("tool", said))
    assert not counts(message("user", said, backscroll="crop"))
    for flag in ("isMeta", "isCompactSummary", "isApiErrorMessage"):
        marked: dict[str, Any] = {"claude-code": {"line": {flag: True}}}
        assert not counts(message("user", said, **marked))
    plain: dict[str, Any] = {"claude-code": {"line": {"isMeta": False}}}
    assert counts(message("user", said, **plain))
    hidden = Message(Ref(THREAD, 1), "user", Ref(THREAD, 1), Content((Text(said),)), "", hidden=True)
    assert not counts(hidden)


def test_reasoning_and_tool_output_are_ignored() -> None:
    """Only text counts."""
    turn = [
        message("user", "Look it up.", seq=1),
        message("assistant", Reasoning("Zara is a spy."), ToolCall("1", "recall", {"q": "Zara"}), seq=2),
        message("tool", ToolResult("1", (Text("Zara is a spy. She lives in Rome."),)), seq=3),
        message("assistant", "I found this: Zara is a spy. *She lives in Rome.*\n\nAnything else?", seq=4),
    ]
    assert "Zara" not in words(*turn)
    assert "Rome" not in words(*turn)
    assert "Anything else?" in words(*turn)
    assert extract(turn) == ()


def test_reply_that_paraphrases_a_tool_result_is_no_evidence() -> None:
    """Names and values that only the tool gave are left out; the user's own stay."""
    turn = [
        message("user", "Is Tom in there? My sister Anna lives in Oslo.", seq=1),
        message("assistant", ToolCall("1", "lookup", {"q": "Tom"}), seq=2),
        message(
            "tool", ToolResult("1", (Text('{"name": "Daiki Lee", "city": "Kyoto", "job": "welder"}'),)), seq=3
        ),
        message("assistant", "I did find somebody. Daiki Lee lives in Kyoto and works as a welder.", seq=4),
    ]
    names = {name for claim in extract(turn) for name in (claim.subject, claim.object, claim.value)}
    assert not names & {"Daiki Lee", "Kyoto", "welder"}
    assert {"Anna", "Oslo"} <= names
    without = [turn[0], message("assistant", "Daiki Lee lives in Kyoto and works as a welder.", seq=4)]
    told = {name for claim in extract(without) for name in (claim.subject, claim.object, claim.value)}
    assert {"Daiki Lee", "Kyoto"} <= told


def test_tool_repeating_the_user_does_not_discard_the_users_words() -> None:
    """A tool that repeats the user's words later takes nothing away from them."""
    turn = [
        message("user", "Remember: Zara is a spy.", seq=1),
        message("assistant", ToolCall("1", "save_memory", {"text": "Zara is a spy."}), seq=2),
        message("tool", ToolResult("1", (Text("saved: Zara is a spy."),)), seq=3),
    ]
    assert "Zara is a spy" in words(*turn)


def test_wrapper_tags_keep_the_words_of_the_user() -> None:
    """Cline and others wrap the user's words in tags; results sent in the user's name are dropped."""
    assert cleaned_text("<task>\nEllie is an elf.\n</task>")[0].strip() == "Ellie is an elf."
    kept, gone = cleaned_text(
        "[read_file for 'a.md'] Result:\n\nZara is a spy.\n<feedback>\nEllie is an elf.\n</feedback>\n<environment_details>\nx"
    )
    assert kept.strip() == "Ellie is an elf."
    assert any("Zara" in text for text in gone)
    assert cleaned_text("[execute_command] Result:\nZara is a spy.")[0].strip() == ""


def test_ordinary_tags_are_kept() -> None:
    """HTML, placeholders and comparisons are words like others."""
    for text in (
        "a < b and b > c",
        "use <file> as the name",
        "<b>Ellie</b> is an elf",
        "1 <2> 3",
        "x<y>z</y>",
    ):
        assert cleaned_text(text)[0] == text


def test_speaker_and_addressee_of_each_message() -> None:
    """Authors are speakers; where exactly two speak, each speaks to the other."""
    turn = [
        message("user", "Hello there, friend.", seq=1, author="Ann"),
        message("assistant", "Hello, Ann!", seq=2),
    ]
    first, second = speeches(turn)
    assert (first.speaker, first.who, first.addressee) == ("Ann", "Ann", "assistant")
    assert (second.speaker, second.who, second.addressee) == ("", "assistant", "Ann")
    third = message("assistant", "Hello from me as well.", seq=3, author="Bo")
    assert {said.addressee for said in speeches([*turn, third])} == {""}


@given(st.lists(st.text(max_size=60), max_size=6), st.sampled_from(INJECTED))
def test_cleaning_never_fails_and_invents_nothing(pieces: list[str], injected: str) -> None:
    """Any text at all, with injected blocks in it: what is kept stood in the text."""
    text = "\n\n".join([*pieces[:3], injected, *pieces[3:]])
    kept, _ = cleaned_text(text)
    for line in kept.split("\n"):
        assert line in text


@pytest.mark.parametrize(
    "text", ["<a" * 50_000, "<task>" * 20_000, "</x>" * 30_000, "> " * 50_000, "[" * 100_000]
)
def test_pathological_text_is_cleaned_in_linear_time(text: str) -> None:
    """Every shape is looked for in one pass."""
    assert isinstance(cleaned_text(text)[0], str)


# -- languages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "tongue"),
    [
        ("Ellie lives in Greenvale.", "en"),
        ("My friend 小明 lives in Beijing.", "en"),
        ("我用 Claude Code 写程序。", "zh"),
        ("他在 Visual Studio Code Insiders 里打开了 README 文件", "zh"),
        ("これは私の本です。", ""),
        ("저는 학생입니다.", ""),
        ("Ich habe das nicht gesehen, und es ist gut.", ""),
        ("Je suis dans la maison avec mon ami.", ""),
        ("Она живёт в Москве.", ""),
        ("🙂 !!! 123", ""),
        ("\ud83d", ""),
    ],
)
def test_language_of_a_sentence(sentence: str, tongue: str) -> None:
    """English and Chinese, with names in the other language; other languages are neither."""
    assert tongue_of(sentence) == tongue


def test_mixed_messages_are_split_by_language() -> None:
    """Each reader gets its own sentences, as they are."""
    said = Utterance("Ellie is an elf. She is 200. 她住在绿谷。我喜欢茶。\nEnd of story.")
    (english,) = in_tongue([said], "en")
    (chinese,) = in_tongue([said], "zh")
    assert english.text == "Ellie is an elf. She is 200.\nEnd of story."
    assert chinese.text == "她住在绿谷。我喜欢茶。"
    assert in_tongue([Utterance("Ellie is an elf.")], "zh") == []
