"""Ask a model on behalf of a recipe: the call between the plan and the fold.

Owns the order: an existing artefact or answer is reused and never paid for again; an unusable answer is requested once more
with the reason; after that the rule-made artefact stays, and the reason is stored. Nothing waits for this: it runs in the
background or when the user asks for it. Choosing another model makes nothing due: what an earlier one made stays. The call
itself is in `calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.models.fold import fold
from backscroll.derive.models.request import G, RecipePlan, RecipeRequest, again
from backscroll.derive.recipe import Count, Recipe
from backscroll.derive.summaries.gist import Gist
from backscroll.engine.models.artefacts import FAILURE, ModelText, better, better_of
from backscroll.engine.models.calls import RecipeCaller
from backscroll.engine.models.usage import MODELS, models_used
from backscroll.errors import (
    BackscrollError,
    BudgetExceeded,
    FormatError,
    InvalidInput,
    MissingExtra,
    ModelError,
)
from backscroll.formats.sources.json_text import dumps
from backscroll.llm.clients.client import Client
from backscroll.llm.clients.client import Reply as Answer
from backscroll.llm.clients.retries import Patience
from backscroll.llm.providers import Provider, choose_provider
from backscroll.record.chain import words_from_bytes
from backscroll.record.derived import Artefact, RecipeReply
from backscroll.record.ports import Reader, Writer
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

T = TypeVar("T")
P = TypeVar("P", bound=RecipePlan[Any])
#: The origin of an artefact: made before, a reply in the journal, a new call, or rules because nothing else worked.
By: TypeAlias = Literal["kept", "journal", "model", "rules"]
_CUT = ("length", "endless")  # finish reasons of incomplete answers
#: Errors of a model, its service or our own limits; the rule-made artefact stays then.
EXPECTED = (ModelError, InvalidInput, MissingExtra, BudgetExceeded)


@dataclass(frozen=True, slots=True)
class RecipeOutcome(Generic[T]):
    """An artefact, its origin, and why a model did not make it."""

    value: T
    by: By
    why: str = ""
    passing: bool = False  # the service failed, not the answer: a retry may work
    model: str = ""  # that made it


@dataclass(frozen=True, slots=True)
class RecipeMethods(Generic[P, T]):
    """How artefacts of one kind are parsed from answers and from stored ones."""

    fold: Callable[[P, str, bool, bool], T]  # answer, whether it is complete, whether it is the last try
    again: Callable[[P, str, str], RecipeRequest]  # answer, what was wrong with it
    restored: Callable[[P, ModelText], T]
    kept: Callable[[P, T], str]  # what is kept
    purpose: str  # the purpose on the ledger


def modelling_for(engine: EngineScope, *, background: bool = False) -> RecipeRunner | None:
    """Return the runner that writes gists and summaries for this engine; None without a provider. `background`: not requested by the user."""
    provider = choose_provider(engine.settings.provider)
    if provider is None or not provider.writer:
        return None
    return RecipeRunner(engine, provider, background=background)


class RecipeRunner(RecipeCaller):
    """One provider that writes artefacts for one engine; use it in a `with`, or close it."""

    def __init__(
        self,
        engine: EngineScope,
        provider: Provider,
        *,
        client: Client | None = None,
        patience: Patience | None = None,
        count: Count = rough_count,
        background: bool = False,
    ) -> None:
        super().__init__(engine, provider, client=client, patience=patience, background=background)
        self.count = count
        self._journal: dict[tuple[str, str], set[str]] = {}  # models with replies, by thread and kind

    def __enter__(self) -> RecipeRunner:
        return self

    # -- one artefact ----------------------------------------------------------------------------------------

    def make(
        self, planned: RecipePlan[G], thread: str, *, turn: int | None = None, refresh: bool = False
    ) -> RecipeOutcome[G]:
        """Return the gist or summary of a plan; by rules if the model fails. `refresh`: ignore what an earlier model made."""
        craft: RecipeMethods[RecipePlan[G], G] = RecipeMethods(
            lambda plan, text, whole, _last: fold(plan, text, self.count, whole=whole),
            again,
            lambda plan, kept: replace(plan.stand_in, text=kept.text, sources=kept.sources),
            lambda _plan, value: value.text,
            "summary",
        )
        return self.craft_artefact(planned, thread, craft, turn=turn, refresh=refresh)

    def adopt(
        self, planned: RecipePlan[Gist], thread: str, words: str, model: str
    ) -> RecipeOutcome[Gist] | None:
        """Return the gist of a plan with text that a model gave in another answer; None if it is unusable. Costs no call."""
        how = replace(planned.recipe, model=model)
        planned = replace(planned, recipe=how, key=how.key([planned.rule_key.hex()]))
        try:
            value = fold(planned, words, self.count)
        except FormatError:
            return None
        kept = self.engine.store.write(lambda tx: self._keep(tx, planned, thread, value.text))
        return RecipeOutcome(value, "journal", model=model) if kept else None

    def craft_artefact(
        self,
        planned: P,
        thread: str,
        craft: RecipeMethods[P, T],
        *,
        turn: int | None = None,
        refresh: bool = False,
    ) -> RecipeOutcome[T]:
        """Return the artefact of a plan of any kind; the rule-made one if the model fails."""
        kept = self._find_kept(planned, refresh=refresh)
        if kept is not None:
            return RecipeOutcome(craft.restored(planned, kept), "kept", model=kept.model)
        # `journal`: the same plan, under the key of the reply.
        planned, journal = (planned, planned) if refresh else self._as_answered(planned, thread)
        by: By = "journal"
        try:
            text, whole, fresh = self._answer(planned, journal.key, planned.ask, thread, turn, craft.purpose)
            by = "model" if fresh else by
            try:
                value = craft.fold(planned, text, whole, False)
            except FormatError as error:
                asked = craft.again(planned, text, error.message)
                if not whole:
                    asked = replace(asked, max_tokens=asked.max_tokens * 2)
                text, whole, fresh = self._answer(planned, journal.again_key, asked, thread, turn, "retry")
                by = "model" if fresh else by
                value = craft.fold(planned, text, whole, True)
        except EXPECTED as error:
            passing = not isinstance(error, FormatError)
            self._fail(planned, thread, error, passing=passing)
            return RecipeOutcome(planned.stand_in, "rules", error.message, passing)
        if not self.engine.store.write(
            lambda tx: self._keep(tx, planned, thread, craft.kept(planned, value))
        ):
            return RecipeOutcome(planned.stand_in, "rules", "what it refers to was forgotten since")
        return RecipeOutcome(value, by, model=planned.recipe.model)

    def _find_kept(self, planned: RecipePlan[object], *, refresh: bool) -> ModelText | None:
        """Return what this model, or (unless `refresh`) an earlier one, made from the same inputs."""

        def look(reader: Reader) -> ModelText | None:
            mine = reader.read_artefacts([planned.key]).get(planned.key)
            if mine is not None or refresh:
                return None if mine is None else better_of(mine)
            others = better(reader, lambda model: replace(planned.recipe, model=model), [planned.rule_key])
            return others.get(planned.rule_key)

        return self.engine.store.read(look)

    def _as_answered(self, planned: P, thread: str) -> tuple[P, P]:
        """Return the plan as an earlier model, or an earlier version of the prompt, was asked it, if that reply is in the journal; and the same under the key of that reply.

        That key may rest on what an earlier version of the rules made of the same text. A journal from an imported log
        holds replies of models that this store does not know.
        """
        name = planned.recipe.name

        def look(reader: Reader) -> tuple[P, P]:
            if reader.reply(planned.key) is not None:
                return planned, planned
            if (thread, name) not in self._journal:
                self._journal[thread, name] = {r.model for r in reader.replies(thread) if r.recipe == name}
            for how in self._earlier(thread, planned.recipe):
                for rests in (planned.rule_key, *planned.earlier):
                    if reader.reply(key := how.key([rests.hex()])) is not None:
                        kept = replace(planned, recipe=how, key=how.key([planned.rule_key.hex()]))
                        return kept, replace(kept, key=key)
            return planned, planned

        return self.engine.store.read(look)

    def _earlier(self, thread: str, recipe: Recipe) -> list[Recipe]:
        """Return the models and prompt versions under which a reply may be in the journal: this model's first, new versions before old."""
        models = sorted(self._journal[thread, recipe.name], key=lambda model: (model != self.model, model))
        versions = range(recipe.version, 0, -1)
        return [replace(recipe, model=m, version=v) for v in versions for m in models]

    def _keep(self, tx: Writer, planned: RecipePlan[object], thread: str, text: str) -> bool:
        """Store an artefact, unless one of its sources was forgotten while the model was working."""
        if _is_forgotten(tx, planned.sources):
            return False
        now = self.engine.means.now()
        writer = planned.recipe.model
        body = dumps({"text": text, "model": writer}).encode("utf-8", "surrogatepass")
        tx.make([Artefact(planned.key, planned.recipe.name, thread, body, planned.sources, now)])
        used = models_used(tx, planned.recipe.name)
        others = [model for model in used if model != writer]
        # The current model is listed first, but not if its old reply was just folded.
        newest = [writer, *others] if writer == self.model else used if writer in used else [*used, writer]
        if newest != used:
            tx.set_meta(f"{MODELS}{planned.recipe.name}", dumps(newest))
        return True

    def _fail(
        self, planned: RecipePlan[object], thread: str, error: BackscrollError, *, passing: bool
    ) -> None:
        """Store the reason under the revisions whose text it may quote; what a service reported about itself is left out."""
        why = error.message if not passing else type(error).__name__
        body = dumps({"why": why, "model": self.model, "passing": passing}).encode("utf-8", "surrogatepass")
        key = FAILURE.key([planned.key.hex()])
        made = Artefact(key, FAILURE.name, thread, body, planned.sources, self.engine.means.now())

        def work(tx: Writer) -> None:
            if not _is_forgotten(tx, planned.sources):
                tx.make([made])

        self.engine.store.write(work)

    # -- one call --------------------------------------------------------------------------------------------

    def _answer(
        self,
        planned: RecipePlan[object],
        key: bytes,
        asked: RecipeRequest,
        thread: str,
        turn: int | None,
        purpose: str,
    ) -> tuple[str, bool, bool]:
        """Return the answer's text, whether it is complete, and whether it had to be paid for."""
        known = self.engine.store.read(lambda reader: reader.reply(key))
        if known is not None:
            body = words_from_bytes(known.body)
            return body["text"], body["finish"] not in _CUT, False

        def journal(tx: Writer, answer: Answer) -> None:
            body = {"text": answer.text, "finish": answer.finish, "model": answer.model}
            told = dumps(body).encode("utf-8", "surrogatepass")
            now, name = self.engine.means.now(), planned.recipe.name
            if not _is_forgotten(tx, planned.sources):
                tx.keep_reply(RecipeReply(key, name, thread, self.model, told, planned.sources, now))

        answer = self.call(asked, thread, turn, purpose, journal)
        return answer.text, answer.finish not in _CUT, True


def _is_forgotten(reader: Reader, sources: Sequence[Ref]) -> bool:
    found = reader.read_spoken(sources)
    return any(source not in found or found[source].body is None for source in sources)
