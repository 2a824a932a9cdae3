"""Base class of our commands: texts from `i18n`, a help page drawn by `help_page`, and the global options.

Texts are looked up when they are shown, under `help.<command>.<parameter>`, so declarations below only define the
syntax. Refuses: doing anything; the functions in `commands/` do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import click
from click.core import ParameterSource

from backscroll.surfaces.cli import help_page
from backscroll.surfaces.cli.catalogue import RENAMED
from backscroll.surfaces.cli.language import check_language
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t

Work = Callable[..., None]


class Command(click.Command):
    """A command; its function gets the session first, then its parameters by name."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002 - click's signature
        """Return the option `-h` and `--help`."""
        return help_option()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help page in the language in use."""
        formatter.write(help_page.of_command(self, ctx))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the function with the session of this run; an empty name is rejected before anything is done."""
        assert self.callback is not None
        _warn_renamed(ctx)
        for param in self.params:
            _refuse_blank(ctx, param, ctx.params.get(param.name or ""))
        return ctx.invoke(self.callback, session_of(ctx), **ctx.params)


def _warn_renamed(ctx: click.Context) -> None:
    """Warn on standard error if a command was called by an old name."""
    typed = " ".join(ctx.command_path.split()[1:])
    if typed in RENAMED:
        session_of(ctx).screen.warning(t("cli.renamed", old=typed, new=RENAMED[typed]))


#: Parameters that hold text, which may be empty. All others name something, and an empty name (an unset variable of a
#: script) must not mean "none", "the default" or "all".
_WORDS = frozenset(
    {
        "author",
        "feedback",
        "kind",
        "language",
        "model",
        "note",
        "project",
        "reason",
        "result",
        "summary",
        "text",
    }
    | {"title", "tool", "words"}
)
_WORDS_OF = frozenset({("commit", "message"), ("config", "value"), ("operations", "target")})


def holds_words(command: str, name: str) -> bool:
    """Return True for a parameter that holds text, not a name."""
    return name in _WORDS or (command, name) in _WORDS_OF


def _refuse_blank(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Raise a usage error if a parameter that names something was given an empty text."""
    name = param.name or ""
    if holds_words(ctx.command.name or "", name):
        return
    given: tuple[object, ...] = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    typed = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    if typed and any(isinstance(each, str) and not each.strip() for each in given):
        shown = param.opts[0] if isinstance(param, click.Option) else name.upper()
        raise click.UsageError(t("cli.blank", name=shown), ctx)


def command(name: str, *params: click.Parameter) -> Callable[[Work], Command]:
    """Turn a function into a command."""

    def build_command(work: Work) -> Command:
        return Command(name, callback=work, params=[*params, *global_options()])

    return build_command


def session_of(ctx: click.Context) -> CliSession:
    """Return the session of this run."""
    session = ctx.find_root().ensure_object(CliSession)
    assert isinstance(session, CliSession)
    return session


def help_option() -> click.Option:
    """Return the option that shows help and exits."""

    def show(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()

    return click.Option(
        ["-h", "--help"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help=t("help.shared.help"),
    )


def global_options() -> list[click.Parameter]:
    """Return the options that may come before or after the command."""
    return [
        click.Option(["--store"], metavar="FILE", expose_value=False, callback=_keep("store")),
        click.Option(["--actor"], metavar="NAME", expose_value=False, callback=_keep("actor")),
        click.Option(["--lang"], metavar="LANG", expose_value=False, callback=_check_language),
        click.Option(["--json", "as_json"], is_flag=True, expose_value=False, callback=_choose_output),
        click.Option(["--jsonl", "as_lines"], is_flag=True, expose_value=False, callback=_choose_output),
    ]


GLOBAL = ("store", "actor", "lang", "as_json", "as_lines")


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if not ctx.resilient_parsing:
            _refuse_blank(ctx, param, value)
            if value:
                setattr(session_of(ctx), name, value)
        return value

    return callback


def _choose_output(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    """Set `--json` or `--jsonl`, before or after the command, but not both."""
    if value and not ctx.resilient_parsing:
        session, lines = session_of(ctx), param.name == "as_lines"
        if session.as_json and session.as_lines != lines:
            raise click.UsageError(t("cli.json_or_lines"), ctx)
        session.as_json, session.as_lines = True, lines
    return value


def _check_language(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    # The language itself was chosen before parsing (`language.choose_language`); here a wrong name is rejected.
    return None if value is None else check_language(value)


# -- parameters that many commands share -------------------------------------------------------------------------


def thread_argument(*, required: bool = True) -> click.Argument:
    """Return an argument for a thread: an id prefix, or `last`."""
    metavar = "THREAD" if required else "[THREAD]"
    return click.Argument(["thread"], metavar=metavar, required=required, shell_complete=_threads)


def message_argument(*, required: bool = True) -> click.Argument:
    """Return an argument for a message: its number, its id, or `last`."""
    return click.Argument(["message"], metavar="MESSAGE" if required else "[MESSAGE]", required=required)


def messages_argument(*, required: bool = True) -> click.Argument:
    """Return an argument for one or more messages."""
    metavar = "MESSAGE..." if required else "[MESSAGE...]"
    return click.Argument(["messages"], metavar=metavar, nargs=-1, required=required)


def option(*names: str, **more: Any) -> click.Option:
    """Return an option; its help text is found by its name."""
    return click.Option(list(names), **more)


def flag(*names: str, **more: Any) -> click.Option:
    """Return an option that is on or off."""
    return click.Option(list(names), is_flag=True, **more)


def limit_option(default: int) -> click.Option:
    """Return an option for how many to show; 0 for all."""
    return click.Option(
        ["-n", "--limit"], type=click.IntRange(min=0), default=default, metavar="N", show_default=True
    )


def _threads(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Sequence[Any]:
    # start-up: loaded when the command runs
    from backscroll.surfaces.cli.completion import threads

    return threads(session_of(ctx), incomplete)
