"""Names: the stable key of a name, the readable id of a node, the parts of a name.

Owns spelling only: which names belong to one node is decided by `graph/naming/identity`. Overrides refer to keys, so the
same name gives the same key in every version of this program; a key is its own key. Tables of titles and forms of address are
data (`names.toml`).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache

from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.table import read_table

#: Roles that speak without a name of their own.
ROLES = frozenset({"user", "assistant", "system", "tool"})
#: Roles that name no person by themselves: such a node is shown only once it has a name.
NAMELESS = ROLES - {"user"}
CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff"
_IDEOGRAPH = late(f"[{CJK}]")
_SPACE = late(r"\s+")
_BETWEEN = late(f"(?<=[{CJK}]) (?=[{CJK}])")
_DOTS = late(r"\s*[·•・‧∙]\s*")
_ARTICLE = late(r"(?:the|a|an)\s+(?=\S)", re.IGNORECASE)
_POSSESSIVE = late(r"(?<=\w)['’][sS]$")
_UNIT = late(f"[{CJK}]|[^\\W_{CJK}]+")
_CAMEL = late(r"[a-z]{2}[a-z0-9]*+[A-Z][A-Za-z0-9]*$")
_SNAKE = late(r"\w_\w|^__\w|^_\w")
_PAIR = late(r"^(?P<one>[^()]{1,60}?)\s*\((?P<two>[^()]{1,60})\)$")
_OWNED = late(r"(.{1,40}?)(?:['’]s |的)(\S.{0,40})")
_KEPT = frozenset("#%&@*")  # punctuation that may belong to a name at its edge: C#, R&D
_FIXED = 8  # rounds after which spelling has settled; two are usual


@cache
def table() -> dict[str, dict[str, list[str]]]:
    """Return the tables beside this module."""
    return read_table("backscroll.graph", "names.toml")


@cache
def _endings() -> frozenset[str]:
    return frozenset(table()["code"]["endings"])


def code_like(text: str) -> bool:
    """Return True for paths, files and identifiers, which are case-sensitive."""
    if " " in text or _IDEOGRAPH.search(text):
        return "/" in text and " " not in text and "." in text.rsplit("/", 1)[-1]
    bare = text.removesuffix("()")
    if "/" in bare.strip("/") or "::" in bare or _SNAKE.search(bare) or _CAMEL.match(bare):
        return True
    stem, dot, ending = bare.rpartition(".")
    return bool(dot) and (not stem or ending.lower() in _endings()) and ending.isalnum()


def _edge(char: str) -> bool:
    return char not in _KEPT and (char.isspace() or unicodedata.category(char)[0] in "PZC")


def trim_name(text: str) -> str:
    """Return a name without unusual characters and surrounding punctuation, otherwise as written."""
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
    text = _SPACE.sub(" ", "".join(c for c in text if unicodedata.category(c) != "Cf")).strip()
    if code_like(text):
        return text.strip("`'\"")
    first, last = 0, len(text)
    while first < last and _edge(text[first]):
        first += 1
    opened = min((at for at in (text.find("(", first), text.find("（", first)) if at >= 0), default=last)
    while last > first and _edge(text[last - 1]):
        if text[last - 1] in ")）" and opened < last:
            break
        last -= 1
    return text[first:last] or text


def _once(name: str) -> str:
    text = _POSSESSIVE.sub("", trim_name(unicodedata.normalize("NFKC", name)))
    if code_like(text):
        path = text.replace("\\", "/").removesuffix("()").removeprefix("./")
        return (path.rstrip("/") or path) if code_like(path) else path.casefold()
    text = text.removesuffix("()") or text
    if found := _ARTICLE.match(text):
        text = text[found.end() :]
    text = _DOTS.sub("·", _BETWEEN.sub("", text.casefold()))
    words = [word.rstrip(".,") or word for word in text.split(" ")]
    return trim_name(" ".join(words)).lstrip("@") or text


@lru_cache(maxsize=1 << 17)
def key_of(name: str) -> str:
    """Return the stable key of a name: spelling, case, articles and possessives off; a key is its own key; empty for nothing."""
    text = name
    for _ in range(_FIXED):
        shorter = _once(text)
        if shorter == text:
            break
        text = shorter
    return text.strip()


@lru_cache(maxsize=1 << 16)
def value_key(value: str) -> str:
    """Return the form in which two values of an attribute are compared: case, width and surrounding punctuation are ignored."""
    text = _SPACE.sub(" ", unicodedata.normalize("NFKC", value)).strip().casefold()
    end = len(text)
    while end and _edge(text[end - 1]) and text[end - 1] not in ")]}%":
        end -= 1
    text = text[:end].lstrip("\"'“‘「『《 ")
    if found := _ARTICLE.match(text):
        text = text[found.end() :]
    return text or _SPACE.sub(" ", value).strip()


def readable(name: str, qualifier: str = "") -> str:
    """Return a readable id for a name: `ellie_forest_elf`, `艾莉_森林精灵`."""
    words = _UNIT.findall(unicodedata.normalize("NFKC", name).casefold())
    said = _join_words(words)
    more = [w for w in _UNIT.findall(unicodedata.normalize("NFKC", qualifier).casefold()) if w not in words]
    tail = _join_words(more)
    return "_".join(part for part in (said[:60].strip("_"), tail[:40].strip("_")) if part) or "node"


def _join_words(words: list[str]) -> str:
    """Join words with underscores; Chinese characters without."""
    out = ""
    for word in words:
        close = out and _IDEOGRAPH.match(word) and _IDEOGRAPH.match(out[-1])
        out += word if close or not out else f"_{word}"
    return out


@lru_cache(maxsize=1 << 16)
def units(text: str) -> tuple[str, ...]:
    """Return the units by which texts are compared: words, and single Chinese characters."""
    return tuple(_UNIT.findall(unicodedata.normalize("NFKC", text).casefold()))


def units_with_places(text: str) -> list[tuple[str, int, int]]:
    """Return the units of a longer text, with their offsets in the normalised text."""
    return [(m.group(), m.start(), m.end()) for m in _UNIT.finditer(text)]


def both_scripts(name: str) -> tuple[str, str] | None:
    """Return the two names of "艾莉（Ellie）", if one is Chinese and the other is not; else nothing."""
    found = _PAIR.match(unicodedata.normalize("NFKC", name).strip())
    if not found:
        return None
    one, two = found["one"], found["two"]
    if bool(_IDEOGRAPH.search(one)) == bool(_IDEOGRAPH.search(two)) or not re.search(r"\w", one + two):
        return None
    latin = two if _IDEOGRAPH.search(one) else one
    # Only a name: "艾莉（an elf of the forest）" explains, it does not name.
    return (one, two) if latin[:1].isupper() and len(latin.split()) <= 3 else None


@dataclass(frozen=True, slots=True)
class NameShape:
    """The parts of a key as a name of a person."""

    core: tuple[str, ...]  # the name without titles: parts in order
    titled: bool = False
    gender: str = ""  # shown by the title
    family: str = ""  # Chinese: a family name alone (小王, 王老师)
    chinese: bool = False

    @property
    def whole(self) -> bool:
        """True for a name with at least two parts (a family name and a given name)."""
        return len(self.core) >= 2


@cache
def _title_genders() -> dict[str, str]:
    kinds = table()["titles"]
    return {word: gender for gender in ("neutral", "male", "female") for word in kinds[gender]}


@cache
def _form_genders() -> dict[str, str]:
    kinds = table()["forms"]
    found = {word: gender for gender in ("neutral", "male", "female") for word in kinds[gender]}
    return dict(sorted(found.items(), key=lambda item: (-len(item[0]), item[0])))


@lru_cache(maxsize=1 << 16)
def shape_of(key: str) -> NameShape | None:
    """Return the parts of a key; None for paths, identifiers, sentences and names that a user split off."""
    if not key or "#" in key or code_like(key) or key in ROLES:
        return None
    return _chinese_shape(key) if _IDEOGRAPH.match(key) else _latin_shape(key)


def _latin_shape(key: str) -> NameShape | None:
    words = key.split(" ")
    genders = _title_genders()
    gender, taken = "", 0
    while taken < len(words) - 1 and words[taken] in genders:
        gender = gender or genders[words[taken]].replace("neutral", "")
        taken += 1
    core = words[taken:]
    while len(core) > 1 and core[-1] in table()["titles"]["after"]:
        core = core[:-1]
    if len(core) > 4 or not all(word[:1].isalpha() for word in core):
        return None
    return NameShape(tuple(core), titled=taken > 0, gender=gender)


def _chinese_shape(key: str) -> NameShape | None:
    if not all(_IDEOGRAPH.match(c) or c == "·" for c in key) or len(key) > 16:
        return None
    name, gender, titled = key, "", False
    for form, told in _form_genders().items():
        if len(key) > len(form) and key.endswith(form):
            name, gender, titled = key[: -len(form)], told.replace("neutral", ""), True
            break
    if "·" in name:
        parts = tuple(part for part in name.split("·") if part)
        return NameShape(parts, titled, gender, chinese=True) if parts else None
    small = not titled and len(name) == 2 and name[0] in table()["forms"]["small"]
    if (titled and len(name) == 1) or small:
        return NameShape((name,), True, gender, family=name[-1], chinese=True)
    if len(name) == 3:
        return NameShape((name[0], name[1:]), titled, gender, chinese=True)
    return NameShape((name,), titled, gender, chinese=True)


@cache
def _pronouns() -> dict[str, str]:
    return {word: kind for kind, words in table()["pronouns"].items() for word in words}


@lru_cache(maxsize=4096)
def pronoun_of(text: str) -> str:
    """Return the pronoun in a marked word ("she", "it" …); empty if the mark comes before a name."""
    return _pronouns().get(text.lstrip("@").strip().casefold(), "")


@cache
def _genders() -> dict[str, str]:
    return {word: gender for gender, words in table()["gender"].items() for word in words}


def gender_of(value: str) -> str:
    """Return the gender that a value shows: female, male, or empty."""
    return _genders().get(value_key(value), "")


@lru_cache(maxsize=1 << 16)
def split_owner(key: str) -> tuple[str, str] | None:
    """Return owner and relation of a description such as "user's sister" or "user的妹妹"; None for other names."""
    found = _OWNED.fullmatch(key)
    return (found[1], found[2]) if found and "#" not in key else None


def let_go() -> None:
    """Clear the caches of names; called when text is erased."""
    for kept in (key_of, value_key, units, shape_of, pronoun_of):
        kept.cache_clear()
