"""Character cards: PNG, JSON and CHARX of every version, what becomes of them, and files that are damaged or malicious."""

from __future__ import annotations

import base64
import io
import json
import zipfile
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.cards import charx, png
from backscroll.formats.cards.card import CharacterCard, card_of
from backscroll.formats.cards.conversion import FORMAT
from backscroll.formats.cards.macros import fill_macros
from backscroll.formats.cards.reader import card_file
from backscroll.formats.detection import detect
from backscroll.vocab.foreign import ForeignMessage, Problem
from tests.formats.memory_source import MemorySource

DATA: dict[str, Any] = {
    "name": "Maren",
    "description": "{{char}} keeps the lighthouse of Skarholm. {{user}} is a guest.",
    "personality": "dry, patient",
    "scenario": "A storm is coming.",
    "first_mes": "*The lamp turns.* Come in, {{user}}.",
    "mes_example": "<START>\n{{user}}: Who are you?\n{{char}}: The keeper.",
    "system_prompt": "{{original}}Stay in the scene.",
    "post_history_instructions": "Answer in three sentences.",
    "alternate_greetings": ["You are late, {{user}}.", ""],
    "creator": "somebody",
    "tags": ["sea"],
    "extensions": {"world": "Skarholm", "depth_prompt": {"prompt": "It rains.", "depth": 4}},
    "character_book": {
        "name": "Skarholm",
        "entries": [{"keys": ["gull"], "content": "Gulls steal.", "extensions": {}}],
    },
}
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": DATA}
V3 = {"spec": "chara_card_v3", "spec_version": "3.0", "data": {**DATA, "nickname": "Mar"}}
V1 = {
    key: DATA[key] for key in ("name", "description", "personality", "scenario", "first_mes", "mes_example")
}


def chunk(kind: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)


def coded(value: Any) -> bytes:
    return base64.b64encode(json.dumps(value, ensure_ascii=False).encode())


def picture(*texts: bytes) -> bytes:
    """A picture of one white pixel, with chunks of text before and behind it."""
    head = chunk(b"IHDR", (1).to_bytes(4) * 2 + bytes([8, 0, 0, 0, 0]))
    pixel = chunk(b"IDAT", zlib.compress(b"\0\xff"))
    return png.SIGNATURE + head + pixel + b"".join(texts) + chunk(b"IEND", b"")


def text_chunk(keyword: str, value: Any) -> bytes:
    return chunk(b"tEXt", keyword.encode() + b"\0" + coded(value))


def archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return out.getvalue()


def read(data: bytes, name: str) -> tuple[Any, list[ForeignMessage], list[Problem]]:
    source = MemorySource(data, name)
    assert detect(source) is FORMAT
    (thread,) = FORMAT.read(source)
    items = list(thread.items)
    return (
        thread,
        [i for i in items if isinstance(i, ForeignMessage)],
        [i for i in items if isinstance(i, Problem)],
    )


@pytest.mark.parametrize(
    ("data", "name", "called"),
    [
        (picture(text_chunk("chara", V2)), "maren.png", "Maren"),
        (picture(text_chunk("chara", V1)), "maren.png", "Maren"),
        (picture(text_chunk("Chara", V2)), "maren.png", "Maren"),
        (picture(text_chunk("chara", V2), text_chunk("ccv3", V3)), "maren.png", "Mar"),
        (picture(text_chunk("ccv3", V3), text_chunk("chara", V2)), "maren.png", "Mar"),
        (picture(chunk(b"zTXt", b"chara\0\0" + zlib.compress(coded(V2)))), "maren.png", "Maren"),
        (picture(chunk(b"iTXt", b"chara\0\0\0en\0chara\0" + coded(V2))), "maren.png", "Maren"),
        (picture(chunk(b"iTXt", b"ccv3\0\1\0\0\0" + zlib.compress(coded(V3)))), "maren.png", "Mar"),
        (picture(chunk(b"tEXt", b"chara\0" + json.dumps(V2).encode())), "maren.png", "Maren"),
        (picture(chunk(b"tEXt", b"chara\0" + coded(V2).rstrip(b"=") + b"\n")), "maren.png", "Maren"),
        (json.dumps(V1).encode(), "maren.json", "Maren"),
        (b"\xef\xbb\xbf" + json.dumps(V2).encode(), "maren.json", "Maren"),
        (json.dumps(V3, indent=1).encode(), "maren.json", "Mar"),
        (archive({"assets/icon.png": b"x", "card.json": json.dumps(V3).encode()}), "maren.charx", "Mar"),
    ],
)
def test_card_becomes_a_thread(data: bytes, name: str, called: str) -> None:
    """The system text, then the greeting, signed by the character; names are put in, `{{user}}` waits for its own."""
    thread, (told, greeting), problems = read(data, name)
    assert problems == []
    assert (thread.title, thread.kind, thread.language) == ("Maren", "roleplay", "en")
    assert thread.metadata["card"]["name"] == called
    assert told.role == "system"
    assert f"{called} keeps the lighthouse of Skarholm. {{{{user}}}} is a guest." in told.content.text
    assert "dry, patient" in told.content.text
    assert "A storm is coming." in told.content.text
    assert f"{called}: The keeper." in told.content.text
    assert "<START>" not in told.content.text
    assert (greeting.role, greeting.content.author) == ("assistant", called)
    assert greeting.content.text == "*The lamp turns.* Come in, {{user}}."
    assert json.loads(thread.world["Maren"])


