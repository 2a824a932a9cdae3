"""What somebody or something is and has: "Ann is a nurse", "my eyes are blue", "he is from Rome", "she has two cats".

Owns sentences around "be" and "have". Before: `extract_en_reading`. After: `extract_en` runs these over every sentence.
"""

from __future__ import annotations

from backscroll.derive.extract_en_calling import kind_of
from backscroll.derive.extract_en_doing import object_phrases
from backscroll.derive.extract_en_phrases import Mood, Phrase, kin, phrase, phrase_before, subject
from backscroll.derive.extract_en_reading import Named, Reading
from backscroll.derive.extract_en_words import words
from backscroll.vocab.assertion import Claim

_BE = frozenset("am is are was were 'm 're".split())
_PEOPLE = frozenset(
    "man woman girl boy guy lady person gentleman teenager adult kid child female male human".split()
)
_GENDERS = {"man": "male", "boy": "male", "guy": "male", "gentleman": "male", "male": "male"} | dict.fromkeys(
    ("woman", "girl", "lady", "female"), "female"
)
_OWN = {
    "job": "occupation", "profession": "occupation", "occupation": "occupation", "hobby": "hobby", "hobbies": "hobby", "age": "age",
    "birthday": "birthday", "height": "height", "nationality": "nationality", "goal": "goal", "dream": "goal", "nickname": "nickname",
    "eyes": "appearance", "eye": "appearance", "hair": "appearance", "skin": "appearance", "major": "studies", "phone": "phone",
    "email": "email", "address": "address", "religion": "faith", "idol": "idol", "passion": "hobby", "pastime": "hobby", "zodiac": "sign",
}  # fmt: skip
_PREDICATIVE = {
    ("in", "love", "with"): "loves", ("in", "charge", "of"): "leader_of", ("a", "fan", "of"): "likes",
    ("married", "to"): "spouse_of", ("engaged", "to"): "partner_of", ("allergic", "to"): "allergic_to", ("afraid", "of"): "fears",
    ("scared", "of"): "fears", ("terrified", "of"): "fears", ("good", "at"): "skill", ("interested", "in"): "likes",
    ("obsessed", "with"): "likes", ("fond", "of"): "likes", ("addicted", "to"): "addicted_to", ("friends", "with"): "friend_of",
    ("best", "friends", "with"): "friend_of", ("related", "to"): "relative_of", ("jealous", "of"): "jealous_of", ("proud", "of"): "proud_of",
    ("tired", "of"): "dislikes", ("sick", "of"): "dislikes", ("dating",): "partner_of", ("into",): "likes",
    ("close", "to"): "", ("used", "to"): "", ("roommates", "with"): "roommate_of", ("neighbors", "with"): "neighbour_of",
}  # fmt: skip
_VALUES = frozenset("skill allergic_to addicted_to proud_of jealous_of".split())
_AT = frozenset("in at inside on".split())


def being(r: Reading, i: int) -> bool:
    """A form of "be" at `i`; true where it was one."""
    line = r.line
    low = line.low(i)
    if low not in _BE and not (low == "'s" and _stands_for_is(r, i)):
        return False
    who, mood = subject(line, i)
    if not who or mood is None:
        return True
    if low in {"was", "were"}:
        mood.past = True
    line.subjects = who
    at = i + 1
    while line.tag(at) in "VN" and line.low(at) != "here":
        if line.tag(at) == "N":
            mood.denied = True
        at += 1
    if line.low(at) == "no" and line.low(at + 1) == "longer":
        mood.over, at = True, at + 2
    if _any_more(r, at):
        mood.over = mood.denied
    for one in who:
        _is(r, one, at, mood)
    return True


def _stands_for_is(r: Reading, i: int) -> bool:
    line = r.line
    if line.tag(i) == "A":
        return line.tag(i - 1) == "P" and line.tag(i + 1) != "B"
    after = line.low(i + 1)
    return (
        line.tag(i + 1) in "DNVS"
        or after in {"from", "in", "at"}
        or any(after in words(room) for room in ("mood", "health", "personality"))
    )


