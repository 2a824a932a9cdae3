"""One frozen settings object. Precedence: argument > environment > file > default.

The file is TOML or YAML: `config.toml` (or `config.yaml`) in the user's configuration folder, or wherever `BACKSCROLL_CONFIG`
points. Settings that belong together may are in tables: `size` under `sliding_window` is `sliding_window_size` here, and
`sliding_window.size` for users. Unknown names, wrong types and values that contradict each other are rejected with the name of
the file and the setting, never ignored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any, cast

from backscroll.errors import InvalidInput
from backscroll.places import YAML, config_file, default_store, permissions_file
from backscroll.regular_files import read_text

__all__ = [
    "CHOICES",
    "MCP",
    "PROVIDERS",
    "TABLES",
    "YAML",
    "Setting",
    "Settings",
    "config_file",
    "default_store",
    "explain_settings",
    "flat",
    "format_setting_name",
    "load",
    "mcp_table",
    "permissions_file",
    "providers_table",
]

#: A table of the file that is not a setting: model providers, read by `llm/providers`.
PROVIDERS = "providers"
#: Another one: MCP servers, read by `act`.
MCP = "mcp"
#: Tables of the file whose entries are settings.
TABLES = ("sliding_window", "node_creation", "conflict_resolution", "agent", "workspace", "postgres")
#: Settings with a fixed set of values.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "conflict_resolution_strategy": ("latest_wins",),
    "conflict_resolution_settled_edits": ("ignore", "reconcile"),
    "conflict_resolution_settled_deletes": ("retract", "ignore"),
    "extractor": ("auto", "rules", "none"),
    "understanding": ("auto", "asked"),
    "task_boundaries": ("off", "suggest", "act"),
    "agent_approval": ("strict", "ask", "edits", "all"),
    "agent_sandbox": ("off", "workspace", "read-only"),
    "agent_sandbox_network": ("allow", "deny"),
    "workspace_commit": ("off", "turn", "task"),
    "postgres_pooler": ("session", "transaction"),
    "insertions": ("plain", "system"),
}
_SWITCH = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, with their defaults."""

    store: str = ""  # a file, or postgresql://…; empty: one file in the user's data folder
    tenant: str = "default"  # the tenant whose rows are used in a shared PostgreSQL
    actor: str = "user"  # your name in the log
    user: str = ""  # the owner of new threads: what they contain is visible in this user's other threads
    language: str = ""  # en or zh; empty: by the locale
    patience: float = 60.0  # seconds to wait for other writers
    longest_line: int = 33_554_432  # characters of one line of an imported file; longer ones are left out
    # PostgreSQL: one pool per process and database, shared by all tenants.
    postgres_connections: int = 8  # maximum number of connections of this process
    postgres_idle_seconds: float = 30.0  # after which an unused connection is closed
    postgres_lock_seconds: float = 0.0  # seconds to wait for another writer's lock; 0: `patience`
    postgres_statement_seconds: float = 300.0  # maximum duration of one statement; 0: no limit
    postgres_pooler: str = "session"  # or transaction: behind PgBouncer with pool_mode = transaction
    storage_dir: str = ""  # where dialogues are saved after every call; empty: nowhere

    # Prompts: for which model, in which shape, how large.
    provider: str = (
        ""  # which of the services under [providers] to use; empty: the first; none: no model, only rules
    )
    model: str = ""  # model used for token counting, context size and pricing; empty: o200k tokens, no prices
    wire: str = "openai-chat"  # openai-chat, openai-responses or anthropic
    insertions: str = "plain"  # or system: insertions as system messages, on Claude models that support them
    budget: int = 0  # tokens of a prompt including everything; 0: the model's context window
    reserve: int = 0  # of these, reserved for the answer; 0: an eighth, up to the model's maximum
    # Tiers: hot (summaries and digests), warm (the last turns in full), cold (the store).
    warm_turns: int = 3  # turns that stay in full as long as they fit
    high: float = 0.0  # compact when the prompt exceeds this share of the budget; 0: derived from prices
    low: float = 0.0  # compact down to this share; 0: chosen by the policy
    share_memory: float = 0.05  # of the budget, at most; what a section does not use goes to the history
    share_summaries: float = 0.15
    share_operations: float = 0.05
    share_recalled: float = 0.15
    cache_minutes: float = (
        5.0  # how long a provider caches a prompt; afterwards a compaction costs nothing extra
    )
    compress_above: int = 4096  # size in bytes from which text is stored compressed
    # Recent tool calls.
    operations_rounds: int = 5  # turns whose operations the prompt lists
    max_summaries: int = 20  # maximum number of operations listed
    operations_inline: bool = False  # put the list where a system prompt contains {recent_operations}
    tool_memory: int = 16_000_000  # bytes of tool results kept in memory
    # Recall.
    recall: bool = True  # add old details automatically when the newest message asks for them
    recall_scope: str = "thread"  # thread, project or all: where automatic recall searches
    encoder: str = "wordllama"  # which encoder makes vectors; none: words only
    background: bool = True  # derive ahead of time in an OS thread of this process
    # Living memory: the window of turns that may still change, and the graph.
    sliding_window_size: int = 4  # turns before the newest whose edits still change the graph
    sliding_window_processing_delay: int = 1  # how many later turns must exist before a turn is analysed
    sliding_window_max_retries: int = 3  # retries when a turn changes while it is analysed
    sliding_window_call_retries: int = 2  # retries when a model fails
    node_creation_auto_infer_attributes: bool = (
        True  # infer attributes of a new node that the text does not state
    )
    node_creation_use_world_context: bool = True  # … from the world description first
    node_creation_min_attributes: int = 3  # minimum for every node
    conflict_resolution_strategy: str = "latest_wins"
    conflict_resolution_preserve_user_edits: bool = True  # overrides take precedence over the text
    conflict_resolution_settled_edits: str = "ignore"  # or reconcile: edits of turns that left the window
    conflict_resolution_settled_deletes: str = "retract"  # or ignore
    extractor: str = "auto"  # auto: a model if one is configured; rules; none
    understanding: str = "auto"  # auto: a configured model reads and writes in the background; asked: only when the user asks for it
    flush_minutes: float = (
        30.0  # after this much silence the last turns are analysed too; 0: never automatically
    )
    share_graph: float = 0.05  # of the budget, for what the graph knows about the current subject
    share_profile: float = 0.05  # … for what the user's or the project's other threads contribute
    share_task: float = 0.05  # … for the current task: plan, feedback, reminders
    share_lore: float = 0.25  # … for entries of lorebooks
    lore_depth: int = 2  # newest messages that are searched for lorebook keys
    task_boundaries: str = "suggest"  # off, suggest or act: when a new task appears to start
    # The agent: what it may do, and what is reported to it.
    agent_approval: str = "ask"  # ask before every effect; strict: before every command too; edits: may change files; all: may do everything
    agent_max_steps: int = 60  # maximum number of model replies in one run
    agent_spend: float = 0.0  # maximum cost of one run in US dollars; 0: no limit
    agent_command_seconds: float = (
        120.0  # a command that runs longer is killed, with every process it started
    )
    agent_output: int = 16_000_000  # characters of a tool's output that are recorded; prompts show less of it
    agent_environment: str = (
        ""  # variables passed to commands although they look like secrets, separated by spaces
    )
    agent_sandbox: str = "off"  # how commands are confined: off, workspace (only it is writable), read-only
    agent_sandbox_network: str = "allow"  # or deny: for commands in the sandbox
    agent_sandbox_folders: str = ""  # more folders that are writable from the sandbox, separated by spaces
    agent_sandbox_unasked: bool = False  # commands in the sandbox run without approval
    agent_prompt: str = ""  # a file with the system prompt; empty: the built-in one
    # The workspace.
    workspace_snapshots: bool = True  # scan the files before and after every tool call
    workspace_key_files: str = (
        ""  # patterns of the files that count, separated by spaces; empty: all that git would track
    )
    workspace_largest: int = 2_000_000  # files larger than this many bytes are not stored in snapshots
    workspace_commit: str = (
        "off"  # off, turn or task: when the agent's changes are committed to your git automatically
    )
    # Money.
    prices: str = ""  # a table of your own prices (TOML); it overrides the built-in one
    thread_limit: float = 0.0  # maximum cost of a thread in US dollars; 0: no limit
    day_limit: float = 0.0  # the same per day
    understanding_limit: float = (
        1.0  # the same per day for background reading and writing by a model; 0: no limit
    )
    warn_at: float = 0.8  # share of a limit


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, its value and its source."""

    name: str
    value: Any
    source: str  # argument, environment, file, default


def format_setting_name(name: str) -> str:
    """Return the name of a setting as users write it: `sliding_window.size`."""
    table = next((t for t in TABLES if name.startswith(f"{t}_")), None)
    return name if table is None else f"{table}.{name[len(table) + 1 :]}"


def flat(name: str) -> str:
    """Return the name of a setting as a field of `Settings`."""
    table, _, rest = name.partition(".")
    return f"{table}_{rest}" if table in TABLES and rest else name


def explain_settings(arguments: Mapping[str, Any] | None = None) -> list[Setting]:
    """Return every setting, its value and where the value came from."""
    given = _flatten_settings({k: v for k, v in (arguments or {}).items() if v is not None}, "")
    path = config_file()
    from_file = _settings_in(path)
    out: list[Setting] = []
    for field in fields(Settings):
        variable = os.environ.get(f"BACKSCROLL_{field.name.upper()}")
        if field.name in given:
            out.append(
                Setting(field.name, _convert_value(field.name, given[field.name], "argument"), "argument")
            )
        elif variable:
            out.append(
                Setting(field.name, _convert_value(field.name, variable, "environment"), "environment")
            )
        elif field.name in from_file:
            out.append(
                Setting(field.name, _convert_value(field.name, from_file[field.name], str(path)), "file")
            )
        else:
            out.append(Setting(field.name, field.default, "default"))
    return out


def load(arguments: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings in force."""
    found = explain_settings(arguments)
    _fit_together({s.name: s for s in found})
    return Settings(**{s.name: s.value for s in found})


