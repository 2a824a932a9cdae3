"""Flags of `os.open`, 0 on systems that do not have them (Windows).

Without `NOFOLLOW` and `DIRECTORY` a folder cannot be walked safely: callers then fail on `os.supports_dir_fd`, and never
follow a link.
"""

from __future__ import annotations

import os
from typing import Final

CLOEXEC: Final[int] = getattr(os, "O_CLOEXEC", 0)
DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
NOCTTY: Final[int] = getattr(os, "O_NOCTTY", 0)
NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