def test_alternate_greetings_are_alternatives() -> None:
    """Empty greetings are dropped; `{{original}}` is replaced by nothing."""
    _, (told, greeting), _ = read(json.dumps(V2).encode(), "maren.json")
    assert [c.text for c in greeting.alternatives] == [
        "*The lamp turns.* Come in, {{user}}.",
        "You are late, {{user}}.",
    ]
    assert told.content.text.startswith("Stay in the scene.\n\nMaren keeps")
    assert "three sentences" not in told.content.text  # follows the history: an entry that always wakes


def test_chinese_card_is_read() -> None:
    """Its frame is Chinese too, and UTF-8 inside base64 is read."""
    card = {
        "name": "洛绯",
        "description": "{{char}}是赤羽卫的统领。",
        "first_mes": "{{user}}，你来了。",
        "personality": "冷静",
    }
    thread, (told, greeting), _ = read(picture(text_chunk("chara", card)), "洛绯.png")
    assert thread.language == "zh"
    assert told.content.text.startswith("你在角色扮演中扮演洛绯，与{{user}}对话。")
    assert "洛绯是赤羽卫的统领。" in told.content.text
    assert "洛绯的性格：冷静" in told.content.text
    assert greeting.content.author == "洛绯"


def test_pygmalion_card_is_read() -> None:
    """Pygmalion's names of fields."""
    card = card_of(
        {"char_name": "Tom", "char_persona": "A smith.", "char_greeting": "Hm.", "world_scenario": "A forge."}
    )
    assert card is not None
    assert (card.description, card.greetings, card.scenario) == ("A smith.", ("Hm.",), "A forge.")


CUT = picture(text_chunk("chara", V2))
BROKEN_V3 = picture(chunk(b"tEXt", b"ccv3\0!!!"), text_chunk("chara", V2))


def test_intact_parts_of_a_damaged_card_are_read() -> None:
    """A picture without its end, a broken `ccv3` beside a sound `chara`."""
    _, messages, problems = read(CUT[:-6], "maren.png")
    assert len(messages) == 2
    assert "breaks off" in problems[0].what
    _, messages, problems = read(BROKEN_V3, "maren.png")
    assert len(messages) == 2
    assert "base64" in problems[0].what


