"""Values of the vocabulary for properties: any text that Python can hold, any JSON, every kind of part."""

from __future__ import annotations

from hypothesis import strategies as st

from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

#: Lone surrogates included: they come in with files whose text was cut in the middle of a sign.
texts = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["", "\0", "a\0b", "\ud83d", "\udc00\ud800", "\ud83d\ude00", "你好，世界", "👩‍👩‍👧", "\r\n\u2028", '"\\']
)
perhaps = st.none() | texts

_leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
json_values: st.SearchStrategy[Json] = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
extras = st.dictionaries(texts, json_values, max_size=2)

text_parts = st.builds(Text, texts, extras)
media_parts = st.builds(Media, texts, perhaps, perhaps, perhaps, st.none(), extras)
opaque_parts = st.builds(Opaque, texts, texts, texts, extras)
call_parts = st.builds(ToolCall, texts, texts, json_values, extras)
reasoning_parts = st.builds(Reasoning, texts, perhaps, extras)
result_parts = st.builds(
    ToolResult,
    texts,
    st.lists(text_parts | media_parts | opaque_parts, max_size=3).map(tuple),
    st.booleans(),
    perhaps,
    extras,
)

parts: st.SearchStrategy[Part] = st.one_of(
    text_parts, media_parts, call_parts, result_parts, reasoning_parts, opaque_parts
)
contents = st.builds(Content, st.lists(parts, max_size=4).map(tuple), perhaps, extras)
