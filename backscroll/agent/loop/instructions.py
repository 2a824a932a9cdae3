"""The system prompt of an agent: a template, filled in, as the first message of the thread.

Owns the placeholders (`{workspace}`, `{project_instructions}`, `{language}`; `{recent_operations}` is filled in by the engine at
every prompt) and the project's own instructions (AGENTS.md and similar files). The text changes only if a file changed, so that a
provider's cache keeps working. Refuses: putting it into the thread (`engine/calls/instructions`).
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from backscroll.errors import BackscrollError, InvalidInput
from backscroll.regular_files import read_text
from backscroll.workspace.files.files import Files

#: Files with a project's instructions for agents; all that exist are read, each text once.
INSTRUCTIONS = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".clinerules",
)
_LONGEST = 24_000  # characters, all files together
_LANGUAGES = {"zh": "中文"}


def template(path: str, language: str) -> str:
    """Return the system prompt with its placeholders: the user's own file, or the one that is shipped."""
    if path:
        try:
            return read_text(Path(path).expanduser())
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"cannot read the system prompt {path}: {error}", hint="check the setting agent.prompt"
            ) from error
    name = "system.zh.md" if language.startswith("zh") else "system.en.md"
    return resources.files("backscroll.agent").joinpath("prompts", name).read_text(encoding="utf-8")


def system_text(path: str, language: str, root: Path | None) -> str:
    """Return the system prompt, filled in; only known placeholders are replaced, other braces stay."""
    filled = template(path, language)
    values = {
        "{workspace}": str(root) if root is not None else "-",
        "{project_instructions}": "" if root is None else project_instructions(root),
        "{language}": _LANGUAGES.get(language[:2], "English"),
    }
    for name, value in values.items():
        filled = filled.replace(name, value)
    return filled.strip()


def project_instructions(root: Path) -> str:
    """Return the project's instructions for agents, each file under its name; empty if there are none."""
    files, told, left = Files(root), dict[str, str](), _LONGEST
    for name in INSTRUCTIONS:
        if not (root / name).is_file():
            continue
        try:
            text = files.read_text(name).text.strip()
        except BackscrollError:
            continue  # not readable as text, or outside the folder: not an instruction
        if text and text not in told.values() and left > 0:
            told[name] = text[:left]
            left -= len(text)
    return "\n\n".join(
        f'<instructions file="{name}">\n{text}\n</instructions>' for name, text in told.items()
    )
