"""The small transformer: sensible neighbours, vectors of length 1 that depend on the text alone."""

from __future__ import annotations

import pytest

from backscroll.errors import MissingExtra
from backscroll.llm.encoders.minilm import MiniLMEncoder
from backscroll.llm.encoders.model_files import is_installed, models_folder

#: Where the user keeps models, looked up before tests move the data folder.
HERE = models_folder()


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    if not is_installed("minilm", HERE):
        pytest.skip("minilm is not installed: `backscroll models install minilm`")
    return MiniLMEncoder(HERE)


def test_missing_files_name_the_command_to_add_them(tmp_path) -> None:
    """The error names the command that adds the model."""
    with pytest.raises(MissingExtra) as caught:
        MiniLMEncoder(tmp_path)
    assert "backscroll models install minilm" in caught.value.hint


def test_similarity_of_known_sentences(encoder: MiniLMEncoder) -> None:
    """Their similarity under this model is well known: the forward pass is right."""
    food, bread, baby = encoder.encode(
        ["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby."]
    )
    assert float(food @ bread) == pytest.approx(0.7553, abs=2e-3)
    assert abs(float(food @ baby)) < 0.2


def test_question_is_near_its_answer_in_both_languages(encoder: MiniLMEncoder) -> None:
    """Also across English and Chinese."""
    said = [
        "The sign-in bug must be repaired first.",
        "We bought bread and milk.",
        "The ferry leaves at noon.",
    ]
    vectors = encoder.encode(said)
    for question, answer in {
        "fix the login error": 0,
        "when does the boat depart?": 2,
        "如何修复登录错误": 0,
    }.items():
        assert int((vectors @ encoder.encode([question])[0]).argmax()) == answer, question


def test_vector_depends_on_its_text_alone(encoder: MiniLMEncoder) -> None:
    """Bit for bit, whatever the batch; each has length 1, blank text gives zeros, odd characters are harmless."""
    texts = ["one", "", "two words", "half \ud83d a character", "long " * 3000, "one", "\x00\x07"]
    together = encoder.encode(texts)
    for n, text in enumerate(texts):
        assert together[n].tobytes() == encoder.encode([text])[0].tobytes()
        assert float(together[n] @ together[n]) == pytest.approx(
            1.0 if text.strip("\x00\x07") else 0.0, abs=1e-5
        )
    assert together.shape == (len(texts), encoder.dim)
    assert together.dtype.name == "float32"
