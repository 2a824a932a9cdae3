"""The only tokeniser: text in, index words out, the same for every store.

Owns the rules of what counts as a word. SQLite's FTS5 and PostgreSQL's tsvector are both fed the output, separated by
single spaces, so both find the same things; neither may tokenise by its own rules (use `FTS5_TOKENIZER`, `tsvector_of`).

- Text is NFKC, casefolded, without accents; lone surrogates, NUL and invisible joiners vanish.
- Words of alphabetic scripts are stemmed (English Snowball; other languages pass through it nearly untouched).
- `getUserName` gives its parts and then the whole: `get user name getusernam` (the whole is stemmed too, so that a
  search for `getusername` finds it).
- Scripts written without spaces give overlapping pairs of characters and, at the end of each run, the last character
  alone: `小猫咪` gives `小猫 猫咪 咪`, so that every single character begins some word and prefix search finds it.
"""

from __future__ import annotations

from functools import cache
from operator import add
from unicodedata import is_normalized, normalize, unidata_version
from zlib import crc32

from backscroll.vocab.values.pattern import late

#: The version of the rules below, and of what counts as searchable (`record/content`): raise it when a text gets other words.
RULES = 1

#: The FTS5 tokenizer to declare on a table of index words: it splits at ASCII punctuation and spaces only, and so keeps
#: our words whole whatever Unicode version SQLite was built with.
FTS5_TOKENIZER = "ascii"

#: Longer words (hashes, encoded bytes) are cut: PostgreSQL refuses lexemes of 2 kB, and no user types so many letters.
LONGEST_WORD = 64
_MOST_PARTS = 12  # of an identifier; more is encoded bytes, whose "parts" are noise
_CACHED_WORDS = 100_000

#: Scripts written without spaces, and Hangul, whose particles stick to the words: letters, marks and digits of each.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e81-\u0edf"  # Lao
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u1780-\u17d3\u17d7\u17dc-\u17dd\u17e0-\u17e9"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3038-\u303c"  # radicals, 々, 〇, numerals
    "\u3041-\u3096\u3099-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U0001aff0-\U0001afff\U0001b000-\U0001b16f"  # more kana
    "\U00020000-\U0003ffff"  # Han beyond the BMP
)
_ACCENTS = "\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
#: Marks that belong to the word they stand in: vowel signs and the like, which `\w` does not match.
_MARKS = (
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962-\u0963\u0981-\u0983\u09bc-\u09d7\u09e2-\u09e3"
    "\u0a01-\u0a03\u0a3c-\u0a51\u0a70-\u0a71\u0a75\u0a81-\u0a83\u0abc-\u0acd\u0ae2-\u0ae3\u0afa-\u0aff"
    "\u0b01-\u0b03\u0b3c-\u0b57\u0b62-\u0b63\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c62-\u0c63"
    "\u0c81-\u0c83\u0cbc-\u0cd6\u0ce2-\u0ce3\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0d62-\u0d63"
    "\u0d81-\u0d83\u0dca-\u0ddf\u0df2-\u0df3\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f3f\u0f71-\u0f84\u0f86-\u0fbc"
    "\u135d-\u135f\u1712-\u1714\u1732-\u1734\u180b-\u180d\u18a9\u1920-\u193b\u1a17-\u1a1b\u1a55-\u1a7f"
    "\u1b00-\u1b04\u1b34-\u1b44\u1b80-\u1b82\u1ba1-\u1bad\ua880-\ua881\ua8b4-\ua8c5\uabe3-\uabed"
    "\U00011000-\U00011002\U00011038-\U00011046"
)
#: Characters removed without leaving a gap: NUL, surrogates, soft hyphen, joiners, direction marks, variation selectors,
#: tatweel, and the optional vowel points of Arabic and Hebrew.
_VANISHING = late(
    "[\x00\u00ad\u034f\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed"
    "\u200c-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+"
)

