"""Find keys and passwords in a text, so that an import can warn and an export can be stopped.

Owns: their positions and kinds, and a masked form. Looks for vendors' key prefixes, for private keys, tokens and headers, for
passwords in addresses, and for assignments whose value looks like a secret and not like a placeholder, a variable or a word.
Never stores, sends or prints what it found. Every rule starts with a plain substring search, so a long text without secrets
is cheap.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretMatch:
    """One secret: what it is, where it is, and its first characters."""

    kind: str
    start: int
    end: int
    shown: str


@dataclass(frozen=True, slots=True)
class _SecretRule:
    """Secrets with a shape of their own. `needles`: one of them must be in the text for the pattern to be worth trying."""

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    group: int = 0
    fits: Callable[[str], bool] | None = None


def _is_random(value: str) -> bool:
    """Return True for random letters: with digits, and in both cases or hexadecimal; names of classes and files are not."""
    body = value.rpartition("-")[2] if value.count("-") == 1 else value
    if not any(c.isdigit() for c in body):
        return False
    return bool(re.search(r"[a-f0-9]{32}", body)) or (body.lower() != body and body.upper() != body)


def _no_example(value: str) -> bool:
    return not _PLACEHOLDER.search(value)


def _decodes_to_a_pair(value: str) -> bool:
    try:
        user, colon, password = base64.b64decode(value, validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return False
    return (
        bool(colon and password) and (user + password).isascii() and (user + password).decode().isprintable()
    )


def _plausible_bearer(value: str) -> bool:
    return _no_example(value) and any(c.isdigit() for c in value) and _entropy(value) > 3.0


def _url_password(value: str) -> bool:
    return _no_example(value) and value.lower() not in _TAME


def _rule(
    kind: str, needles: str, pattern: str, group: int = 0, fits: Callable[[str], bool] | None = None
) -> _SecretRule:
    # Never inside a longer run of letters, such as the base64 of an image.
    return _SecretRule(kind, tuple(needles.split()), re.compile(r"(?<![A-Za-z0-9])" + pattern), group, fits)


_PLACEHOLDER = re.compile(
    r"(?i)x{4,}|^x+$|\*{3}|\.{3}|…|[<>]|\$[{(]|\{\{|\}\}|%\(|^[$%{]|example|placeholder|change[-_]?me|your|redacted|removed|"
    r"masked|hidden|dummy|fake|sample|insert|replace|secret[-_]?here|key[-_]?here|environ|getenv|process\.env|"
    r"undefined|^(?:test|my[-_]|pass(?:word|wd)?\d{0,3}$|secret|token|foo|bar|abc|1234567890)"
)
_TAME = frozenset(
    [
        "pass",
        "password",
        "passwd",
        "pwd",
        "secret",
        "token",
        "user",
        "admin",
        "postgres",
        "root",
        "guest",
        "test",
    ]
)

_RULES = (
    _rule("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,}", fits=_no_example),
    _rule("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[A-Za-z0-9]{32,}", fits=_no_example),
    _rule("openai-key", "sk-", r"sk-(?!ant-|or-)(?:(?:proj|svcacct|admin)-)?[A-Za-z0-9_-]{20,}", fits=_is_random),
    _rule("google-key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])", fits=_no_example),
    _rule("google-token", "ya29. GOCSPX-", r"(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28})"),
    _rule("aws-key", "AKIA ASIA", r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])", fits=_no_example),
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}", fits=_no_example),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{36,255}", fits=_no_example),
    _rule("gitlab-token", "glpat- gldt- glrt-", r"gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}", fits=_no_example),
    _rule("slack-token", "xox xapp-", r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{20,}", fits=_is_random),
    _rule("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}", fits=_no_example),
    _rule("stripe-key", "k_live_ k_test_", r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,}", fits=_no_example),
    _rule("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}={0,2}", fits=_no_example),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])", fits=_is_random),
    _rule("pypi-token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    _rule("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}", fits=_is_random),
    _rule("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}", fits=_is_random),
    _rule("xai-key", "xai-", r"xai-[A-Za-z0-9]{40,}", fits=_is_random),
    _rule("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}", fits=_is_random),
    _rule("digitalocean-token", "dop_v1_", r"dop_v1_[a-f0-9]{64}"),
    _rule("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _rule("telegram-token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _rule("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    # The body follows at once; a header alone, as in code that looks for keys, is not a secret. `\n` may be two characters.
    _SecretRule(
        "private-key",
        ("PRIVATE KEY",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s:,.]|-(?!----)|\\[nr]){64,20000}"
            r"(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
    ),
    _rule("bearer-token", "earer BEARER", r"(?:[Bb]earer|BEARER)[ \t]+([A-Za-z0-9._~+/=-]{20,})", 1, _plausible_bearer),
    _rule(
        "basic-auth", "Basic basic BASIC", r"(?:[Bb]asic|BASIC)[ \t]+([A-Za-z0-9+/]{8,}={0,2})(?![\w=])", 1, _decodes_to_a_pair
    ),
    _rule(
        "url-password",
        "://",
        r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@?#'\"`<>]{0,64}:([^\s:/@?#'\"`<>]{3,128})@[^\s/@'\"`<>]",
        1,
        _url_password,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Name:
    """The end of a name to which secrets are assigned; `before` must match the name up to there."""

    kind: str
    needle: str
    before: re.Pattern[str]
    least: int  # shortest value that counts


_ANY = re.compile(r"(?s).*")
_KEYED = re.compile(
    r"(?is).*(?:api|access|secret|private|auth|encryption|signing|account|storage|subscription|master)[_-]?\Z"
)
_NAMES = (
    *(_Name("password", n, _ANY, 6) for n in ("assword", "ASSWORD", "asswd", "ASSWD", "assphrase", "ASSPHRASE", "pwd", "PWD", "Pwd")),
    *(_Name("secret", n, _ANY, 12) for n in ("secret", "Secret", "SECRET")),
    *(_Name("token", n, _ANY, 16) for n in ("token", "Token", "TOKEN")),
    *(_Name("api-key", n, _KEYED, 12) for n in ("key", "Key", "KEY")),
)  # fmt: skip
_CHINESE = (("password", "密码"), ("password", "口令"), ("api-key", "密钥"), ("token", "令牌"))

_ASSIGNED = re.compile(
    r"""(?:\\?["'`\])]){0,3}(?:[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][\w.| \[\]]{0,30}(?==))?[ \t]{0,4}(?::=|=>|=(?!=)|:(?![:/]))[ \t]{0,4}"""
    r"""(?:\\?(?P<quote>["'`])(?P<quoted>[^\s"'`\\]{6,200})\\?(?P=quote)|"""
    r"""(?P<bare>[^\s"'`,;(){}\[\]<>\\]{6,200})(?=[\s,;"'`\\]|\Z))"""
)
_SAID = re.compile(
    r"[ \t]*(?:是|为|就是|[:：=])+[ \t]*[\"'“”「`]?(?P<quoted>[\x21\x23-\x26\x28-\x5b\x5d-\x5f\x61-\x7e]{6,128})"
)
_NAME_BEFORE = re.compile(r"[\w-]{0,40}\Z")
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_WORDS = re.compile(r"[A-Za-z]+\d{0,2}(?:[-_.:/ ][A-Za-z]*\d{0,2})*")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|[./~]|[A-Za-z]:[\\/]")


def find_secrets(text: str) -> list[SecretMatch]:
    """Return every secret in the text, in order; if two rules overlap, the more specific one wins."""
    found: list[SecretMatch] = []
    taken: list[tuple[int, int]] = []  # sorted, without overlaps
    for kind, start, end in _candidates(text):
        at = bisect_left(taken, (start, end))
        free = (at == len(taken) or taken[at][0] >= end) and (at == 0 or taken[at - 1][1] <= start)
        if free:
            taken.insert(at, (start, end))
            found.append(SecretMatch(kind, start, end, mask_secret(text[start:end])))
    return sorted(found, key=lambda finding: finding.start)


def mask_secret(secret: str) -> str:
    """Return the first characters and an ellipsis: enough for the owner to recognise the key, too little to use it."""
    return secret[: 4 if len(secret) >= 8 else 1] + "…"


def _candidates(text: str) -> Iterator[tuple[str, int, int]]:
    for rule in _RULES:
        if any(needle in text for needle in rule.needles):
            for match in rule.pattern.finditer(text):
                if rule.fits is None or rule.fits(match[rule.group]):
                    yield rule.kind, *match.span(rule.group)
    for name in _NAMES:
        yield from _find_assigned_secrets(text, name)
    for kind, word in _CHINESE:
        for end in _ends(text, word):
            match = _SAID.match(text, end)
            if match and _secretive(match["quoted"], kind, 6):
                yield kind, *match.span("quoted")


def _ends(text: str, needle: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at + len(needle)
        at = text.find(needle, at + len(needle))


def _find_assigned_secrets(text: str, name: _Name) -> Iterator[tuple[str, int, int]]:
    for end in _ends(text, name.needle):
        match = _ASSIGNED.match(text, end)
        if not match:
            continue
        before = _NAME_BEFORE.search(text, max(0, end - len(name.needle) - 40), end - len(name.needle))
        if not before or not name.before.fullmatch(before[0]):
            continue
        group = "quoted" if match["quoted"] is not None else "bare"
        if _secretive(match[group], name.kind, name.least) and (
            group == "quoted" or not _is_code(match[group])
        ):
            yield name.kind, *match.span(group)


def _is_code(value: str) -> bool:
    """Return True if a bare value looks like code: it is as often a variable as a secret."""
    return bool(_REFERENCE.fullmatch(value)) or value.startswith(("&", "*", "!", "@", "|", "+"))


def _secretive(value: str, kind: str, least: int) -> bool:
    """Return True if a value looks like a secret."""
    if len(value) < least or _PLACEHOLDER.search(value) or _ADDRESS.match(value):
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if kind == "password":
        if digits == len(value):
            return len(set(value)) > 2
        odd = any(c in "!@#$%^&*+?~" for c in value[1:])
        return letters > 0 and (digits > 0 or odd) and not _WORDS.fullmatch(value)
    return digits >= 2 and letters >= 2 and not _WORDS.fullmatch(value) and _entropy(value) > 3.0


def _entropy(value: str) -> float:
    """Return bits per character; words and repetitions have few, random letters many."""
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
