"""Nouns and verbs of the command line: Typer's, with our own texts for mistyped ones."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer._click.exceptions import (
    BadOptionUsage,
    MissingParameter,
    NoArgsIsHelpError,
    NoSuchOption,
    UsageError,
)
from typer.core import TyperCommand, TyperGroup

from duolog.cli.parameters import PlainOption, error_name, plain
from duolog.cli.values import Unfit, likely

_HELP = {"help_option_names": ["-h", "--help"]}
_SYNONYMS = {
    "list": "ls",
    "describe": "info",
    "show": "info",
    "get": "info",
    "delete": "rm",
    "remove": "rm",
    "new": "create",
    "read": "consume",
    "write": "produce",
}
"""Verbs of other tools, with the ones that they are called here."""


class Misused(UsageError):
    """One sentence that says what is wrong with the command line, and one that says what to do."""

    def show(self, file: Any = None) -> None:
        typer.echo(self.message, file=file, err=True)


class App(typer.Typer):
    """A noun with its verbs, or all nouns."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            **{
                "cls": Noun,
                "no_args_is_help": True,
                "add_completion": False,
                "pretty_exceptions_enable": False,
                # Plain help: the decorated one takes longer to import than everything else.
                "rich_markup_mode": None,
                "context_settings": _HELP,
                **settings,
            }
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        return super().command(name, **{"cls": Verb, "context_settings": _HELP, **settings})


class Verb(TyperCommand):
    def __init__(self, *arguments: Any, params: Any = None, **settings: Any) -> None:
        super().__init__(*arguments, params=plain(params or ()), **settings)

    def get_help_option(self, ctx: Any) -> Any:
        return _plain_help(self, super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _in_own_words(ctx):
            # Else what is left over would be told in Typer's words.
            ctx.allow_extra_args = True
            left = super().parse_args(ctx, args)
            if left and not ctx.resilient_parsing:
                raise Misused(f"`{_path(ctx)}` has no place for '{left[0]}'. {_see_help(ctx)}", ctx)
            return left


class Noun(TyperGroup):
    def __init__(self, *, params: Any = None, **settings: Any) -> None:
        super().__init__(params=plain(params or ()), **settings)

    def get_help_option(self, ctx: Any) -> Any:
        return _plain_help(self, super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _in_own_words(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, *others = args
        command = self.get_command(ctx, name)
        if command is not None:
            return name, command, others
        if ctx.resilient_parsing:
            return None, None, others
        known = self.list_commands(ctx)
        meant = likely(name, known) or next(iter({_SYNONYMS.get(name)} & set(known)), None)
        advice = f"Did you mean `{_path(ctx)} {meant}`?" if meant else _see_help(ctx)
        raise Misused(f"There is no command `{_path(ctx)} {name}`. {advice}", ctx)


def _plain_help(command: Any, option: Any) -> Any:
    """Our own copy of the option `-h`, which Typer must find again where it caches it."""
    if option is not None and not isinstance(option, PlainOption):
        (option,) = plain([option])
        command._help_option = option
    return option


@contextmanager
def _in_own_words(ctx: Any) -> Iterator[None]:
    try:
        yield
    except (Misused, NoArgsIsHelpError):
        raise
    except Unfit as unfit:
        # The text may end with a suggestion already.
        text = str(unfit)
        raise Misused(text if text.endswith("?") else f"{text} {_see_help(ctx)}", ctx) from None
    except UsageError as error:
        raise Misused(_told(error, ctx), ctx) from None


def _told(error: UsageError, ctx: Any) -> str:
    path = _path(ctx)
    match error:
        case NoSuchOption():
            # All of them begin with hyphens, which would make any two alike.
            options = {
                name.lstrip("-"): name for each in ctx.command.get_params(ctx) for name in each.opts
            }
            meant = likely(error.option_name.lstrip("-"), options)
            advice = f"Did you mean {options[meant]}?" if meant else _see_help(ctx)
            return f"`{path}` has no option {error.option_name}. {advice}"
        case MissingParameter():
            return f"`{path}` needs {error_name(error.param)}. {_see_help(ctx)}"
        case BadOptionUsage() if "does not take" in error.message:
            return f"The option {error.option_name} takes no value. {_see_help(ctx)}"
        case BadOptionUsage():
            return f"The option {error.option_name} needs a value. {_see_help(ctx)}"
        case _:
            return f"{error.format_message().rstrip('.')}. {_see_help(ctx)}"


def _path(ctx: Any) -> str:
    """The command as it was called, without arguments: `duolog topic ls`."""
    names = []
    while ctx is not None:
        names.append(ctx.info_name)
        ctx = ctx.parent
    return " ".join(reversed(names))


def _see_help(ctx: Any) -> str:
    return f"Run `{_path(ctx)} -h` to see what it takes."
