"""Types of the settings that `backscroll.open()` takes as keyword arguments, for type checkers.

Owns no values: defaults, comments and checks are in `config`, and a test keeps the two in step. Every setting may be None,
which is the same as leaving it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from backscroll.vocab.prompt import Wire
from backscroll.vocab.thread import Scope


class OpenOptions(TypedDict, total=False):
    """The settings by name; see `backscroll.config.Settings` for their meaning."""

    tenant: str | None
    actor: str | None
    user: str | None
    language: str | None
    patience: float | None
    longest_line: int | None
    postgres_connections: int | None
    postgres_idle_seconds: float | None
    postgres_lock_seconds: float | None
    postgres_statement_seconds: float | None
    postgres_pooler: Literal["session", "transaction"] | None
    storage_dir: str | None
    provider: str | None
    model: str | None
    wire: Wire | None
    insertions: Literal["plain", "system"] | None
    budget: int | None
    reserve: int | None
    warm_turns: int | None
    high: float | None
    low: float | None
    share_memory: float | None
    share_summaries: float | None
    share_operations: float | None
    share_recalled: float | None
    cache_minutes: float | None
    compress_above: int | None
    operations_rounds: int | None
    max_summaries: int | None
    operations_inline: bool | None
    tool_memory: int | None
    recall: bool | None
    recall_scope: Scope | None
    encoder: str | None
    background: bool | None
    sliding_window_size: int | None
    sliding_window_processing_delay: int | None
    sliding_window_max_retries: int | None
    sliding_window_call_retries: int | None
    node_creation_auto_infer_attributes: bool | None
    node_creation_use_world_context: bool | None
    node_creation_min_attributes: int | None
    conflict_resolution_strategy: Literal["latest_wins"] | None
    conflict_resolution_preserve_user_edits: bool | None
    conflict_resolution_settled_edits: Literal["ignore", "reconcile"] | None
    conflict_resolution_settled_deletes: Literal["retract", "ignore"] | None
    extractor: Literal["auto", "rules", "none"] | None
    understanding: Literal["auto", "asked"] | None
    flush_minutes: float | None
    share_graph: float | None
    share_profile: float | None
    share_task: float | None
    share_lore: float | None
    lore_depth: int | None
    task_boundaries: Literal["off", "suggest", "act"] | None
    agent_approval: Literal["strict", "ask", "edits", "all"] | None
    agent_max_steps: int | None
    agent_spend: float | None
    agent_command_seconds: float | None
    agent_output: int | None
    agent_environment: str | None
    agent_sandbox: Literal["off", "workspace", "read-only"] | None
    agent_sandbox_network: Literal["allow", "deny"] | None
    agent_sandbox_folders: str | None
    agent_sandbox_unasked: bool | None
    agent_prompt: str | None
    workspace_snapshots: bool | None
    workspace_key_files: str | None
    workspace_largest: int | None
    workspace_commit: Literal["off", "turn", "task"] | None
    prices: str | None
    thread_limit: float | None
    day_limit: float | None
    understanding_limit: float | None
    warn_at: float | None
    # Tables of the configuration file, such as sliding_window={"size": 5}
    sliding_window: Mapping[str, object] | None
    node_creation: Mapping[str, object] | None
    conflict_resolution: Mapping[str, object] | None
    agent: Mapping[str, object] | None
    workspace: Mapping[str, object] | None
    postgres: Mapping[str, object] | None