def _fit_together(found: Mapping[str, Setting]) -> None:
    """Reject values that are not allowed, or that contradict each other."""
    for name, choices in CHOICES.items():
        if found[name].value not in choices:
            raise InvalidInput(
                f"setting {format_setting_name(name)} ({found[name].source}): {found[name].value!r} is not a choice",
                hint=f"use one of {', '.join(choices)}",
            )
    if found["postgres_connections"].value < 1:
        raise InvalidInput(
            f"setting postgres.connections ({found['postgres_connections'].source}): a store needs at least one",
            hint="8 is the default",
        )
    size, delay = found["sliding_window_size"], found["sliding_window_processing_delay"]
    if size.value < 1:
        raise InvalidInput(
            f"setting sliding_window.size ({size.source}): a window holds at least one turn",
            hint="3 to 5 is usual",
        )
    if delay.value >= size.value:
        raise InvalidInput(
            f"setting sliding_window.processing_delay ({delay.source}): {delay.value} is not smaller than "
            f"sliding_window.size ({size.value})",
            hint="a turn has to be analysed before it leaves the window",
        )


def _flatten_settings(data: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return settings by field name; entries of tables are prefixed with the name of the table."""
    known = {field.name for field in fields(Settings)}
    named = f"{path}: " if path else ""
    out: dict[str, Any] = {}
    # A setting by its full name overrides one in a table: `backscroll config set` writes the former.
    for name, value in sorted(data.items(), key=lambda item: item[0] not in TABLES):
        if name in TABLES and isinstance(value, Mapping):
            table = cast("Mapping[str, Any]", value)
            inside = {f"{name}.{key}": each for key, each in table.items()}
        else:
            inside = {name: value}
        for key, each in inside.items():
            if flat(key) not in known:
                names = ", ".join(sorted(map(format_setting_name, known)))
                raise InvalidInput(f"{named}unknown setting {key!r}", hint=f"known: {names}")
            out[flat(key)] = each
    return out


def _settings_in(path: Path) -> dict[str, Any]:
    """Return the settings in a file, without the tables of model providers and MCP servers."""
    return _flatten_settings({k: v for k, v in _read(path).items() if k not in (PROVIDERS, MCP)}, str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        text = read_text(path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"cannot read the configuration {path}: {error}", hint="correct the file, or remove it"
        ) from error
    try:
        data = _parse_file(text, path.suffix in YAML)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"cannot read the configuration {path}: {error}", hint="correct the file, or remove it"
        ) from error
    if not isinstance(data, dict):
        raise InvalidInput(
            f"the configuration {path} holds no settings", hint="write one to a line: name: value"
        )
    return {str(name): value for name, value in cast("dict[Any, Any]", data).items()}


def _parse_file(text: str, yaml: bool) -> Any:
    """Parse the file; the parsers are imported only if there is a file."""
    if not yaml:
        import tomllib

        return tomllib.loads(text)  # its errors are ValueErrors
    import yaml as language

    try:
        return language.safe_load(text) or {}
    except language.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def providers_table() -> dict[str, Any]:
    """Return the model providers configured in the file, by name; empty if there are none."""
    path = config_file()
    table = _read(path).get(PROVIDERS, {})
    if not isinstance(table, dict):
        raise InvalidInput(
            f"{path}: providers is not a table", hint="write one table for each service: [providers.NAME]"
        )
    return cast("dict[str, Any]", table)


def mcp_table() -> dict[str, Any]:
    """Return the MCP servers configured in the file (`[mcp.NAME]`), by name; empty if there are none."""
    path = config_file()
    table = _read(path).get(MCP, {})
    if not isinstance(table, dict):
        raise InvalidInput(f"{path}: mcp is not a table", hint="write one table for each program: [mcp.NAME]")
    return cast("dict[str, Any]", table)


def _convert_value(name: str, value: Any, source: str) -> Any:
    """Convert a value to the setting's type; text from the environment or a command line is parsed."""
    wanted = cast("type[Any]", type(getattr(Settings(), name)))
    if wanted is bool:
        if isinstance(value, bool):
            return value
        read = _SWITCH.get(str(value).strip().lower())
        if read is None:
            raise InvalidInput(f"setting {name} ({source}): {value!r} is neither true nor false")
        return read
    if wanted in (int, float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"setting {name} ({source}): {value!r} is not a number") from error
        if not isfinite(number) or number < 0 or (wanted is int and number != int(number)):
            kind = "a whole number" if wanted is int else "a number"
            raise InvalidInput(f"setting {name} ({source}): {value!r} is not {kind} of 0 or more")
        return wanted(number)
    if wanted is str and isinstance(value, str | Path):
        return str(value)
    raise InvalidInput(
        f"setting {name} ({source}): {value!r} is not a {'text' if wanted is str else 'number'}"
    )
