"""Shell completion of threads (ids with their titles), nodes of the graph, and their predicates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from click.shell_completion import CompletionItem

from backscroll.errors import BackscrollError
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import get_language, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.conversation import title_of

_MOST = 50


def threads(session: CliSession, incomplete: str) -> Sequence[CompletionItem]:
    """Return threads with this id prefix; an unreadable store offers nothing, silently."""
    items = [CompletionItem("last", help=t("overview.to_last"))] if "last".startswith(incomplete) else []
    try:
        with session.engine() as engine:
            found = (i for i in engine.threads() if i.id.startswith(incomplete.lower()))
            items += [CompletionItem(i.id[:8], help=one_line(title_of(i))) for i in islice(found, _MOST)]
    except BackscrollError:
        return items
    return items


def nodes(session: CliSession, thread: str, incomplete: str) -> Sequence[CompletionItem]:
    """Return nodes of a thread's graph with this name prefix, with their types."""
    # start-up: loaded when the command runs
    from backscroll.engine.knowledge.graph_shapes import type_words

    wanted = incomplete.casefold()
    try:
        with session.engine() as engine:
            view = thread_named(engine, thread).graph.current()
            found = (view.node(id_) for id_ in view.ids() if wanted in id_)
            fit = (n for n in found if n.name.casefold().startswith(wanted))
            return [
                CompletionItem(one_line(n.name), help=type_words(n.type, get_language()))
                for n in islice(fit, _MOST)
            ]
    except BackscrollError:
        return []


def predicates(session: CliSession, thread: str, node: str, incomplete: str) -> Sequence[CompletionItem]:
    """Return the known attributes and relations of a node, as they are written."""
    # start-up: loaded when the command runs
    from backscroll.engine.knowledge.graph_shapes import predicate_words

    try:
        with session.engine() as engine:
            known = thread_named(engine, thread).graph.why(node)
    except BackscrollError:
        return []
    names = dict.fromkeys(fact.predicate for fact in known if fact.predicate.startswith(incomplete))
    return [CompletionItem(name, help=predicate_words(name, get_language())) for name in names]