def _any_more(r: Reading, at: int) -> bool:
    line = r.line
    return any(
        line.low(k) == "anymore" or (line.low(k) == "more" and line.low(k - 1) == "any")
        for k in range(at, min(at + 8, len(line.words)))
    )


def _is(r: Reading, one: Phrase, at: int, mood: Mood) -> None:
    line = r.line
    if one.pronoun in {"it", "everything", "something", "nothing", "anything"}:
        return
    if one.det in {"my", "your", "his", "her", "their", "our"} or one.owner:
        if _own(r, one, at, mood):
            return
    found = phrase(line, at)
    if (
        found is not None
        and found.det in {"my", "his", "her", "your", "their", "our"} | ({"the"} if one.alone else set())
        and _favourite(r, one, found, mood)
    ):
        return
    if _predicative(r, one, at, mood):
        return
    who = r.refer(one)
    if who is None:
        return
    tag = line.tag(at)
    if tag == "#" and _age(r, who, at, mood):
        return
    if tag == "R":
        _where(r, who, at, mood)
    elif found is not None and (found.det or found.owner):
        _noun(r, who, found, mood)
    elif tag in "wBVI#":
        _adjective(r, who, at, mood)


def _age(r: Reading, who: Named, at: int, mood: Mood) -> bool:
    line = r.line
    value = line.words[at].text
    end = at + 1
    if line.low(end) == "-" or (line.tag(end) == "#" and not line.words[at].text[0].isdigit()):
        value = line.piece(at, end + 1)
        end += 1
    years = line.low(end) in {"years", "year", "yrs"}
    if not years and not (line.tag(end) in ".," or line.low(end) in {"and", "but"}):
        return False
    if line.low(end) in {"months", "weeks", "days", "feet", "foot", "pm", "am", "o'clock", "%"} or (
        value.isdigit() and not 0 < int(value[:9]) < 130
    ):
        return True
    if value.isdigit() or not any(c.isdigit() for c in value):
        if who.type in {"person", "animal", ""} and not (value == "one" and not years):
            r.attribute(who, "age", value, _told(r, who, mood), 0.9 if years else 0.7)
    return True


def _told(r: Reading, who: Named, mood: Mood) -> Mood:
    """A past state: in narration it goes on; of what people say of themselves it may be over."""
    if mood.past and not mood.denied:
        return Mood(min(mood.sure, 0.45 if who.name == r.me else 0.6), mood.denied, mood.over, True)
    return mood


def _own(r: Reading, one: Phrase, at: int, mood: Mood) -> bool:
    """ "my favourite food is pizza", "her eyes are green", "his job is …"."""
    line = r.line
    owner = r.owner(one)
    if owner is None:
        return False
    low = one.text.lower()
    if low.startswith(("favorite ", "favourite ")) or " favorite " in low or " favourite " in low:
        noun = one.head
        value = _value(r, at)
        if noun and value:
            r.attribute(owner, f"favourite_{_word(noun)}", value, _told(r, owner, mood), 0.95)
        return True
    predicate = _OWN.get(one.head, "")
    if not predicate:
        return False
    value = _value(r, at)
    if not value or len(value.split()) > 6:
        return True
    if predicate == "appearance":
        value = f"{value} {one.head}" if any(w in words("colour") for w in value.lower().split()) else ""
    elif predicate == "nickname":
        r.add(Claim.ALIAS, owner, value=value, sure=0.9 * mood.sure)
        return True
    elif predicate == "birthday":
        value = line.piece(at + (line.tag(at) == "R"), _end_of(r, at + 1))
    r.attribute(owner, predicate, value, _told(r, owner, mood), 0.9)
    return True


def _end_of(r: Reading, at: int) -> int:
    while at < len(r.line.words) and r.line.tag(at) not in '.,C"W':
        at += 1
    return at


