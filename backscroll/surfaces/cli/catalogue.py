"""Which commands there are, what they are for, and where they live. Imports nothing, so that help is instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: The commands by what they are for, in the order of the help page.
SECTIONS: Mapping[str, Sequence[str]] = {
    "read": ("threads", "show", "search", "recall", "log", "revisions", "diff", "summary", "tools"),
    "bring": ("import", "export", "sync", "new", "append"),
    "change": (
        "edit", "regenerate", "choose", "insert", "move", "delete", "restore", "hide", "unhide", "pin", "unpin",
        "undo", "redo", "fork", "rename", "tag", "untag",
    ),
    "prompt": ("context", "prompt", "check", "expand", "crop", "uncrop", "compact", "work"),
    "keep": ("verify", "backup", "restore-backup", "forget", "cost", "learned", "stats", "doctor"),
    "more": ("config", "models", "demo", "completion"),
}  # fmt: skip

#: The module in `commands/` that holds a command.
MODULES: Mapping[str, str] = {
    "threads": "threads",
    "summary": "summary",
    "learned": "learned",
    "show": "show",
    "search": "search",
    "recall": "recall",
    "log": "log",
    "tools": "tools",
    "revisions": "comparing",
    "diff": "comparing",
    "import": "importing",
    "export": "exporting",
    "sync": "syncing",
    "new": "writing",
    "append": "writing",
    "insert": "writing",
    "edit": "editing",
    "regenerate": "editing",
    "choose": "editing",
    "move": "marking",
    "delete": "marking",
    "restore": "marking",
    "hide": "marking",
    "unhide": "marking",
    "pin": "marking",
    "unpin": "marking",
    "undo": "undoing",
    "redo": "undoing",
    "fork": "describing",
    "rename": "describing",
    "tag": "describing",
    "untag": "describing",
    "check": "check",
    "verify": "checking",
    "cost": "cost",
    "stats": "checking",
    "doctor": "checking",
    "backup": "keeping",
    "restore-backup": "keeping",
    "forget": "forgetting",
    "context": "context",
    "prompt": "context",
    "expand": "cropping",
    "crop": "cropping",
    "uncrop": "cropping",
    "compact": "cropping",
    "work": "working",
    "config": "configuring",
    "models": "models",
    "demo": "demo",
    "completion": "completion",
}
