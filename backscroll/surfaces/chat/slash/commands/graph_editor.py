"""`/graph edit`: edit a node and all its facts in place.

Every change is an override of the user's: it takes precedence over the text, and `/undo` reverts it. Owns the dialogue; the
changes are `engine/knowledge/graph`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from backscroll.engine.knowledge.graph_shapes import type_words
from backscroll.errors import BackscrollError
from backscroll.surfaces.chat.slash.cli_bridge import screen_of
from backscroll.surfaces.chat.slash.replies import print_lines, remark, report_done, trouble
from backscroll.surfaces.i18n import count, get_language, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.graph import change_words, names_in, page_of, rank_words, value_of, word_of

if TYPE_CHECKING:
    from backscroll.engine.knowledge.graph_shapes import Fact, NodeView
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.assertion import Override

_NODES = 200  # entries of a picker
_FACTS = 60  # facts of a node shown for choosing


def edit(talk: Talk, name: str) -> None:
    """Edit one node until the user is done."""
    node = talk.thread.graph.node(name).id if name else _pick_node(talk)
    if node is None:
        return
    editor = _Editor(talk, node)
    while editor.going:
        try:
            editor.step()
        except BackscrollError as error:
            trouble(talk, error)  # an impossible change is reported, and the editor stays open
    if editor.changes:
        remark(talk, count("slash.graph_changes", editor.changes))


def _pick_node(talk: Talk) -> str | None:
    """Let the user pick a node; or name a new one."""
    nodes = talk.thread.graph.nodes(limit=_NODES)
    options = [f"{one_line(n.name)} · {type_words(n.type, get_language())}" for n in nodes]
    chosen = talk.choose(t("slash.graph_which"), [*options, t("slash.graph_new")])
    if chosen is None:
        return None
    if chosen < len(nodes):
        return nodes[chosen].id
    name = (talk.ask(t("slash.graph_name")) or "").strip()
    if not name:
        return None
    made = talk.thread.graph.add(name)
    _tell(talk, made, name)
    return talk.thread.graph.node(name).id


def _tell(talk: Talk, made: Override, typed: str) -> None:
    view = talk.thread.graph.current()
    named = names_in(view)
    gone = view.find(made.node) is None
    what = change_words(made, lambda id_: typed if gone and id_ == made.node else named(id_))
    report_done(talk, t("graph.changed", what=one_line(what), id="" if made.id is None else made.id.seq))


class _Editor:
    """The node being edited."""

    def __init__(self, talk: Talk, node: str) -> None:
        self.talk, self.node = talk, node
        self.graph = talk.thread.graph
        self.going, self.changes = True, 0

    def step(self) -> None:
        """Show the node, ask what to do, do it."""
        if self.graph.current().find(self.node) is None:
            self.going = False
            return
        one = self.graph.node(self.node)
        named = names_in(self.graph.current())
        print_lines(self.talk, page_of(screen_of(self.talk), one, self.graph.numbers(), named))
        facts = [*one.attributes, *one.relations][:_FACTS]
        ways: list[tuple[str, Callable[[NodeView], None]]] = [
            (t("slash.graph_attribute"), self._add_attribute),
            (t("slash.graph_relation"), self._add_relation),
            (t("slash.graph_rename"), self._rename),
            (t("slash.graph_merge"), self._merge),
            (t("slash.graph_delete"), self._delete),
        ]
        options = [*map(self._line, facts), *(label for label, _ in ways), t("slash.graph_done")]
        chosen = self.talk.choose(t("slash.graph_what", name=one_line(one.name)), options)
        if chosen is None or chosen == len(options) - 1:
            self.going = False
        elif chosen < len(facts):
            self._fact(one, facts[chosen])
        else:
            ways[chosen - len(facts)][1](one)

    def _line(self, fact: Fact) -> str:
        value = value_of(fact, names_in(self.graph.current()))
        return f"{word_of(fact.predicate)}: {value}  ({rank_words(fact)})"

    def _report_change(self, made: Override, typed: str = "") -> None:
        self.changes += 1
        _tell(self.talk, made, typed)

    def _ask_text(self, question: str, initial: str = "") -> str:
        return (self.talk.ask(question, initial=initial) or "").strip()

    # -- one fact --------------------------------------------------------------------------------------------

    def _fact(self, one: NodeView, fact: Fact) -> None:
        """Change a fact, keep it, deny it, or lift a manual change of it."""
        own = next((e.override for e in fact.evidence if e.override is not None), None)
        ways: list[tuple[str, Callable[[], None]]] = [
            (t("slash.graph_change"), lambda: self._change(one, fact)),
            (t("slash.graph_pin"), lambda: self._report_change(self.graph.pin(one.id, fact.predicate))),
            (t("slash.graph_forbid"), lambda: self._forbid(one, fact)),
        ]
        if own is not None:
            ways.append((t("slash.graph_lift"), lambda: self._lift(own)))
        options = [*(label for label, _ in ways), t("slash.graph_back")]
        chosen = self.talk.choose(self._line(fact), options)
        if chosen is not None and chosen < len(ways):
            ways[chosen][1]()

    def _change(self, one: NodeView, fact: Fact) -> None:
        before = value_of(fact, names_in(self.graph.current()))
        after = self._ask_text(t("slash.graph_value", what=word_of(fact.predicate)), before)
        if not after or after == before:
            remark(self.talk, t("editing.unchanged"))
        elif not fact.object:
            self._report_change(self.graph.set(one.id, fact.predicate, after))
        else:
            self._report_change(self.graph.set(one.id, fact.predicate, other=after))
            held = self.graph.node(one.id).relations
            if any(f.predicate == fact.predicate and f.object == fact.object for f in held):
                # A relation may hold with several nodes at once: another end alone does not end the previous one.
                self._report_change(self.graph.forbid(one.id, fact.predicate, other=fact.object))

    def _forbid(self, one: NodeView, fact: Fact) -> None:
        if fact.object:
            self._report_change(self.graph.forbid(one.id, fact.predicate, other=fact.object))
        else:
            self._report_change(self.graph.forbid(one.id, fact.predicate, fact.value))

    def _lift(self, own: Override) -> None:
        if own.id is None:
            return
        self.graph.lift(own.id)
        self.changes += 1
        report_done(self.talk, t("graph.lifted", id=own.id.seq))

    # -- the node --------------------------------------------------------------------------------------------

    def _add_attribute(self, one: NodeView) -> None:
        predicate = self._ask_text(t("slash.graph_attribute_name"))
        value = self._ask_text(t("slash.graph_value", what=predicate)) if predicate else ""
        if predicate and value:
            self._report_change(self.graph.set(one.id, predicate, value))

    def _add_relation(self, one: NodeView) -> None:
        predicate = self._ask_text(t("slash.graph_relation_name"))
        other = self._ask_text(t("slash.graph_other")) if predicate else ""
        if predicate and other:
            self._report_change(self.graph.set(one.id, predicate, other=other))

    def _rename(self, one: NodeView) -> None:
        name = self._ask_text(t("slash.graph_new_name"), one.name)
        if name and name != one.name:
            self._report_change(self.graph.rename(one.id, name))

    def _merge(self, one: NodeView) -> None:
        others = [n for n in self.graph.nodes(limit=_NODES) if n.id != one.id]
        if not others:
            remark(self.talk, t("slash.graph_alone"))
            return
        chosen = self.talk.choose(t("slash.graph_merge_with"), [one_line(n.name) for n in others])
        if chosen is not None:
            self._report_change(self.graph.merge(one.id, others[chosen].id))

    def _delete(self, one: NodeView) -> None:
        if self.talk.confirm(t("slash.graph_delete_sure", name=one_line(one.name))):
            self._report_change(self.graph.delete(one.id), one.name)
            self.going = False
