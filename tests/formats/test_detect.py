"""Recognising formats: the right one for each sample, and a helpful error for everything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.detection import detect, format_named, formats
from backscroll.formats.shape import Format
from tests.formats.memory_source import MemorySource

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"

EXPECTED = {
    "exports/chatgpt_*.json": "chatgpt",
    "exports/polylogue_chatgpt-export.json": "chatgpt",
    "exports/claude-ai_*.json": "claude-ai",
    "exports/polylogue_claude-ai-export.json": "claude-ai",
    "exports/polylogue_gemini-cli-session.json": "gemini-cli",
    "exports/polylogue_grok-export.json": "grok",
    "exports/polylogue_codex-session.jsonl": "codex",
    "exports/claude-code_*.jsonl": "claude-code",
    "claude-code/*.jsonl": "claude-code",
    "aider/*.md": "aider",
}


def test_format_names_are_unique_and_complete() -> None:
    """Each format has a name of its own, and the fourteen are listed."""
    names = [format.name for format in formats()]
    assert len(set(names)) == len(names)
    assert set(names) >= {
        "native", "claude-code", "codex", "gemini-cli", "cline", "sillytavern", "chatgpt", "claude-ai", "grok",
        "dialogue", "anthropic", "openai", "aider", "markdown",
    }  # fmt: skip


def test_formats_are_found_by_name() -> None:
    """A name is found in any spelling, and an unknown one gets the list."""
    assert format_named("claude-code").name == "claude-code"
    assert format_named(" Claude_Code ").name == "claude-code"
    with pytest.raises(FormatError) as caught:
        format_named("word")
    assert "sillytavern" in caught.value.hint


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of other tools are not here")
@pytest.mark.parametrize(("pattern", "name"), EXPECTED.items())
def test_samples_are_recognised(pattern: str, name: str) -> None:
    """Every sample of a tool is recognised as that tool's."""
    files = sorted(SAMPLES.glob(pattern))
    assert files
    for file in files:
        assert detect(MemorySource(file.read_bytes(), file.name)).name == name, file.name


def test_detection_ignores_the_file_name() -> None:
    """A file is recognised under any name."""
    text = json.dumps([{"uuid": "c", "chat_messages": []}])
    assert detect(MemorySource(text, "whatever.txt")).name == "claude-ai"
    assert detect(MemorySource('{"backscroll": 1}\n', "conversations.json")).name == "native"


@pytest.mark.parametrize(
    ("thing", "seen", "advice"),
    [
        (MemorySource("", "a"), "empty file", "completely"),
        (MemorySource(" \n", "a"), "empty file", "completely"),
        (MemorySource({}, "a"), "it is empty", "files in it"),
        (MemorySource({f"f{n}.bin": "" for n in range(10)}, "a"), "f0.bin, f1.bin", "files in it"),
        (MemorySource(b"PK\x03\x04\0\0", "a"), "packed archive", "unpack"),
        (MemorySource(b"SQLite format 3\0", "a"), "SQLite", "--store"),
        (MemorySource(b"\xff\xd8\xff\xe0\0\0", "a"), "binary", "text file"),
        (MemorySource('{"weather": 1, "wind": {"x": [1, 2', "a"), "keys weather", "--format"),
        (MemorySource('[{"lat": 1, "lon": 2}]', "a"), "objects with the keys lat, lon", "--format"),
        (MemorySource("[1, 2]", "a"), "begins with a int", "--format"),
        (MemorySource("[]", "a"), "without anything", "complete"),
        (MemorySource("[oops", "a"), "unknown shape", "--format"),
        (MemorySource("Dear diary,\ntoday nothing happened.", "a"), "'Dear diary, today", "--format"),
    ],
)
def test_unrecognised_file_error_describes_the_file(thing: MemorySource, seen: str, advice: str) -> None:
    """The error says what the file seems to be, what to do, and which formats can be read."""
    with pytest.raises(FormatError) as caught:
        detect(thing)
    assert seen in caught.value.message
    assert advice in caught.value.hint
    assert "Claude Code" in caught.value.hint


KEYS = ["messages", "content", "mapping", "sessionId", "uuid", "message"]
JSON = st.recursive(
    st.none() | st.integers() | st.sampled_from(["user", "assistant", "session_meta", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries({}, optional=dict.fromkeys(("role", "type", *KEYS), inner))
    ),
)


@pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode) | JSON.map(json.dumps).map(str.encode))
def test_no_format_stumbles(format: Format, data: bytes) -> None:
    """No format stumbles over any file, or over a folder of such files."""
    assert 0.0 <= format.sniff(MemorySource(data, "x.json")) <= 1.0
    folder = {
        "conversations.json": data,
        "session-1.json": data,
        "sub": {"x.jsonl": data},
        "chats": {"a.jsonl": data},
    }
    assert 0.0 <= format.sniff(MemorySource(folder, "x")) <= 1.0
