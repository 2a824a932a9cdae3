"""Write `slash.md` from the actual catalogue of slash commands, so that the two cannot differ.

    python docs/generate_slash.py          # write it
    python docs/generate_slash.py --check  # check whether it is up to date

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

This page is generated from the catalogue of commands by `docs/generate_slash.py`; do not edit it. In `backscroll chat`, a line that starts
with `/` is a command: it acts on the conversation and is not sent to the model. `/help` lists all commands, `/help COMMAND` explains one, and
Tab completes names and arguments. `/lang zh` switches to Chinese; the Chinese names below work in both languages.
A line such as `/etc/hosts is broken` is a message, because a path is not a command.

Every change that a command makes is logged, and `/undo` reverts it. Commands that remove something from prompts, from the history
or from files show it first and ask for confirmation. A command that fails says why and what to do; it never ends the conversation.

**Numbers.** A *message* is a number as shown by `/turns TURN` (counted along the live messages),
`last`, or a handle such as `bs:17`; `MESSAGE...` accepts several, and ranges (`4:9`). A
*turn* is a number as shown by `/turns`, `last`, or a negative number counted from the end (`-1`).
"""

MENTIONS = """\
## Mentions

A message can mention files and earlier messages with `@`. The text is sent as typed; the mentioned content is sent as an
attachment, marked as data. A line reports what was attached and what could not be.

| typed | attached |
| --- | --- |
| `@src/app.py` | the file, up to 60,000 characters (160,000 for all files of a message); longer files are cut and marked |
| `@src/app.py:10-40`, `@src/app.py:12` | these lines |
| `@"a b.txt"` | a name with spaces |
| `@src/` | a list of the folder, without ignored files |
| `@shot.png` | an image (PNG, JPEG, GIF, WebP) or a PDF, recognized by its first bytes, up to 5 MB |
| `@bs:17`, `@bs:17-42` | earlier messages, quoted |
| `@turn:3` | a whole turn, quoted |

Completion matches parts of names (`@eng/thr` finds `engine/thread.py`), in any language, and leaves out ignored files. In Chinese,
a mention needs no spaces around it (`看看@src/app.py这个文件`). Not attached: files outside the folder (unless you type the full
path), protected files anywhere (keys, `.env`, `.git`, the store), pipes, devices and binary files.
Text in fenced code is never a mention.
"""


def page() -> str:
    """Return the whole page."""
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
