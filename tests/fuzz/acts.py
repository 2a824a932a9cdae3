"""Everything that can be done to a conversation, each act with dice of its own for where and how.

An act changes the model in the same way where it knows what must come of it, and asks the store where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from backscroll import Text, ToolCall, ToolResult
from backscroll.errors import BudgetTooSmall
from tests.fuzz.lore import BOOKS, some_book
from tests.fuzz.talk import Line, Talk, size_of

Act: TypeAlias = Callable[[Talk, str], None]
BUDGETS = (700, 1500, 4000, 8000, 16_000, 60_000)
WIRES = ("openai-chat", "openai-responses", "anthropic")
FLAGS: Mapping[str, tuple[str, bool]] = {
    "delete": ("deleted", True),
    "restore": ("deleted", False),
    "hide": ("hidden", True),
    "unhide": ("hidden", False),
    "pin": ("pinned", True),
    "unpin": ("pinned", False),
}

# -- the history -------------------------------------------------------------------------------------------------


def speak(talk: Talk, name: str) -> None:
    """Something is appended."""
    kind = talk.dice.choice(
        ("turn", "turn", "turn", "user", "assistant", "system", "tools", "late", "hidden")
    )
    if kind == "turn":
        talk.turn(name)
    elif kind == "tools":
        talk.use_tools(name)
    elif kind == "late":
        asked = [call for line in talk.lines[name] for call in line.calls]
        told = {call for line in talk.lines[name] for call in line.answers}
        if waiting := [call for call in asked if call not in told]:
            talk.answer(name, talk.dice.choice(waiting))
    elif kind == "hidden":
        talk.say(name, "user", hidden=True)
    elif kind == "system":
        talk.say(name, "system", talk.dice.choice((1, 1, 6)))
    else:
        talk.say(name, kind, pinned=talk.dice.random() < 0.1)


def reword(talk: Talk, name: str) -> None:
    """A message gets other words, or an alternative."""
    line = talk.some_line(name)
    if line is None:
        return
    how = talk.dice.choice(("edit", "edit", "regenerate", "aside"))
    parts, new = _reworded(talk, name, line)
    thread = talk.thread(name)
    if how == "edit":
        made = talk.tried(f"edit {name[:8]} {line.id} {new.word}", lambda: thread.edit(line.id, parts))
    else:
        live = how == "regenerate"
        text = f"regenerate {name[:8]} {line.id} {new.word} live={live}"
        made = talk.tried(text, lambda: thread.regenerate(line.id, parts, live=live))
    if made is None:
        return
    new = replace(new, id=line.id, hidden=line.hidden, pinned=line.pinned, size=size_of(parts))
    if how == "aside":
        talk.said[str(thread.revisions(line.id)[-1].id)] = new
        return
    talk.said[str(made.revision)] = new
    talk.lines[name][talk.index(name, line.id)] = new


def _reworded(talk: Talk, name: str, line: Line) -> tuple[list[Any], Line]:
    """Other content for a message: calls and results keep their ids, or are dropped."""
    if line.role == "tool":
        word = talk.words.word()
        content = (Text(talk.words.text(word, 3)),)
        return [ToolResult(call, content) for call in line.answers], Line(
            "", "tool", word, answers=line.answers
        )
    parts, new = talk.parts(line.role, talk.dice.choice((1, 1, 3, 40)))
    if line.calls and talk.dice.random() < 0.8:
        parts += [ToolCall(call, "Read", {"path": f"src/{new.word}"}) for call in line.calls]
        new = replace(new, calls=line.calls)
    return parts, new


def choose(talk: Talk, name: str) -> None:
    """Another alternative becomes the live one."""
    if line := talk.some_line(name):
        which = talk.dice.randrange(3)
        made = talk.tried(
            f"choose {name[:8]} {line.id} {which}", lambda: talk.thread(name).choose(line.id, which)
        )
        if made is not None:
            talk.adopt(name)


def flag(talk: Talk, name: str) -> None:
    """Messages are deleted, restored, hidden, shown, pinned, unpinned."""
    weights = (6, 2, 2, 1, 2, 1)
    how = talk.dice.choices(list(FLAGS), weights)[0]
    lines = [
        line for _ in range(talk.dice.choice((1, 1, 2, 4))) if (line := talk.some_line(name, deleted=None))
    ]
    if how == "delete" and talk.dice.random() < 0.3:
        lines = talk.live(name)[-talk.dice.randrange(1, 12) :]  # the newest
    ids = list(dict.fromkeys(line.id for line in lines))
    if not ids:
        return
    done = talk.tried(f"{how} {name[:8]} {' '.join(ids)}", lambda: getattr(talk.thread(name), how)(*ids))
    if done is not None:
        field, value = FLAGS[how]
        for id in ids:
            talk.change_line(name, id, **{field: value})


def move(talk: Talk, name: str) -> None:
    """A message goes elsewhere."""
    line, other = talk.some_line(name), talk.some_line(name, deleted=None)
    if line is None or other is None or line.id == other.id:
        return
    after = None if talk.dice.random() < 0.2 else other.id
    done = talk.tried(
        f"move {name[:8]} {line.id} after={after}", lambda: talk.thread(name).move(line.id, after=after)
    )
    if done is not None:
        lines = talk.lines[name]
        moved = lines.pop(talk.index(name, line.id))
        lines.insert(0 if after is None else talk.index(name, after) + 1, moved)


def insert(talk: Talk, name: str) -> None:
    """A message comes between others."""
    role = talk.dice.choice(("user", "assistant", "system"))
    parts, line = talk.parts(role)
    anchor = talk.some_line(name, deleted=None)
    after = None if anchor is None or talk.dice.random() < 0.15 else anchor.id
    made = talk.tried(
        f"insert {name[:8]} {role} {line.word} after={after}",
        lambda: talk.thread(name).insert(role, parts, after=after),
    )
    if made is not None:
        place = 0 if after is None else talk.index(name, after) + 1
        talk.keep(name, place, replace(line, id=str(made.id), size=size_of(parts)), str(made.revision))


def fork(talk: Talk, name: str) -> None:
    """Another thread with the same past, up to a message."""
    if len(talk.lines) >= 5:
        return
    line = None if talk.dice.random() < 0.2 else talk.some_line(name)
    if line is not None and talk.dice.random() < 0.5:
        line = talk.dice.choice(talk.live(name))  # anywhere, not only near the end
    at = None if line is None else line.id
    made = talk.tried(f"fork {name[:8]} at={at}", lambda: talk.thread(name).fork(at))
    if made is not None:
        lines = talk.lines[name]
        talk.lines[made.id] = list(lines if at is None else lines[: talk.index(name, at) + 1])
        talk.trail[-1] += f" -> {made.id[:8]}"


def take_back(talk: Talk, name: str) -> None:
    """Undo and redo, also of what the engine does by itself."""
    how = talk.dice.choice(("undo", "undo", "redo"))
    actor = talk.dice.choice(("user", "user", "user", "backscroll"))
    thread = talk.thread(name).as_actor(actor)
    talk.tried(f"{how} {name[:8]} as {actor}", getattr(thread, how))
    talk.adopt(name)


def rewind(talk: Talk, name: str) -> None:
    """The conversation goes back to before a turn."""
    turns = talk.thread(name).info.turns
    if turns < 2 or isinstance(talk.place, str):
        return
    turn = talk.dice.randrange(max(1, turns - 4), turns + 1)
    folder = talk.place.parent / "files"
    folder.mkdir(exist_ok=True)
    talk.tried(
        f"rewind {name[:8]} to before turn {turn}",
        lambda: talk.thread(name).workroom(folder).rewind(turn, "conversation"),
    )
    talk.adopt(name)


def forget(talk: Talk, name: str) -> None:
    """Messages are erased for good."""
    lines = [line for _ in range(talk.dice.choice((1, 1, 2))) if (line := talk.some_line(name, deleted=None))]
    ids = list(dict.fromkeys(line.id for line in lines))
    if (
        ids
        and talk.tried(f"forget {name[:8]} {' '.join(ids)}", lambda: talk.thread(name).forget(*ids))
        is not None
    ):
        for each in talk.lines:
            talk.lines[each] = [line for line in talk.lines[each] if line.id not in ids]


# -- what prompts show -------------------------------------------------------------------------------------------


def crop(talk: Talk, name: str) -> None:
    """Messages leave the prompts, or come back."""
    thread = talk.thread(name)
    if talk.dice.random() < 0.15:
        handles = [e.seq for e in thread.events() if e.kind.value == "cropped"]
        if handles:
            which = talk.dice.choice(handles)
            talk.tried(f"uncrop {name[:8]} [bs:{which}]", lambda: thread.uncrop(f"[bs:{which}]"))
        return
    way, amount = talk.dice.choice(("top", "top", "bottom")), talk.dice.randrange(1, 12)
    own = talk.dice.choice((None, None, "They talked about the weather."))
    talk.tried(f"crop {name[:8]} {way} {amount} {own!r}", lambda: thread.crop(way, amount, own))


def compact(talk: Talk, name: str) -> None:
    """The past is condensed because somebody wants it."""
    budget = talk.dice.choice(BUDGETS)
    talk.tried(f"compact {name[:8]} {budget}", lambda: talk.thread(name).compact(budget))


def prompt(talk: Talk, name: str) -> None:
    """A prompt is made and kept: what is due is condensed."""
    budget, wire = talk.dice.choice(BUDGETS), talk.dice.choice(WIRES)
    talk.note(f"prompt {name[:8]} {budget} {wire}")
    try:
        talk.thread(name).prompt(budget, wire=wire, reserve=0)
    except BudgetTooSmall as refused:
        talk.trail[-1] += f"  (refused: {refused})"


def wait(talk: Talk, name: str) -> None:
    """Time passes: caches go cold, turns are analysed."""
    seconds = talk.dice.choice((30, 400, 4000, 90_000))
    talk.note(f"wait {seconds} seconds")
    talk.clock.wait(seconds)


# -- tasks, memories, the graph ----------------------------------------------------------------------------------


def task(talk: Talk, name: str) -> None:
    """A task begins, goes on or ends."""
    tasks, dice = talk.thread(name).tasks, talk.dice
    title = dice.choice(("Fix the login", "重构配置", "Write the docs", "迁移数据库"))
    steps: dict[str, Callable[[], Any]] = {
        "start": lambda: tasks.start(title, keep=dice.random() < 0.4, again=True),
        "attempt": lambda: tasks.attempt(f"done: {title}"),
        "complete": tasks.complete,
        "incomplete": lambda: tasks.incomplete("not yet, try again 再试一次", say=dice.random() < 0.3),
        "cancel": lambda: tasks.cancel("no longer needed"),
        "plan": lambda: tasks.plan_for_later(title),
        "resume": lambda: tasks.resume(dice.choice(list(tasks.list())).id) if tasks.list() else None,
    }
    how = dice.choices(list(steps), (6, 2, 3, 2, 1, 1, 1))[0]
    talk.tried(f"task {name[:8]} {how} {title}", steps[how])
    talk.adopt(name)


def memory(talk: Talk, name: str) -> None:
    """Somebody writes a memory down, or changes one."""
    kept, dice = talk.thread(name).memory, talk.dice
    known = [m.id for m in kept.list(scope="thread", hidden=True)]
    which = dice.choice(known) if known else ""
    line = talk.some_line(name)
    steps: dict[str, Callable[[], Any]] = {
        "add": lambda: kept.add("The server is in Bergen.", sources=[line.id] if line else ()),
        "edit": lambda: kept.edit(which, "The server is in Oslo."),
        "pin": lambda: kept.pin(which),
        "unpin": lambda: kept.unpin(which),
        "forget": lambda: kept.forget(which),
        "restore": lambda: kept.restore(which),
    }
    how = "add" if not known else dice.choice(list(steps))
    talk.tried(f"memory {name[:8]} {how} {which}", steps[how])


def graph(talk: Talk, name: str) -> None:
    """Somebody corrects the graph, or tells it about the world."""
    known, dice = talk.thread(name).graph, talk.dice
    nodes = [node.id for node in known.nodes(limit=30)]
    node = dice.choice(nodes) if nodes else ""
    other = dice.choice(nodes) if nodes else ""
    steps: dict[str, Callable[[], Any]] = {
        "add": lambda: known.add(dice.choice(("Mira", "老王", "Captain Vale")), "person", mood="calm"),
        "set": lambda: known.set(node, "mood", dice.choice(("tired", "高兴"))),
        "rename": lambda: known.rename(node, dice.choice(("Nora", "小李"))),
        "forbid": lambda: known.forbid(node, "lives_in"),
        "merge": lambda: known.merge(node, other),
        "delete": lambda: known.delete(node),
        "world": lambda: known.tell_world(
            "lore", "# Bergen\nA town in the rain.\n\n# 老王\n铁匠，住在卑尔根。\n"
        ),
        "flush": talk.thread(name).graph.flush,
    }
    how = dice.choice(list(steps) if nodes else ["add", "world", "flush"])
    named = "" if how in ("add", "world", "flush") else f"{node} {other}"
    talk.tried(f"graph {name[:8]} {how} {named}", steps[how])


def lore(talk: Talk, name: str) -> None:
    """A lorebook is attached, replaced or taken away, and what it does is looked at."""
    known, dice = talk.thread(name).lore, talk.dice
    book, called = some_book(dice), dice.choice(BOOKS)
    steps: dict[str, Callable[[], Any]] = {
        "add": lambda: known.add(called, book),
        "drop": lambda: known.drop(called),
        "look": lambda: known.entries(dice.choice(BUDGETS)),
    }
    how = dice.choices(list(steps), (5, 2, 2))[0]
    talk.tried(f"lore {name[:8]} {how} {called} {book if how == 'add' else ''}", steps[how])


USERS = ("ann", "小安")
STATED = (
    "I live in Lisbon and I am allergic to nuts.",
    "I moved to Porto.",
    "我住在里斯本，对坚果过敏。",
    "以后回答都用表格。",
    "Always answer in tables.",
)


def belong(talk: Talk, name: str) -> None:
    """A thread gets a user, or loses it; the user states something, is corrected, or takes it back in another thread."""
    thread, dice = talk.thread(name), talk.dice
    who = thread.info.user or dice.choice(USERS)
    steps: dict[str, Callable[[], Any]] = {
        "move": lambda: thread.describe(user=dice.choice((*USERS, *USERS, ""))),
        "state": lambda: _state(talk, name),
        "correct": lambda: talk.engine.user(who).correct("lives_in", dice.choice(("Braga", "波尔图"))),
        "reject": lambda: talk.engine.user(who).reject("lives_in", dice.choice(("Lisbon", "里斯本"))),
        "look": lambda: (talk.engine.user(who).facts(), talk.engine.user(who).preferences()),
        "elsewhere": lambda: _take_back_elsewhere(talk, name, who),
    }
    how = dice.choices(list(steps), (5, 6, 1, 1, 2, 4))[0]
    talk.tried(f"user {name[:8]} {who} {how}", steps[how])


def _state(talk: Talk, name: str) -> None:
    """The user says something about themselves."""
    parts, line = talk.parts("user", 1)
    talk.put(name, [Text(talk.dice.choice(STATED)), *parts], line)


def _take_back_elsewhere(talk: Talk, name: str, user: str) -> None:
    """A message of another thread of the same user is deleted."""
    others = [each for each in talk.lines if each != name and talk.thread(each).info.user == user]
    if not others:
        return
    other = talk.dice.choice(others)
    line = talk.some_line(other, role="user")
    if line is not None:
        talk.note(f"  delete {other[:8]} {line.id}")
        talk.thread(other).delete(line.id)
        talk.change_line(other, line.id, deleted=True)


def ask(talk: Talk, name: str) -> None:
    """Things are read, which fills whatever is kept in memory."""
    thread = talk.thread(name)
    word = talk.dice.choice(sorted(talk.words.known)) if talk.words.known else "fox"
    thread.recall(f"What about {word}?", 500)
    thread.summary()
    thread.operations()
    list(thread.tasks.list())
    list(thread.memory.list())
    talk.note(f"read {name[:8]}")


ACTS: Mapping[Act, int] = {
    speak: 26,
    reword: 8,
    choose: 2,
    flag: 12,
    move: 4,
    insert: 4,
    fork: 5,
    take_back: 8,
    rewind: 3,
    forget: 2,
    crop: 6,
    compact: 4,
    prompt: 8,
    wait: 3,
    task: 8,
    memory: 4,
    graph: 4,
    lore: 4,
    belong: 5,
    ask: 3,
}


def act(talk: Talk, acts: Mapping[Act, int] = ACTS) -> str:
    """Do one thing to one thread, and see that the store lists what the model expects; gives the thread."""
    name = talk.some_thread()
    chosen = talk.dice.choices(list(acts), list(acts.values()))[0]
    chosen(talk, name)
    talk.assert_lines(name)
    return name
