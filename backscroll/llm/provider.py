"""The configuration of one model service.

Owns its address, its wire, the models that answer and write, and the source of its key. Reading the configuration and making
a client: `llm/providers`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from backscroll.errors import KeyRefused
from backscroll.llm.keys import stored_key
from backscroll.vocab.prompt import Wire

Kind: TypeAlias = Literal["openai", "openai-responses", "anthropic", "local"]
#: Wires of remote services.
KINDS: tuple[Kind, ...] = ("openai", "openai-responses", "anthropic")
#: … and the local model.
ALL_KINDS: tuple[Kind, ...] = get_args(Kind)
WIRE_OF: Mapping[Kind, Wire] = {
    "openai": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "local": "openai-chat",
}
_HOME: Mapping[Kind, str] = {
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "local": "here",  # no address: it runs locally
}
_KEY: Mapping[Kind, str] = {
    "openai": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "local": "",
}


@dataclass(frozen=True, slots=True)
class Provider:
    """One configured service."""

    name: str
    kind: Kind = "openai"
    base_url: str = ""  # empty: the vendor's own
    model: str = ""  # the model that answers
    summary_model: str = ""  # the model that writes gists and summaries; empty: the same
    summaries: bool = True  # False: gists and summaries stay rule-based
    key_env: str = ""  # the environment variable that holds the key
    timeout: float = 120.0  # seconds without an answer
    tries: int = 4  # attempts for one call, including the first
    structured: bool = False  # the service honours a JSON schema for the answer

    @property
    def address(self) -> str:
        """The base URL of the service."""
        return self.base_url or _HOME[self.kind]

    @property
    def wire(self) -> Wire:
        """The message format of the service."""
        return WIRE_OF[self.kind]

    @property
    def writer(self) -> str:
        """The model that writes gists and summaries; empty if rules do."""
        return (self.summary_model or self.model) if self.summaries else ""

    @property
    def reader(self) -> str:
        """The model that analyses turns for the graph; empty if rules do: a tiny local model would invent facts."""
        return self.writer or ("" if self.kind == "local" else self.model)

    @property
    def variable(self) -> str:
        """The environment variable of its key; empty if it needs none."""
        return self.key_env or ("" if self.base_url else _KEY[self.kind])

    def key(self, environ: Mapping[str, str] | None = None, stored: Callable[[str], str] = stored_key) -> str:
        """Return the key from the environment, else from the system's keyring; empty if none is needed."""
        variable = self.variable
        found = (os.environ if environ is None else environ).get(variable, "").strip() if variable else ""
        found = found or stored(self.name)
        if not found and variable:
            raise KeyRefused(
                f"no key for {self.name}: the variable {variable} is not set",
                hint=f"set {variable} in the environment, or store the key: backscroll config key set {self.name}",
            )
        return found
