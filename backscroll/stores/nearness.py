"""Vector similarity for both stores: 16-bit floats in, cosines out.

Owns the checks of a vector, its sign bits, and the exact score. Does not know where vectors are stored. numpy is loaded on
first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DIGITS = 5  # digits of a score; beyond them is rounding noise
_WORD = 8  # bytes of sign bits compared at once


def check_vector(vector: bytes, size: int | None = None) -> bytes:
    """Return a valid vector, or raise a clear error; `size` is the size of the others in bytes."""
    if not vector or len(vector) % 2:
        raise InvalidInput(
            f"not a vector: {len(vector)} bytes", hint="a vector is 16-bit floats, two bytes each"
        )
    if size is not None and len(vector) != size:
        raise InvalidInput(
            f"a vector of {len(vector) // 2} numbers among vectors of {size // 2}",
            hint="each encoder has one length of vectors; give another one another name",
        )
    # All bits of the exponent set: infinity or NaN.
    if any(high & 0x7C == 0x7C for high in vector[1::2]):
        raise InvalidInput(
            "not a vector: it holds a value that is not a finite number",
            hint="look at the encoder that made it",
        )
    return vector


def has_direction(vector: bytes) -> bool:
    """Return True unless every number is zero, with either sign: such a vector matches nothing."""
    return any(vector[0::2]) or any(high & 0x7F for high in vector[1::2])


def sign_bits(vector: bytes) -> bytes:
    """Return one bit per number, set if it is not negative; padded to whole words."""
    import numpy as np

    high = np.frombuffer(vector, dtype=np.uint8)[1::2]
    bits = np.packbits(high < 0x80).tobytes()
    return bits + bytes(-len(bits) % _WORD)


def cosines(vector: bytes, others: Sequence[bytes]) -> list[float]:
    """Return the cosine with each of the others; 0 for a zero vector."""
    import numpy as np

    if not others:
        return []
    mine = _floats(vector)
    theirs = _floats(b"".join(others)).reshape(len(others), -1)
    lengths = np.linalg.norm(theirs, axis=1) * np.linalg.norm(mine)
    dots = theirs @ mine
    shares = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return [round(float(share), _DIGITS) for share in np.clip(shares, -1, 1)]


def _floats(data: bytes) -> npt.NDArray[np.float32]:
    import numpy as np

    return np.frombuffer(data, dtype="<f2").astype(np.float32)


def round_score(score: float) -> float:
    """Round a score for comparison: both stores agree to this precision."""
    return round(max(-1.0, min(1.0, score)), _DIGITS)
