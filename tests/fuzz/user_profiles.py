"""What one thread of a user says, in the prompts of their other threads: always that of a fold made anew, and of nobody else.

Two threads of one user, one of another and one of nobody, all of one project; two engines on one store. Messages say facts with secret words
about whoever writes. They are edited, deleted, hidden, restored, forgotten, undone, forked; threads change hands; facts are corrected by hand and
corrections lifted. After every step each engine tells of every thread and user what a fresh engine tells; a secret is told only
while a live message or a correction says it; and only where its thread may be seen.
"""

from __future__ import annotations

import pathlib
import random

import backscroll
from backscroll import Engine, Thread
from tests.fuzz.crossing_threads import SECRET, Project, prompt_text

SENTENCES = [
    "I am allergic to {}.",
    "I don't eat {}.",
    "My sister Mia is allergic to {}. She hates {}.",
    "I hate {}. I live in Lisbon.",
    "我对{}过敏。",
    "我不吃{}，我住在上海。",
    "I always prefer {} over spaces.",
    "Suggest a dinner with {} for Mia.",
]
USERS = ("ann", "bob")


def fuzz(seed: int, folder: pathlib.Path) -> None:
    """Four threads, two engines, some dozen changes."""
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "store.db"
    with (
        backscroll.open(store, background=False) as one,
        backscroll.open(store, background=False) as other,
    ):
        Profiles(random.Random(seed), seed, store, (one, other)).play()


class Profiles(Project):
    """Threads of users, seen by several engines."""

    def __init__(
        self, chance: random.Random, seed: int, store: pathlib.Path, engines: tuple[Engine, Engine]
    ) -> None:
        self.chance, self.seed, self.store, self.engines = chance, seed, store, engines
        self.trail: list[str] = []
        owners = ("ann", "ann", "bob", "")
        self.names = [
            engines[0].create(f"thread {n}", project="/work", user=u).id for n, u in enumerate(owners)
        ]
        self.made = 0

    def play(self) -> None:
        """Change things by either engine, and look by both."""
        for name in self.names:
            self.exchange(name)
        self.look()
        for _ in range(self.chance.randint(8, 12)):
            self.step()
            if self.chance.random() < 0.6:
                self.look()
        self.look()

    def sentence(self) -> str:
        """A fact about whoever says it, with a secret in it."""
        text = self.chance.choice(SENTENCES)
        return text.format(*(self.secret() for _ in range(text.count("{}"))))

    def step(self) -> None:
        """One thing to one thread."""
        name = self.chance.choice([self.names[0], self.names[0], *self.names])
        work = self.chance.choice(
            [
                self.exchange,
                self.exchange,
                self.remove,
                self.remove,
                self.bring_back,
                self.reword,
                self.reword,
                self.forget,
                self.undo,
                self.prompt,
                self.prompt,
                self.condense,
                self.move,
                self.correct,
                self.correct,
                self.branch,
            ]
        )
        work(name)

    def bring_back(self, name: str) -> None:
        """Restore what was deleted."""
        thread = self.thread(name)
        gone = [m.id for m in thread.messages(deleted=True) if m.deleted]
        if gone:
            self.done("restore", lambda: thread.restore(self.chance.choice(gone)))

    def move(self, name: str) -> None:
        """To another user, or to none."""
        user = self.chance.choice(["ann", "ann", "bob", ""])
        self.done(f"give to {user or 'nobody'}", lambda: self.thread(name).describe(user=user))

    def branch(self, name: str) -> None:
        """Fork a thread; one more that speaks for its user."""
        if len(self.names) < 6:
            self.done("fork", lambda: self.names.append(self.thread(name).fork().id))

    def correct(self, _name: str) -> None:
        """Correct something about a user, or take a correction back."""
        user = self.chance.choice(self.engines).user(self.chance.choice(USERS))
        facts = user.facts()
        overrides = user.graph.overrides()
        how = self.chance.choice(["set", "reject", "lift", "pin"])
        if how == "set":
            self.done("correct", lambda: user.correct("lives_in", self.chance.choice(["Porto", "Faro"])))
        elif how == "reject" and facts:
            fact = self.chance.choice(facts)
            self.done("reject", lambda: user.reject(fact.predicate, self.chance.choice([fact.value, None])))
        elif how == "pin" and facts:
            self.done("pin", lambda: user.graph.pin("user", self.chance.choice(facts).predicate))
        elif how == "lift" and overrides and overrides[-1].id is not None:
            chosen = overrides[-1].id
            self.done("lift", lambda: user.graph.lift(chosen))

    def look(self) -> None:
        """Every prompt and every profile, by both engines and by a fresh one."""
        with backscroll.open(self.store, background=False) as fresh:
            owners = {name: fresh.thread(name).info.user for name in self.names}
            alive = {user: self.alive_for(fresh, user, owners) for user in ("", *USERS)}
            wanted = {name: prompts(fresh.thread(name)) for name in self.names}
            known = {user: profile(fresh, user) for user in USERS}
            for number, engine in enumerate(self.engines):
                for name in self.names:
                    found = prompts(engine.thread(name))
                    assert found == wanted[name], self.told(
                        f"the prompt of {name[:8]} by engine {number} is not that of a fresh one\n{found}\n{wanted[name]}"
                    )
                    strange = set(SECRET.findall(found)) - alive[owners[name]]
                    assert not strange, self.told(
                        f"{name[:8]} of {owners[name]!r} is told {sorted(strange)}: {found}"
                    )
                for user in USERS:
                    found = profile(engine, user)
                    assert found == known[user], self.told(
                        f"the profile of {user} by engine {number} is not that of a fresh one\n{found}\n{known[user]}"
                    )
                    strange = set(SECRET.findall(found)) - alive[user]
                    assert not strange, self.told(f"the profile of {user} tells {sorted(strange)}")

    def alive_for(self, engine: Engine, user: str, owners: dict[str, str]) -> set[str]:
        """Secrets that live and shown messages of the threads hold which a thread of a user may see."""
        seen = [name for name in self.names if owners[name] in ("", user)]
        messages = (m for name in seen for m in engine.thread(name).messages() if not m.hidden)
        words = {word for m in messages for word in SECRET.findall(repr(m.content))}
        # What a person pinned stays, whatever happens to the message.
        pinned = SECRET.findall(repr(engine.user(user).graph.overrides())) if user else []
        return words | set(pinned)


def prompts(thread: Thread) -> str:
    """Two prompts of a thread as they would be sent."""
    return f"{prompt_text(thread, 60_000)}\n{prompt_text(thread, 3_000)}"


def profile(engine: Engine, name: str) -> str:
    """Everything that is known about a user."""
    user = engine.user(name)
    return repr(
        (
            user.facts(everything=True),
            user.history(),
            user.preferences(),
            user.graph.nodes(),
            user.conflicts(),
        )
    )
