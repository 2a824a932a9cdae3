"""Conversations with things planted in them that must not vanish: to-dos, constraints, decisions, paths, ids, errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from backscroll.derive.essence.essentials import EssentialKind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult

THREAD = "ab" * 16

TALK = {
    "en": (
        ["How does the parser handle empty lines?", "Show me the current layout.", "That looks fine to me.", "Go on."],
        ["The parser skips empty lines.", "Here is what I see in the folder.", "It reads the file and prints a table.", "The tests cover this case."],
    ),
    "zh": (
        ["解析器怎么处理空行？", "给我看看现在的目录结构。", "这样看起来挺好。", "继续吧。"],
        ["解析器会跳过空行。", "目录里有这些文件。", "它读取文件并打印一个表格。", "这种情况有测试覆盖。"],
    ),
}  # fmt: skip

NAMES = {
    "en": [
        "billing",
        "checkout",
        "search index",
        "session cache",
        "mail queue",
        "tax report",
        "login form",
        "audit log",
    ],
    "zh": ["账单", "结算", "搜索索引", "会话缓存", "邮件队列", "税务报表", "登录表单", "审计日志"],
}

SENTENCES = {
    ("en", EssentialKind.CONSTRAINT): [
        "Never change the {name} module by hand.",
        "The {name} must answer within 200 milliseconds.",
        "Please don't touch the {name} this week.",
        "Only use the internal client for the {name}.",
    ],
    ("zh", EssentialKind.CONSTRAINT): [
        "不要手动修改{name}模块。",
        "{name}必须在 200 毫秒内返回。",
        "{name}这周禁止改动。",
        "{name}一定要走内部客户端。",
    ],
    ("en", EssentialKind.DECISION): [
        "Let's use Redis for the {name} because it expires keys by itself.",
        "We decided to rewrite the {name} in Rust, since the old one is too slow.",
        "I'll go with SQLite for the {name} because there is only one writer.",
    ],
    ("zh", EssentialKind.DECISION): [
        "我们决定用 Redis 做{name}，因为它会自动过期。",
        "{name}改用 Rust 重写，因为旧的太慢。",
        "{name}就用 SQLite，因为只有一个写入者。",
    ],
    ("en", EssentialKind.TODO): [
        "TODO: write a migration for the {name}.",
        "We still need to document the {name}.",
        "- [ ] add load tests for the {name}",
        "Don't forget to rotate the keys of the {name}.",
    ],
    ("zh", EssentialKind.TODO): ["还需要给{name}写文档。", "- [ ] 给{name}加压力测试", "别忘了更新{name}的密钥。", "下一步是迁移{name}。"],
}  # fmt: skip


@dataclass
class Talk:
    """A conversation that is being written down."""

    messages: list[Message] = field(default_factory=list[Message])

    def say(self, role: Role, *parts: Part | str) -> Message:
        """Add a message."""
        said = tuple(Text(p) if isinstance(p, str) else p for p in parts)
        number = len(self.messages) + 1
        ref = Ref(THREAD, number)
        message = Message(
            ref,
            role,
            ref,
            Content(said),
            "2026-11-01T09:00:00+00:00",
            digest=f"{number:064x}",
            position=number.to_bytes(6, "big"),
        )
        self.messages.append(message)
        return message

    def use(self, name: str, arguments: object, result: str, *, error: bool = False) -> Message:
        """A reply with one call, and its result."""
        call = f"c{len(self.messages)}"
        self.say("assistant", ToolCall(call, name, arguments))
        return self.say("tool", ToolResult(call, (Text(result),), error, name))


@dataclass(frozen=True)
class Plant:
    """Something that must survive."""

    kind: EssentialKind
    text: str
    turn: int


def sown(language: str, turns: int, plants: Sequence[Plant], choices: Sequence[int]) -> Talk:
    """A conversation of so many turns with plants in some of them."""
    talk = Talk()
    asked, answered = TALK[language]
    for turn in range(turns):
        pick = choices[turn % len(choices)]
        mine = [p for p in plants if p.turn == turn]
        spoken = [
            p.text
            for p in mine
            if p.kind
            in (EssentialKind.CONSTRAINT, EssentialKind.DECISION, EssentialKind.TODO, EssentialKind.ID)
        ]
        opening = f"{asked[pick % len(asked)]} ({turn})"
        # A box is on a line of its own, as people write them.
        talk.say(
            "user",
            "\n".join([opening, *spoken])
            if any("[ ]" in s for s in spoken)
            else " ".join([opening, *spoken]),
        )
        for plant in mine:
            if plant.kind is EssentialKind.PATH:
                edit = {"file_path": plant.text, "old_string": "a", "new_string": "b"}
                talk.use("Edit", edit, f"The file {plant.text} has been updated.")
            elif plant.kind is EssentialKind.ERROR:
                output = "Compiling 12 files\n" * 8 + f"error: {plant.text}\n"
                talk.use(
                    "Bash",
                    {"command": f"make {plant.text.split()[-1]}"},
                    f"Exit code 2\n{output}",
                    error=True,
                )
        talk.say("assistant", f"{answered[pick % len(answered)]} {answered[(pick + 1) % len(answered)]}")
    return talk


@st.composite
def plantings(draw: st.DrawFn, turns: int, most: int = 8) -> tuple[str, list[Plant], list[int]]:
    """A language, what is planted in which turn, and what is said around it."""
    language = draw(st.sampled_from(["en", "zh"]))
    names = draw(st.permutations(NAMES[language]))
    plants: list[Plant] = []
    for name in names[: draw(st.integers(1, min(most, len(names))))]:
        turn = draw(st.integers(0, turns - 1))
        kind = draw(st.sampled_from([*EssentialKind]))
        number = draw(st.integers(100, 999))
        if kind is EssentialKind.QUESTION:
            continue  # every question of the past has its answer behind it
        if kind is EssentialKind.PATH:
            text = f"src/area{number}/{draw(st.sampled_from(['store', 'view', 'model']))}.py"
        elif kind is EssentialKind.ID:
            text = {"en": f"The ticket is OPS-{number}.", "zh": f"工单号是 OPS-{number}。"}[language]
        elif kind is EssentialKind.ERROR:
            text = f"undefined symbol area{number}_init"
        else:
            text = draw(st.sampled_from(SENTENCES[language, kind])).format(name=name)
        plants.append(Plant(kind, text, turn))
    return language, plants, draw(st.lists(st.integers(0, 9), min_size=1, max_size=5))


def wanted(plant: Plant) -> str:
    """What of a plant must be found again."""
    if plant.kind is EssentialKind.ID:
        return next(
            word.strip("。.") for word in plant.text.replace("是", " ").split() if word.startswith("OPS-")
        )
    return plant.text.removeprefix("- [ ] ")
