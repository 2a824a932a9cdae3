"""What the shell offers when a thread is expected: ids with their titles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from click.shell_completion import CompletionItem

from backscroll.errors import BackscrollError
from backscroll.surfaces.cli.conversation import title_of
from backscroll.surfaces.cli.plain import one_line
from backscroll.surfaces.cli.session import Session
from backscroll.surfaces.i18n import t

_MOST = 50


def threads(session: Session, incomplete: str) -> Sequence[CompletionItem]:
    """Threads whose id begins so; a store that cannot be read offers nothing, quietly."""
    items = [CompletionItem("last", help=t("overview.to_last"))] if "last".startswith(incomplete) else []
    try:
        with session.engine() as engine:
            found = (i for i in engine.threads() if i.id.startswith(incomplete.lower()))
            items += [CompletionItem(i.id[:8], help=one_line(title_of(i))) for i in islice(found, _MOST)]
    except BackscrollError:
        return items
    return items