#: A word of a spaced script, and either that or a run of an unspaced one.
SPACED_WORD = rf"[^\W_{UNSPACED}]+(?:[{_ACCENTS}{_MARKS}]+[^\W_{UNSPACED}]*)*"
_ACCENT = late(rf"[{_ACCENTS}]+")
_ASCII_WORD = late(r"[A-Za-z0-9]+")
_RUN = late(rf"[{UNSPACED}]+|{SPACED_WORD}")
_PIECE = late(rf"[{UNSPACED}][\W_{UNSPACED}]*|{SPACED_WORD}")
_GAP = late(rf"[^{UNSPACED}]+")
_RUN_BREAK = late(r"\n \n[^\n] ")
_LONG_STRETCH = 24  # from here on strided copies are quicker than making each pair
_WIDE_PUNCTUATION = late(
    "[\u2010-\u2027\u3000-\u3004\u3008-\u3020\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
_IS_UNSPACED = late(rf"[{UNSPACED}]")
_PARTS = late(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_PLAIN = late(r"[A-Z]?[^A-Z]*|[A-Z0-9]+s?")  # no camel case: word, Word, WORD, URLs


def is_unspaced(text: str) -> bool:
    """Return True if the text begins with a character of a script that is written without spaces."""
    return _IS_UNSPACED.match(text) is not None


def has_unspaced(text: str) -> bool:
    """Return True if some character is of a script that is written without spaces."""
    return _IS_UNSPACED.search(text) is not None


def normalize_text(text: str) -> str:
    """Return the text in the form in which words are searched in it: NFKC, without removed characters. Letters keep their case and
    accents; punctuation may become spaces.
    """
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    text = _VANISHING.sub("", text)
    if is_normalized("NFKC", text):
        return text
    # Full-width punctuation occurs in nearly every Chinese sentence, and normalizing costs more than all the rest.
    text = _WIDE_PUNCTUATION.sub(" ", text)
    return text if is_normalized("NFKC", text) else normalize("NFKC", text)


def runs_of(text: str) -> list[str]:
    """Return the words of a normalized text in order; a stretch of an unspaced script is one item."""
    return (_ASCII_WORD if text.isascii() else _RUN).findall(text)


def humps_of(word: str) -> list[str]:
    """Return the parts of a camelCase identifier, or just the word."""
    if len(word) > LONGEST_WORD or _PLAIN.fullmatch(word):
        return [word]
    parts = _PARTS.split(word)
    return parts if len(parts) <= _MOST_PARTS else [word]


def fold_word(word: str) -> str:
    """Return the word in lower case and without accents, cut to the maximum length of an index word."""
    word = word.casefold()
    if not word.isascii():
        word = normalize("NFC", _ACCENT.sub("", normalize("NFD", word)))
    return word[:LONGEST_WORD]


def stem(word: str) -> str:
    """Return the index word of a folded word.

    A stemmer has state and may not be shared between threads: each call makes its own, which costs a microsecond and
    happens once for each distinct word thanks to the cache. Imported here, because starting must not wait for it.
    """
    from Stemmer import Stemmer

    return Stemmer("english", 0).stemWord(word)


class _IndexWords(dict[str, str]):
    """Spaced word -> its index words. Text is Zipfian: nearly every look-up hits.

    Safe to share between threads: single dict operations are atomic, and two threads that miss the same word write the
    same value. The size is bounded by starting over, which costs less than keeping count of use.
    """

    def __missing__(self, word: str) -> str:
        found = _index_word(word)
        if len(word) <= LONGEST_WORD:
            if len(self) >= _CACHED_WORDS:
                self.clear()
            self[word] = found
        return found


def _index_word(word: str) -> str:
    parts = humps_of(word)
    whole = stem(fold_word(word))
    if len(parts) == 1:
        return whole
    return " ".join([*(stem(fold_word(part)) for part in parts), whole])


_cache = _IndexWords()


def _pairs_of_run(run: str) -> str:
    """Return overlapping pairs, then the last character alone."""
    return " ".join(map(add, run, run[1:] + " "))[:-1]


def _pairs_of_runs(runs: str) -> str:
    """Return the pairs of many runs, with line feeds between them, without making an object for each pair.

    Cells of three characters are laid out by strided copies: `c[i] c[i+1] space`. Where a run ends, its last cell is
    the character alone; the cell that starts with the line feed is cut out again.
    """
    units = memoryview(runs.encode("utf-32-le")).cast("I")
    cells = memoryview(bytearray(b" \0\0\0" * (3 * len(runs)))).cast("I")
    cells[0::3] = units
    cells[1:-3:3] = units[1:]
    return _RUN_BREAK.sub(" ", bytes(cells).decode("utf-32-le"))[:-2]


def pairs_of(stretch: str) -> str:
    """Return the index words of a stretch of unspaced script, with whatever punctuation occurs in it."""
    runs = _GAP.sub("\n", stretch).strip("\n")
    if len(runs) > _LONG_STRETCH:
        return _pairs_of_runs(runs)
    return " ".join(map(_pairs_of_run, runs.split("\n")))


def index_words(text: str, limit: int = 1_000_000) -> str:
    """Return the words under which a text is indexed, separated by single spaces; reads the first `limit` characters."""
    text = normalize_text(text[:limit] if len(text) > limit else text)
    if text.isascii():
        return " ".join(map(_cache.__getitem__, _ASCII_WORD.findall(text)))
    # Comparing with the first unspaced letter is quicker than a pattern, and settles most words.
    return " ".join(
        [
            _cache[piece] if piece < "\u0e01" or not is_unspaced(piece) else pairs_of(piece)
            for piece in _PIECE.findall(text)
        ]
    )


@cache
def recipe_number() -> int:
    """Return a number for everything that determines the index words of a text: these rules, characters, stems. Never 0.

    A store that keeps no copy of the words records with it which rules made them (`stores/sqlite/word_index`).
    """
    from Stemmer import version

    return crc32(f"{RULES} {unidata_version} {version()}".encode()) or 1


def tsvector_of(words: str) -> str:
    """Return index words as a PostgreSQL `tsvector` literal, positions included (cast it: `%s::tsvector`).

    PostgreSQL keeps positions up to 16383 and 255 of them for a word, and refuses more than a megabyte. So in a text of
    many thousand words phrases are found near its beginning only, and in one of more than about fifty thousand
    *different* words the last of them are not found.
    """
    places: dict[str, list[str]] = {}
    room = 1_000_000
    for position, word in enumerate(words.split(), 1):
        found = places.get(word)
        if found is None:
            cost = (
                len(word.encode()) + 8
            )  # its letters, the number of positions, padding, and the first position
            if room < cost:
                continue
            room -= cost
            places[word] = [str(min(position, 16383))]
        elif len(found) < 255 and position < 16384 and room >= 2:
            room -= 2
            found.append(str(position))
    return " ".join(f"'{word}':{','.join(at)}" for word, at in places.items())
