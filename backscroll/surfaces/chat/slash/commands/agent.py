"""`/model`, `/cost`, `/tools`, `/permissions`: the model, its cost, and what it may do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from backscroll.agent.approval import permissions
from backscroll.agent.approval.offers import is_broad
from backscroll.agent.approval.rules import rule_of
from backscroll.config import CHOICES
from backscroll.engine.background.overview import services
from backscroll.engine.budget.costs import limits_of, spending, sum_costs
from backscroll.errors import InvalidInput, NotFound
from backscroll.llm.providers import providers
from backscroll.surfaces.chat.slash.arguments import first_word, no_words, wrong_use
from backscroll.surfaces.chat.slash.cli_bridge import screen_of
from backscroll.surfaces.chat.slash.registry import LOADED
from backscroll.surfaces.chat.slash.replies import line, print_lines, remark, report_done, warning
from backscroll.surfaces.cli.commands.store.cost import unanswered_words
from backscroll.surfaces.i18n import count, find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.receipts import dollars, number
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table

if TYPE_CHECKING:
    from backscroll.agent.agent import Agent
    from backscroll.agent.approval.rules import Rule, Verdict
    from backscroll.engine.background.overview import ProviderStatus
    from backscroll.engine.budget.costs import SpendingTotal
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.prompt import Wire

_SPANS = ("session", "project", "always")


def wire_of(agent: Agent) -> Wire:
    """Return the wire that the agent's prompts are made for, without opening a connection."""
    known = providers().get(agent.provider_name)
    return "openai-chat" if known is None else known.wire


# -- /model ------------------------------------------------------------------------------------------------------


def model_slash(talk: Talk, rest: str) -> None:
    """Show the current model and offer the others, or switch to one by name."""
    found = services(talk.engine.settings)
    if not rest:
        _pick_model(talk, found)
        return
    names = {service.provider.name for service in found}
    first, slash, model = rest.partition("/")
    if rest in names:
        talk.agent.use(provider=rest)
    elif slash and first in names:
        if not model.strip():
            raise wrong_use("model")
        talk.agent.use(provider=first, model=model.strip())
    elif talk.agent.offline:
        hint = t("slash.model_known", names=", ".join(sorted(names))) if names else t("slash.model_add")
        raise NotFound(t("slash.no_provider", name=rest), hint=hint)
    else:
        talk.agent.use(model=rest)
    _say_model(talk, found)


def _say_model(talk: Talk, known: list[ProviderStatus]) -> None:
    report_done(talk, t("slash.model_now", who=_who(talk.agent)))
    missing = next((s.key_missing for s in known if s.provider.name == talk.agent.provider_name), "")
    if missing:
        warning(talk, say(missing))


def _who(agent: Agent) -> str:
    return t("slash.model_offline") if agent.offline else f"{agent.provider_name}/{agent.model}".rstrip("/")


def _pick_model(talk: Talk, found: list[ProviderStatus]) -> None:
    remark(talk, t("slash.model_is", who=_who(talk.agent)))
    if not found:
        remark(talk, t("slash.model_add"))
        return
    current = next((n for n, s in enumerate(found) if s.provider.name == talk.agent.provider_name), 0)
    options = [_service_line(service) for service in found]
    chosen = talk.choose(t("slash.model_which"), options, initial=current)
    if chosen is None:
        return
    name = found[chosen].provider.name
    if name == talk.agent.provider_name:
        model = (talk.ask(t("slash.model_other"), initial=talk.agent.model) or "").strip()
        if not model or model == talk.agent.model:
            remark(talk, t("slash.nothing_done"))
            return
        talk.agent.use(model=model)
    else:
        talk.agent.use(provider=name)
    _say_model(talk, found)


def _service_line(service: ProviderStatus) -> str:
    facts = [f"{service.provider.name}/{service.provider.model}".rstrip("/")]
    if service.key_missing:
        facts.append(say(service.key_missing))
    return " · ".join(facts)