def _value(r: Reading, at: int) -> str:
    """The words of a complement: a noun phrase, or what is done ("playing the piano")."""
    line = r.line
    found = phrase(line, at)
    if found is not None and not found.pronoun and (found.text and line.tag(at) != "B"):
        if found.det in {"my", "your", "his", "her", "their", "our"} or found.owner:
            return ""
        return found.text
    if line.tag(at) in "Bw" and line.low(at).endswith("ing"):
        after = phrase(line, at + 1)
        end = after.end if after is not None and not after.pronoun else at + 1
        return line.piece(at, end)
    return ""


def _favourite(r: Reading, one: Phrase, found: Phrase, mood: Mood) -> bool:
    """ "horses are my favourite animal"."""
    low = found.text.lower()
    if not low.startswith(("favorite", "favourite")):
        return False
    owner = r.owner(found)
    if owner is not None and one.text and found.head not in {"favorite", "favourite"}:
        r.attribute(owner, f"favourite_{_word(found.head)}", one.text, mood, 0.95)
    return True


def _word(noun: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in noun)


def _predicative(r: Reading, one: Phrase, at: int, mood: Mood) -> bool:
    """ "is married to", "is afraid of", "is in love with"."""
    line = r.line
    for size in (3, 2, 1):
        key = tuple(line.low(at + k) for k in range(size))
        if key in _PREDICATIVE:
            break
    else:
        if line.tag(at) == "B" and line.low(at + 1) == "a" and line.low(at + 2) == "fan":
            return False
        return False
    predicate = _PREDICATIVE[key]
    who = r.refer(one)
    if who is None or not predicate:
        return True
    for found in object_phrases(line, at + size):
        if predicate in _VALUES:
            if found.text:
                r.attribute(who, predicate, found.text, mood, 0.9)
            continue
        to = r.refer(found, loose=predicate in {"likes", "dislikes", "fears"})
        if to is not None and (
            predicate not in {"partner_of", "spouse_of", "friend_of"} or to.type in {"person", ""}
        ):
            r.relation(who, predicate, to, _told(r, who, mood), 0.9)
    return True


def _where(r: Reading, who: Named, at: int, mood: Mood) -> None:
    line = r.line
    low = line.low(at)
    found = phrase(line, at + 1)
    if found is None or found.pronoun:
        return
    if low == "from":
        if found.name is not None or found.head in words("thing", "place"):
            r.relation(
                who, "comes_from", Named(found.name.text if found.name else found.text, "place"), mood, 0.9
            )
    elif low in _AT:
        if (
            found.name is not None
            and not found.owner
            and (found.name.type == "place" or low == "in" or found.name.type == "")
        ):
            kind = found.name.type or ("place" if low == "in" else "")
            if kind == "person":
                return
            r.meet(found.name.text, kind)
            r.relation(
                who,
                "located_in",
                Named(found.name.text, kind, sure=found.name.sure),
                mood,
                0.75 if mood.past else 0.85,
            )
        elif found.head in words("thing", "place") and found.det in {"the", "a", "an"} and low != "on":
            r.relation(who, "located_in", Named(found.text, "place"), mood, 0.7)


def _noun(r: Reading, who: Named, found: Phrase, mood: Mood) -> None:
    """ "is a nurse", "is my brother", "is the leader of the guild"."""
    line = r.line
    head = found.head
    mood = _told(r, who, mood)
    after = line.low(found.end)
    if (
        head in kin()
        and not (found.det in {"a", "an"} and head in words("occupation"))
        and _kin(r, who, found, mood)
    ):
        return
    if (
        found.det in {"my", "your", "his", "her", "their", "our"}
        or found.owner
        or who.type in {"place", "work"}
    ):
        return
    if after == "of" and (head in words("leaders") or head == "member"):
        to = phrase(line, found.end + 1)
        named = r.refer(to, loose=True) if to is not None else None
        if named is not None:
            r.relation(who, "member_of" if head == "member" else "leader_of", named, mood, 0.9)
        return
    if not head:
        if found.name is not None and found.det in {"a", "an"} and line.low(found.end) in {"fan", "fans"}:
            r.relation(who, "likes", Named(found.name.text), mood, 0.9)
        return
    _class(r, who, found, mood)


