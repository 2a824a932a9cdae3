"""The old spelling of `python -m backscroll.testing`: deprecated, kept for one release."""

from __future__ import annotations

import runpy

runpy.run_module("backscroll.testing", run_name="__main__", alter_sys=True)