def model_offer(_talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the configured providers with their models."""
    if before:
        return []
    return [(f"{p.name}/{p.model}".rstrip("/"), p.kind) for p in providers().values()]


# -- /cost -------------------------------------------------------------------------------------------------------


def cost_slash(talk: Talk, rest: str) -> None:
    """Show tokens and cost: since the chat began, of this conversation by model, and of today."""
    no_words(rest, "cost")
    engine, thread = talk.engine, talk.thread
    today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    models = spending(engine, "model", thread=thread)
    rows = [_row(t("slash.cost_run"), sum_costs(spending(engine, since=LOADED)))]
    rows.append(_row(t("slash.cost_thread"), sum_costs(models)))
    rows += [_row(f"· {one.group[0]}", one) for one in models]
    rows.append(_row(t("slash.cost_day"), sum_costs(spending(engine, since=today))))
    columns = [
        Column("", shrinks=True),
        Column(t("slash.cost_calls"), right=True),
        Column(t("slash.cost_in"), right=True),
        Column(t("slash.cost_cached"), right=True, style="dim"),
        Column(t("slash.cost_out"), right=True),
        Column(t("slash.cost_money"), right=True, style="strong"),
    ]
    print_lines(talk, table(screen_of(talk), columns, rows))
    total = sum_costs(models)
    if total.unanswered:
        warning(talk, count("cost.unanswered", total.unanswered, **unanswered_words(total)))
    for limit in limits_of(engine, thread):
        remark(talk, t("slash.cost_limit", left=_money(limit.left), all=_money(limit.allowed)))


def _row(name: str, sums: SpendingTotal) -> tuple[str, ...]:
    share = f"{sums.cached / sums.input:.0%}" if sums.input else "–"
    known = sums.calls == 0 or sums.unpriced < sums.calls
    # If the price of some calls is unknown, the sum covers only the others.
    money = ("≥ " if sums.unpriced else "") + _money(sums.nano) if known else t("slash.cost_unknown")
    return name, number(sums.calls), number(sums.input), share, number(sums.output), money


def _money(nano: int) -> str:
    return dollars(nano)


# -- /tools ------------------------------------------------------------------------------------------------------


def tools_slash(talk: Talk, rest: str) -> None:
    """Show what the model may call, and the effect of each tool."""
    no_words(rest, "tools")
    rows = [
        (
            tool.name,
            t(f"slash_effect.{tool.effect}"),
            find(f"slash_tool.{tool.name}") or one_line(tool.description),
        )
        for tool in talk.agent.toolbox
    ]
    if not rows:
        remark(talk, t("slash.no_tools"))
        return
    columns = [
        Column(t("columns.tool"), style="tool"),
        Column(t("slash.tool_effect"), style="dim"),
        Column(t("slash.tool_about"), shrinks=True),
    ]
    print_lines(talk, table(screen_of(talk), columns, rows))


# -- /permissions ------------------------------------------------------------------------------------------------


def permissions_slash(talk: Talk, rest: str) -> None:
    """Show the rules in force, add or remove one, or change the mode."""
    verb, words = first_word(rest)
    if not rest:
        _list_rules(talk)
    elif verb in ("allow", "ask", "deny") and words:
        _add_rule(talk, verb, words)
    elif verb == "remove" and words:
        _remove_rule(talk, words)
    elif verb == "mode" and words:
        talk.agent.rules.mode = words
        report_done(talk, t("slash.rules_mode", mode=t(f"slash_mode.{words}")))
    else:
        raise wrong_use("permissions")


def _list_rules(talk: Talk) -> None:
    rules = talk.agent.rules
    line(talk, t("slash.rules_mode", mode=t(f"slash_mode.{rules.mode}")))
    if rules.trouble:
        warning(talk, say(rules.trouble))
    found = rules.list_rules()
    for rule in found:
        line(talk, f"  {_rule_line(rule)}")
    if not found:
        remark(talk, t("slash.no_rules"))


def _rule_line(rule: Rule) -> str:
    broad = f" · {t('slash.rule_broad')}" if is_broad(rule) else ""
    return f"{t(f'slash_verdict.{rule.verdict}')} {rule.text}  ({t(f'slash_span.{rule.source}')}){broad}"


def _add_rule(talk: Talk, verdict: Verdict, text: str) -> None:
    """Add a rule, for as long as the user chooses."""
    rules = talk.agent.rules
    written = _as_rule(text)
    rule = rule_of(written, verdict)
    chosen = talk.choose(t("slash.rule_span", rule=rule.text), [t(f"slash_span.{span}") for span in _SPANS])
    if chosen is None:
        remark(talk, t("slash.nothing_done"))
        return
    if _SPANS[chosen] == "session":
        rules.allow(written, verdict)
    else:
        permissions.add(rule, rules.root if _SPANS[chosen] == "project" else None, rules.file)
    report_done(talk, t("slash.rule_added", verdict=t(f"slash_verdict.{verdict}"), rule=rule.text))


def _as_rule(text: str) -> str:
    """Convert `run_command git *`, as people type it, to `run_command(git *)`."""
    tool, pattern = first_word(text)
    return text if "(" in text or not pattern else f"{tool}({pattern})"


def _remove_rule(talk: Talk, text: str) -> None:
    rules, written = talk.agent.rules, _as_rule(text)
    found = next((r for r in rules.list_rules() if r.text == written), None)
    if found is None:
        raise NotFound(t("slash.no_rule", rule=written), hint=t("slash.no_rule_hint"))
    if found.source in ("session", "flag"):
        raise InvalidInput(t("slash.rule_of_run", rule=written), hint=t("slash.rule_of_run_hint"))
    permissions.remove(written, rules.root if found.source == "project" else None, rules.file)
    report_done(talk, t("slash.rule_removed", rule=written))


def permissions_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer verdicts, then tools; after `remove` the existing rules."""
    offers: Mapping[str, Callable[[], Iterable[tuple[str, str]]]] = {
        "remove": lambda: [(r.text, r.source) for r in talk.agent.rules.list_rules()],
        "mode": lambda: [(mode, t(f"slash_mode.{mode}")) for mode in CHOICES["agent_approval"]],
    }
    if not before:
        return [(verb, t(f"slash_verdict.{verb}")) for verb in ("allow", "ask", "deny", "remove", "mode")]
    if len(before) > 1:
        return []
    return offers.get(before[0], lambda: [(name, "") for name in talk.agent.toolbox.names])()
