"""Bytes to text and back to the same bytes."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.workspace.files.encoding import decode_text, encode_text, is_binary, newline_of, with_newlines

GB = "这是一个用国标编码保存的文件，里面有一些常用的汉字。\n第二行。\n"


@given(st.binary(max_size=300))
def test_decoded_text_is_encoded_to_the_same_bytes(data: bytes) -> None:
    """Whatever counts as text gives its own bytes again."""
    text = decode_text(data)
    if text is not None:
        assert encode_text(text.raw, text) == data


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), st.sampled_from(["\n", "\r\n", "\r"])
)
def test_utf8_is_always_read(text: str, newline: str) -> None:
    """Printable UTF-8 is never taken for something else."""
    whole = f"{text}{newline}"
    found = decode_text(whole.encode())
    assert found is not None
    assert (found.raw.removeprefix("\ufeff"), found.encoding) == (whole.removeprefix("\ufeff"), "utf-8")


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (codecs.BOM_UTF8 + "你好\r\n".encode(), "utf-8"),
        (codecs.BOM_UTF16_LE + "你好\r\n".encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + "你好\r\n".encode("utf-16-be"), "utf-16-be"),
        (codecs.BOM_UTF32_LE + "你好\r\n".encode("utf-32-le"), "utf-32-le"),
        (GB.encode("gb18030"), "gb18030"),
        ("x = 'café, naïve'  # a comment in the old style\n".encode("cp1252"), "cp1252"),
    ],
)
def test_encodings_are_recognised(data: bytes, encoding: str) -> None:
    """Byte order marks are believed; without one GB18030 and a western code page are guessed, and reported."""
    text = decode_text(data)
    assert text is not None
    assert text.encoding == encoding
    assert text.guessed == (encoding in ("gb18030", "cp1252"))
    assert encode_text(text.raw, text) == data


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00",
        b"a\0b",
        bytes(range(256)),
        b"\xff\xfe\x00",  # half of a UTF-16 character
        b"\xd8\x00\xff\xfe\x81" * 40,
        b"\x01\x02\x03\x04" * 10,
    ],
)
def test_binary_content_is_recognised(data: bytes) -> None:
    """What cannot be written back as text is binary."""
    assert decode_text(data) is None


def test_binary_is_recognised_by_its_beginning() -> None:
    """A list reads a few bytes only."""
    assert is_binary(b"\x7fELF\x02\x01\x01\x00")
    assert not is_binary("你好".encode())
    assert not is_binary(codecs.BOM_UTF16_LE + b"a\0")
    assert not is_binary(b"")


def test_line_ends_are_recognised_and_converted() -> None:
    """CRLF, LF and CR."""
    assert [newline_of(t) for t in ("", "a", "a\n", "a\r\nb\r\n", "a\rb", "a\r\nb\n")] == [
        "",
        "",
        "\n",
        "\r\n",
        "\r",
        "mixed",
    ]
    assert with_newlines("a\r\nb\n", "\r\n") == "a\r\nb\r\n"
    assert with_newlines("a\nb\r", "mixed") == "a\nb\r"


def test_unencodable_character_is_named() -> None:
    """An error, not a question mark."""
    like = decode_text("café au lait, s'il vous plaît, monsieur\n".encode("cp1252"))
    with pytest.raises(InvalidInput, match="cp1252, which has no '你'"):
        encode_text("你", like)
    with pytest.raises(InvalidInput, match="lone surrogate"):
        encode_text("\ud800", None)