def _with_flipped_byte(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _encrypted(data: bytes) -> bytes:
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(sign) + at
        data = data[:place] + bytes([data[place] | 1]) + data[place + 1 :]
    return data


@pytest.mark.parametrize(
    ("data", "name", "wrong"),
    [
        (picture(), "photo.png", "without a character card"),
        (CUT[:60], "maren.png", "breaks off"),
        (png.SIGNATURE, "maren.png", "breaks off"),
        (b"\x89PNG", "maren.png", "does not begin"),
        (_with_flipped_byte(CUT, CUT.index(b"chara\0") + 40), "maren.png", "checksum"),
        (picture(chunk(b"tEXt", b"chara\0####")), "maren.png", "base64"),
        (picture(chunk(b"tEXt", b"chara\0" + base64.b64encode(b"\xff\xfe\xfd"))), "maren.png", "not"),
        (picture(chunk(b"tEXt", b"chara\0" + base64.b64encode(b"{broken"))), "maren.png", "not JSON"),
        (picture(chunk(b"tEXt", b"chara\0" + base64.b64encode(b"[" * 100_000))), "maren.png", "nested"),
        (picture(chunk(b"tEXt", b"chara\0" + base64.b64encode(b"[1]"))), "maren.png", "not a JSON object"),
        (picture(text_chunk("chara", {"a": 1})), "maren.png", "not a character card"),
        (picture(chunk(b"zTXt", b"chara\0\0nonsense")), "maren.png", "unpacked"),
        (picture(chunk(b"zTXt", b"chara\0\x05x")), "maren.png", "unknown way"),
        (
            picture(chunk(b"zTXt", b"chara\0\0" + zlib.compress(b" " * (png.LARGEST_TEXT + 10)))),
            "x.png",
            "larger than",
        ),
        (archive({"card.json": b" " * (charx.LARGEST_CARD + 10)}), "bomb.charx", "larger than"),
        (archive({"../card.json": b"{}", "a/card.json": b"{}"}), "paths.charx", "no card.json"),
        (
            archive({"inner.charx": archive({"card.json": json.dumps(V2).encode()})}),
            "nested.charx",
            "no card.json",
        ),
        (_encrypted(archive({"card.json": json.dumps(V2).encode()})), "locked.charx", "encrypted"),
        (archive({"card.json": json.dumps(V2).encode()})[:-30], "cut.charx", "damaged"),
        (archive({"card.json": b"\xff"}), "bytes.charx", "UTF-8"),
    ],
)
def test_bad_card_is_refused_with_a_hint(data: bytes, name: str, wrong: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(FORMAT.read(MemorySource(data, name)))
    assert wrong in caught.value.message
    assert caught.value.hint


def test_archive_file_names_cannot_write_files(tmp_path: Any) -> None:
    """Nothing is extracted to disk."""
    data = archive({"../../evil": b"x", "card.json": json.dumps(V2).encode(), "/abs": b"y"})
    assert card_file(data, "x.charx").value == V2
    assert list(tmp_path.iterdir()) == []


PICTURE = picture(text_chunk("chara", V2), chunk(b"zTXt", b"ccv3\0\0" + zlib.compress(coded(V3))))
ARCHIVE = archive({"card.json": json.dumps(V3).encode(), "x.png": b"y"})


@given(st.sampled_from([PICTURE, ARCHIVE, json.dumps(V2).encode()]), st.data())
def test_any_damage_gives_a_card_or_an_error(whole: bytes, data: st.DataObject) -> None:
    """Bytes changed, cut out or doubled anywhere: never anything else than a card or a FormatError."""
    first = data.draw(st.integers(0, len(whole)))
    last = data.draw(st.integers(first, min(len(whole), first + 40)))
    new = data.draw(st.binary(max_size=12))
    broken = whole[:first] + new + whole[last:]
    card, refused = None, ""
    try:
        value = card_file(broken, "x").value
        card = card_of(value)
    except FormatError as error:
        refused = error.message
    else:
        assert isinstance(value, dict)
    assert refused or card is None or isinstance(card, CharacterCard)


@given(st.binary(max_size=300))
def test_any_bytes_behind_a_signature(data: bytes) -> None:
    for begin in (png.SIGNATURE, charx.SIGNATURE):
        with pytest.raises(FormatError):
            card_file(begin + data, "x")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
    st.sampled_from(sorted(DATA)),
)
def test_fields_may_hold_anything(value: Any, field: str) -> None:
    """A field of another type is left out; the rest of the card is read."""
    raw = json.dumps({"spec": "chara_card_v2", "data": {**DATA, field: value}}).encode()
    try:
        threads = list(FORMAT.read(MemorySource(raw, "x.json")))
    except FormatError:
        return
    assert any(isinstance(item, ForeignMessage) for item in threads[0].items)


def test_fill_macros() -> None:
    """Names, old spellings, comments; what depends on chance or on a clock stays."""
    text = "{{Char}} and <USER>{{// a note}}: {{random:a,b}}{{newline}}x <BOT> {{ user }}"
    assert fill_macros(text, "Ann", "Maren") == "Maren and Ann: {{random:a,b}}\nx Maren Ann"
    assert fill_macros("{{user}} {{char}}", "", "Maren") == "{{user}} Maren"
    assert fill_macros("a <b> c", "Ann", "Maren") == "a <b> c"
