"""Keys and passwords are found, placeholders and prose are not, and nothing that is shown gives a secret away."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from pathlib import Path

import pytest

from backscroll.formats.secrets import SecretMatch, find_secrets

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "transcripts"

# Put together from pieces, so that no scanner takes this file for a leak.
LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3dE5fG7"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
KEYS = {
    "openai-key": "sk" + "-proj-" + LETTERS + "_" + LETTERS,
    "anthropic-key": "sk" + "-ant-" + "api03-" + LETTERS * 2,
    "openrouter-key": "sk" + "-or-" + "v1-" + HEX * 2,
    "google-key": "AI" + "za" + LETTERS[:35],
    "google-token": "ya" + "29." + LETTERS,
    "aws-key": "AK" + "IA" + "QW3RTY6UIOPASDF2",
    "github-token": "gh" + "p_" + LETTERS[:36],
    "gitlab-token": "gl" + "pat-" + LETTERS[:20],
    "slack-token": "xo" + "xb-" + "1234567890-" + LETTERS[:24],
    "stripe-key": "sk" + "_live_" + LETTERS[:24],
    "npm-token": "np" + "m_" + LETTERS[:36],
    "pypi-token": "py" + "pi-AgE" + "IcHlwaS5vcmc" + LETTERS * 2,
    "huggingface-token": "h" + "f_" + LETTERS[:34],
    "groq-key": "gs" + "k_" + LETTERS + LETTERS[:10],
    "telegram-token": "123456789" + ":AA" + LETTERS[:33],
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + LETTERS,
}


def kinds(text: str) -> list[str]:
    return [finding.kind for finding in find_secrets(text)]


@pytest.mark.parametrize(("kind", "key"), KEYS.items(), ids=list(KEYS))
@pytest.mark.parametrize(
    "frame",
    ["{}", "key is {}, ok?", '"{}"', "我的密钥在这里：{}。请保密", "KEY={}\n", "https://x.test/?k={}&a=1"],
)
def test_recognisable_keys_are_found_anywhere(kind: str, key: str, frame: str) -> None:
    """The key is found whole, under its kind, in prose, quotes, Chinese, assignments and addresses."""
    text = frame.format(key)
    (finding,) = find_secrets(text)
    assert finding.kind == kind
    assert text[finding.start : finding.end] == key


def test_short_hexadecimal_key_is_found() -> None:
    """Several vendors use `sk-` with hexadecimal digits only."""
    assert kinds("sk" + "-" + HEX) == ["openai-key"]


def test_private_keys_are_found_even_if_escaped_or_cut() -> None:
    """The block counts from its first dash to its last, with real or escaped line ends, and without its end."""
    head, tail = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
    body = "\n".join([LETTERS] * 6)
    whole = f"{head}\n{body}\n{tail}"
    assert find_secrets(f"see:\n{whole}\nthanks") == [SecretMatch("private-key", 5, 5 + len(whole), "----…")]
    assert kinds(json.dumps({"k": whole})) == ["private-key"]
    assert kinds(f"{head}\n{body}") == ["private-key"]
    assert kinds(f'if line.startswith("{head}"): ...') == []


def test_authorization_headers_are_found() -> None:
    """Bearer tokens and basic credentials are found without the word before them."""
    pair = base64.b64encode(b"kai:Tr0ub4dor").decode()
    text = f"Authorization: Bearer {LETTERS}\nauthorization: Basic {pair}\n"
    bearer, basic = find_secrets(text)
    assert (bearer.kind, text[bearer.start : bearer.end]) == ("bearer-token", LETTERS)
    assert (basic.kind, text[basic.start : basic.end]) == ("basic-auth", pair)


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("password=Tr0ub4dor&3", "password", "Tr0ub4dor&3"),
        ('"password": "hunter-2-hunter!"', "password", "hunter-2-hunter!"),
        ("DB_PASSWORD='p@ssW0rd-77'", "password", "p@ssW0rd-77"),
        ("passwd: 8472639105", "password", "8472639105"),
        (f"api_key: {HEX}", "api-key", HEX),
        (f'const apiKey = "{LETTERS}";', "api-key", LETTERS),
        (f"X-Api-Key: {LETTERS}", "api-key", LETTERS),
        (f'{{\\"client_secret\\": \\"{LETTERS}\\"}}', "secret", LETTERS),
        (f"export AUTH_TOKEN={LETTERS}", "token", LETTERS),
        (f'token: str = "{LETTERS}"', "token", LETTERS),
        (f"aws_secret_access_key = {LETTERS[:40]}", "api-key", LETTERS[:40]),
        ("服务器密码是 Xk9#mQ2v，别告诉别人", "password", "Xk9#mQ2v"),
        ("密码：qwe!2024zz", "password", "qwe!2024zz"),
        ("postgresql://app:s3cr3t-77@db.internal:5432/shop", "url-password", "s3cr3t-77"),
        ("mongodb+srv://root:Gx8!kd@cluster0.test/a", "url-password", "Gx8!kd"),
        ("redis://:Zt5q9w@localhost:6379/0", "url-password", "Zt5q9w"),
    ],
)
def test_secrets_in_assignments_and_urls_are_found_exactly(text: str, kind: str, secret: str) -> None:
    """Without the name before and the punctuation after."""
    (finding,) = find_secrets(text)
    assert (finding.kind, text[finding.start : finding.end]) == (kind, secret)


@pytest.mark.parametrize(
    "text",
    [
        "password=xxx",
        "password: xxxxxxxx",
        'api_key = "<your key>"',
        "API_KEY=your-api-key-here-123",
        "api_key=${OPENAI_API_KEY_1}",
        'api_key = os.environ["OPENAI_API_KEY_2"]',
        "token = process.env.TOKEN_2",
        "password = getpass.getpass2()",
        "password: string;",
        "def login(user: str, password: str = None) -> Token:",
        "token = tokens[index1]",
        "self.token = other.token2",
        '"max_tokens": 4096, "total_tokens": 123456789012',
        "secret: {{ vault.secret_2 }}",
        'type="password" name="password1"',
        "password = PASSWORD_FROM_ENV_2",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Basic knowledge of Python is needed",
        "postgresql://user:password@localhost/db",
        "postgresql://user:${DB_PASS}@localhost/db",
        "https://example.com:8080/path@2x.png",
        "git@github.com:owner/repo.git",
        "class sk-estimator-doc-link and sk-spinner-2-large-and-wide",
        "AKIAIOSFODNN7" + "EXAMPLE",
        "PWD=/home/kai/project1",
        "the password is the thing that 2 people forget",
        "key: value1234, keys: 12, monkey=banana12345",
        "他说密码是什么？我忘了密码。",
        "密码是：请输入您的密码",
        "-----BEGIN PUBLIC KEY-----\n" + LETTERS * 4 + "\n-----END PUBLIC KEY-----",
        "commit 3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b",
        "sha256:" + HEX * 2,
        "data:image/png;base64," + LETTERS * 40,
    ],
)
def test_placeholders_code_and_prose_are_not_secrets(text: str) -> None:
    """Nor are variable names and text about secrets."""
    assert find_secrets(text) == []


def test_shown_form_does_not_reveal_the_secret() -> None:
    """At most the first four characters and an ellipsis."""
    key = KEYS["github-token"]
    assert find_secrets(key)[0].shown == key[:4] + "…"
    (short,) = find_secrets("password=a1b2c3")
    assert short.shown == "a…"


def test_secret_is_found_once() -> None:
    """A key in an assignment or header is reported as the more specific kind."""
    key = KEYS["anthropic-key"]
    assert kinds(f'api_key = "{key}"') == ["anthropic-key"]
    assert kinds(f"Authorization: Bearer {KEYS['jwt']}") == ["jwt"]


def test_findings_come_in_order() -> None:
    """Several secrets come in the order in which they are in the text."""
    text = f"{KEYS['jwt']} then password=Tr0ub4dor&3 then {KEYS['aws-key']}"
    found = find_secrets(text)
    assert [f.kind for f in found] == ["jwt", "password", "aws-key"]
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_prose_has_no_findings() -> None:
    """English and Chinese text about keys, tokens and passwords."""
    english = "The token count of the reply was 512. A password must be kept secret; the key: patience. Basic auth is old. "
    chinese = "令牌数是五百一十二。密码要保密，密钥：耐心。基本认证已经过时了。口令是芝麻开门。"
    assert find_secrets((english + chinese) * 200) == []


@pytest.mark.skipif(not REAL.is_dir(), reason="the collection of real transcripts is not beside this clone")
def test_real_transcripts_give_few_findings() -> None:
    """Megabytes of real sessions full of code hold at most a handful of plausible findings."""
    files = [file for file in REAL.rglob("*") if file.suffix in (".jsonl", ".json", ".md")]
    found = [
        (file.name, f)
        for file in files
        for f in find_secrets(file.read_text(encoding="utf-8", errors="replace"))
    ]
    assert len(files) > 10
    assert len(found) <= 5, found
