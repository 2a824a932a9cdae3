"""Generated JSON for round trips: values as other people's programs might send them, odd ones included."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

# Letters of several scripts, line separators, an emoji, a lone surrogate as a cut emoji leaves it.
words = st.text(st.sampled_from('ab 你好ñ\u2028\n"\\{}\ud83d😀'), max_size=8)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
blobs = st.binary(max_size=6).map(lambda data: base64.b64encode(data).decode())
ids = st.sampled_from(["call_1", "call_2", "toolu_x", "", "odd id:1"])


def objects(
    required: dict[str, Any], optional: dict[str, Any] | None = None
) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with fixed keys, with or without the optional ones, and sometimes an unknown one."""
    known = st.fixed_dictionaries(required, optional=optional or {})
    strange = st.dictionaries(
        st.sampled_from(["x_extra", "cache_control", "field", "inner", "json"]), json_values, max_size=1
    )
    return st.tuples(strange, known).map(lambda pair: {**pair[0], **pair[1]})