def _kin(r: Reading, who: Named, found: Phrase, mood: Mood) -> bool:
    line = r.line
    relation = kin()[found.head]
    owner = r.owner(found)
    if owner is None and line.low(found.end) == "of":
        other = phrase(line, found.end + 1)
        if other is not None and other.pronoun == "mine":
            owner = Named(r.me, "person")
        elif other is not None:
            owner = r.refer(other)
    if owner is None:
        return False
    if found.text.lower().split()[:1] == ["ex"] or found.head.startswith("ex-"):
        r.add(Claim.END, who, relation, to=owner, sure=0.9 * mood.sure)
        return True
    if who.pronoun and owner.pronoun:
        return True
    who_typed = who if who.type else Named(who.name, "person", who.hint, who.sure)
    r.gender(who.name, found.head)
    r.relation(who_typed, relation, owner, mood, 0.95)
    return True


def _class(r: Reading, who: Named, found: Phrase, mood: Mood) -> None:
    """What kind somebody or something is said to be."""
    line = r.line
    head, text = found.head, found.text
    if found.det not in {"a", "an", "the"} and not found.number:
        return
    if who.name == "@they" or who.name == "@we":
        return
    lows = text.lower().split()
    if "old" in lows and lows[0].isalnum() and any(w.startswith("year") for w in lows[1:3]):
        r.attribute(who, "age", lows[0], mood, 0.9)
        text = " ".join(text.split()[lows.index("old") + 1 :])
        lows = text.lower().split()
    if head == "fan" and line.low(found.end) == "of":
        for one in object_phrases(line, found.end + 1):
            to = r.refer(one, loose=True)
            if to is not None:
                r.relation(who, "likes", to, mood, 0.85)
    elif head in {"fan", "lover"} and len(lows) > 1:
        liked = " ".join(
            w
            for w in text.split()[:-1]
            if w.lower() not in {"huge", "big", "avid", "great", "massive", "total", "real"}
        )
        if liked:
            r.relation(who, "likes", Named(liked), mood, 0.85)
    elif head in words("occupation") or head.endswith(tuple(words("occupation", "suffix"))):
        if found.det == "the" and line.low(found.end) != "of" and len(lows) == 1:
            return
        r.attribute(who, "occupation", text, mood, 0.9)
        r.gender(who.name, head)
        _workplace(r, who, found, mood)
        if line.low(found.end) == "and" and line.tag(found.end + 1) in "wD":
            more = phrase(line, found.end + 1)
            if more is not None and more.head in words("occupation") and line.tag(more.end) not in "AB":
                r.attribute(who, "occupation", more.text, mood, 0.85)
    elif head in words("race"):
        r.attribute(who, "race", text, mood, 0.85)
    elif head in _PEOPLE:
        r.gender(who.name, head)
        if head in _GENDERS and found.det != "the":
            r.attribute(who, "gender", _GENDERS[head], mood, 0.7)
        if (
            len(lows) > 1
            and found.det != "the"
            and lows[0]
            not in {"good", "bad", "great", "lucky", "real", "new", "nice", "big", "different", "better"}
        ):
            r.attribute(who, "description", text, mood, 0.75)
    elif found.det in {"a", "an"} and not who.pronoun:
        kind = kind_of(head)
        if kind and kind != "person" and not who.type:
            r.attribute(Named(who.name, kind, who.hint, who.sure), "kind", text, mood, 0.85)
        elif (
            head in words("nationality")
            or head in words("nationality", "faith")
            or head in words("personality")
        ):
            _adjective_word(r, who, head, text, mood)
        elif (
            head not in words("thing", "passing")
            and line.low(found.end) not in {"of", "for", "to", "that"}
            and len(lows) <= 3
            and who.type in {"person", "animal", ""}
        ):
            r.attribute(who, "description", text, mood, 0.65)


