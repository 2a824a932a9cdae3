"""Write `cli.md` from the actual help pages, so that the two cannot differ.

    python docs/generate_cli.py          # write it
    python docs/generate_cli.py --check  # check whether it is up to date

`tests/surfaces/test_docs.py` does the second.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from backscroll.surfaces import i18n
from backscroll.surfaces.cli import help_page
from backscroll.surfaces.cli.catalogue import SECTIONS
from backscroll.surfaces.cli.family import CommandFamily
from backscroll.surfaces.cli.group import program
from backscroll.surfaces.i18n import section, t
from backscroll.surfaces.words import shapes
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Revision
from backscroll.vocab.thread import ThreadInfo, Turn

PAGE = Path(__file__).with_name("cli.md")

OPENING = """\
# The command line

This page is generated from the help texts by `docs/generate_cli.py`; do not edit it. Everything here is also available in
Chinese: `--lang zh`, BACKSCROLL_LANGUAGE=zh, `backscroll config set language zh`, or a Chinese locale.

## Names

- Refer to a **thread** by an id prefix, or by `last` for the most recently changed one.
- Refer to a **message** by its number as printed by `show` (`12`, counted from 1 along the live messages), by its id
  (`3f2a9c1e.17`, or `.17` if the thread is known), or by `last`. Commands that accept several messages also accept ranges: `4:9`.
  `#12` works too, but most shells treat an unquoted `#` as a comment.
- A **revision** and an **event** have ids of the same form; `revisions` and `log` list them.

## Options of every command

They can be given before or after the command.

{options}
## Output

Results go to standard output; notes, problems and progress go to standard error. On a terminal, `show` uses your pager
(`$PAGER`, else `less`; `--no-pager` or `PAGER=cat` for none). Colours are used on terminals only, and `NO_COLOR` turns them
off. In a pipe, nothing is truncated. Control characters in a conversation are displayed, never sent to
the terminal; an export to a file or a pipe is exact.

### JSON

With `--json`, every command prints one JSON document: an object, or for a listing an array, which may be empty (`[]`).
With `--jsonl`, each element of a listing is one line, printed as soon as it is known; a result that is not a
listing is one line. The difference matters for long operations: `run --json` prints the result with its events when the run
ends, `run --jsonl` streams every event; the same holds for `import --watch`. Text is UTF-8, not escaped. Keys are stable: new ones may be added, existing ones keep their meaning.
Ids are complete, times are as stored (ISO 8601 with a time zone), and messages and answers are numbered from 1.

"""

ERRORS = """\
An error is one line of JSON on standard error, with the exit code of the process; standard output stays empty:

```json
{"error": {"kind": "not_found", "message": "thread ffff not found", "hint": "run `backscroll threads` to list threads"}}
```

The kinds are those of `backscroll.errors` in lower case (`invalid_input`, `format_error`, `not_found`, `ambiguous`, `conflict`,
`forgotten`, `store_error`, `store_busy`, `store_corrupt`, `store_too_new`, `missing_extra`), and `usage` (the command line could
not be parsed), `system` (the operating system refused) and `fault` (a bug).
"""


def keys() -> str:
    """A table of the shapes and their keys, taken from the shapes themselves."""
    ref, content = Ref("0" * 32, 1), Content(())
    message = Message(ref, "user", ref, content, "")
    event = Event("0" * 32, 1, Kind.CREATED, "user", "")
    found = {
        "`threads`, and commands that change a thread": shapes.of_thread(ThreadInfo("0" * 32)),
        "`show`, and commands that change a message": shapes.of_message(message, 1, ""),
        "`show --turns`": shapes.of_turn(Turn("", 1, "", (), ""), 1, ""),
        "`log`, `undo`, `redo`": shapes.of_event(event, ""),
        "`revisions`": shapes.of_revision(Revision(ref, ref, 0, content, "", "user", None), live=True),
    }
    rows = [f"| {name} | {', '.join(f'`{key}`' for key in shape)} |" for name, shape in found.items()]
    return "\n".join(["| printed by | keys |", "| --- | --- |", *rows, ""])


def global_options() -> str:
    """The table of options that every command knows."""
    rows = [f"| `{term}` | {t(f'help.shared.{key}')} |" for term, key in help_page.GLOBAL_ROWS]
    return "\n".join(["| option | meaning |", "| --- | --- |", *rows, ""])


def exit_codes() -> str:
    """The table of exit codes."""
    rows = [f"| {code} | {text} |" for code, text in section("exit_codes").items()]
    return "\n".join(["| code | meaning |", "| --- | --- |", *rows, ""])


def command_pages() -> str:
    """The help page of every command, under the headings of the help of the whole program."""
    whole = program()
    out: list[str] = []
    with click.Context(whole, info_name="backscroll") as root:
        for title, names in SECTIONS.items():
            out.append(f"## {t(f'cli.section_{title}')}\n")
            for name in names:
                command = whole.get_command(root, name)
                assert command is not None
                with click.Context(command, info_name=name, parent=root) as ctx:
                    if isinstance(command, CommandFamily):
                        out.append(
                            f"### {name}\n\n```text\n{help_page.of_family(command, ctx, shared=False)}```\n"
                        )
                        out += family_pages(command, ctx)
                        continue
                    out.append(
                        f"### {name}\n\n```text\n{help_page.of_command(command, ctx, shared=False)}```\n"
                    )
    return "\n".join(out)


def family_pages(family: CommandFamily, ctx: click.Context) -> list[str]:
    """The help pages of the members of a family."""
    out: list[str] = []
    for name, member in family.commands.items():
        with click.Context(member, info_name=name, parent=ctx) as inner:
            text = help_page.of_command(member, inner, shared=False)
            out.append(f"#### {family.name} {name}\n\n```text\n{text}```\n")
    return out


def page() -> str:
    """Return the whole page."""
    i18n.use("en")
    os.environ["COLUMNS"] = "100"
    return "\n".join(
        [
            OPENING.format(options=global_options()) + keys(),
            ERRORS,
            "## Exit codes\n",
            exit_codes(),
            command_pages(),
        ]
    )


def main() -> int:
    """Write the page, or check it."""
    if "--check" in sys.argv:
        fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        print("up to date" if fresh else "out of date: run python docs/generate_cli.py")
        return 0 if fresh else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
