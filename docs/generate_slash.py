"""Writes `slash.md` from the real catalogue of slash commands, so that the two cannot disagree.

    python docs/generate_slash.py          # write it
    python docs/generate_slash.py --check  # say whether it is up to date

`tests/surfaces/chat/slash/test_page.py` does the second.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from backscroll.surfaces import i18n
from backscroll.surfaces.chat.slash import registry
from backscroll.surfaces.i18n import find, t

PAGE = Path(__file__).with_name("slash.md")

OPENING = """\
# Slash commands

This page is made from the real catalogue by `docs/generate_slash.py`; do not edit it. In `backscroll chat`, a line that begins
with `/` is a command: it acts on the conversation instead of going to the model. `/help` lists them, `/help COMMAND` says more,
Tab completes names and arguments. In Chinese (`/lang zh`) everything is said in Chinese, and the Chinese names below work in
either language. A line such as `/etc/hosts is broken` is a message: a path is no command.

What a command changes is written into the log like everything else: `/undo` takes it back. What would take something out of
prompts, out of the history or out of files is shown first, and done only after a yes. A command that goes wrong says why and
what to do; it never ends the conversation.

**Numbers.** Where a command takes a *message*, it means the number that `/turns TURN` shows (counted along the live messages),
`last`, or a handle such as `bs:17`; several at once and ranges (`4:9`) where it says `MESSAGE...`. Where a command takes a
*turn*, it means the number that `/turns` shows, `last`, or counted from the end (`-1`).
"""

MENTIONS = """\
## Mentions

A message may mention files and earlier words with `@`. The text is sent as it was typed; what is mentioned goes along as an
attachment, marked as data. A line says what went along, and what could not.

| typed | what goes along |
| --- | --- |
| `@src/app.py` | the file, up to 60,000 characters (160,000 for all files of a message); longer ones are cut, and say so |
| `@src/app.py:10-40`, `@src/app.py:12` | some lines of it |
| `@"a b.txt"` | a name with spaces |
| `@src/` | what is in the folder, without what is ignored |
| `@shot.png` | a picture (PNG, JPEG, GIF, WebP) or a PDF as such, told by its first bytes, up to 5 MB |
| `@bs:17`, `@bs:17-42` | earlier messages, quoted |
| `@turn:3` | a whole turn, quoted |

Completion looks for parts of names (`@eng/thr` finds `engine/thread.py`), in any language, and leaves out what is ignored. Spaces
around a mention are not needed in Chinese (`看看@src/app.py这个文件`). Not attached: files outside of the folder (unless the whole
path is typed), protected files wherever they are (keys, `.env`, `.git`, the store), pipes and devices, and binary files. What
stands in fenced code is never a mention.
"""


def page() -> str:
    """The whole page."""
    i18n.use("en")
    pieces = [OPENING]
    for family, members in groupby(registry.all(), key=lambda slash: slash.family):
        rows = ["| command | also | what it does |", "| --- | --- | --- |"]
        more: list[str] = []
        for slash in members:
            call = slash.call.replace("|", "\\|")
            also = " ".join(f"`/{name}`" for name in slash.aliases)
            rows.append(f"| `{call}` | {also} | {slash.help} |")
            if told := find(f"slash_more.{slash.name}"):
                more.append(f"- `/{slash.name}`: {' '.join(told.split())}")
        heading = f"## {t(f'slash_family.{family}')}"
        pieces.append("\n".join([heading, "", *rows, *(["", *more] if more else []), ""]))
    return "\n".join([*pieces, MENTIONS])


def main() -> int:
    """Write the page, or compare it."""
    made = page()
    if "--check" in sys.argv:
        return 0 if PAGE.read_text(encoding="utf-8") == made else 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