def _workplace(r: Reading, who: Named, found: Phrase, mood: Mood) -> None:
    line = r.line
    if line.low(found.end) in {"at", "for"}:
        where = phrase(line, found.end + 1)
        if (
            where is not None
            and not where.pronoun
            and (where.name is not None or where.head in words("thing", "place"))
        ):
            student = found.head in {"student", "freshman", "sophomore", "senior", "junior"}
            to = Named(where.name.text if where.name else where.text, "organisation")
            r.relation(who, "studies_at" if student else "works_at", to, mood, 0.9)


def _adjective(r: Reading, who: Named, at: int, mood: Mood) -> None:
    line = r.line
    last = at
    while line.tag(last) in "wVB#," or line.low(last) == "and":
        if last - at > 8:
            break
        low = line.low(last)
        if (
            line.tag(last) == "w"
            and line.tag(last + 1) == "w"
            and line.low(last + 1) not in words("personality") | words("mood")
        ):
            _bare_noun(r, who, last, mood)
            break
        if line.tag(last) in "wB":
            if (
                not _adjective_word(r, who, low, line.words[last].text, mood)
                and last > at
                and line.tag(last) == "w"
            ):
                break
            if line.tag(last) == "B":
                break
        last += 1


def _bare_noun(r: Reading, who: Named, at: int, mood: Mood) -> None:
    found = phrase(r.line, at)
    if (
        found is not None
        and found.head in words("occupation")
        and len(found.text.split()) <= 3
        and not mood.denied
    ):
        r.attribute(who, "occupation", found.text, mood, 0.6)


def _adjective_word(r: Reading, who: Named, low: str, text: str, mood: Mood) -> bool:
    """One adjective; true where it says something."""
    mood = _told(r, who, mood)
    if who.name in {"@they", "@we", "@you"} and low not in words("personality", "status"):
        return False
    if low in words("nationality"):
        r.attribute(who, "nationality", text, mood, 0.9)
    elif low in words("nationality", "faith"):
        r.attribute(who, "faith", text, mood, 0.9)
    elif low in words("personality", "marital"):
        r.attribute(who, "marital_status", low, mood, 0.9)
    elif low in words("personality", "status"):
        r.attribute(who, "status", low, mood, 0.85)
    elif low in words("health"):
        r.attribute(who, "health", low, mood, 0.85)
    elif low in words("mood"):
        if not mood.denied:
            r.attribute(who, "mood", low, mood, 0.8)
    elif low in words("personality", "appearance"):
        r.attribute(who, "appearance", low, mood, 0.8)
    elif low in words("personality"):
        r.attribute(who, "personality", low, mood, 0.8)
    elif low in words("colour") and who.type in {"thing", "animal"}:
        r.attribute(who, "colour", low, mood, 0.8)
    else:
        return False
    return True


# -- having ------------------------------------------------------------


def having(r: Reading, i: int) -> bool:
    """A form of "have" at `i` that is no auxiliary."""
    line = r.line
    low = line.low(i)
    if low not in {"have", "has", "had", "'ve", "got"}:
        return False
    at = i + 1
    if low == "got" and line.low(i - 1) not in {"'ve", "have", "has", "'s"}:
        return False
    if low in {"'ve", "have", "has"} and line.low(at) == "got":
        at += 1
    elif low == "'ve":
        return False
    if (
        line.tag(at) not in "DS#w"
        or (line.tag(at) == "w" and line.low(at).endswith("ed"))
        or line.low(at) in {"to", "been"}
    ):
        return False
    if low == "got":
        i -= 1
    who, mood = subject(line, i)
    if not who or mood is None:
        return True
    line.subjects = who
    if line.low(at) == "no" and not mood.denied:
        mood.denied = True
    if low == "had":
        mood.past = True
    for one in who:
        named = r.refer(one)
        if named is None:
            continue
        for found in object_phrases(line, at):
            _has(r, named, found, mood)
    return True


