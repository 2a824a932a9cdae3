"""The environment of a command: the user's variables without keys.

Owns which variables are secrets: by their names, by what their values look like, and those that the configuration names as keys of
services, with every copy of them. The user can name exceptions (`agent.environment`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import cast

from backscroll.config import providers_table
from backscroll.vocab.part import Json

#: Variables whose names look like secrets: a command does not get them.
_SECRET = re.compile(
    r"(?i)(?:^|_)(?:api_?key|key_?id|apikey|token|secret|secrets|passwo?r?d|passwd|passphrase|credentials?|"
    r"private_?key|access_?key|key|pat|auth|cookie|session|dsn)(?:_|$)|secret|password|api_?key|token$"
)
#: An address with a password in it, as databases have: a secret whatever the variable is called.
_WITH_PASSWORD = re.compile(r"[a-zA-Z][\w+.-]*://[^/\s:@]*:[^/\s@]+@")
#: Prefixes of keys of well-known services: secret whatever the variable is called.
_KEY_VALUE = re.compile(
    r"(?:sk-|sk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|hf_|gsk_|npm_|pypi-|xai-)[\w-]{12,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_WORTH_HIDING = 8  # minimum length of a key whose copies are left out too
#: Names that look like secrets but are not.
_HARMLESS = frozenset(
    {
        "SSH_AUTH_SOCK",
        "XDG_SESSION_ID",
        "XDG_SESSION_TYPE",
        "XDG_SESSION_CLASS",
        "XDG_SESSION_DESKTOP",
        "DESKTOP_SESSION",
    }
)
#: Variables that change the meaning of a command line: other start-up files, other folders, other file names.
_TWISTING = frozenset({"BASH_ENV", "ENV", "BASHOPTS", "SHELLOPTS", "CDPATH", "GLOBIGNORE"})
#: What a program needs to know if no user is at the terminal.
_QUIET: Mapping[str, str] = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # reading a repository does not write its index or run its hooks
    "TERM": "dumb",
    "NO_COLOR": "1",
    "DEBIAN_FRONTEND": "noninteractive",
}


def clean_environment(
    given: Mapping[str, str] | None = None, *, keep: Collection[str] = (), keys: Collection[str] = ()
) -> dict[str, str]:
    """Return the variables that a command gets: no keys and tokens except those in `keep`, no pager, no colours.

    `keys` are variables that hold keys whatever they are called; copies of their values under other names are left out too.
    """
    source = os.environ if given is None else given
    values = {source[name].strip() for name in keys if name not in keep and name in source}
    values = {value for value in values if len(value) >= _WORTH_HIDING}
    kept = {
        name: value
        for name, value in source.items()
        if name in keep
        or (
            name not in keys
            and not any(hidden in value for hidden in values)
            and (name in _HARMLESS or not (_is_secret(name, value) or name in _TWISTING))
        )
    }
    return {**kept, **_QUIET}


def _is_secret(name: str, value: str) -> bool:
    return any(
        (_SECRET.search(name), _WITH_PASSWORD.match(value), _KEY_VALUE.match(value.strip())),
    )


def key_variables() -> list[str]:
    """Return the variables that hold keys of services, according to the configuration."""
    entries = [cast("Mapping[str, Json]", e) for e in providers_table().values() if isinstance(e, Mapping)]
    return [str(entry["key_env"]) for entry in entries if entry.get("key_env")]
