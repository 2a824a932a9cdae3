"""Making invisible characters visible where the user decides on a text.

Owns which those are: zero-width characters, soft hyphens, marks of writing direction. With them a command may read differently
than it runs. Conversations are drawn without this (`surfaces/screen/plain` is enough there: such characters join emoji).
"""

from __future__ import annotations

import re

from backscroll.surfaces.screen.plain import safe

_UNSEEN = re.compile(
    "[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def reveal_invisible(text: str) -> str:
    """Return text that is safe in a terminal, with a sign for everything invisible."""
    return _UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", safe(text))