def _has(r: Reading, who: Named, found: Phrase, mood: Mood) -> None:
    line = r.line
    head, text = found.head, found.text
    mood = _told(r, who, mood)
    if (
        not head
        or found.pronoun
        or found.owner
        or found.det in {"your", "his", "her", "their", "the", "that", "this"}
    ):
        return
    count = found.number or ("" if found.det in {"a", "an"} else found.det)
    named = (
        line.words[found.end + 1]
        if line.low(found.end) in {"named", "called"} and line.tag(found.end + 1) == "K"
        else None
    )
    if (
        named is None
        and found.end < len(line.words)
        and line.low(found.end) == ","
        and line.tag(found.end + 1) == "K"
        and line.tag(found.end + 2) in ".,"
    ):
        named = line.words[found.end + 1]
    if head in words("thing", "body"):
        if len(text.split()) > 1:
            r.attribute(who, "appearance", text, mood, 0.9)
    elif head in kin() and head not in {"client", "patient", "customer", "date", "student", "manager"}:
        if named is not None:
            r.meet(named.text)
            r.relation(Named(named.text, "person"), kin()[head], who, mood, 0.95)
        elif not who.pronoun and not (mood.denied and not found.number and found.det not in {"no", "any"}):
            r.attribute(
                who,
                f"has_{_singular(head)}",
                count if count and count not in {"no", "any"} else ("no" if mood.denied else "yes"),
                Mood(mood.sure),
                0.85,
            )
    elif head in words("animal", "pets"):
        pet = Named(named.text, "animal") if named is not None else Named(text, "animal")
        if named is not None:
            r.meet(named.text, "animal")
            r.attribute(pet, "kind", head, Mood(), 0.95)
        r.relation(who, "has_pet", pet, mood, 0.9)
    elif head in words("health", "conditions"):
        r.attribute(who, "health", text, mood, 0.85)
    elif head in words("thing", "passing") or head in words("mood") or mood.past:
        return
    elif found.det in {"a", "an", "my"} or found.number:
        if (
            not who.pronoun
            and line.low(found.end) not in {"of", "to", "that", "for", "with", "about", "in"}
            and len(text.split()) <= 3
        ):
            r.relation(who, "owns", Named(text, "thing"), mood, 0.6)


def _singular(head: str) -> str:
    return {"children": "child", "kids": "child", "kid": "child", "wives": "wife", "families": "family"}.get(
        head
    ) or (head[:-1] if head.endswith("s") and not head.endswith("ss") else head)


def appositions(r: Reading) -> None:
    """ "Ann, a forest elf, …", "the baker, Tom, …"."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.tag != "K" or line.low(i + 1) != "," or line.low(i + 2) not in {"a", "an", "the"}:
            continue
        found = phrase(line, i + 2)
        if found is None or not found.head or line.tag(found.end) not in ",." or found.name is not None:
            continue
        if line.low(i - 1) == "," or line.low(found.end + 1) in {"and", "or"}:
            continue  # a list
        head = found.head
        if head in words("occupation") or head in words("race") or kind_of(head):
            _class(r, Named(word.text, word.type or r.turn.types.get(word.text, "")), found, Mood(0.9))


def owned_names(r: Reading) -> None:
    """ "my dog Rex", "Ann's cat Tom", "my dog, Rex,"."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.tag != "w" or word.low not in words("animal", "pets"):
            continue
        at = i + 1 + (line.low(i + 1) == ",")
        if line.tag(at) != "K" or (at == i + 2 and line.tag(at + 1) not in ",."):
            continue
        found = phrase_before(line, i + 1)
        if found is None:
            continue
        owner = r.owner(found)
        if owner is None:
            continue
        pet = Named(line.words[at].text, "animal")
        r.meet(pet.name, "animal")
        r.attribute(pet, "kind", word.low, Mood(), 0.95)
        r.relation(owner, "has_pet", pet, Mood(), 0.95 if at == i + 1 else 0.8)
